"""SQL of changes of the address by which a person signs in, and of what was made since one that is undone."""

from datetime import datetime
from uuid import UUID

from tollhouse.accounts.identity import second_factor_store
from tollhouse.accounts.identity.model import AddressChange
from tollhouse.accounts.identity.users_store import CHANGED_CONNECTION
from tollhouse.kernel.connections import ChangedConnection
from tollhouse.kernel.ids import MerchantId, UserId
from tollhouse.platform.database.pool import Pool, Row, Tx

COLUMNS = """id, user_id, old_email, old_key, new_email, new_key, requested_at, expires_at, withdrawn_at, confirmed_at,
           undo_until, undone_at, old_verified_at IS NOT NULL AS was_verified"""
INSERT = """
    INSERT INTO address_changes
        (id, user_id, old_email, old_key, old_verified_at, new_email, new_key, requested_at, expires_at)
    SELECT $1, u.id, u.email, u.email_key, u.verified_at, $3, $4, $5, $6 FROM users u WHERE u.id = $2
"""
WITHDRAW = """
    UPDATE address_changes SET withdrawn_at = $2 WHERE user_id = $1 AND confirmed_at IS NULL AND withdrawn_at IS NULL
"""
GET = f"SELECT {COLUMNS} FROM address_changes WHERE id = $1"
# The last one that waits to be confirmed or can be undone.
CURRENT = f"""
    SELECT {COLUMNS} FROM address_changes
    WHERE user_id = $1 AND withdrawn_at IS NULL AND undone_at IS NULL
      AND CASE WHEN confirmed_at IS NULL THEN expires_at ELSE undo_until END > $2
    ORDER BY requested_at DESC LIMIT 1
"""
OF_USER = f"SELECT {COLUMNS} FROM address_changes WHERE user_id = $1 ORDER BY requested_at DESC LIMIT $2"
CONFIRM = "UPDATE address_changes SET confirmed_at = $2, undo_until = $3 WHERE id = $1"
UNDO = "UPDATE address_changes SET undone_at = $2 WHERE id = $1"
# After `users_store.lock_address`. No row: the address has, or is kept for, another account.
TAKE = """
    UPDATE users SET email = $2, email_key = $3, verified_at = $4
    WHERE id = $1 AND NOT EXISTS (SELECT FROM users WHERE email_key = $3) AND NOT EXISTS (
        SELECT FROM address_changes c WHERE c.old_key = $3 AND c.user_id <> $1 AND c.undone_at IS NULL AND c.undo_until > $4)
"""
# Its password opens nothing any more: the one who changed the address knew it.
GIVE_BACK = """
    UPDATE users u SET email = c.old_email, email_key = c.old_key, verified_at = c.old_verified_at, password_hash = $2,
        password_changed_at = $3
    FROM address_changes c WHERE c.id = $1 AND u.id = c.user_id
"""
REVOKE_API_KEYS = """
    UPDATE api_keys SET revoked_at = $2
    WHERE created_by = $1 AND created_at >= $3 AND revoked_at IS NULL AND merchant_id = coalesce($4, merchant_id)
    RETURNING id, merchant_id, mode, name
"""
DELETE_CODES = """
    DELETE FROM oauth_codes WHERE used_at IS NULL
      AND merchant_id IN (SELECT merchant_id FROM members WHERE user_id = $1 AND merchant_id = coalesce($2, merchant_id))
"""
REVOKE_GRANTS = f"""
    UPDATE oauth_grants g SET revoked_at = $2, revoked_because = 'address_undone'
    FROM oauth_clients c
    WHERE c.id = g.client_id AND g.grant_epoch = c.grant_epoch AND g.revoked_at IS NULL AND g.expires_at > $2
      AND g.created_at >= $3
      AND g.merchant_id IN (SELECT merchant_id FROM members WHERE user_id = $1 AND merchant_id = coalesce($4, merchant_id))
      AND g.granted_by = $1
    RETURNING {CHANGED_CONNECTION}
"""
REMOVE_FACTOR = "DELETE FROM second_factors WHERE holder_id = $1 AND coalesce(confirmed_at, created_at) >= $2"
REMOVE_PASSKEYS = "DELETE FROM passkeys WHERE holder_id = $1 AND created_at >= $2"
# Confirmed ones stay: they say who could sign in to a merchant.
DELETE_UNCONFIRMED = """
    DELETE FROM address_changes WHERE id IN (
        SELECT id FROM address_changes WHERE requested_at <= $1 AND confirmed_at IS NULL
        ORDER BY requested_at LIMIT $2 FOR UPDATE SKIP LOCKED)
"""

