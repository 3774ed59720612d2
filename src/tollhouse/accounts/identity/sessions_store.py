"""Every SQL statement about the sessions of users."""

from collections.abc import Callable
from datetime import datetime, timedelta
from uuid import UUID

from msgspec import Struct

from tollhouse.accounts.identity.model import Person
from tollhouse.kernel.ids import MerchantId, Mode, UserId
from tollhouse.kernel.limits import ACTIVITY_EVERY_S, SESSION_IDLE_S
from tollhouse.platform.database.pool import Pool, Row, Tx

PERSON = """
    SELECT u.id AS user_id, u.email, u.created_at AS user_created_at, m.id AS merchant_id, m.business_name, b.role,
           m.suspended_at IS NOT NULL AS suspended, m.created_at AS merchant_created_at, m.time_zone, s.last_seen_at,
           u.language, u.verified_at IS NOT NULL AS verified, u.dashboard_mode AS remembered_mode, s.id_hash AS session_hash,
           m.second_factors_required_at IS NOT NULL AND NOT has_second_factor(u.id) AS lacks_factor,
           s.public_id AS session_id, coalesce(s.proved_at, s.created_at) AS authenticated_at, s.device_hash,
           (SELECT count(*) FROM members o WHERE o.user_id = u.id AND o.removed_at IS NULL) AS merchants,
           d.live_disputes, d.test_disputes, p.live_proposals, p.test_proposals
    FROM sessions s
    CROSS JOIN LATERAL (
        SELECT count(*) FILTER (WHERE c.mode = 'live') AS live_disputes,
               count(*) FILTER (WHERE c.mode = 'test') AS test_disputes
        FROM chargebacks c
        WHERE c.merchant_id = s.merchant_id AND c.status = 'open'
          AND c.response = 'needed'
          AND (c.respond_by IS NULL OR c.respond_by > time_of_environment(c.merchant_id, c.mode, $2))
    ) d
    CROSS JOIN LATERAL (
        SELECT count(*) FILTER (WHERE w.mode = 'live') AS live_proposals,
               count(*) FILTER (WHERE w.mode = 'test') AS test_proposals
        FROM proposals w
        WHERE w.merchant_id = s.merchant_id AND w.status = 'waiting'
          AND w.expires_at > $2
    ) p
    JOIN members b ON b.merchant_id = s.merchant_id AND b.user_id = s.user_id AND b.removed_at IS NULL
    JOIN users u ON u.id = s.user_id JOIN merchants m ON m.id = s.merchant_id
    WHERE s.id_hash = $1 AND s.ended_at IS NULL AND s.expires_at > $2
      AND (s.last_seen_at > $3 OR s.device_hash IS NOT NULL)
"""
RECORD_SEEN = "UPDATE sessions SET last_seen_at = $2, address = $4 WHERE id_hash = $1 AND last_seen_at < $3"
# Locks the user: a concurrent change of the password is either seen here or waits. Of several merchants, the one that the
# person acted for last.
INSERT = """
    INSERT INTO sessions (id_hash, user_id, merchant_id, created_at, last_seen_at, expires_at, user_agent, address)
    SELECT $1, u.id, (
        SELECT m.merchant_id FROM members m WHERE m.user_id = u.id AND m.removed_at IS NULL
        ORDER BY (m.merchant_id = $8) DESC NULLS LAST,
            (SELECT max(s.last_seen_at) FROM sessions s WHERE (s.user_id, s.merchant_id) = (m.user_id, m.merchant_id))
            DESC NULLS LAST, m.created_at, m.merchant_id LIMIT 1), $3, $3, $4, $5, $6
    FROM users u WHERE u.id = $2 AND u.password_hash = $7 FOR SHARE
    RETURNING merchant_id
"""
STAY = "UPDATE sessions SET device_hash = $2 WHERE id_hash = $1 AND ended_at IS NULL"
ACT_FOR = """
    UPDATE sessions s SET merchant_id = m.merchant_id FROM members m
    WHERE s.id_hash = $1 AND s.ended_at IS NULL AND m.merchant_id = $2 AND m.user_id = s.user_id AND m.removed_at IS NULL
"""
ROTATE = "UPDATE sessions SET id_hash = $2, proved_at = $3 WHERE id_hash = $1 AND ended_at IS NULL"
LIST_ACTIVE = """
    SELECT public_id, id_hash, user_agent, address, created_at, last_seen_at, expires_at, device_hash IS NOT NULL AS stays
    FROM sessions
    WHERE user_id = $1 AND ended_at IS NULL AND expires_at > $2 AND (last_seen_at > $3 OR device_hash IS NOT NULL)
    ORDER BY last_seen_at DESC, public_id LIMIT $4
"""
SWITCH = """
    UPDATE sessions SET id_hash = $2, merchant_id = $3 WHERE id_hash = $1 AND user_id = $4 AND ended_at IS NULL
"""
# Revoking the session waits until this transaction ends, and then sees what it wrote.
LOCK = "SELECT true FROM sessions WHERE id_hash = $1 AND ended_at IS NULL FOR SHARE"
# Changing the role waits, too.
LOCK_WITH_ROLE = """
    SELECT true FROM sessions s JOIN members m ON (m.merchant_id, m.user_id) = (s.merchant_id, s.user_id)
    WHERE s.id_hash = $1 AND s.ended_at IS NULL AND (m.merchant_id, m.role) = ($2, $3) AND m.removed_at IS NULL
    FOR SHARE OF s, m
"""
REVOKE = "UPDATE sessions SET ended_at = $2 WHERE id_hash = $1 AND ended_at IS NULL RETURNING user_id, merchant_id"
REVOKE_ONE = "UPDATE sessions SET ended_at = $3 WHERE user_id = $1 AND public_id = $2 AND ended_at IS NULL"
REVOKE_OTHERS = "UPDATE sessions SET ended_at = $3 WHERE user_id = $1 AND id_hash <> $2 AND ended_at IS NULL"
REVOKE_ALL = "UPDATE sessions SET ended_at = $2 WHERE user_id = $1 AND ended_at IS NULL"
# Waits for a key that one of these sessions is making, which the next statement then sees.
REVOKE_OF_MEMBER = "UPDATE sessions SET ended_at = $3 WHERE merchant_id = $1 AND user_id = $2 AND ended_at IS NULL"
FIND_BY_EMAIL = "SELECT id, email, language, password_hash FROM users WHERE email_key = $1"
SET_LANGUAGE = "UPDATE users SET language = $2 WHERE id = $1 AND language <> $2"
SET_MODE = "UPDATE users SET dashboard_mode = $2 WHERE id = $1 AND dashboard_mode IS DISTINCT FROM $2"
HAS_LIVE_PAYMENTS = """
    SELECT true FROM transactions WHERE merchant_id = $1 AND mode = 'live' AND succeeded_at IS NOT NULL LIMIT 1
"""
DELETE_IDLE = """
    DELETE FROM sessions WHERE id_hash IN (
        SELECT id_hash FROM sessions
        WHERE last_seen_at <= $1 AND (device_hash IS NULL OR ended_at IS NOT NULL OR expires_at <= $1)
        ORDER BY last_seen_at LIMIT $2 FOR UPDATE SKIP LOCKED)
"""

