"""SQL of users: accounts, devices, passwords, verified addresses, their erasure, and what ends with a restore."""

from datetime import datetime
from uuid import UUID

from tollhouse.kernel.connections import ChangedConnection
from tollhouse.kernel.ids import MerchantId, Mode, UserId
from tollhouse.platform.database.pool import Pool, Row, Tx

# Who takes an address waits for whoever else takes or leaves it, and then sees what became of it.
LOCK_ADDRESS = "SELECT pg_advisory_xact_lock(hashtextextended('address ' || $1, 0))"
# An address that was left can be taken back for some time.
INSERT = """
    INSERT INTO users (id, merchant_id, email, email_key, password_hash, created_at, language)
    SELECT $1, $2, $3, $4, $5, $6, $7
    WHERE NOT EXISTS (SELECT FROM address_changes c WHERE c.old_key = $4 AND c.undone_at IS NULL AND c.undo_until > $6)
    ON CONFLICT (email_key) DO NOTHING
"""
FIND_BY_EMAIL = """
    SELECT id, email, password_hash, created_at, language FROM users WHERE email_key = $1
"""
GET = """
    SELECT id, email, password_hash, password_changed_at, created_at, language FROM users WHERE id = $1
"""
# Two statements, since the second is rarely needed; of two concurrent sign-ins, one inserts the device.
RECORD_DEVICE_SEEN = "UPDATE known_devices SET last_seen_at = $3 WHERE user_id = $1 AND device_hash = $2"
INSERT_DEVICE = """
    INSERT INTO known_devices (user_id, device_hash, last_seen_at) VALUES ($1, $2, $3)
    ON CONFLICT (user_id, device_hash) DO NOTHING
"""
# Serializes changes of the password: the second of two sees the first one's result.
SHARE = "SELECT FROM users WHERE id = $1 FOR SHARE"
LOCK = """
    SELECT id, email, language, password_hash, password_changed_at, verified_at FROM users WHERE id = $1 FOR UPDATE
"""
# Using the link also verifies the address.
RESET = """
    UPDATE users SET password_hash = $2, password_changed_at = $3, password_reset_at = $3,
        verified_at = coalesce(verified_at, $3)
    WHERE id = $1
"""
CHANGE = """
    UPDATE users SET password_hash = $2, password_changed_at = $3
    WHERE id = $1 AND password_changed_at IS NOT DISTINCT FROM $4
"""
CHANGED_AT = "SELECT password_changed_at FROM users WHERE id = $1"
# Codes first: the grant of a code that is exchanged concurrently is visible to the next statement.
OF_MERCHANT = """
    SELECT u.id, u.email, u.language FROM members m JOIN users u ON u.id = m.user_id
    WHERE m.merchant_id = $1 AND m.removed_at IS NULL ORDER BY u.id
"""
# $2: those of one mode; null for both.
DELETE_CODES = "DELETE FROM oauth_codes WHERE merchant_id = $1 AND used_at IS NULL AND mode = coalesce($2, mode)"
CHANGED_CONNECTION = """g.id AS grant_id, g.client_id, c.name, g.merchant_id, g.mode, g.scope_mask, g.version, g.limits,
              g.proposals_only, c.connection_webhook_url AS webhook_url, c.webhook_sender_id"""
"""The columns of a `ChangedConnection`."""
REVOKE_GRANTS = f"""
    UPDATE oauth_grants g SET revoked_at = $2, revoked_because = $3
    FROM oauth_clients c
    WHERE c.id = g.client_id AND g.merchant_id = $1 AND g.grant_epoch = c.grant_epoch AND g.revoked_at IS NULL
      AND g.expires_at > $2 AND g.mode = coalesce($4, g.mode)
    RETURNING {CHANGED_CONNECTION}
"""
VERIFY_EMAIL = "UPDATE users SET verified_at = $2 WHERE id = $1 AND verified_at IS NULL"

DELETE_UNUSED_DEVICES = """
    DELETE FROM known_devices WHERE (user_id, device_hash) IN (
        SELECT user_id, device_hash FROM known_devices WHERE last_seen_at <= $1 ORDER BY last_seen_at LIMIT $2
        FOR UPDATE SKIP LOCKED)
"""

DELETE_WITH_USER = {
    "sessions": "DELETE FROM sessions WHERE user_id = $1",
    "known_devices": "DELETE FROM known_devices WHERE user_id = $1",
    "second_factors": "DELETE FROM second_factors WHERE holder_id = $1",
    "backup_codes": "DELETE FROM backup_codes WHERE holder_id = $1",
    "members": "DELETE FROM members WHERE user_id = $1",
    "address_changes": "DELETE FROM address_changes WHERE user_id = $1",
    "passkeys": "DELETE FROM passkeys WHERE holder_id = $1",
    "users": "DELETE FROM users WHERE id = $1",
}

