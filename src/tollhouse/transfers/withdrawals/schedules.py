"""Schedules of withdrawals: created, paused and ended by merchants, run by the worker once at each of their times.

A schedule holds no money. A run creates a withdrawal like any other, at the costs and with the checks of that time.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Annotated, Literal
from uuid import UUID

from msgspec import Meta, Struct

from tollhouse.accounts.audit import record
from tollhouse.accounts.audit.model import new_values
from tollhouse.http.bodies import ValidationContext, reference_errors
from tollhouse.http.services import Work
from tollhouse.kernel import limits, messages
from tollhouse.kernel.catalogue.amounts import Amount, AmountOrZero, amount_error, minor_of
from tollhouse.kernel.catalogue.withdrawal_methods import WithdrawalMethod
from tollhouse.kernel.clock import zone_of
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import ApiError, FieldError, NotFound, ValidationFailed
from tollhouse.kernel.examples import example
from tollhouse.kernel.ids import new_id
from tollhouse.ledger.books.model import InsufficientFunds
from tollhouse.ledger.books.store import get_balance
from tollhouse.platform.settings.config import Settings
from tollhouse.transfers.gate import gate, recipients_store, spending
from tollhouse.transfers.gate.model import DailyLimitExceeded, RecipientNotActive, WithdrawalMethodUnavailable
from tollhouse.transfers.orders.errors import InvalidState
from tollhouse.transfers.orders.quotes import destination_errors
from tollhouse.transfers.orders.store import clock_offset
from tollhouse.transfers.withdrawals import actions, recipients, schedules_store
from tollhouse.transfers.withdrawals.model import (
    Frequency,
    ScheduleRun,
    TooManySchedules,
    WithdrawalSchedule,
    largest_amount,
    next_run,
    terms_of,
)
from tollhouse.transfers.withdrawals.new_withdrawal import NewWithdrawal
from tollhouse.transfers.withdrawals.schedules_store import DueSchedule

AHEAD_MAX = timedelta(days=90)
RETRY, RETRIED_FOR = timedelta(minutes=15), timedelta(hours=24)
"""An error that can pass is tried again, and fails the run after this long."""
CAN_PASS = (WithdrawalMethodUnavailable, DailyLimitExceeded, RecipientNotActive)
DAYS: dict[Frequency, int] = {"weekly": 7, "monthly": 31}
RECIPIENT_DELETED = "recipient_deleted"


class NewSchedule(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A schedule to create: of `amount`, or of everything above `keep`.

    `scheduled_for` is for the frequency `once`, `day` for `weekly` (1 is Monday) and `monthly`.
    """

    recipient_id: UUID
    frequency: Annotated[Frequency, example("once")]
    amount: Annotated[Amount, example("10.00")] = None
    keep: AmountOrZero = None
    scheduled_for: Annotated[datetime, Meta(tz=True)] | None = None
    day: int | None = None
    description: str | None = None
    """Description of its withdrawals."""
    webhook_url: str | None = None

    def rule_errors(self, context: ValidationContext) -> Iterator[FieldError]:
        """Every error that needs no lookup."""
        return _field_errors(self, context.caller.env, context.settings)


async def create(work: Work, env: MerchantEnv, new: NewSchedule, schedule_id: UUID | None = None) -> WithdrawalSchedule:
    """Create a schedule, once for each ID.

    Raises `NotFound` for the recipient, `ValidationFailed`, `ConnectionLimitExceeded` and `TooManySchedules`.
    """
    if field_errors := list(_field_errors(new, env, work.services.settings)):
        raise ValidationFailed(*field_errors)
    recipient = await recipients_store.get(work.tx, env, new.recipient_id)
    method = work.services.catalogue.withdrawal_methods.get(recipient.method_id)
    if method is None:
        raise WithdrawalMethodUnavailable
    await spending.ensure_standing_order(work, env, "withdrawals", method.currency)
    amount_minor, keep_minor = _amounts(new, method, work)
    present = work.now + await clock_offset(work.tx, env)
    at = new.scheduled_for
    if at is None:
        zone = zone_of(await schedules_store.get_time_zone(work.tx, env))
        at = next_run(new.frequency, new.day, present, zone)
    elif not present < at <= present + AHEAD_MAX:
        raise ValidationFailed(FieldError("scheduled_for", "out_of_range", messages.WITHIN_90_DAYS))
    if await schedules_store.count_current(work.tx, env) >= limits.SCHEDULES_MAX:
        raise TooManySchedules
    schedule = WithdrawalSchedule(
        id=schedule_id or new_id(),
        recipient_id=recipient.id,
        method_id=method.method_id,
        currency=method.currency,
        amount_minor=amount_minor,
        keep_minor=keep_minor,
        frequency=new.frequency,
        day=new.day,
        description=new.description,
        webhook_url=new.webhook_url,
        status="active",
        next_run_at=at,
        env=env,
        created_at=work.now,
        updated_at=work.now,
        next_attempt_at=at,
        created_by=await gate.responsible(work),
    )
    if not await schedules_store.insert(work.tx, schedule):
        return await schedules_store.get(work.tx, env, schedule.id)
    await _record_audit(work, schedule, "withdrawal.schedule_created")
    return schedule