DELETE_OF_ADDRESS = "DELETE FROM address_changes WHERE new_key = $1 AND confirmed_at IS NULL"


async def insert(
    tx: Tx, change_id: UUID, user_id: UserId, email: str, key: str, now: datetime, expires_at: datetime
) -> None:
    """Insert a request of a locked user, in place of the one that waits."""
    await withdraw(tx, user_id, now)
    await tx.execute(INSERT, change_id, user_id, email, key, now, expires_at)


async def withdraw(tx: Tx, user_id: UUID, now: datetime) -> bool:
    """Withdraw the request that waits; False if there is none."""
    return await tx.execute(WITHDRAW, user_id, now) == 1


async def get(db: Pool | Tx, change_id: UUID) -> AddressChange | None:
    """A change, in whatever state."""
    row = await db.fetchrow(GET, change_id)
    return None if row is None else AddressChange(**row)


async def current(db: Pool | Tx, user_id: UUID, now: datetime) -> AddressChange | None:
    """The change of a user that can be confirmed or undone."""
    row = await db.fetchrow(CURRENT, user_id, now)
    return None if row is None else AddressChange(**row)


async def list_of_user(db: Pool, user_id: UUID, limit: int) -> list[AddressChange]:
    """The changes of a user, newest first."""
    return [AddressChange(**row) for row in await db.fetch(OF_USER, user_id, limit)]


async def confirm(tx: Tx, change: AddressChange, now: datetime, undo_until: datetime) -> bool:
    """Give a locked user the new address; False if another account has it."""
    if await tx.execute(TAKE, change.user_id, change.new_email, change.new_key, now) == 0:
        return False
    await tx.execute(CONFIRM, change.id, now, undo_until)
    return True


async def undo(tx: Tx, change: AddressChange, password_hash: str, now: datetime) -> None:
    """Give a locked user the old address back, and this password."""
    await tx.execute(GIVE_BACK, change.id, password_hash, now)
    await tx.execute(UNDO, change.id, now)


async def revoke_made(
    tx: Tx, user_id: UUID, since: datetime, now: datetime, merchant_id: MerchantId | None = None
) -> tuple[list[Row], list[ChangedConnection]]:
    """Revoke the API keys that a user made since then and the grants that the user gave, of every merchant or one.

    Codes that could become a grant are deleted before. All sessions have ended, so none makes more.
    """
    keys = await tx.fetch(REVOKE_API_KEYS, user_id, now, since, merchant_id)
    await tx.execute(DELETE_CODES, user_id, merchant_id)
    grants = await tx.fetch(REVOKE_GRANTS, user_id, now, since, merchant_id)
    return keys, [ChangedConnection(**grant) for grant in grants]


async def delete_of_address(tx: Tx, email_key: str) -> int:
    """Delete what was requested and never confirmed to be a change to this address; how many."""
    return await tx.execute(DELETE_OF_ADDRESS, email_key)


async def remove_factor(tx: Tx, user_id: UUID, since: datetime) -> bool:
    """Remove the authenticator and the passkeys that were added since then, and backup codes without either."""
    removed = await tx.execute(REMOVE_FACTOR, user_id, since) + await tx.execute(REMOVE_PASSKEYS, user_id, since)
    await second_factor_store.delete_unprotected_codes(tx, user_id)
    return removed > 0