ACTIVITY_INTERVAL = timedelta(seconds=ACTIVITY_EVERY_S)
IDLE = timedelta(seconds=SESSION_IDLE_S)


class ActiveSession(Struct, frozen=True):
    """An active session and the browser that opened it."""

    public_id: UUID
    id_hash: bytes
    user_agent: str | None
    address: str | None
    created_at: datetime
    last_seen_at: datetime
    expires_at: datetime
    stays: bool


def _nowhere() -> frozenset[bytes]:
    return frozenset()


async def find_person(
    db: Pool, id_hash: bytes, address: str, now: datetime, devices: Callable[[], frozenset[bytes]] = _nowhere
) -> Person | None:
    """The user of an active session; None if it is unknown, ended, idle or expired. Records the last use.

    A session that stays signed in on a device is never idle there; `devices` reads the devices of the request.
    """
    row = await db.fetchrow(PERSON, id_hash, now, now - IDLE)
    if row is None or (row["last_seen_at"] <= now - IDLE and row["device_hash"] not in devices()):
        return None
    if row["last_seen_at"] <= now - ACTIVITY_INTERVAL:
        await db.execute(RECORD_SEEN, id_hash, now, now - ACTIVITY_INTERVAL, address)
    return Person(**{name: row[name] for name in Person.__struct_fields__ if name in row})


