"""What an operator's review of the transfer does to the refund."""

from datetime import datetime
from uuid import UUID

import msgspec
from msgspec import Struct

from tollhouse.accounts.approvals.model import Reviewer
from tollhouse.accounts.audit import record
from tollhouse.accounts.audit.model import new_values
from tollhouse.accounts.identity.model import Person
from tollhouse.http.services import Work
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import NotFound
from tollhouse.payments.refunds import actions, store
from tollhouse.payments.transactions import store as transaction_store
from tollhouse.payments.transactions.model import Refund, Transaction
from tollhouse.platform.database.pool import Tx
from tollhouse.transfers.gate import gate
from tollhouse.transfers.gate.gate import TWO_OPERATORS, ApprovalPolicy
from tollhouse.transfers.gate.model import OutgoingTransfer
from tollhouse.transfers.orders.errors import InvalidState

REJECTED = "review_rejected"


class LockedRefund(Struct, frozen=True):
    """A refund with its locked payment."""

    payment: Transaction
    refund: Refund

    @property
    def env(self) -> MerchantEnv:
        """The merchant environment."""
        return self.payment.env

    @property
    def version(self) -> int:
        """Rises with every change and every approval."""
        return self.refund.version

    @property
    def status(self) -> str:
        """The refund's status; the review's while it is pending."""
        refund = self.refund
        return refund.review if refund.status == "pending" else refund.status


async def lock(tx: Tx, refund_id: UUID) -> LockedRefund:
    """Lock a refund of any merchant. Raises `NotFound`."""
    found = await store.find_by_id(tx, refund_id)
    if found is None:
        raise NotFound
    payment = await transaction_store.lock(tx, *found)
    return LockedRefund(payment, next(refund for refund in payment.refunds if refund.id == refund_id))


async def lock_in(tx: Tx, env: MerchantEnv, refund_id: UUID) -> LockedRefund:
    """Lock a refund of this merchant environment. Raises `NotFound`."""
    found = await store.find_by_id(tx, refund_id)
    if found is None or found[0] != env:
        raise NotFound
    return await lock(tx, refund_id)


async def approve(
    tx: Tx,
    current: LockedRefund,
    reviewer: Reviewer,
    note: str | None,
    now: datetime,
    policy: ApprovalPolicy = TWO_OPERATORS,
) -> tuple[Refund, OutgoingTransfer]:
    """Record an operator's approval. The last one makes the worker submit the refund.

    Raises `InvalidState` and what `gate.approve` raises.
    """
    refund = current.refund
    if refund.status != "pending" or refund.review != "required":
        raise InvalidState(refund.status)
    transfer = await gate.approve(tx, refund.id, reviewer, note, now, policy)
    # Nothing below this line may refuse.
    look_at = now if transfer.review == "approved" else None
    await store.record_approval(tx, current.env, refund.id, look_at, now)
    changed = msgspec.structs.replace(refund, review=transfer.review, version=refund.version + 1, updated_at=now)
    return changed, transfer


async def approve_as_member(work: Work, person: Person, refund_id: UUID) -> tuple[MerchantEnv, Refund]:
    """Approve a refund as the second member. Raises `NotFound`, `InvalidState` and `NotSecondMember`."""
    current = await lock(work.tx, refund_id)
    refund = current.refund
    if current.env.merchant_id != person.merchant_id:
        raise NotFound
    if refund.status != "pending":
        raise InvalidState(refund.status)
    await gate.second(work.tx, person, refund_id, work.now)
    # Nothing below this line may refuse.
    look_at = None if refund.review == "required" else work.now
    await store.record_approval(work.tx, current.env, refund.id, look_at, work.now)
    about = new_values(amount=work.services.catalogue.priced(refund.amount_minor, refund.currency))
    await record.event(work, current.env, "refund.seconded", subject=current.payment.id, changed=about)
    approved = msgspec.structs.replace(refund, version=refund.version + 1, updated_at=work.now, waits_for_member=False)
    return current.env, approved


def is_approved(reviewed: tuple[Refund, OutgoingTransfer]) -> bool:
    """Whether no other approval is needed."""
    return reviewed[0].review == "approved"


async def approve_as_simulator(tx: Tx, current: LockedRefund, now: datetime) -> None:
    """Approve in test mode, without operators. Raises `InvalidState`."""
    refund = current.refund
    if refund.status != "pending" or refund.review != "required":
        raise InvalidState(current.status)
    await gate.approve_as_simulator(tx, refund.id, now)
    await store.record_approval(tx, current.env, refund.id, now, now)


async def reject(work: Work, current: LockedRefund, reason: str) -> Refund:
    """Reject an unreleased refund and release its hold. Raises `InvalidState` and `NotReleased`."""
    refund = current.refund
    if refund.status != "pending":
        raise InvalidState(refund.status)
    await gate.reject(work.tx, refund.id, reason, work.now)
    # Nothing below this line may refuse.
    payment = await actions.stop(work, current.payment, [refund], REJECTED)
    return next(current for current in payment.refunds if current.id == refund.id)
