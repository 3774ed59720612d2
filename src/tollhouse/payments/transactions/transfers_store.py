"""SQL of transfers that a rail saw before they were final: when each was seen first, and whether it is on its way.

And of a payment's transfers as its rail reported them: who paid, from which account, and in which transaction.
"""

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from uuid import UUID

from msgspec import Struct

from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId, Mode
from tollhouse.kernel.rails.provider import Observation
from tollhouse.payments.transactions.model import IncomingTransfer, Transaction
from tollhouse.platform.database.pool import Pool, Tx

# What was seen before keeps its first moment, whatever became of it meanwhile.
SEE = """
    INSERT INTO incoming_transfers AS i (rail, mode, transfer_ref, merchant_id, transaction_id, currency, amount_minor,
                                         first_seen_at, block_at, status, updated_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 'seen', $10)
    ON CONFLICT (merchant_id, mode, rail, transfer_ref) DO UPDATE
    SET status = 'seen', amount_minor = excluded.amount_minor, block_at = excluded.block_at, updated_at = excluded.updated_at
    WHERE i.status <> 'confirmed'
"""
GET = """
    SELECT transfer_ref, amount_minor, first_seen_at, block_at FROM incoming_transfers
    WHERE merchant_id = $1 AND mode = $2 AND rail = $3 AND transfer_ref = $4
"""
END = "SELECT incoming_transfers_end($1, $2, $3, $4, $5, $6)"
# Of links that have ended: those whose every transfer has been in no block for too long.
LIST_STALLED = """
    SELECT DISTINCT t.merchant_id, t.mode, t.id FROM incoming_transfers i
    JOIN transactions t ON (t.merchant_id, t.mode, t.id) = (i.merchant_id, i.mode, i.transaction_id)
    JOIN payment_links l ON (l.merchant_id, l.mode, l.id) = (t.merchant_id, t.mode, t.payment_link_id)
    WHERE i.rail = $1 AND i.mode = $2 AND i.status = 'seen' AND i.block_at IS NULL AND i.first_seen_at <= $3
      AND t.status = 'processing' AND l.status <> 'active'
      AND NOT EXISTS (SELECT FROM incoming_transfers o
                      WHERE o.transaction_id = t.id AND o.status = 'seen'
                        AND (o.block_at IS NOT NULL OR o.first_seen_at > $3))
    LIMIT $4
"""
# The last report of each transfer: reports of the same one have the same reference up to what follows a sign.
LIST = """
    SELECT external_ref, outcome, amount_minor, payer_account, payer_name FROM rail_observations
    WHERE transaction_id = $1 AND outcome IN ('seen', 'confirmed', 'vanished')
    ORDER BY at DESC, outcome, confirmations DESC LIMIT $2
"""
TRANSFERS_READ_MAX = 500
TRANSFERS_SHOWN = 20
NETWORK_HASH = re.compile(r"(?:0x)?[0-9a-f]{64}(?=$|[:/@])")
"""How a reference begins that names the transaction of a block chain."""


async def see(tx: Tx, payment: Transaction, seen: IncomingTransfer, currency: str, now: datetime) -> None:
    """Record that a transfer is on its way. Its first moment does not change."""
    key = (payment.rail, payment.env.mode, seen.transfer_ref, payment.env.merchant_id, payment.id)
    values = (currency, seen.amount_minor, seen.first_seen_at, seen.block_at, now)
    await tx.execute(SEE, *key, *values)


async def get(tx: Tx, payment: Transaction, transfer_ref: str) -> IncomingTransfer | None:
    """The transfer, if it was seen before. It may have left since."""
    row = await tx.read_row(GET, payment.env.merchant_id, payment.env.mode, payment.rail, transfer_ref)
    return None if row is None else IncomingTransfer(**dict(row))


async def end(tx: Tx, payment: Transaction, observation: Observation, now: datetime) -> None:
    """Record that a transfer that was seen is confirmed, or gone."""
    key = (payment.env.merchant_id, payment.env.mode, payment.rail, observation.transfer)
    await tx.write(END, *key, observation.outcome, now)


async def list_stalled(
    db: Pool, limits: Mapping[tuple[str, Mode], timedelta], now: datetime, limit: int
) -> list[tuple[MerchantEnv, UUID]]:
    """Payments of ended links that wait for transfers which no block has taken within the time of their rail."""
    found: list[tuple[MerchantEnv, UUID]] = []
    for (rail, mode), block_within in limits.items():
        rows = await db.fetch(LIST_STALLED, rail, mode, now - block_within, limit)
        found += [(MerchantEnv(MerchantId(row["merchant_id"]), row["mode"]), row["id"]) for row in rows]
    return found


class ObservedTransfer(Struct, frozen=True):
    """A transfer. `tx_hash` is set on networks, account and name where the rail reports them."""

    amount_minor: int
    account: str | None
    name: str | None
    tx_hash: str | None


async def list_transfers(db: Pool, transaction_id: UUID) -> list[ObservedTransfer]:
    """The transfers of a payment, newest first."""
    found: dict[str, ObservedTransfer | None] = {}
    for row in await db.fetch(LIST, transaction_id, TRANSFERS_READ_MAX):
        reference = row["external_ref"]
        named = NETWORK_HASH.match(reference)
        tx_hash = named[0] if named else None
        transfer = ObservedTransfer(row["amount_minor"], row["payer_account"], row["payer_name"], tx_hash)
        found.setdefault(re.split("[@/]", reference)[0], None if row["outcome"] == "vanished" else transfer)
    return [transfer for transfer in found.values() if transfer is not None][:TRANSFERS_SHOWN]
