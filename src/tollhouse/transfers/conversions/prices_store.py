"""Every SQL statement about live prices, the price feed, and the platform's positions in currencies."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from tollhouse.platform.database.pool import Pool, Row, Tx
from tollhouse.transfers.conversions.model import CurrencyPosition

POST = """
    INSERT INTO conversion_prices (id, currency, per_euro, operator, source, at)
    SELECT id, currency, per_euro::numeric, $4, $5, $6
    FROM unnest($1::uuid[], $2::text[], $3::text[]) AS posted (id, currency, per_euro)
"""
# A few index entries for each currency, however many prices it has had. A rejection of the source's price ends an older one.
LATEST = """
    WITH RECURSIVE codes AS (
        SELECT min(currency) AS currency FROM conversion_prices
        UNION ALL
        SELECT (SELECT min(p.currency) FROM conversion_prices p WHERE p.currency > codes.currency)
        FROM codes WHERE currency IS NOT NULL
    )
    SELECT p.currency, p.per_euro, p.operator, p.source, p.at, coalesce(r.rejected_at > p.at, false) AS is_rejected
    FROM codes
    CROSS JOIN LATERAL (SELECT currency, per_euro::text AS per_euro, operator, source, at FROM conversion_prices
                        WHERE currency = codes.currency ORDER BY at DESC, id DESC LIMIT 1) p
    LEFT JOIN price_rejections r ON r.currency = p.currency
    WHERE $1::text[] IS NULL OR codes.currency = ANY ($1) ORDER BY p.currency
"""
# One row, which the worker that reads the source has changed.
LEASE_FEED = """
    INSERT INTO price_feed AS f (next_at, read_at) VALUES ($2, $1)
    ON CONFLICT (is_only) DO UPDATE SET next_at = excluded.next_at, read_at = excluded.read_at, error = NULL
    WHERE f.next_at <= $1
"""
RECORD_FEED_ERROR = "UPDATE price_feed SET error = $1"
# The time of the first rejection stays: a price that an operator posts after it is used.
REJECT_PRICES = """
    INSERT INTO price_rejections AS r (currency, reason, rejected_at)
    SELECT currency, reason, $3 FROM unnest($1::text[], $2::text[]) AS rejected (currency, reason)
    ON CONFLICT (currency) DO UPDATE SET reason = excluded.reason
"""
CLEAR_REJECTIONS = "DELETE FROM price_rejections WHERE currency = ANY ($1::text[])"
GET_FEED = "SELECT read_at, error FROM price_feed"
LIST_REJECTIONS = "SELECT currency, reason, rejected_at FROM price_rejections ORDER BY currency"
LIST_POSITIONS = """
    SELECT currency, position_minor::text AS position_minor, limit_minor FROM conversion_positions
    WHERE $1::text[] IS NULL OR currency = ANY ($1)
"""
SET_POSITION_LIMIT = """
    INSERT INTO conversion_positions (currency, limit_minor) VALUES ($1, $2)
    ON CONFLICT (currency) DO UPDATE SET limit_minor = excluded.limit_minor
    RETURNING id
"""
LOCK_POSITIONS = "SELECT currency FROM conversion_positions WHERE currency = ANY ($1) ORDER BY currency FOR NO KEY UPDATE"
INSERT_MISSING_POSITIONS = """
    INSERT INTO conversion_positions (currency) SELECT code FROM unnest($1::text[]) AS code ORDER BY code
    ON CONFLICT (currency) DO NOTHING
"""
LIMIT_CONSTRAINT = "conversion_positions_limit"


async def post(tx: Tx, ids: list[UUID], per_euro: Mapping[str, str], operator: str, source: str, now: datetime) -> None:
    """Insert the prices of these currencies, with these IDs."""
    await tx.execute(POST, ids, list(per_euro), list(per_euro.values()), operator, source, now)


async def latest(db: Pool | Tx, codes: Sequence[str] | None = None) -> list[Row]:
    """The latest prices of these currencies, or of all."""
    return await db.fetch(LATEST, None if codes is None else list(codes))


async def lease_feed(db: Pool, now: datetime, next_at: datetime) -> bool:
    """Take the next reading if it is due. False if it is not."""
    return await db.execute(LEASE_FEED, now, next_at) == 1


async def record_feed_error(db: Pool, error: str) -> None:
    """Record why the last reading failed."""
    await db.execute(RECORD_FEED_ERROR, error)


async def reject_prices(tx: Tx, reasons: Mapping[str, str], now: datetime) -> None:
    """Record why the source's prices of these currencies are not used."""
    await tx.execute(REJECT_PRICES, list(reasons), list(reasons.values()), now)


async def clear_rejections(tx: Tx, currencies: list[str]) -> None:
    """Record that the source's prices of these currencies are used again."""
    await tx.execute(CLEAR_REJECTIONS, currencies)


async def get_feed(db: Pool) -> Row | None:
    """When the source was read last, and the error; None if it never was."""
    return await db.fetchrow(GET_FEED)


async def list_rejections(db: Pool) -> dict[str, str]:
    """Why prices of the source are not used, by currency."""
    return {row["currency"]: row["reason"] for row in await db.fetch(LIST_REJECTIONS)}


async def list_positions(db: Pool | Tx, codes: Sequence[str] | None = None) -> dict[str, CurrencyPosition]:
    """The positions in these currencies, or in all; currencies that were never converted and have no limit are missing."""
    rows = await db.fetch(LIST_POSITIONS, None if codes is None else list(codes))
    return {row["currency"]: CurrencyPosition(int(row["position_minor"]), row["limit_minor"]) for row in rows}


async def lock_positions(tx: Tx, codes: Sequence[str]) -> None:
    """Lock the positions in these currencies, in the order in which conversions do."""
    if len(await tx.fetch(LOCK_POSITIONS, list(codes))) < len(codes):
        await tx.execute(INSERT_MISSING_POSITIONS, list(codes))
        await tx.fetch(LOCK_POSITIONS, list(codes))


async def set_position_limit(tx: Tx, currency: str, limit_minor: int | None) -> UUID:
    """Set the limit of a currency, or remove it. Returns the id of the position."""
    return await tx.fetchval(SET_POSITION_LIMIT, currency, limit_minor)
