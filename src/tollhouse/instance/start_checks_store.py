"""SQL of what this database was used with: keys, and decimals of currencies."""

from tollhouse.platform.database.pool import Pool, Row

ALL = "SELECT key_id, check_value, given_up_at FROM secret_keys ORDER BY created_at, key_id"
ADD = "INSERT INTO secret_keys (key_id, check_value, created_at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING"
GIVE_UP = """
    INSERT INTO secret_keys (key_id, check_value, created_at, given_up_at) VALUES ($1, $2, $3, $3)
    ON CONFLICT (key_id) DO UPDATE SET given_up_at = EXCLUDED.given_up_at
"""
ENCRYPTED_UNDER = (
    "SELECT merchant_id, mode, version, key_id, nonce, ciphertext FROM webhook_secrets WHERE key_id = $1 LIMIT 1"
)
"""An encrypted value shows whether a key of this id is the right one, where no check value was kept yet."""


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
