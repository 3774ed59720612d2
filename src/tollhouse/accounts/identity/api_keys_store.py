"""SQL of API keys."""

from datetime import datetime
from uuid import UUID

from tollhouse.platform.database.pool import Row, Tx

INSERT = """
    INSERT INTO api_keys (id, merchant_id, mode, name, key_hash, scope_mask, hint, created_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
"""
LIST = """
    SELECT k.id, k.name, k.mode, k.scope_mask, k.hint, k.created_at, k.revoked_at, a.last_used_at
    FROM api_keys k LEFT JOIN api_key_activity a ON a.api_key_id = k.id
    WHERE k.merchant_id = $1 ORDER BY k.created_at DESC, k.id DESC
"""
GET = """
    SELECT k.id, k.name, k.mode, k.scope_mask, k.hint, k.created_at, k.revoked_at, a.last_used_at
    FROM api_keys k LEFT JOIN api_key_activity a ON a.api_key_id = k.id
    WHERE k.merchant_id = $1 AND k.id = $2
"""
REVOKE = """
    UPDATE api_keys SET revoked_at = $3 WHERE merchant_id = $1 AND id = $2 AND revoked_at IS NULL
    RETURNING id, name, mode, scope_mask, hint, created_at, revoked_at,
              (SELECT last_used_at FROM api_key_activity WHERE api_key_id = api_keys.id) AS last_used_at
"""
REVOKE_ALL = """
    UPDATE api_keys SET revoked_at = $2 WHERE merchant_id = $1 AND revoked_at IS NULL RETURNING id, mode, name
"""


async def revoke_all(tx: Tx, merchant_id: UUID, now: datetime) -> list[Row]:
    """Revoke every API key of the merchant; the revoked ones."""
    return await tx.fetch(REVOKE_ALL, merchant_id, now)
