"""Schedules of withdrawals in the Integration API."""

from uuid import UUID

from msgspec import Struct

from tollhouse.accounts.identity.guards import scope, spending
from tollhouse.accounts.identity.model import Caller
from tollhouse.accounts.spending.model import ConnectionLimitExceeded
from tollhouse.http.lists import ListPageRequest
from tollhouse.http.operations import INTEGRATION, Operations
from tollhouse.http.services import Work
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.errors import NotFound, ValidationFailed
from tollhouse.platform.database.pool import Pool
from tollhouse.transfers.gate.model import WithdrawalMethodUnavailable
from tollhouse.transfers.orders.errors import AmountAboveMaximum, AmountBelowMinimum, InvalidState
from tollhouse.transfers.withdrawals import schedules, schedules_store
from tollhouse.transfers.withdrawals.model import TooManySchedules
from tollhouse.transfers.withdrawals.schedules import NewSchedule
from tollhouse.transfers.withdrawals.views import ScheduleRunView, WithdrawalScheduleDetails, WithdrawalScheduleView

OPERATIONS = Operations(INTEGRATION)
RUNS_SHOWN = 100


class WithdrawalScheduleList(Struct, frozen=True):
    """A page of schedules."""

    withdrawal_schedules: list[WithdrawalScheduleView]
    has_more: bool
    next_cursor: str | None


@OPERATIONS.add("GET", "/withdrawal-schedules", guard=scope("withdrawals:read"))
async def list_schedules(caller: Caller, page: ListPageRequest, db: Pool, catalogue: Catalogue) -> WithdrawalScheduleList:
    """List withdrawal schedules. Newest first."""
    found, more, cursor = page.cut(await schedules_store.list_schedules(db, caller.env, page.window))
    return WithdrawalScheduleList([WithdrawalScheduleView.of(schedule, catalogue) for schedule in found], more, cursor)


@OPERATIONS.add(
    "POST",
    "/withdrawal-schedules",
    guard=spending("withdrawals:write"),
    status=201,
    idempotency="required",
    errors=(
        NotFound,
        ValidationFailed,
        WithdrawalMethodUnavailable,
        AmountBelowMinimum,
        AmountAboveMaximum,
        ConnectionLimitExceeded,
        TooManySchedules,
    ),
)
async def create_schedule(caller: Caller, body: NewSchedule, work: Work) -> WithdrawalScheduleView:
    """Create a withdrawal schedule. It withdraws to a saved recipient at a time, or every day, week or month."""
    return WithdrawalScheduleView.of(await schedules.create(work, caller.env, body), work.services.catalogue)


@OPERATIONS.add("GET", "/withdrawal-schedules/{schedule_id}", guard=scope("withdrawals:read"), errors=(NotFound,))
async def read_schedule(caller: Caller, schedule_id: UUID, db: Pool, catalogue: Catalogue) -> WithdrawalScheduleDetails:
    """Retrieve a withdrawal schedule. With its latest 100 runs."""
    schedule = await schedules_store.get(db, caller.env, schedule_id)
    runs = await schedules_store.list_runs(db, caller.env, schedule.id, RUNS_SHOWN)
    return WithdrawalScheduleDetails.of(
        schedule, catalogue, latest_runs=[ScheduleRunView.of(run, catalogue) for run in runs]
    )


@OPERATIONS.add(
    "POST",
    "/withdrawal-schedules/{schedule_id}/pause",
    guard=scope("withdrawals:write"),
    idempotency="honoured",
    errors=(NotFound, InvalidState),
)
async def pause_schedule(caller: Caller, schedule_id: UUID, work: Work) -> WithdrawalScheduleView:
    """Pause a withdrawal schedule. Its times pass without withdrawals."""
    return WithdrawalScheduleView.of(await schedules.pause(work, caller.env, schedule_id), work.services.catalogue)


@OPERATIONS.add(
    "POST",
    "/withdrawal-schedules/{schedule_id}/resume",
    guard=spending("withdrawals:write"),
    idempotency="honoured",
    errors=(NotFound, InvalidState, ConnectionLimitExceeded),
)
async def resume_schedule(caller: Caller, schedule_id: UUID, work: Work) -> WithdrawalScheduleView:
    """Resume a withdrawal schedule. It runs at its next time."""
    return WithdrawalScheduleView.of(await schedules.resume(work, caller.env, schedule_id), work.services.catalogue)


@OPERATIONS.add(
    "DELETE", "/withdrawal-schedules/{schedule_id}", guard=scope("withdrawals:write"), errors=(NotFound, InvalidState)
)
async def end_schedule(caller: Caller, schedule_id: UUID, work: Work) -> WithdrawalScheduleView:
    """End a withdrawal schedule. Its withdrawals are kept."""
    return WithdrawalScheduleView.of(await schedules.end(work, caller.env, schedule_id), work.services.catalogue)
