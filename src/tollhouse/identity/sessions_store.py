"""Every SQL statement about the sessions of merchants' people."""

from datetime import datetime, timedelta
from uuid import UUID

from msgspec import Struct

from tollhouse.identity.model import Person
from tollhouse.kernel.ids import MerchantId, UserId
from tollhouse.kernel.limits import ACTIVITY_EVERY_S, SESSION_IDLE_S
from tollhouse.platform.db import Pool, Row, Tx

PERSON = """
    SELECT u.id AS user_id, u.email, u.created_at AS user_created_at, m.id AS merchant_id, m.business_name,
           m.suspended_at, m.created_at AS merchant_created_at, m.time_zone, s.last_seen_at,
           u.language, u.verified_at IS NOT NULL AS verified, s.public_id,
           coalesce(s.proved_at, s.created_at) AS proved_at
    FROM sessions s JOIN users u ON u.id = s.user_id JOIN merchants m ON m.id = u.merchant_id
    WHERE s.id_hash = $1 AND s.ended_at IS NULL AND s.expires_at > $2 AND s.last_seen_at > $3
"""
SEEN = "UPDATE sessions SET last_seen_at = $2, address = $4 WHERE id_hash = $1 AND last_seen_at < $3"
# Locks the person: a password that is changed at this moment opens nothing any more.
OPEN = """
    INSERT INTO sessions (id_hash, user_id, created_at, last_seen_at, expires_at, user_agent, address)
    SELECT $1, u.id, $3, $3, $4, $5, $6 FROM users u WHERE u.id = $2 AND u.password_hash = $7 FOR SHARE
"""
RENEW = "UPDATE sessions SET id_hash = $2, proved_at = $3 WHERE id_hash = $1 AND ended_at IS NULL"
ACTIVE = """
    SELECT public_id, id_hash, user_agent, address, created_at, last_seen_at FROM sessions
    WHERE user_id = $1 AND ended_at IS NULL AND expires_at > $2 AND last_seen_at > $3
    ORDER BY last_seen_at DESC, public_id LIMIT $4
"""
# Until the transaction ends the session does too: whoever ends it waits, and finds what was made by it.
LOCK = "SELECT true FROM sessions WHERE id_hash = $1 AND ended_at IS NULL FOR SHARE"
END = "UPDATE sessions SET ended_at = $2 WHERE id_hash = $1 AND ended_at IS NULL RETURNING user_id"
END_ONE = "UPDATE sessions SET ended_at = $3 WHERE user_id = $1 AND public_id = $2 AND ended_at IS NULL"
END_OTHERS = "UPDATE sessions SET ended_at = $3 WHERE user_id = $1 AND id_hash <> $2 AND ended_at IS NULL"
END_ALL = "UPDATE sessions SET ended_at = $2 WHERE user_id = $1 AND ended_at IS NULL"
# What a person signs in with, to be asked for again.
BY_EMAIL = "SELECT id, merchant_id, email, language, password_hash FROM users WHERE email_key = $1"
SPEAK = "UPDATE users SET language = $2 WHERE id = $1 AND language <> $2"

EVERY = timedelta(seconds=ACTIVITY_EVERY_S)
IDLE = timedelta(seconds=SESSION_IDLE_S)


class ActiveSession(Struct, frozen=True):
    """A session that opens the dashboard now, and what is known of the browser it was opened with."""

    public_id: UUID
    id_hash: bytes
    user_agent: str | None
    address: str | None
    created_at: datetime
    last_seen_at: datetime


async def person(db: Pool, id_hash: bytes, address: str, now: datetime) -> Person | None:
    """Who has this session, seen at this address; None when it is unknown, ended, idle too long or too old."""
    row = await db.fetchrow(PERSON, id_hash, now, now - IDLE)
    if row is None:
        return None
    if row["last_seen_at"] <= now - EVERY:
        await db.execute(SEEN, id_hash, now, now - EVERY, address)
    return Person(
        UserId(row["user_id"]),
        row["email"],
        MerchantId(row["merchant_id"]),
        row["business_name"],
        row["suspended_at"] is not None,
        row["public_id"],
        id_hash,
        row["user_created_at"],
        row["merchant_created_at"],
        row["proved_at"],
        row["time_zone"],
        row["language"],
        row["verified"],
    )


async def open_session(
    tx: Tx,
    id_hash: bytes,
    user_id: UUID,
    password_hash: str,
    now: datetime,
    expires_at: datetime,
    user_agent: str | None,
    address: str,
) -> bool:
    """Begin a session; False when the person has this password no more."""
    return await tx.execute(OPEN, id_hash, user_id, now, expires_at, user_agent, address, password_hash) == 1


async def renew(db: Pool, id_hash: bytes, new_hash: bytes, now: datetime) -> bool:
    """The session has another secret and authenticated now; False where it ended, or was renewed by somebody else."""
    return await db.execute(RENEW, id_hash, new_hash, now) == 1


async def hold(tx: Tx, id_hash: bytes) -> bool:
    """Whether the session has not ended, and will not until this transaction does."""
    return bool(await tx.fetchval(LOCK, id_hash))


async def active(db: Pool, user_id: UserId, now: datetime, limit: int) -> list[ActiveSession]:
    """The sessions that this person can use now, the one seen last first."""
    return [ActiveSession(**row) for row in await db.fetch(ACTIVE, user_id, now, now - IDLE, limit)]


async def end(tx: Tx, id_hash: bytes, now: datetime) -> UUID | None:
    """End a session, wherever else its cookie may still be; whose it was. None: there was none."""
    user_id: UUID | None = await tx.fetchval(END, id_hash, now)
    return user_id


async def end_one(tx: Tx, user_id: UserId, public_id: UUID, now: datetime) -> bool:
    """End one of this person's sessions; False where it is over, or somebody else's."""
    return await tx.execute(END_ONE, user_id, public_id, now) == 1


async def end_others(tx: Tx, user_id: UserId, id_hash: bytes, now: datetime) -> int:
    """End every session of this person but one; how many there were."""
    return await tx.execute(END_OTHERS, user_id, id_hash, now)


async def end_all(tx: Tx, user_id: UUID, now: datetime) -> None:
    """End every session of this person."""
    await tx.execute(END_ALL, user_id, now)


async def speak(db: Pool, user_id: UserId, language: str) -> None:
    """From now on this person is mailed in this language."""
    await db.execute(SPEAK, user_id, language)


async def by_email(db: Pool | Tx, email_key: str) -> Row | None:
    """Who signs in with this folded e-mail, and by which password."""
    return await db.fetchrow(BY_EMAIL, email_key)
