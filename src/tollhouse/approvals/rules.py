"""The rules of every approval. Pages and commands call the same ones.

Nobody approves anything of a merchant account that the same person can enter. Where two approvals are needed, two people
give them, at most one of them on the command line. After a password of the merchant's users was reset, two are needed.
"""

from datetime import datetime, timedelta

from tollhouse.approvals import store
from tollhouse.approvals.model import Approvals, ApprovedBefore, OperatorRefusedError, Reviewer
from tollhouse.identity.people import email_key
from tollhouse.kernel.clock import stamp
from tollhouse.kernel.ids import MerchantId
from tollhouse.platform.db import Pool, Tx

RESET_COUNTS = timedelta(hours=72)
"""How long after a password was reset two operators are needed."""
TWO = 2


async def ensure_independent(tx: Tx, merchant_id: MerchantId, reviewer: Reviewer) -> None:
    """Raises `OperatorRefusedError` where the reviewer is a user of the merchant."""
    if await store.can_enter(tx, merchant_id, email_key(reviewer.name)):
        raise OperatorRefusedError(f"{reviewer.name} is a user of merchant {merchant_id}. Another operator must decide.")


async def ensure_active(tx: Tx, merchant_id: MerchantId) -> None:
    """Keep the merchant from being suspended meanwhile. Raises `OperatorRefusedError` where it is."""
    if not await store.lock_active(tx, merchant_id):
        raise OperatorRefusedError(f"Merchant {merchant_id} is suspended. Nothing of it is approved or paid out.")


async def reset_counts_until(tx: Tx, merchant_id: MerchantId, now: datetime) -> datetime | None:
    """Until when a reset of a password asks for two operators; None where none does."""
    reset_at = await store.last_reset(tx, merchant_id)
    return None if reset_at is None or now >= reset_at + RESET_COUNTS else reset_at + RESET_COUNTS


async def approvals_needed(tx: Tx, merchant_id: MerchantId, usually: int, now: datetime) -> int:
    """How many operators must approve: as many as usual, and two after a reset."""
    return usually if await reset_counts_until(tx, merchant_id, now) is None else max(usually, TWO)


async def ensure_no_reset(tx: Tx, merchant_id: MerchantId, now: datetime) -> None:
    """For what one operator does alone. Raises `OperatorRefusedError` where two are needed."""
    until = await reset_counts_until(tx, merchant_id, now)
    if until is not None:
        raise OperatorRefusedError(
            f"A password of merchant {merchant_id} was reset in the last 72 hours. This can be done from {stamp(until)} on."
        )


def approve(so_far: Approvals, reviewer: Reviewer) -> Approvals:
    """The approvals with this one. Raises `ApprovedBefore`, and `OperatorRefusedError` for a second one by command."""
    if reviewer.is_among(so_far.given):
        raise ApprovedBefore
    by_command = so_far.by_command + reviewer.on_command_line
    if so_far.needed >= TWO and by_command > 1:
        raise OperatorRefusedError(
            "One of the two approvals was given on the command line. The other one is given on the operators' pages."
        )
    return Approvals((*so_far.given, reviewer.name), by_command, so_far.needed)


async def ensure_operator(db: Pool, email: str) -> str:
    """The e-mail of the operator who is meant, as it is kept. Raises `OperatorRefusedError` where there is none."""
    found = await store.operator(db, email_key(email))
    if found is None:
        raise OperatorRefusedError(f"{email} is not an operator.")
    return found
