"""Schedules of withdrawals and their runs in the Integration API."""

from typing import Annotated, Literal

from tollhouse.http.record_views import After, RecordView, view_of
from tollhouse.transfers.withdrawals.schedules_model import ScheduleRun, WithdrawalSchedule


@view_of(WithdrawalSchedule)
class WithdrawalScheduleView(RecordView, frozen=True, kw_only=True):
    """A schedule. It has an `amount`, or withdraws everything above `keep`."""

    object: Annotated[Literal["withdrawal_schedule"], After("id")] = "withdrawal_schedule"


@view_of(ScheduleRun)
class ScheduleRunView(RecordView, frozen=True, kw_only=True):
    """A run of a schedule: the withdrawal that it created, or why it created none."""

    object: Annotated[Literal["withdrawal_schedule_run"], After("at")] = "withdrawal_schedule_run"


@view_of(WithdrawalSchedule)
class WithdrawalScheduleDetails(RecordView, frozen=True, kw_only=True):
    """GET /withdrawal-schedules/{id}. `latest_runs`: newest first, at most 100."""

    object: Annotated[Literal["withdrawal_schedule"], After("id")] = "withdrawal_schedule"
    latest_runs: Annotated[list[ScheduleRunView], After("next_run_at")]
