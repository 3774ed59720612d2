"""Every SQL statement about setting another password, and about showing that mail arrives."""

from datetime import datetime
from uuid import UUID

from tollhouse.platform.db import Pool, Row, Tx

# Whoever sets a password is behind this lock: of two who do so at once, the second one sees what the first one did.
LOCK = """
    SELECT id, merchant_id, email, language, password_hash, password_changed_at, verified_at FROM users
    WHERE id = $1 FOR UPDATE
"""
# A link that was mailed and came back shows too that mails reach the address.
SET_BY_MAIL = """
    UPDATE users SET password_hash = $2, password_changed_at = $3, password_reset_at = $3,
        verified_at = coalesce(verified_at, $3)
    WHERE id = $1
"""
CHANGE = """
    UPDATE users SET password_hash = $2, password_changed_at = $3
    WHERE id = $1 AND password_changed_at IS NOT DISTINCT FROM $4
"""
CHANGED_AT = "SELECT password_changed_at FROM users WHERE id = $1"
REVOKE_KEYS = """
    UPDATE api_keys SET revoked_at = $2 WHERE merchant_id = $1 AND revoked_at IS NULL RETURNING id, mode, name
"""
# Codes first: one that is being exchanged at this moment is a grant when the next statement looks.
DROP_CODES = "DELETE FROM oauth_codes WHERE merchant_id = $1 AND used_at IS NULL"
REVOKE_GRANTS = """
    UPDATE oauth_grants g SET revoked_at = $2, revoked_because = 'password_reset'
    FROM oauth_clients c
    WHERE c.id = g.client_id AND g.merchant_id = $1 AND g.grant_epoch = c.grant_epoch AND g.revoked_at IS NULL
      AND g.expires_at > $2
    RETURNING g.client_id, c.name, g.mode
"""
VERIFY = "UPDATE users SET verified_at = $2 WHERE id = $1 AND verified_at IS NULL"


async def lock(tx: Tx, user_id: UUID) -> Row | None:
    """Who this is, whom nobody else can change meanwhile."""
    return await tx.fetchrow(LOCK, user_id)


async def set_by_mail(tx: Tx, user_id: UUID, password_hash: str, now: datetime) -> None:
    """Another password, by a link that was mailed."""
    await tx.execute(SET_BY_MAIL, user_id, password_hash, now)


async def change(tx: Tx, user_id: UUID, password_hash: str, now: datetime, seen: datetime | None) -> bool:
    """Another password, where it is still the one of then; False where somebody was first."""
    return await tx.execute(CHANGE, user_id, password_hash, now, seen) == 1


async def changed_at(db: Pool, user_id: UUID) -> datetime | None:
    """Since when it is this password; None where it is the one of sign-up."""
    [row] = await db.fetch(CHANGED_AT, user_id)
    return row["password_changed_at"]


async def verify(tx: Tx, user_id: UUID, now: datetime) -> None:
    """Mails reach this person. It counts from the first time on."""
    await tx.execute(VERIFY, user_id, now)


async def revoke_keys(tx: Tx, merchant_id: UUID, now: datetime) -> list[Row]:
    """Revoke every API key of the merchant; those that were active."""
    return await tx.fetch(REVOKE_KEYS, merchant_id, now)


async def revoke_grants(tx: Tx, merchant_id: UUID, now: datetime) -> list[Row]:
    """End every connection that the merchant has granted, codes that were not exchanged included; those that were active."""
    await tx.execute(DROP_CODES, merchant_id)
    return await tx.fetch(REVOKE_GRANTS, merchant_id, now)
