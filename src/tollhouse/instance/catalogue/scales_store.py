"""SQL of the stored decimals of currencies."""

from tollhouse.platform.database.pool import Pool, Row

INSERT_NEW = """
    INSERT INTO currency_scales (code, decimals) SELECT * FROM unnest($1::text[], $2::int[]) AS now (code, decimals)
    ON CONFLICT (code) DO NOTHING
"""
CHANGED = """
    SELECT stored.code, stored.decimals FROM currency_scales stored
    LEFT JOIN unnest($1::text[], $2::int[]) AS now (code, decimals) ON now.code = stored.code
    WHERE now.decimals IS DISTINCT FROM stored.decimals ORDER BY stored.code
"""


async def list_changed(db: Pool, scales: dict[str, int]) -> list[Row]:
    """Stored currencies whose decimals changed, or that were removed."""
    return await db.fetch(CHANGED, list(scales), list(scales.values()))


async def insert_new(db: Pool, scales: dict[str, int]) -> None:
    """Store the decimals of new currencies."""
    await db.execute(INSERT_NEW, list(scales), list(scales.values()))
