"""SQL of payouts of card providers to the bank account that no statement shows yet."""

from datetime import datetime
from uuid import UUID

from msgspec import Struct

from tollhouse.platform.database.pool import Pool, Tx

# One that failed came back to the balance at the provider, by a balance transaction of the same payout.
EXPECTED = """
    SELECT b.id, b.rail, b.source, b.created_at FROM provider_balance_transactions b
    WHERE b.kind = 'payout' AND b.mode = 'live' AND b.settled_at IS NOT NULL
      AND (b.currency, b.amount_minor) = ($1, -$2::bigint)
      AND b.source IS NOT NULL AND ($3::text IS NULL OR b.source = $3)
      AND NOT EXISTS (SELECT FROM bank_entry_parts p WHERE p.provider_payout_id = b.id)
      AND NOT EXISTS (SELECT FROM provider_balance_transactions r
                      WHERE r.kind = 'payout' AND (r.currency, r.amount_minor) = (b.currency, -b.amount_minor)
                        AND (r.rail, r.mode, r.source) = (b.rail, b.mode, b.source))
    ORDER BY b.created_at, b.id LIMIT 5
"""
LOCK = "SELECT id FROM provider_balance_transactions WHERE id = $1 FOR NO KEY UPDATE"


class ProviderPayout(Struct, frozen=True):
    """A payout of a provider. `source` is its ID there."""

    id: UUID
    rail: str
    source: str
    created_at: datetime


async def list_expected(db: Pool | Tx, currency: str, amount_minor: int, source: str | None = None) -> list[ProviderPayout]:
    """The payouts of this amount that no statement shows yet, oldest first: only the one with this ID, if it is given."""
    return [ProviderPayout(*row.values()) for row in await db.fetch(EXPECTED, currency, amount_minor, source)]


async def lock(tx: Tx, payout_id: UUID) -> None:
    """Lock a payout, so that one transfer at a time brings it."""
    await tx.fetchrow(LOCK, payout_id)
