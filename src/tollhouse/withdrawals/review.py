"""What operators' decisions about its transfer make of a withdrawal."""

from datetime import datetime
from uuid import UUID

import msgspec

from tollhouse.approvals.model import Reviewer
from tollhouse.http.services import Services
from tollhouse.kernel.errors import NotFound
from tollhouse.orders.errors import InvalidState
from tollhouse.outgoing import gate
from tollhouse.outgoing.model import OutgoingTransfer
from tollhouse.platform.db import Tx
from tollhouse.withdrawals import changes, review_store
from tollhouse.withdrawals.model import CANCELABLE, Withdrawal


async def held(tx: Tx, withdrawal_id: UUID) -> Withdrawal:
    """The withdrawal of this id, whoever's it is, which nobody else changes meanwhile. Raises `NotFound`."""
    env = await review_store.env_of(tx, withdrawal_id)
    if env is None:
        raise NotFound
    return await changes.lock(tx, env, withdrawal_id)


async def approve(tx: Tx, current: Withdrawal, reviewer: Reviewer, note: str | None, now: datetime) -> Withdrawal:
    """One operator's approval of a withdrawal that is locked. Raises `InvalidState` and what `gate.approve` does."""
    if current.status != "pending_review":
        raise InvalidState(current.status)
    transfer = await gate.approve(tx, current.id, reviewer, note, now)
    # Nothing below this line may refuse.
    seen = _with(current, transfer)
    if transfer.review != "approved":
        return await changes.change(tx, seen, now)
    return await changes.change(tx, seen, now, status="approved", next_look_at=now)


async def reject(tx: Tx, current: Withdrawal, reason: str, services: Services, now: datetime) -> Withdrawal:
    """Refuse one that is locked and was not sent yet; its merchant sees why. Raises `InvalidState`."""
    if current.status not in CANCELABLE:
        raise InvalidState(current.status)
    # Nothing below this line may refuse.
    seen = _with(current, await gate.reject(tx, current.id, reason, now))
    return await changes.give_back(tx, seen, services, now, status="failed", failure_code="review_rejected")


def _with(current: Withdrawal, transfer: OutgoingTransfer) -> Withdrawal:
    return msgspec.structs.replace(
        current,
        approvals_needed=transfer.approvals.needed,
        approvals=transfer.approvals.given,
        reviewed_at=transfer.reviewed_at,
        review_note=transfer.review_note,
    )