async def pause(work: Work, env: MerchantEnv, schedule_id: UUID) -> WithdrawalSchedule:
    """Pause an active schedule. Raises `NotFound` and `InvalidState`."""
    current = await _lock_in_status(work, env, schedule_id, "active")
    await _record_audit(work, current, "withdrawal.schedule_paused")
    return await schedules_store.set_status(work.tx, current, "paused", current.next_run_at, None, work.now)


async def resume(work: Work, env: MerchantEnv, schedule_id: UUID) -> WithdrawalSchedule:
    """Resume a paused schedule at its next time; a single withdrawal whose time has passed runs now.

    Raises `NotFound`, `InvalidState` and `ConnectionLimitExceeded`.
    """
    current = await _lock_in_status(work, env, schedule_id, "paused")
    await spending.ensure_standing_order(work, env, "withdrawals", current.currency)
    at = current.next_run_at
    if current.frequency != "once":
        present = work.now + await clock_offset(work.tx, env)
        zone = zone_of(await schedules_store.get_time_zone(work.tx, env))
        at = next_run(current.frequency, current.day, present, zone)
    await _record_audit(work, current, "withdrawal.schedule_resumed")
    return await schedules_store.set_status(work.tx, current, "active", at, at, work.now)


async def end(work: Work, env: MerchantEnv, schedule_id: UUID) -> WithdrawalSchedule:
    """End a schedule. Its withdrawals are kept. Raises `NotFound` and `InvalidState`."""
    current = await _lock_in_status(work, env, schedule_id, "active", "paused")
    await _record_audit(work, current, "withdrawal.schedule_ended")
    return await schedules_store.set_status(work.tx, current, "ended", None, None, work.now)


async def run(work: Work, env: MerchantEnv, schedule_id: UUID) -> None:
    """Run a schedule that is due: create its withdrawal, or nothing if everything to withdraw is below the minimum.

    Raises the errors of a withdrawal: then nothing happened, and `fail` records it.
    """
    due = await schedules_store.lock_due(work.tx, env, schedule_id, work.now)
    if due is None:
        return
    schedule, catalogue = due.schedule, work.services.catalogue
    method = catalogue.withdrawal_methods.get(schedule.method_id)
    if method is None:
        raise WithdrawalMethodUnavailable
    amount_minor = schedule.amount_minor or await _above(work, schedule, method)
    if not amount_minor:
        await _advance(work, due, "skipped")
        return
    new = NewWithdrawal(
        method_id=schedule.method_id,
        amount=catalogue.currencies[schedule.currency].format(amount_minor),
        recipient_id=schedule.recipient_id,
        description=schedule.description,
        webhook_url=schedule.webhook_url,
    )
    withdrawal = await actions.request(work, env, new, schedule.created_by)
    await _advance(work, due, "created", withdrawal_id=withdrawal.id)


async def fail(work: Work, env: MerchantEnv, schedule_id: UUID, error: ApiError) -> None:
    """Record why a run created no withdrawal, and tell every user; first try errors that can pass again for a day.

    A schedule whose recipient was deleted ends: none of its later runs could create a withdrawal.
    """
    due = await schedules_store.lock_due(work.tx, env, schedule_id, work.now)
    if due is None or due.schedule.next_run_at is None:
        return
    schedule = due.schedule
    can_pass = isinstance(error, CAN_PASS) or (schedule.keep_minor is not None and isinstance(error, InsufficientFunds))
    if can_pass and due.present < due.schedule.next_run_at + RETRIED_FOR:
        await _retry_later(work, due)
        return
    if isinstance(error, NotFound):
        await _advance(work, due, "failed", failure_code=RECIPIENT_DELETED, is_last=True)
    else:
        await _advance(work, due, "failed", failure_code=error.code)
    message = messages.RECIPIENT_DELETED if isinstance(error, NotFound) else error.message
    await recipients.schedule_failed(work, schedule, message)


async def postpone(work: Work, env: MerchantEnv, schedule_id: UUID) -> None:
    """Try a schedule again later, after an error that is no `ApiError`: it must not keep the others waiting."""
    due = await schedules_store.lock_due(work.tx, env, schedule_id, work.now)
    if due is not None:
        await _retry_later(work, due)


