"""Every SQL statement about the sessions of operators."""

from datetime import datetime, timedelta
from uuid import UUID

from tollhouse.identity.model import Operator
from tollhouse.kernel.limits import ACTIVITY_EVERY_S, OPERATOR_SESSION_IDLE_S
from tollhouse.platform.db import Pool, Row, Tx

OPERATOR = """
    SELECT o.id, o.email, s.last_seen_at, coalesce(s.proved_at, s.created_at) AS proved_at,
           EXISTS (SELECT FROM second_factors f WHERE f.holder_id = o.id AND f.confirmed_at IS NOT NULL) AS has_second_factor
    FROM operator_sessions s JOIN operators o ON o.id = s.operator_id
    WHERE s.id_hash = $1 AND s.ended_at IS NULL AND s.expires_at > $2 AND s.last_seen_at > $3 AND o.closed_at IS NULL
"""
SEEN = "UPDATE operator_sessions SET last_seen_at = $2 WHERE id_hash = $1 AND last_seen_at < $3"
# Locks the operator: a password that is taken away at this moment opens nothing any more.
OPEN = """
    INSERT INTO operator_sessions (id_hash, operator_id, created_at, last_seen_at, expires_at)
    SELECT $1, o.id, $4, $4, $5 FROM operators o WHERE o.id = $2 AND o.password_hash = $3 FOR SHARE
"""
RENEW = "UPDATE operator_sessions SET id_hash = $2, proved_at = $3 WHERE id_hash = $1 AND ended_at IS NULL"
END = "UPDATE operator_sessions SET ended_at = $2 WHERE id_hash = $1 AND ended_at IS NULL"
END_ALL = "UPDATE operator_sessions SET ended_at = $2 WHERE operator_id = $1 AND ended_at IS NULL"
# What an operator signs in with, to be asked for again.
BY_EMAIL = "SELECT id, email, password_hash FROM operators WHERE email_key = $1 AND closed_at IS NULL"

EVERY = timedelta(seconds=ACTIVITY_EVERY_S)
IDLE = timedelta(seconds=OPERATOR_SESSION_IDLE_S)


async def operator(db: Pool, id_hash: bytes, now: datetime) -> Operator | None:
    """Who has this session; None when it is unknown, ended, idle too long or too old."""
    row = await db.fetchrow(OPERATOR, id_hash, now, now - IDLE)
    if row is None:
        return None
    if row["last_seen_at"] <= now - EVERY:
        await db.execute(SEEN, id_hash, now, now - EVERY)
    return Operator(row["id"], row["email"], id_hash, row["has_second_factor"], row["proved_at"])


async def open_session(
    tx: Tx, id_hash: bytes, operator_id: UUID, password_hash: str, now: datetime, expires_at: datetime
) -> bool:
    """Begin a session; False when the operator has this password no more."""
    return await tx.execute(OPEN, id_hash, operator_id, password_hash, now, expires_at) == 1


async def renew(db: Pool, id_hash: bytes, new_hash: bytes, now: datetime) -> bool:
    """The session has another secret and authenticated now; False where it ended, or was renewed by somebody else."""
    return await db.execute(RENEW, id_hash, new_hash, now) == 1


async def by_email(db: Pool, key: str) -> Row | None:
    """Who signs in with this folded e-mail."""
    return await db.fetchrow(BY_EMAIL, key)


async def end_session(db: Pool | Tx, id_hash: bytes, now: datetime) -> None:
    """End a session, wherever else its cookie may still be."""
    await db.execute(END, id_hash, now)


async def end_all(tx: Tx, operator_id: UUID, now: datetime) -> None:
    """End every session of an operator."""
    await tx.execute(END_ALL, operator_id, now)
