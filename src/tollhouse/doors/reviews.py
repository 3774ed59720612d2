"""Operators review withdrawals and refunds: one slice decides, another keeps who did it, both in one transaction."""

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any, Protocol
from uuid import UUID

from msgspec import Struct

from tollhouse.approvals.model import Reviewer
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.refusals import NotFound, Refusal
from tollhouse.operator import actions
from tollhouse.operator.model import Action, Deed, Hand, NothingThereError, OperatorRefusedError
from tollhouse.payments import refund_review
from tollhouse.platform.db import Tx
from tollhouse.web.house import House
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
    reject: Callable[[Tx, Any, str, House, datetime], Awaitable[object]]


WITHDRAWALS = Kind(
    "withdrawal", "Withdrawal", "withdrawal_approved", "withdrawal_rejected", review.held, review.approve, review.reject
)
REFUNDS = Kind(
    "refund", "Refund", "refund_approved", "refund_rejected", refund_review.lock, refund_review.approve, refund_review.reject
)


async def approve(house: House, kind: Kind, subject_id: UUID, hand: Hand, seen: int | None = None) -> Deed:
    """Let the money leave, or be the first of two. `seen`: the version that was looked at, and none that came after it."""

    async def decide(tx: Tx, present: Locked) -> object:
        return await kind.approve(tx, present, hand.reviewer, hand.reason, hand.at)

    return await _decide(house, kind, subject_id, kind.approved, decide, hand, seen)


async def reject(house: House, kind: Kind, subject_id: UUID, hand: Hand, seen: int | None = None) -> Deed:
    """Give the money back to its merchant, who sees why. `seen` as in `approve`."""
    if hand.reason is None:
        raise OperatorRefusedError("A rejection needs a reason.")
    reason = hand.reason

    async def decide(tx: Tx, present: Locked) -> object:
        return await kind.reject(tx, present, reason, house, hand.at)

    return await _decide(house, kind, subject_id, kind.rejected, decide, hand, seen)


async def _decide(
    house: House,
    kind: Kind,
    subject_id: UUID,
    action: Action,
    decide: Callable[[Tx, Locked], Awaitable[object]],
    hand: Hand,
    seen: int | None,
) -> Deed:
    async def deed(tx: Tx) -> Deed:
        try:
            present = await kind.lock(tx, subject_id)
        except NotFound:
            raise NothingThereError(f"There is no {kind.name} {subject_id}.") from None
        if seen is not None and present.version != seen:
            raise OperatorRefusedError(f"{kind.title} {subject_id} was changed meanwhile. Look again.")
        try:
            await decide(tx, present)
        except Refusal:
            raise OperatorRefusedError(f"{kind.title} {subject_id} is {present.status}.") from None
        return await actions.keep(tx, hand, action, present.env, subject_id=subject_id)

    return await house.db.transact(deed)
