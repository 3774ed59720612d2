"""Every SQL statement about merchants and their API keys."""

from datetime import datetime
from uuid import UUID

from tollhouse.kernel.clock import stamp, stamp_or_none
from tollhouse.kernel.ids import MerchantId
from tollhouse.kernel.scopes import Scopes
from tollhouse.merchants.model import ApiKeyView
from tollhouse.platform.db import Pool, Row, Tx

INSERT_MERCHANT = "INSERT INTO merchants (id, business_name, created_at) VALUES ($1, $2, $3)"
INSERT_API_KEY = """
    INSERT INTO api_keys (id, merchant_id, mode, name, key_hash, scope_mask, hint, created_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
"""
LIST_API_KEYS = """
    SELECT k.id, k.name, k.mode, k.scope_mask, k.hint, k.created_at, k.revoked_at, a.last_used_at
    FROM api_keys k LEFT JOIN api_key_activity a ON a.api_key_id = k.id
    WHERE k.merchant_id = $1 ORDER BY k.created_at DESC, k.id DESC
"""
GET_API_KEY = """
    SELECT k.id, k.name, k.mode, k.scope_mask, k.hint, k.created_at, k.revoked_at, a.last_used_at
    FROM api_keys k LEFT JOIN api_key_activity a ON a.api_key_id = k.id
    WHERE k.merchant_id = $1 AND k.id = $2
"""
REVOKE_API_KEY = """
    UPDATE api_keys SET revoked_at = $3 WHERE merchant_id = $1 AND id = $2 AND revoked_at IS NULL
    RETURNING id, name, mode, scope_mask, hint, created_at, revoked_at,
              (SELECT last_used_at FROM api_key_activity WHERE api_key_id = api_keys.id) AS last_used_at
"""


async def insert_merchant(tx: Tx, merchant_id: MerchantId, business_name: str, now: datetime) -> None:
    """Insert a merchant."""
    await tx.execute(INSERT_MERCHANT, merchant_id, business_name, now)


async def insert_api_key(
    tx: Tx, merchant_id: MerchantId, key: ApiKeyView, mask: int, key_hash: bytes, now: datetime
) -> None:
    """Insert an API key."""
    await tx.execute(INSERT_API_KEY, key.api_key_id, merchant_id, key.mode, key.name, key_hash, mask, key.hint, now)


async def list_api_keys(db: Pool, merchant_id: MerchantId) -> list[ApiKeyView]:
    """All keys of a merchant, newest first."""
    return [_api_key(row) for row in await db.fetch(LIST_API_KEYS, merchant_id)]


async def get_api_key(tx: Tx, merchant_id: MerchantId, api_key_id: UUID) -> ApiKeyView | None:
    """One key; None if the merchant has no such key."""
    row = await tx.fetchrow(GET_API_KEY, merchant_id, api_key_id)
    return None if row is None else _api_key(row)


async def revoke_api_key(tx: Tx, merchant_id: MerchantId, api_key_id: UUID, now: datetime) -> ApiKeyView | None:
    """Revoke a key; None if the merchant has no such active key."""
    row = await tx.fetchrow(REVOKE_API_KEY, merchant_id, api_key_id, now)
    return None if row is None else _api_key(row)


def _api_key(row: Row) -> ApiKeyView:
    return ApiKeyView(
        api_key_id=row["id"],
        name=row["name"],
        mode=row["mode"],
        livemode=row["mode"] == "live",
        scopes=Scopes(row["scope_mask"]).names(),
        hint=row["hint"],
        status="active" if row["revoked_at"] is None else "revoked",
        created_at=stamp(row["created_at"]),
        last_used_at=stamp_or_none(row["last_used_at"]),
    )
