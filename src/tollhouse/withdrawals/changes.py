"""One withdrawal at a time from one state to the next: the row is held still, written once, and told."""

from datetime import datetime
from typing import Any, Literal
from uuid import UUID

import msgspec

from tollhouse.http.services import Services
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import NotFound
from tollhouse.ledger import holds
from tollhouse.orders.errors import InvalidState
from tollhouse.outgoing import gate
from tollhouse.platform.db import Tx
from tollhouse.withdrawals import notify, store
from tollhouse.withdrawals.model import FailureCode, Withdrawal, WithdrawalStatus


async def lock(tx: Tx, env: MerchantEnv, withdrawal_id: UUID) -> Withdrawal:
    """The withdrawal, which nobody else changes until this transaction ends. Raises `NotFound`."""
    current = await store.lock(tx, env, withdrawal_id)
    if current is None:
        raise NotFound
    return current


async def in_state(tx: Tx, env: MerchantEnv, withdrawal_id: UUID, *states: WithdrawalStatus) -> Withdrawal:
    """The same, in one of these states. Raises `NotFound` and `InvalidState`."""
    current = await lock(tx, env, withdrawal_id)
    if current.status not in states:
        raise InvalidState(current.status)
    return current


async def change(tx: Tx, current: Withdrawal, now: datetime, **members: Any) -> Withdrawal:
    """Write what becomes of a withdrawal that is held still."""
    new = msgspec.structs.replace(current, **members)
    if not await store.change(tx, current, new, now):
        raise AssertionError("a withdrawal that is held still does not change")
    return msgspec.structs.replace(new, version=current.version + 1, updated_at=now)


async def give_back(
    tx: Tx,
    current: Withdrawal,
    services: Services,
    now: datetime,
    *,
    status: Literal["failed", "canceled"],
    failure_code: FailureCode | None = None,
    **members: Any,
) -> Withdrawal:
    """End a withdrawal that was never sent: the money is available again, and the day's limit has room again."""
    ended = await change(tx, current, now, status=status, failure_code=failure_code, next_look_at=None, **members)
    await gate.close_by_id(tx, ended.id, now)
    _, posted = await holds.release(tx, ended.env, ended.hold_id, now)
    if status == "failed":
        await notify.state(tx, "withdrawal.failed", ended, services, now)
    await notify.moved(tx, ended, posted, services, now)
    return ended
