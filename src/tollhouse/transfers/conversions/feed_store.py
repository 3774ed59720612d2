"""SQL of the price feed: when it is read next, and which of its prices were rejected."""

from collections.abc import Mapping
from datetime import datetime

from tollhouse.platform.database.pool import Pool, Row, Tx

# One row, which the worker that reads the source has changed.
LEASE = """
    INSERT INTO price_feed AS f (next_at, read_at) VALUES ($2, $1)
    ON CONFLICT (is_only) DO UPDATE SET next_at = excluded.next_at, read_at = excluded.read_at, error = NULL
    WHERE f.next_at <= $1
"""
RECORD_ERROR = "UPDATE price_feed SET error = $1"
# The time of the first rejection stays: a price that an operator posts after it is used.
REJECT = """
    INSERT INTO price_rejections AS r (currency, reason, rejected_at)
    SELECT currency, reason, $3 FROM unnest($1::text[], $2::text[]) AS rejected (currency, reason)
    ON CONFLICT (currency) DO UPDATE SET reason = excluded.reason
"""
CLEAR = "DELETE FROM price_rejections WHERE currency = ANY ($1::text[])"
GET = "SELECT read_at, error FROM price_feed"
LIST_REJECTIONS = "SELECT currency, reason, rejected_at FROM price_rejections ORDER BY currency"


async def lease(db: Pool, now: datetime, next_at: datetime) -> bool:
    """Take the next reading if it is due. False if it is not."""
    return await db.execute(LEASE, now, next_at) == 1


async def record_error(db: Pool, error: str) -> None:
    """Record why the last reading failed."""
    await db.execute(RECORD_ERROR, error)


async def reject(tx: Tx, reasons: Mapping[str, str], now: datetime) -> None:
    """Record why the source's prices of these currencies are not used."""
    await tx.execute(REJECT, list(reasons), list(reasons.values()), now)


async def clear(tx: Tx, currencies: list[str]) -> None:
    """Record that the source's prices of these currencies are used again."""
    await tx.execute(CLEAR, currencies)


async def get(db: Pool) -> Row | None:
    """When the source was read last, and the error; None if it never was."""
    return await db.fetchrow(GET)


async def list_rejections(db: Pool) -> dict[str, str]:
    """Why prices of the source are not used, by currency."""
    return {row["currency"]: row["reason"] for row in await db.fetch(LIST_REJECTIONS)}
