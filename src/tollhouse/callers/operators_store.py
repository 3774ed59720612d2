"""Every SQL statement about the sessions of operators."""

from datetime import datetime, timedelta
from uuid import UUID

from tollhouse.callers.model import Operator
from tollhouse.kernel.limits import ACTIVITY_EVERY_S, OPERATOR_SESSION_IDLE_S
from tollhouse.platform.db import Pool, Tx

OPERATOR = """
    SELECT o.id, o.email, s.last_seen_at FROM operator_sessions s JOIN operators o ON o.id = s.operator_id
    WHERE s.id_hash = $1 AND s.ended_at IS NULL AND s.expires_at > $2 AND s.last_seen_at > $3 AND o.closed_at IS NULL
"""
SEEN = "UPDATE operator_sessions SET last_seen_at = $2 WHERE id_hash = $1 AND last_seen_at < $3"
# Locks the operator: a password that is taken away at this moment opens nothing any more.
OPEN = """
    INSERT INTO operator_sessions (id_hash, operator_id, created_at, last_seen_at, expires_at)
    SELECT $1, o.id, $4, $4, $5 FROM operators o WHERE o.id = $2 AND o.password_hash = $3 FOR SHARE
"""
END = "UPDATE operator_sessions SET ended_at = $2 WHERE id_hash = $1 AND ended_at IS NULL"
END_ALL = "UPDATE operator_sessions SET ended_at = $2 WHERE operator_id = $1 AND ended_at IS NULL"

EVERY = timedelta(seconds=ACTIVITY_EVERY_S)
IDLE = timedelta(seconds=OPERATOR_SESSION_IDLE_S)


async def operator(db: Pool, id_hash: bytes, now: datetime) -> Operator | None:
    """Who has this session; None when it is unknown, ended, idle too long or too old."""
    row = await db.fetchrow(OPERATOR, id_hash, now, now - IDLE)
    if row is None:
        return None
    if row["last_seen_at"] <= now - EVERY:
        await db.execute(SEEN, id_hash, now, now - EVERY)
    return Operator(row["id"], row["email"])


async def open_session(
    tx: Tx, id_hash: bytes, operator_id: UUID, password_hash: str, now: datetime, expires_at: datetime
) -> bool:
    """Begin a session; False when the operator has this password no more."""
    return await tx.execute(OPEN, id_hash, operator_id, password_hash, now, expires_at) == 1


async def end_session(db: Pool | Tx, id_hash: bytes, now: datetime) -> None:
    """End a session, wherever else its cookie may still be."""
    await db.execute(END, id_hash, now)


async def end_all(tx: Tx, operator_id: UUID, now: datetime) -> None:
    """End every session of an operator."""
    await tx.execute(END_ALL, operator_id, now)
