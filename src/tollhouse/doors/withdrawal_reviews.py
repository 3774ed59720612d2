"""Operators review withdrawals: one slice decides, another keeps who did it, when and why, both in one transaction."""

from collections.abc import Awaitable, Callable
from typing import Literal
from uuid import UUID

from tollhouse.kernel.refusals import NotFound
from tollhouse.operator import actions
from tollhouse.operator.model import Deed, Hand, NothingThereError, OperatorRefusedError
from tollhouse.platform.db import Tx
from tollhouse.web.house import House
from tollhouse.withdrawals import review
from tollhouse.withdrawals.model import Withdrawal
from tollhouse.withdrawals.refusals import ApprovedBefore, NotNow

Decide = Callable[[Tx, Withdrawal], Awaitable[Withdrawal]]


async def approve(house: House, withdrawal_id: UUID, hand: Hand, seen: int | None = None) -> Deed:
    """Let the money leave, or be the first of two. `seen`: the version that was looked at, and none that came after it."""

    async def decide(tx: Tx, present: Withdrawal) -> Withdrawal:
        return await review.approve(tx, present, hand.operator, hand.reason, hand.at)

    return await _decide(house, withdrawal_id, "withdrawal_approved", decide, hand, seen)


async def reject(house: House, withdrawal_id: UUID, hand: Hand, seen: int | None = None) -> Deed:
    """Give the money back to its merchant, who sees why. `seen` as in `approve`."""
    if hand.reason is None:
        raise OperatorRefusedError("A rejection needs a reason.")
    reason = hand.reason

    async def decide(tx: Tx, present: Withdrawal) -> Withdrawal:
        return await review.reject(tx, present, reason, house, hand.at)

    return await _decide(house, withdrawal_id, "withdrawal_rejected", decide, hand, seen)


async def _decide(
    house: House,
    withdrawal_id: UUID,
    action: Literal["withdrawal_approved", "withdrawal_rejected"],
    decide: Decide,
    hand: Hand,
    seen: int | None,
) -> Deed:
    async def deed(tx: Tx) -> Deed:
        try:
            present = await review.held(tx, withdrawal_id)
        except NotFound:
            raise NothingThereError(f"There is no withdrawal {withdrawal_id}.") from None
        if seen is not None and present.version != seen:
            raise OperatorRefusedError(f"Withdrawal {withdrawal_id} was changed meanwhile. Look again.")
        try:
            await decide(tx, present)
        except NotNow:
            raise OperatorRefusedError(f"Withdrawal {withdrawal_id} is {present.status}.") from None
        except ApprovedBefore as refused:
            raise OperatorRefusedError(refused.message) from None
        return await actions.keep(tx, hand, action, present.env, subject_id=withdrawal_id)

    return await house.db.transact(deed)
