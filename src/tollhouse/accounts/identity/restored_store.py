"""SQL of what ends when a database is restored: credentials that may have been revoked or used after the backup."""

from datetime import datetime

from tollhouse.platform.database.pool import Tx

END_SESSIONS = "UPDATE sessions SET ended_at = $1 WHERE ended_at IS NULL"
END_OPERATOR_SESSIONS = "UPDATE operator_sessions SET ended_at = $1 WHERE ended_at IS NULL"
EXPIRE_CODES = "UPDATE oauth_codes SET expires_at = least(expires_at, $1) WHERE used_at IS NULL"


async def end_sessions(tx: Tx, now: datetime) -> None:
    """End all sessions of users and operators, and expire authorization codes that were not used."""
    for statement in (END_SESSIONS, END_OPERATOR_SESSIONS, EXPIRE_CODES):
        await tx.execute(statement, now)
