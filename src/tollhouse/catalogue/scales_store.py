"""Every SQL statement about the decimals that amounts in this database are counted in."""

from tollhouse.platform.db import Pool, Row

LOCK = """
    INSERT INTO currency_scales (code, decimals) SELECT * FROM unnest($1::text[], $2::int[]) AS now (code, decimals)
    ON CONFLICT (code) DO NOTHING
"""
CHANGED = """
    SELECT held.code, held.decimals FROM currency_scales held
    LEFT JOIN unnest($1::text[], $2::int[]) AS now (code, decimals) ON now.code = held.code
    WHERE now.decimals IS DISTINCT FROM held.decimals ORDER BY held.code
"""


async def changed(db: Pool, scales: dict[str, int]) -> list[Row]:
    """The currencies that this database counts otherwise, or that are gone."""
    return await db.fetch(CHANGED, list(scales), list(scales.values()))


async def hold(db: Pool, scales: dict[str, int]) -> None:
    """Keep the decimals of currencies that are new here."""
    await db.execute(LOCK, list(scales), list(scales.values()))
