"""Operators review withdrawals and refunds: one slice decides, another keeps who did it, both in one transaction."""

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any, Protocol
from uuid import UUID

from msgspec import Struct

from tollhouse.approvals.model import OperatorContext, Reviewer
from tollhouse.console import actions
from tollhouse.console.model import Action, NothingThereError, OperatorAction, OperatorRefusedError
from tollhouse.http.services import Services
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import ApiError, NotFound
from tollhouse.platform.db import Tx
from tollhouse.refunds import review as refund_review
from tollhouse.withdrawals import review


class Locked(Protocol):
    """What is reviewed, which nobody else changes until this transaction ends."""

    @property
    def env(self) -> MerchantEnv:
        """Whose it is."""
        ...

    @property
    def version(self) -> int:
        """Rises with every change."""
        ...

    @property
    def status(self) -> str:
        """Its state."""
        ...


class Kind(Struct, frozen=True):
    """What is reviewed, and who in the house locks, approves and rejects it."""

    name: str
    title: str
    approved: Action
    rejected: Action
    lock: Callable[[Tx, UUID], Awaitable[Locked]]
    approve: Callable[[Tx, Any, Reviewer, str | None, datetime], Awaitable[object]]
    reject: Callable[[Tx, Any, str, Services, datetime], Awaitable[object]]


WITHDRAWALS = Kind(
    "withdrawal", "Withdrawal", "withdrawal_approved", "withdrawal_rejected", review.held, review.approve, review.reject
)
REFUNDS = Kind(
    "refund", "Refund", "refund_approved", "refund_rejected", refund_review.lock, refund_review.approve, refund_review.reject
)


async def approve(
    services: Services, kind: Kind, subject_id: UUID, context: OperatorContext, seen: int | None = None
) -> OperatorAction:
    """Let the money leave, or be the first of two. `seen`: the version that was looked at, and none that came after it."""

    async def decide(tx: Tx, current: Locked) -> object:
        return await kind.approve(tx, current, context.reviewer, context.reason, context.at)

    return await _decide(services, kind, subject_id, kind.approved, decide, context, seen)


async def reject(
    services: Services, kind: Kind, subject_id: UUID, context: OperatorContext, seen: int | None = None
) -> OperatorAction:
    """Give the money back to its merchant, who sees why. `seen` as in `approve`."""
    if context.reason is None:
        raise OperatorRefusedError("A rejection needs a reason.")
    reason = context.reason

    async def decide(tx: Tx, current: Locked) -> object:
        return await kind.reject(tx, current, reason, services, context.at)

    return await _decide(services, kind, subject_id, kind.rejected, decide, context, seen)


async def _decide(
    services: Services,
    kind: Kind,
    subject_id: UUID,
    action: Action,
    decide: Callable[[Tx, Locked], Awaitable[object]],
    context: OperatorContext,
    seen: int | None,
) -> OperatorAction:
    async def review(tx: Tx) -> OperatorAction:
        try:
            current = await kind.lock(tx, subject_id)
        except NotFound:
            raise NothingThereError(f"There is no {kind.name} {subject_id}.") from None
        if seen is not None and current.version != seen:
            raise OperatorRefusedError(f"{kind.title} {subject_id} was changed meanwhile. Look again.")
        try:
            await decide(tx, current)
        except ApiError:
            raise OperatorRefusedError(f"{kind.title} {subject_id} is {current.status}.") from None
        return await actions.keep(tx, context, action, current.env, subject_id=subject_id)

    return await services.db.transact(review)