async def insert(
    tx: Tx,
    id_hash: bytes,
    user_id: UUID,
    password_hash: str,
    now: datetime,
    expires_at: datetime,
    user_agent: str | None,
    address: str,
    merchant_id: MerchantId | None,
) -> Row | None:
    """Insert a session, for this merchant if the user belongs to it; its `merchant_id`, null if the user belongs to none.

    None if the password is no longer this one.
    """
    return await tx.fetchrow(INSERT, id_hash, user_id, now, expires_at, user_agent, address, password_hash, merchant_id)


async def revoke_of_member(tx: Tx, merchant_id: MerchantId, user_id: UUID, now: datetime) -> None:
    """End the sessions of a person that act for a merchant."""
    await tx.execute(REVOKE_OF_MEMBER, merchant_id, user_id, now)


async def act_for(tx: Tx, id_hash: bytes, merchant_id: MerchantId) -> bool:
    """Let a session act for another merchant; False if it has ended, or the user does not belong to that merchant."""
    return await tx.execute(ACT_FOR, id_hash, merchant_id) == 1


async def stay(db: Pool, id_hash: bytes, device_hash: bytes) -> None:
    """Let an active session stay signed in on this device."""
    await db.execute(STAY, id_hash, device_hash)


async def rotate_secret(db: Pool, id_hash: bytes, new_hash: bytes, now: datetime) -> bool:
    """Replace the secret of a session authenticated now; False if it ended or was rotated concurrently."""
    return await db.execute(ROTATE, id_hash, new_hash, now) == 1


async def lock(tx: Tx, id_hash: bytes) -> bool:
    """Lock the session against revocation; False if it has ended."""
    return bool(await tx.fetchval(LOCK, id_hash))


async def lock_with_role(tx: Tx, person: Person) -> bool:
    """Lock the session against revocation, and the role; False if it has ended, or does not act for the merchant so."""
    return bool(await tx.fetchval(LOCK_WITH_ROLE, person.session_hash, person.merchant_id, person.role))


async def switch(tx: Tx, person: Person, new_hash: bytes, merchant_id: MerchantId) -> bool:
    """Let a session act for another merchant, with a new secret; False if it has ended or was rotated concurrently."""
    return await tx.execute(SWITCH, person.session_hash, new_hash, merchant_id, person.user_id) == 1


async def list_active(db: Pool, user_id: UserId, now: datetime, limit: int) -> list[ActiveSession]:
    """The active sessions of a user, most recently used first."""
    return [ActiveSession(**row) for row in await db.fetch(LIST_ACTIVE, user_id, now, now - IDLE, limit)]


async def revoke(tx: Tx, id_hash: bytes, now: datetime) -> Row | None:
    """End a session; its `user_id` and `merchant_id`, or None if it was not active."""
    return await tx.fetchrow(REVOKE, id_hash, now)


async def revoke_one(tx: Tx, user_id: UserId, public_id: UUID, now: datetime) -> bool:
    """End one session of this user; False if the user has no such active session."""
    return await tx.execute(REVOKE_ONE, user_id, public_id, now) == 1


async def revoke_others(tx: Tx, user_id: UserId, id_hash: bytes, now: datetime) -> int:
    """End every session of this user except one; how many were active."""
    return await tx.execute(REVOKE_OTHERS, user_id, id_hash, now)


async def revoke_all(tx: Tx, user_id: UUID, now: datetime) -> None:
    """End every session of this user."""
    await tx.execute(REVOKE_ALL, user_id, now)


async def set_language(db: Pool, user_id: UserId, language: str) -> None:
    """Set the language of emails to this user."""
    await db.execute(SET_LANGUAGE, user_id, language)


async def set_mode(db: Pool, user_id: UserId, mode: Mode) -> None:
    """Set the mode of the last page that this user opened."""
    await db.execute(SET_MODE, user_id, mode)


async def has_live_payments(db: Pool, merchant_id: MerchantId) -> bool:
    """Whether a live payment of the merchant has succeeded."""
    return await db.fetchrow(HAS_LIVE_PAYMENTS, merchant_id) is not None


async def find_by_email(db: Pool | Tx, email_key: str) -> Row | None:
    """The user with this `email_key`, with `password_hash`, for reauthentication."""
    return await db.fetchrow(FIND_BY_EMAIL, email_key)
