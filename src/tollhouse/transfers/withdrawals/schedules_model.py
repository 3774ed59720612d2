"""Schedules of withdrawals: what they withdraw, and when they run."""

from calendar import monthrange
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Annotated, Literal
from uuid import UUID

from msgspec import Struct

from tollhouse.http.record_views import InCurrency
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.examples import example
from tollhouse.platform.database.records import Internal, Record

Frequency = Literal["once", "daily", "weekly", "monthly"]
ScheduleStatus = Literal["active", "paused", "ended"]
RunOutcome = Literal["created", "skipped", "failed"]
RUN_TIME = time(6)
"""When schedules run, in the merchant's time zone: clocks are changed earlier in the night, so it comes once a day."""
DAYS_SEARCHED = 63


class WithdrawalSchedule(Struct, frozen=True, kw_only=True):
    """Withdrawals to a saved recipient: of an amount, or of everything above `keep_minor`.

    `day` is the weekday from Monday as 1, or the day of the month; in a shorter month it is the last one. Times are those of
    the environment: in test mode of its test clock.
    """

    id: UUID
    recipient_id: UUID
    method_id: str
    currency: str
    amount_minor: Annotated[int | None, example(1000)]
    keep_minor: Annotated[int | None, InCurrency("currency")]
    frequency: Annotated[Frequency, example("monthly")]
    day: Annotated[int | None, example(1)]
    description: str | None
    webhook_url: str | None
    status: Annotated[ScheduleStatus, example("active")]
    next_run_at: datetime | None
    env: MerchantEnv
    created_at: datetime
    updated_at: datetime
    next_attempt_at: Internal[datetime | None]


class ScheduleRun(Struct, frozen=True, kw_only=True):
    """A run of a schedule: the withdrawal it created, or why it created none."""

    due_at: datetime
    outcome: Annotated[RunOutcome, example("created")]
    withdrawal_id: UUID | None
    failure_code: str | None
    at: datetime


def next_run(frequency: Frequency, day: int | None, after: datetime, zone: tzinfo) -> datetime:
    """The first time after this one at which a recurring schedule runs, in UTC."""
    first = after.astimezone(zone).date()
    for one in (first + timedelta(days=ahead) for ahead in range(DAYS_SEARCHED)):
        at = datetime.combine(one, RUN_TIME, zone).astimezone(UTC)
        if at > after and _is_due(frequency, day, one):
            return at
    raise AssertionError("every frequency has a day within two months")


def _is_due(frequency: Frequency, day: int | None, one: date) -> bool:
    match frequency:
        case "weekly":
            return one.isoweekday() == day
        case "monthly":
            return one.day == min(day or 1, monthrange(one.year, one.month)[1])
        case _:
            return True


SCHEDULE = Record(WithdrawalSchedule, "withdrawal_schedules")
RUN = Record(ScheduleRun, "withdrawal_schedule_runs", also=("schedule_id", "merchant_id"))
