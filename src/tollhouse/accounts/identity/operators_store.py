"""Every SQL statement about the sessions of operators."""

from datetime import datetime, timedelta
from uuid import UUID

from tollhouse.accounts.identity.model import Operator
from tollhouse.kernel.limits import ACTIVITY_EVERY_S, OPERATOR_SESSION_IDLE_S
from tollhouse.platform.database.pool import Pool, Row, Tx

OPERATOR = """
    SELECT o.id, o.email, s.last_seen_at, coalesce(s.proved_at, s.created_at) AS authenticated_at,
           has_second_factor(o.id) AS has_second_factor
    FROM operator_sessions s JOIN operators o ON o.id = s.operator_id
    WHERE s.id_hash = $1 AND s.ended_at IS NULL AND s.expires_at > $2 AND s.last_seen_at > $3 AND o.closed_at IS NULL
"""
RECORD_SEEN = "UPDATE operator_sessions SET last_seen_at = $2 WHERE id_hash = $1 AND last_seen_at < $3"
# Locks the operator: a concurrent reset of the password is either seen here or waits.
INSERT = """
    INSERT INTO operator_sessions (id_hash, operator_id, created_at, last_seen_at, expires_at)
    SELECT $1, o.id, $4, $4, $5 FROM operators o WHERE o.id = $2 AND o.password_hash = $3 FOR SHARE
"""
ROTATE = "UPDATE operator_sessions SET id_hash = $2, proved_at = $3 WHERE id_hash = $1 AND ended_at IS NULL"
LOCK = "SELECT true FROM operator_sessions WHERE id_hash = $1 AND ended_at IS NULL FOR SHARE"
REVOKE = "UPDATE operator_sessions SET ended_at = $2 WHERE id_hash = $1 AND ended_at IS NULL"
REVOKE_ALL = "UPDATE operator_sessions SET ended_at = $2 WHERE operator_id = $1 AND ended_at IS NULL"
FIND_BY_EMAIL = "SELECT id, email, password_hash FROM operators WHERE email_key = $1 AND closed_at IS NULL"
DELETE_IDLE = """
    DELETE FROM operator_sessions WHERE id_hash IN (
        SELECT id_hash FROM operator_sessions WHERE last_seen_at <= $1 ORDER BY last_seen_at LIMIT $2
        FOR UPDATE SKIP LOCKED)
"""

ACTIVITY_INTERVAL = timedelta(seconds=ACTIVITY_EVERY_S)
IDLE = timedelta(seconds=OPERATOR_SESSION_IDLE_S)


async def find_operator(db: Pool, id_hash: bytes, now: datetime) -> Operator | None:
    """The operator of an active session; None if it is unknown, ended, idle or expired. Records the last use."""
    row = await db.fetchrow(OPERATOR, id_hash, now, now - IDLE)
    if row is None:
        return None
    if row["last_seen_at"] <= now - ACTIVITY_INTERVAL:
        await db.execute(RECORD_SEEN, id_hash, now, now - ACTIVITY_INTERVAL)
    return Operator(row["id"], row["email"], id_hash, row["has_second_factor"], row["authenticated_at"])


async def insert(tx: Tx, id_hash: bytes, operator_id: UUID, password_hash: str, now: datetime, expires_at: datetime) -> bool:
    """Insert a session; False if the operator no longer has this password."""
    return await tx.execute(INSERT, id_hash, operator_id, password_hash, now, expires_at) == 1


async def rotate_secret(db: Pool, id_hash: bytes, new_hash: bytes, now: datetime) -> bool:
    """Replace the secret of a session authenticated now; False if it ended or was rotated concurrently."""
    return await db.execute(ROTATE, id_hash, new_hash, now) == 1


async def lock(tx: Tx, id_hash: bytes) -> bool:
    """Lock the session against revocation; False if it has ended."""
    return bool(await tx.fetchval(LOCK, id_hash))


async def find_by_email(db: Pool, email_key: str) -> Row | None:
    """The operator with this `email_key`, with `password_hash`."""
    return await db.fetchrow(FIND_BY_EMAIL, email_key)


async def revoke(db: Pool | Tx, id_hash: bytes, now: datetime) -> None:
    """End a session."""
    await db.execute(REVOKE, id_hash, now)


async def revoke_all(tx: Tx, operator_id: UUID, now: datetime) -> None:
    """End every session of an operator."""
    await tx.execute(REVOKE_ALL, operator_id, now)