async def _retry_later(work: Work, due: DueSchedule) -> None:
    at = due.present + RETRY
    await schedules_store.set_status(work.tx, due.schedule, "active", due.schedule.next_run_at, at, work.now)


async def _advance(
    work: Work,
    due: DueSchedule,
    outcome: Literal["created", "skipped", "failed"],
    *,
    withdrawal_id: UUID | None = None,
    failure_code: str | None = None,
    is_last: bool = False,
) -> None:
    """Record the run, and set the next time: missed ones are left out. After the last run, the schedule ends."""
    schedule = due.schedule
    if schedule.next_run_at is None:
        raise AssertionError("an active schedule has a next time")
    result = ScheduleRun(
        due_at=schedule.next_run_at, outcome=outcome, withdrawal_id=withdrawal_id, failure_code=failure_code, at=work.now
    )
    await schedules_store.insert_run(work.tx, schedule, result)
    if is_last or schedule.frequency == "once":
        await schedules_store.set_status(work.tx, schedule, "ended", None, None, work.now)
        return
    at = next_run(schedule.frequency, schedule.day, due.present, zone_of(due.time_zone))
    await schedules_store.set_status(work.tx, schedule, "active", at, at, work.now)


async def _above(work: Work, schedule: WithdrawalSchedule, method: WithdrawalMethod) -> int:
    """The largest amount that leaves `keep_minor` in the balance, within the limits; 0 if it is below the minimum.

    Where the rest of the daily limit is too small, the amount exceeds it, so that the run is tried again.
    """
    available_minor = (await get_balance(work.tx, schedule.env, schedule.currency)).available_minor
    amount_minor = largest_amount(method, max(0, available_minor - (schedule.keep_minor or 0)), method.default_fee_mode)
    if not _is_payable(method, amount_minor):
        return 0
    left_minor = await gate.left_today(work.tx, schedule.env, method, work.now)
    limited_minor = amount_minor if left_minor is None else min(amount_minor, left_minor)
    return limited_minor if _is_payable(method, limited_minor) else amount_minor


def _is_payable(method: WithdrawalMethod, amount_minor: int) -> bool:
    receive_minor = terms_of(method, amount_minor, method.default_fee_mode).receive_minor
    return amount_minor >= method.minimum_minor and receive_minor > 0


async def _lock_in_status(work: Work, env: MerchantEnv, schedule_id: UUID, *statuses: str) -> WithdrawalSchedule:
    current = await schedules_store.lock(work.tx, env, schedule_id)
    if current.status not in statuses:
        raise InvalidState(current.status)
    return current


async def _record_audit(
    work: Work,
    schedule: WithdrawalSchedule,
    action: Literal[
        "withdrawal.schedule_created",
        "withdrawal.schedule_paused",
        "withdrawal.schedule_resumed",
        "withdrawal.schedule_ended",
    ],
) -> None:
    catalogue, amount_minor = work.services.catalogue, schedule.amount_minor
    amount = None if amount_minor is None else catalogue.priced(amount_minor, schedule.currency)
    about = new_values(amount=amount, method_id=schedule.method_id, frequency=schedule.frequency)
    await record.event(work, schedule.env, action, subject=schedule.id, changed=about)


def _amounts(new: NewSchedule, method: WithdrawalMethod, work: Work) -> tuple[int | None, int | None]:
    """The amount, or what is kept. Raises `ValidationFailed` and the errors of amounts."""
    currency = work.services.catalogue.currencies[method.currency]
    for member, value, least in (("amount", new.amount, 1), ("keep", new.keep, 0)):
        if value is not None and minor_of(value, currency, least) is None:
            error = amount_error(currency)
            raise ValidationFailed(FieldError(member, error.code, error.message))
    if new.amount is None:
        return None, 0 if new.keep is None else minor_of(new.keep, currency, 0)
    amount_minor = minor_of(new.amount, currency) or 0
    gate.ensure_amount(method, amount_minor)
    return amount_minor, None


def _field_errors(new: NewSchedule, env: MerchantEnv, settings: Settings) -> Iterator[FieldError]:
    if new.amount is not None and new.keep is not None:
        yield FieldError("keep", "invalid_value", messages.AMOUNT_OR_KEEP)
    if (new.frequency == "once") != (new.scheduled_for is not None):
        yield FieldError("scheduled_for", "invalid_value", messages.ONLY_ONCE)
    most = DAYS.get(new.frequency)
    if most is None and new.day is not None:
        yield FieldError("day", "invalid_value", messages.NO_DAY)
    if most is not None and not 1 <= (new.day or 0) <= most:
        yield FieldError("day", "out_of_range", messages.whole_number(1, most))
    yield from destination_errors(new.webhook_url, env, settings)
    yield from reference_errors(external_id=None, metadata=None, description=new.description)
