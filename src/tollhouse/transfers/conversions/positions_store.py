"""SQL of the platform's positions in currencies, which a trigger changes with each live conversion, and of their limits."""

from collections.abc import Sequence
from uuid import UUID

from tollhouse.platform.database.pool import Pool, Tx
from tollhouse.transfers.conversions.model import CurrencyPosition

LIST = """
    SELECT currency, position_minor::text AS position_minor, limit_minor FROM conversion_positions
    WHERE $1::text[] IS NULL OR currency = ANY ($1)
"""
SET_LIMIT = """
    INSERT INTO conversion_positions (currency, limit_minor) VALUES ($1, $2)
    ON CONFLICT (currency) DO UPDATE SET limit_minor = excluded.limit_minor
    RETURNING id
"""
LOCK = "SELECT currency FROM conversion_positions WHERE currency = ANY ($1) ORDER BY currency FOR NO KEY UPDATE"
INSERT_MISSING = """
    INSERT INTO conversion_positions (currency) SELECT code FROM unnest($1::text[]) AS code ORDER BY code
    ON CONFLICT (currency) DO NOTHING
"""
LIMIT_CONSTRAINT = "conversion_positions_limit"


async def list_positions(db: Pool | Tx, codes: Sequence[str] | None = None) -> dict[str, CurrencyPosition]:
    """The positions in these currencies, or in all; currencies that were never converted and have no limit are missing."""
    rows = await db.fetch(LIST, None if codes is None else list(codes))
    return {row["currency"]: CurrencyPosition(int(row["position_minor"]), row["limit_minor"]) for row in rows}


async def lock(tx: Tx, codes: Sequence[str]) -> None:
    """Lock the positions in these currencies, in the order in which conversions do."""
    if len(await tx.fetch(LOCK, list(codes))) < len(codes):
        await tx.execute(INSERT_MISSING, list(codes))
        await tx.fetch(LOCK, list(codes))


async def set_limit(tx: Tx, currency: str, limit_minor: int | None) -> UUID:
    """Set the limit of a currency, or remove it. Returns the id of the position."""
    return await tx.fetchval(SET_LIMIT, currency, limit_minor)
