"""The effect of operators' reviews on withdrawals."""

from datetime import datetime
from uuid import UUID

import msgspec

from tollhouse.accounts.approvals.model import Reviewer
from tollhouse.http.services import Work
from tollhouse.platform.database.pool import Tx
from tollhouse.transfers.gate import gate
from tollhouse.transfers.gate.gate import TWO_OPERATORS, ApprovalPolicy
from tollhouse.transfers.gate.model import OutgoingTransfer
from tollhouse.transfers.orders.errors import InvalidState
from tollhouse.transfers.withdrawals import changes, review_store, store
from tollhouse.transfers.withdrawals.model import CANCELABLE, Withdrawal


async def lock(tx: Tx, withdrawal_id: UUID) -> Withdrawal:
    """Lock a withdrawal of any merchant and return it. Raises `NotFound`."""
    return await store.lock(tx, await review_store.get_env(tx, withdrawal_id), withdrawal_id)


async def approve(
    tx: Tx,
    current: Withdrawal,
    reviewer: Reviewer,
    note: str | None,
    now: datetime,
    policy: ApprovalPolicy = TWO_OPERATORS,
) -> Withdrawal:
    """Record one operator's approval of a locked withdrawal. Raises `InvalidState` and the errors of `gate.approve`."""
    if current.status != "pending_review":
        raise InvalidState(current.status)
    transfer = await gate.approve(tx, current.id, reviewer, note, now, policy)
    # Nothing below this line may refuse.
    reviewed = _with_review(current, transfer)
    if transfer.review != "approved":
        return await store.update(tx, reviewed, now)
    return await store.update(tx, reviewed, now, status="approved", next_look_at=now)


def is_approved(reviewed: Withdrawal) -> bool:
    """Whether no other approval is needed."""
    return reviewed.status == "approved"


async def reject(work: Work, current: Withdrawal, reason: str) -> Withdrawal:
    """Reject a locked withdrawal that was not sent yet. The merchant sees the reason. Raises `InvalidState`."""
    if current.status not in CANCELABLE:
        raise InvalidState(current.status)
    # Nothing below this line may refuse.
    reviewed = _with_review(current, await gate.reject(work.tx, current.id, reason, work.now))
    return await changes.end_unsent(work, reviewed, status="failed", failure_code="review_rejected")


def _with_review(current: Withdrawal, transfer: OutgoingTransfer) -> Withdrawal:
    return msgspec.structs.replace(
        current,
        approvals_needed=transfer.approvals.needed,
        approvals=transfer.approvals.given,
        reviewed_at=transfer.reviewed_at,
        review_note=transfer.review_note,
    )
