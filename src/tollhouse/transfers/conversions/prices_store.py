"""Every SQL statement about the prices that operators post for live mode."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from tollhouse.platform.database.pool import Pool, Row, Tx

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


async def post(tx: Tx, ids: list[UUID], per_euro: Mapping[str, str], operator: str, source: str, now: datetime) -> None:
    """Insert the prices of these currencies, with these IDs."""
    await tx.execute(POST, ids, list(per_euro), list(per_euro.values()), operator, source, now)


async def latest(db: Pool | Tx, codes: Sequence[str] | None = None) -> list[Row]:
    """The latest prices of these currencies, or of all."""
    return await db.fetch(LATEST, None if codes is None else list(codes))
