"""Every SQL statement about the prices that operators post for live mode."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from tollhouse.platform.db import Pool, Row, Tx

POST = """
    INSERT INTO conversion_prices (id, currency, per_euro, operator, source, at)
    VALUES ($1, $2, $3::text::numeric, $4, $5, $6)
"""
LATEST = """
    SELECT DISTINCT ON (currency) currency, per_euro::text AS per_euro, operator, source, at FROM conversion_prices
    WHERE $1::text[] IS NULL OR currency = ANY ($1) ORDER BY currency, at DESC, id DESC
"""


async def post(tx: Tx, price_id: UUID, currency: str, per_euro: str, operator: str, source: str, now: datetime) -> None:
    """Insert a price."""
    await tx.execute(POST, price_id, currency, per_euro, operator, source, now)


async def latest(db: Pool | Tx, codes: Sequence[str] | None = None) -> list[Row]:
    """The latest prices of these currencies, or of all."""
    return await db.fetch(LATEST, None if codes is None else list(codes))
