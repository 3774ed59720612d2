"""Every SQL statement about merchants, their people and their API keys."""

from datetime import datetime
from uuid import UUID

from tollhouse.kernel.clock import stamp, stamp_or_none
from tollhouse.kernel.ids import MerchantId, UserId
from tollhouse.kernel.scopes import Scopes
from tollhouse.merchants.model import ApiKeyView
from tollhouse.platform.db import Pool, Row, Tx

INSERT_MERCHANT = "INSERT INTO merchants (id, business_name, created_at) VALUES ($1, $2, $3)"
INSERT_USER = """
    INSERT INTO users (id, merchant_id, email, email_key, password_hash, created_at, language)
    VALUES ($1, $2, $3, $4, $5, $6, $7)
    ON CONFLICT (email_key) DO NOTHING
"""
USER_BY_EMAIL = """
    SELECT u.id, u.email, u.password_hash, u.created_at, u.language, u.merchant_id, m.business_name,
           m.suspended_at, m.created_at AS merchant_created_at
    FROM users u JOIN merchants m ON m.id = u.merchant_id WHERE u.email_key = $1
"""
USER = """
    SELECT u.id, u.email, u.password_hash, u.password_changed_at, u.created_at, u.language, u.merchant_id, m.business_name,
           m.suspended_at, m.created_at AS merchant_created_at
    FROM users u JOIN merchants m ON m.id = u.merchant_id WHERE u.id = $1
"""
# Two statements, for the second one is seldom needed; of two sign-ins at once, one is the first.
SEE_DEVICE = "UPDATE known_devices SET last_seen_at = $3 WHERE user_id = $1 AND device_hash = $2"
MEET_DEVICE = """
    INSERT INTO known_devices (user_id, device_hash, last_seen_at) VALUES ($1, $2, $3)
    ON CONFLICT (user_id, device_hash) DO NOTHING
"""
INSERT_API_KEY = """
    INSERT INTO api_keys (id, merchant_id, mode, name, key_hash, scope_mask, hint, created_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
"""
API_KEYS = """
    SELECT k.id, k.name, k.mode, k.scope_mask, k.hint, k.created_at, k.revoked_at, a.last_used_at
    FROM api_keys k LEFT JOIN api_key_activity a ON a.api_key_id = k.id
    WHERE k.merchant_id = $1 ORDER BY k.created_at DESC, k.id DESC
"""
API_KEY = """
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
    """A new merchant."""
    await tx.execute(INSERT_MERCHANT, merchant_id, business_name, now)


async def insert_user(
    tx: Tx,
    user_id: UserId,
    merchant_id: MerchantId,
    *,
    email: str,
    key: str,
    password_hash: str,
    language: str,
    now: datetime,
) -> bool:
    """A new person; False when the e-mail has an account."""
    return await tx.execute(INSERT_USER, user_id, merchant_id, email, key, password_hash, now, language) == 1


async def user_by_email(db: Pool, key: str) -> Row | None:
    """Who signs in with this folded e-mail."""
    return await db.fetchrow(USER_BY_EMAIL, key)


async def user(db: Pool, user_id: UUID) -> Row | None:
    """Who this is."""
    return await db.fetchrow(USER, user_id)


async def is_new_device(tx: Tx, user_id: UUID, device_hash: bytes, now: datetime) -> bool:
    """Whether this person never signed in with it, or not for long. From now on they have."""
    if await tx.execute(SEE_DEVICE, user_id, device_hash, now):
        return False
    return await tx.execute(MEET_DEVICE, user_id, device_hash, now) == 1


async def insert_api_key(
    tx: Tx, merchant_id: MerchantId, key: ApiKeyView, mask: int, key_hash: bytes, now: datetime
) -> None:
    """A new API key."""
    await tx.execute(INSERT_API_KEY, key.api_key_id, merchant_id, key.mode, key.name, key_hash, mask, key.hint, now)


async def api_keys(db: Pool, merchant_id: MerchantId) -> list[ApiKeyView]:
    """All keys, newest first."""
    return [_api_key(row) for row in await db.fetch(API_KEYS, merchant_id)]


async def api_key(tx: Tx, merchant_id: MerchantId, api_key_id: UUID) -> ApiKeyView | None:
    """One key; None when it is not this merchant's."""
    row = await tx.fetchrow(API_KEY, merchant_id, api_key_id)
    return None if row is None else _api_key(row)


async def revoke_api_key(tx: Tx, merchant_id: MerchantId, api_key_id: UUID, now: datetime) -> ApiKeyView | None:
    """Revoke a key for ever; None when it is not this merchant's, or was revoked before."""
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