# Credentials that may have been revoked or used after the backup.
END_ALL_SESSIONS = "UPDATE sessions SET ended_at = $1 WHERE ended_at IS NULL"
END_ALL_OPERATOR_SESSIONS = "UPDATE operator_sessions SET ended_at = $1 WHERE ended_at IS NULL"
EXPIRE_ALL_CODES = "UPDATE oauth_codes SET expires_at = least(expires_at, $1) WHERE used_at IS NULL"


async def insert(
    tx: Tx,
    user_id: UserId,
    merchant_id: MerchantId | None,
    *,
    email: str,
    key: str,
    password_hash: str,
    language: str,
    now: datetime,
) -> bool:
    """Insert a user; False if the email has an account, or is kept for one.

    `merchant_id` is of the merchant that the user opens, else None.
    """
    await lock_address(tx, key)
    return await tx.execute(INSERT, user_id, merchant_id, email, key, password_hash, now, language) == 1


async def lock_address(tx: Tx, key: str) -> None:
    """Wait for others that take or leave this address, until the transaction ends."""
    await tx.execute(LOCK_ADDRESS, key)


async def find_by_email(db: Pool, email_key: str) -> Row | None:
    """The user with this `email_key`."""
    return await db.fetchrow(FIND_BY_EMAIL, email_key)


async def get(db: Pool, user_id: UUID) -> Row | None:
    """The user with this ID."""
    return await db.fetchrow(GET, user_id)


async def record_device(tx: Tx, user_id: UUID, device_hash: bytes, now: datetime) -> bool:
    """Record the use of a device; True if it is new for the user."""
    if await tx.execute(RECORD_DEVICE_SEEN, user_id, device_hash, now):
        return False
    return await tx.execute(INSERT_DEVICE, user_id, device_hash, now) == 1


async def lock(tx: Tx, user_id: UUID) -> Row | None:
    """Lock the user and return the row."""
    return await tx.fetchrow(LOCK, user_id)


async def share(tx: Tx, user_id: UUID) -> None:
    """Keep whoever locks the user waiting until the transaction ends."""
    await tx.execute(SHARE, user_id)


async def reset_password(tx: Tx, user_id: UUID, password_hash: str, now: datetime) -> None:
    """Set a new password after the use of a reset link."""
    await tx.execute(RESET, user_id, password_hash, now)


async def list_of_merchant(tx: Tx, merchant_id: MerchantId) -> list[Row]:
    """The users of a merchant: `id`, `email` and `language`."""
    return await tx.fetch(OF_MERCHANT, merchant_id)


async def change_password(tx: Tx, user_id: UUID, password_hash: str, now: datetime, seen: datetime | None) -> bool:
    """Set a new password; False if the current one is not of `seen`."""
    return await tx.execute(CHANGE, user_id, password_hash, now, seen) == 1


async def password_changed_at(db: Pool, user_id: UUID) -> datetime | None:
    """When the password was last changed; None for the password of sign-up."""
    [row] = await db.fetch(CHANGED_AT, user_id)
    return row["password_changed_at"]


async def verify_email(tx: Tx, user_id: UUID, now: datetime) -> None:
    """Mark the email address as verified; the first time counts."""
    await tx.execute(VERIFY_EMAIL, user_id, now)


async def revoke_grants(
    tx: Tx, merchant_id: UUID, reason: str, now: datetime, mode: Mode | None = None
) -> list[ChangedConnection]:
    """Revoke every grant of the merchant, or those of one mode, and delete unused codes; the revoked grants."""
    await tx.execute(DELETE_CODES, merchant_id, mode)
    return [ChangedConnection(**row) for row in await tx.fetch(REVOKE_GRANTS, merchant_id, now, reason, mode)]


async def delete_user(tx: Tx, user_id: UUID) -> dict[str, int]:
    """Delete a user without emails and saved filters. Returns the number of rows by table."""
    return {table: await tx.execute(sql, user_id) for table, sql in DELETE_WITH_USER.items()}


async def end_sessions(tx: Tx, now: datetime) -> None:
    """When a database is restored: end all sessions of users and operators, and expire unused authorization codes."""
    for statement in (END_ALL_SESSIONS, END_ALL_OPERATOR_SESSIONS, EXPIRE_ALL_CODES):
        await tx.execute(statement, now)
