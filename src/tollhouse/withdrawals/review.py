"""What operators' decisions about its transfer make of a withdrawal."""

from datetime import datetime
from uuid import UUID

import msgspec

from tollhouse.approvals.model import Reviewer
from tollhouse.kernel.refusals import NotFound
from tollhouse.outgoing import gate
from tollhouse.outgoing.model import OutgoingTransfer
from tollhouse.platform.db import Tx
from tollhouse.web.house import House
from tollhouse.withdrawals import changes, review_store
from tollhouse.withdrawals.model import CANCELABLE, Withdrawal
from tollhouse.withdrawals.refusals import NotNow


async def held(tx: Tx, withdrawal_id: UUID) -> Withdrawal:
    """The withdrawal of this id, whoever's it is, which nobody else changes meanwhile. Raises `NotFound`."""
    env = await review_store.env_of(tx, withdrawal_id)
    if env is None:
        raise NotFound
    return await changes.hold_still(tx, env, withdrawal_id)


async def approve(tx: Tx, present: Withdrawal, reviewer: Reviewer, note: str | None, now: datetime) -> Withdrawal:
    """One operator's approval of a withdrawal that is locked. Raises `NotNow` and what `gate.approve` does."""
    if present.status != "pending_review":
        raise NotNow(present.status)
    transfer = await gate.approve(tx, present.id, reviewer, note, now)
    # Nothing below this line may refuse.
    seen = _with(present, transfer)
    if transfer.review != "approved":
        return await changes.change(tx, seen, now)
    return await changes.change(tx, seen, now, status="approved", next_look_at=now)


async def reject(tx: Tx, present: Withdrawal, reason: str, house: House, now: datetime) -> Withdrawal:
    """Refuse one that is locked and was not sent yet; its merchant sees why. Raises `NotNow`."""
    if present.status not in CANCELABLE:
        raise NotNow(present.status)
    # Nothing below this line may refuse.
    seen = _with(present, await gate.reject(tx, present.id, reason, now))
    return await changes.give_back(tx, seen, house, now, status="failed", failure_code="review_rejected")


def _with(present: Withdrawal, transfer: OutgoingTransfer) -> Withdrawal:
    return msgspec.structs.replace(
        present,
        approvals_needed=transfer.approvals.needed,
        approvals=transfer.approvals.given,
        reviewed_at=transfer.reviewed_at,
        review_note=transfer.review_note,
    )
