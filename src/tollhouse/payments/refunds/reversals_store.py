"""SQL of reversals: confirmed transfers that a rail reported as gone, in whole or in part."""

from datetime import datetime
from typing import Literal
from uuid import UUID

from msgspec import Struct

from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.rails.provider import Observation
from tollhouse.payments.transactions.model import Transaction
from tollhouse.platform.database.pool import Tx

ReversalStatus = Literal["expected", "reversed", "reinstated"]

COLUMNS = """id, transaction_id, external_ref, reversal_ref, reason, reported_minor, status, unapplied_minor,
             charged_back_minor, lost_minor, chargeback_id"""
FIND = f"""
    SELECT {COLUMNS} FROM payment_reversals
    WHERE merchant_id = $1 AND mode = $2 AND rail = $3 AND external_ref = $4 AND reversal_ref = $5
"""
LIST_EXPECTED = f"""
    SELECT {COLUMNS} FROM payment_reversals
    WHERE merchant_id = $1 AND mode = $2 AND rail = $3 AND external_ref = $4 AND status = 'expected' ORDER BY reported_at, id
"""
# What was confirmed, and what of it no reversal has taken.
FIND_TRANSFER = """
    SELECT o.transaction_id, o.currency, o.amount_minor, o.amount_minor - (
               SELECT coalesce(sum(v.amount_minor), 0) FROM payment_reversals v
               WHERE (v.merchant_id, v.mode, v.rail, v.external_ref) = (o.merchant_id, o.mode, o.rail, o.external_ref)
                 AND v.status = 'reversed'
           )::bigint AS left_minor, o.seen_at
    FROM rail_observations o
    WHERE o.rail = $1 AND o.mode = $2 AND o.external_ref = $3 AND o.outcome = 'confirmed'
"""
INSERT = """
    INSERT INTO payment_reversals (id, rail, mode, external_ref, reversal_ref, merchant_id, transaction_id, currency, reason,
                                   reported_minor, status, reported_at, updated_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $12)
"""
# A compare-and-set on the status.
APPLY = """
    UPDATE payment_reversals
    SET status = 'reversed', transaction_id = $2, amount_minor = $3::bigint + $4::bigint + $5::bigint,
        unapplied_minor = $3, charged_back_minor = $4, lost_minor = $5, chargeback_id = $6, updated_at = $7
    WHERE merchant_id = $8 AND mode = $9 AND id = $1 AND status = 'expected'
"""
REINSTATE = """
    UPDATE payment_reversals SET status = 'reinstated', updated_at = $5
    WHERE merchant_id = $1 AND mode = $2 AND id = $3 AND status = $4
"""
SET_RESPOND_BY = (
    "UPDATE chargebacks SET respond_by = $2 WHERE id = $1 AND status = 'open' AND respond_by IS DISTINCT FROM $2"
)


class Reversal(Struct, frozen=True, kw_only=True):
    """A reversal of a transfer. `expected`: the transfer is not confirmed yet. `reported_minor` is 0 for all of it.

    Taken from unapplied money (`unapplied_minor`), and from the merchant by a chargeback (`charged_back_minor`). Before
    refunded payments were charged back, the platform bore what had been refunded (`lost_minor`).
    """

    id: UUID
    transaction_id: UUID
    external_ref: str
    reversal_ref: str
    reason: str
    reported_minor: int
    status: ReversalStatus
    unapplied_minor: int = 0
    charged_back_minor: int = 0
    lost_minor: int = 0
    chargeback_id: UUID | None = None


class ConfirmedTransfer(Struct, frozen=True):
    """A confirmed transfer, how much of it is not reversed, and when it counted as seen, by the clock of the merchant."""

    transaction_id: UUID
    currency: str
    amount_minor: int
    left_minor: int
    seen_at: datetime | None = None


async def find(tx: Tx, payment: Transaction, external_ref: str, reversal_ref: str) -> Reversal | None:
    """The reversal with these ids of the payment's rail."""
    row = await tx.fetchrow(FIND, payment.env.merchant_id, payment.env.mode, payment.rail, external_ref, reversal_ref)
    return None if row is None else Reversal(**dict(row))


async def list_expected(tx: Tx, payment: Transaction, external_ref: str) -> list[Reversal]:
    """Reversals of a transfer that were reported before it was confirmed, oldest first."""
    rows = await tx.fetch(LIST_EXPECTED, payment.env.merchant_id, payment.env.mode, payment.rail, external_ref)
    return [Reversal(**dict(row)) for row in rows]


async def find_transfer(tx: Tx, payment: Transaction, external_ref: str) -> ConfirmedTransfer | None:
    """The confirmed transfer with this id of the payment's rail."""
    row = await tx.fetchrow(FIND_TRANSFER, payment.rail, payment.env.mode, external_ref)
    return None if row is None else ConfirmedTransfer(*row.values())


async def insert(tx: Tx, payment: Transaction, new: Reversal, currency: str, now: datetime) -> None:
    """Insert a reversal that has moved no money yet."""
    refs = (payment.rail, payment.env.mode, new.external_ref, new.reversal_ref)
    values = (currency, new.reason, new.reported_minor, new.status, now)
    await tx.execute(INSERT, new.id, *refs, payment.env.merchant_id, new.transaction_id, *values)


async def apply(tx: Tx, env: MerchantEnv, applied: Reversal, now: datetime) -> bool:
    """Record from whom an expected reversal took the money. False if it is not expected."""
    amounts = (applied.unapplied_minor, applied.charged_back_minor, applied.lost_minor)
    values = (applied.id, applied.transaction_id, *amounts, applied.chargeback_id, now)
    return await tx.execute(APPLY, *values, env.merchant_id, env.mode) == 1


async def reinstate(tx: Tx, env: MerchantEnv, reversal: Reversal, now: datetime) -> bool:
    """End a reversal. False if its status has changed."""
    return await tx.execute(REINSTATE, env.merchant_id, env.mode, reversal.id, reversal.status, now) == 1


async def set_respond_by(tx: Tx, chargeback_id: UUID, respond_by: datetime) -> None:
    """Set the deadline of a chargeback, if it is open."""
    await tx.execute(SET_RESPOND_BY, chargeback_id, respond_by)


def key_of(observation: Observation) -> str:
    """The id of a reversal among those of its transfer."""
    return observation.reversal_ref if observation.dispute is None else observation.dispute.id
