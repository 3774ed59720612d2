"""Reviews of withdrawals and refunds: the decision and its entry in the history are one transaction."""

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any, Protocol
from uuid import UUID

from msgspec import Struct

from tollhouse.accounts.approvals import record
from tollhouse.accounts.approvals.model import (
    Action,
    OperatorAction,
    OperatorContext,
    OperatorRefusedError,
    Reviewer,
    SubjectNotFoundError,
)
from tollhouse.http.services import Services, Work
from tollhouse.kernel.actor import OPERATOR
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import ApiError, NotFound
from tollhouse.kernel.text import Text, as_text
from tollhouse.payments.refunds import review as refund_review
from tollhouse.platform.database.pool import Tx
from tollhouse.transfers.gate.gate import ApprovalPolicy
from tollhouse.transfers.withdrawals import changes


class LockedSubject(Protocol):
    """A withdrawal or refund, locked until the transaction ends."""

    @property
    def env(self) -> MerchantEnv:
        """Its merchant and environment."""
        ...

    @property
    def version(self) -> int:
        """Incremented by every change."""
        ...

    @property
    def status(self) -> str:
        """Its status."""
        ...


class Kind(Struct, frozen=True):
    """A kind of subject and the functions that lock, approve and reject it.

    `approval_given` is the action of the first of two operators; `is_approved` says of the result of an approval whether it
    was the last one; then the merchant is notified of a withdrawal.
    """

    name: str
    title: Text
    approval_given: Action
    approved: Action
    rejected: Action
    lock: Callable[[Tx, UUID], Awaitable[LockedSubject]]
    approve: Callable[[Tx, Any, Reviewer, str | None, datetime, ApprovalPolicy], Awaitable[object]]
    reject: Callable[[Work, Any, str], Awaitable[object]]
    is_approved: Callable[[Any], bool]
    notify_approved: Callable[[Work, Any], Awaitable[None]] | None = None


WITHDRAWALS = Kind(
    "withdrawal",
    Text("Withdrawal"),
    "withdrawal_approval_given",
    "withdrawal_approved",
    "withdrawal_rejected",
    changes.lock,
    changes.approve,
    changes.reject,
    changes.is_approved,
    changes.notify_approved,
)
REFUNDS = Kind(
    "refund",
    Text("Refund"),
    "refund_approval_given",
    "refund_approved",
    "refund_rejected",
    refund_review.lock,
    refund_review.approve,
    refund_review.reject,
    refund_review.is_approved,
)


def policy_of(services: Services) -> ApprovalPolicy:
    """How this installation approves what leaves."""
    return ApprovalPolicy(services.catalogue, single_operator=not services.settings.two_operators)


async def approve(services: Services, kind: Kind, subject_id: UUID, context: OperatorContext) -> OperatorAction:
    """Approve a subject, alone or as the first of two operators."""
    return await services.transact(lambda work: approve_in(work, kind, subject_id, context), context.at, OPERATOR)


async def reject(services: Services, kind: Kind, subject_id: UUID, context: OperatorContext) -> OperatorAction:
    """Reject a subject; its merchant gets the money back."""
    return await services.transact(lambda work: reject_in(work, kind, subject_id, context), context.at, OPERATOR)


async def approve_in(
    work: Work, kind: Kind, subject_id: UUID, context: OperatorContext, seen: int | None = None
) -> OperatorAction:
    """Approve a subject in a transaction. `seen` is the version that the operator saw."""
    current = await _lock(work, kind, subject_id, seen)
    policy = policy_of(work.services)
    try:
        done = await kind.approve(work.tx, current, context.reviewer, context.reason, context.at, policy)
    except ApiError:
        raise _refused(kind, subject_id, current) from None
    action = kind.approval_given
    if kind.is_approved(done):
        action = kind.approved
        if kind.notify_approved is not None:
            await kind.notify_approved(work, done)
    return await record.record_action(work, context, action, current.env, subject_id=subject_id)


async def reject_in(
    work: Work, kind: Kind, subject_id: UUID, context: OperatorContext, seen: int | None = None
) -> OperatorAction:
    """Reject a subject in a transaction. `seen` is the version that the operator saw."""
    if context.reason is None:
        raise OperatorRefusedError("Enter a reason for the rejection.")
    current = await _lock(work, kind, subject_id, seen)
    try:
        await kind.reject(work, current, context.reason)
    except ApiError:
        raise _refused(kind, subject_id, current) from None
    return await record.record_action(work, context, kind.rejected, current.env, subject_id=subject_id)


async def _lock(work: Work, kind: Kind, subject_id: UUID, seen: int | None) -> LockedSubject:
    try:
        current = await kind.lock(work.tx, subject_id)
    except NotFound:
        raise SubjectNotFoundError(
            Text("There is no %(name)s %(subject_id)s.", name=as_text(kind.name), subject_id=subject_id)
        ) from None
    if seen is not None and current.version != seen:
        raise OperatorRefusedError(
            Text(
                "%(title)s %(subject_id)s was changed in the meantime. Check it again.",
                title=kind.title,
                subject_id=subject_id,
            )
        )
    return current


def _refused(kind: Kind, subject_id: UUID, current: LockedSubject) -> OperatorRefusedError:
    return OperatorRefusedError(
        Text(
            "%(title)s %(subject_id)s is %(status)s.",
            title=kind.title,
            subject_id=subject_id,
            status=as_text(current.status),
        )
    )
