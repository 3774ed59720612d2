"""Transitions of one locked withdrawal."""

from typing import Literal
from uuid import UUID

from tollhouse.http.services import Work
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.ledger.books import holds
from tollhouse.platform.database.pool import Tx
from tollhouse.transfers.gate import gate
from tollhouse.transfers.orders.errors import InvalidState
from tollhouse.transfers.withdrawals import notify, store
from tollhouse.transfers.withdrawals.model import FailureCode, Withdrawal, WithdrawalStatus


async def lock_in_status(tx: Tx, env: MerchantEnv, withdrawal_id: UUID, *statuses: WithdrawalStatus) -> Withdrawal:
    """Lock a withdrawal that has one of these statuses, and return it. Raises `NotFound` and `InvalidState`."""
    current = await store.lock(tx, env, withdrawal_id)
    if current.status not in statuses:
        raise InvalidState(current.status)
    return current


async def end_unsent(
    work: Work,
    current: Withdrawal,
    *,
    status: Literal["failed", "canceled"],
    failure_code: FailureCode | None = None,
) -> Withdrawal:
    """End a withdrawal that was never sent: release its hold, and give its amount back to the daily limit."""
    ended = await store.update(work.tx, current, work.now, status=status, failure_code=failure_code, next_look_at=None)
    await gate.close_by_id(work.tx, ended.id, work.now)
    _, posted = await holds.release(work, ended.env, ended.hold_id)
    if status == "failed":
        await notify.status_changed(work, "withdrawal.failed", ended)
    await notify.balance_changed(work, ended, posted)
    return ended
