"""What operators decide: in live mode no money leaves before as many of them as the method wants have approved it."""

from datetime import datetime
from uuid import UUID

from tollhouse.kernel.refusals import NotFound
from tollhouse.platform.db import Tx
from tollhouse.web.house import House
from tollhouse.withdrawals import changes, review_store
from tollhouse.withdrawals.model import CANCELABLE, Withdrawal
from tollhouse.withdrawals.refusals import ApprovedBefore, NotNow


async def held(tx: Tx, withdrawal_id: UUID) -> Withdrawal:
    """The withdrawal of this id, whoever's it is, which nobody else changes meanwhile. Raises `NotFound`."""
    env = await review_store.env_of(tx, withdrawal_id)
    if env is None:
        raise NotFound
    return await changes.hold_still(tx, env, withdrawal_id)


async def approve(tx: Tx, present: Withdrawal, operator: str, note: str | None, now: datetime) -> Withdrawal:
    """One operator's approval of a withdrawal that is held still. Raises `NotNow` and `ApprovedBefore`."""
    if present.status != "pending_review":
        raise NotNow(present.status)
    if operator in present.approvals:
        raise ApprovedBefore
    # Nothing below this line may refuse.
    approvals = (*present.approvals, operator)
    if len(approvals) < present.approvals_needed:
        return await changes.change(tx, present, now, approvals=approvals, review_note=note or present.review_note)
    return await changes.change(
        tx,
        present,
        now,
        status="approved",
        approvals=approvals,
        reviewed_at=now,
        review_note=note or present.review_note,
        next_look_at=now,
    )


async def reject(tx: Tx, present: Withdrawal, reason: str, house: House, now: datetime) -> Withdrawal:
    """Refuse one that is held still and was not sent yet; its merchant sees why. Raises `NotNow`."""
    if present.status not in CANCELABLE:
        raise NotNow(present.status)
    # Nothing below this line may refuse.
    return await changes.give_back(
        tx, present, house, now, status="failed", failure_code="review_rejected", reviewed_at=now, review_note=reason
    )
