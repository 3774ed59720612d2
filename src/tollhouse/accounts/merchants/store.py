"""SQL of merchants, and their API keys as views."""

from datetime import datetime
from uuid import UUID

from tollhouse.accounts.identity import api_keys_store
from tollhouse.accounts.merchants.model import ApiKeyView
from tollhouse.kernel.clock import stamp, stamp_or_none
from tollhouse.kernel.ids import MerchantId
from tollhouse.kernel.scopes import Scopes
from tollhouse.platform.database.pool import Pool, Row, Tx

INSERT_MERCHANT = "INSERT INTO merchants (id, business_name, created_at) VALUES ($1, $2, $3)"
SUSPEND = "UPDATE merchants SET suspended_at = $2 WHERE id = $1 AND suspended_at IS NULL"
REACTIVATE = """
    UPDATE merchants SET suspended_at = NULL WHERE id = $1 AND suspended_at IS NOT NULL AND closed_at IS NULL
"""

IS_CLOSED = "SELECT closed_at IS NOT NULL FROM merchants WHERE id = $1"


async def insert_merchant(tx: Tx, merchant_id: MerchantId, business_name: str, now: datetime) -> None:
    """Insert a merchant."""
    await tx.execute(INSERT_MERCHANT, merchant_id, business_name, now)


async def suspend(tx: Tx, merchant_id: UUID, now: datetime) -> bool:
    """Suspend a merchant; False if it is not active."""
    return await tx.execute(SUSPEND, merchant_id, now) == 1


async def reactivate(tx: Tx, merchant_id: UUID) -> bool:
    """Reactivate a merchant; False if it is not suspended, or closed."""
    return await tx.execute(REACTIVATE, merchant_id) == 1


async def is_closed(tx: Tx, merchant_id: UUID) -> bool:
    """Whether the merchant was erased."""
    return bool(await tx.fetchval(IS_CLOSED, merchant_id))


async def insert_api_key(
    tx: Tx, merchant_id: MerchantId, key: ApiKeyView, mask: int, key_hash: bytes, now: datetime
) -> None:
    """Insert an API key."""
    await tx.execute(api_keys_store.INSERT, key.api_key_id, merchant_id, key.mode, key.name, key_hash, mask, key.hint, now)


async def list_api_keys(db: Pool, merchant_id: MerchantId) -> list[ApiKeyView]:
    """All keys of a merchant, newest first."""
    return [_api_key(row) for row in await db.fetch(api_keys_store.LIST, merchant_id)]


async def get_api_key(tx: Tx, merchant_id: MerchantId, api_key_id: UUID) -> ApiKeyView | None:
    """One key; None if the merchant has no such key."""
    row = await tx.fetchrow(api_keys_store.GET, merchant_id, api_key_id)
    return None if row is None else _api_key(row)


async def revoke_api_key(tx: Tx, merchant_id: MerchantId, api_key_id: UUID, now: datetime) -> ApiKeyView | None:
    """Revoke a key; None if the merchant has no such active key."""
    row = await tx.fetchrow(api_keys_store.REVOKE, merchant_id, api_key_id, now)
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
