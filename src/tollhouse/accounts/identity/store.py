"""SQL of API credentials and failed attempts.

Each check of a credential is one indexed statement, for all that arrive at the same time. Of attempts, only failures are
written: successful ones take no lock.
"""

from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from tollhouse.accounts.identity.model import AccountSuspended, ApplicationSuspended, Caller, EverythingStops
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import ApiKeyId, ClientId, GrantId, MerchantId, Mode
from tollhouse.kernel.limits import ACCESS_TOKEN_S, ACTIVITY_EVERY_S
from tollhouse.kernel.resources import Resource
from tollhouse.kernel.scopes import Scopes
from tollhouse.platform.database.batched_store import for_many
from tollhouse.platform.database.pool import Pool, Row, Tx

# The bounds of expires_at prune the partitions. With `+ interval` they do so when the statement is executed, not when it is
# planned: otherwise the plan for these values always looks cheaper than the generic one, and each check is planned again.
BEARER = """
    SELECT t.grant_id, t.scope_mask & g.scope_mask & c.scope_mask AS scope_mask, g.mode, g.merchant_id, g.client_id,
           g.resource, c.client_type, m.business_name, m.suspended_at, a.last_used_at,
           t.retryable_until > $2 AS is_retryable, t.dpop_jkt, g.limits IS NOT NULL AS is_limited, g.proposals_only,
           c.suspended_at IS NOT NULL OR o.suspended_at IS NOT NULL AS application_suspended
    FROM oauth_access_tokens t
    JOIN oauth_grants g ON g.id = t.grant_id
    JOIN oauth_clients c ON c.id = g.client_id
    JOIN merchants m ON m.id = g.merchant_id
    LEFT JOIN merchants o ON o.id = c.merchant_id
    LEFT JOIN oauth_grant_activity a ON a.grant_id = g.id
    WHERE t.token_hash = $1
      AND t.expires_at > $2::timestamptz + interval '0 s' AND t.expires_at <= $2::timestamptz + $3::interval
      AND g.revoked_at IS NULL AND g.expires_at > $2 AND g.grant_epoch = c.grant_epoch AND c.status = 'enabled'
"""
API_KEY = """
    SELECT k.id, k.scope_mask, k.mode, k.merchant_id, m.business_name, m.suspended_at, a.last_used_at,
           k.limits IS NOT NULL AS is_limited, k.proposals_only, k.allowed_networks
    FROM api_keys k
    JOIN merchants m ON m.id = k.merchant_id
    LEFT JOIN api_key_activity a ON a.api_key_id = k.id
    WHERE k.key_hash = $1 AND k.revoked_at IS NULL
"""
BEARERS = for_many(BEARER, "bytea")
API_KEYS = for_many(API_KEY, "bytea")
# The first use of a token that a retry-safe refresh issued: it has arrived, so the refresh is not repeated any more.
END_RETRIES = "SELECT oauth_refresh_retries_end($1, $2, $3, $4)"
# The WHERE clause makes parallel requests safe; `use_is_stale` keeps the row lock off the hot path.
RECORD_GRANT_USE = """
    INSERT INTO oauth_grant_activity AS a (grant_id, last_used_at) VALUES ($1, $2)
    ON CONFLICT (grant_id) DO UPDATE SET last_used_at = excluded.last_used_at
    WHERE a.last_used_at <= excluded.last_used_at - interval '60 s'
"""
RECORD_API_KEY_USE = """
    INSERT INTO api_key_activity AS a (api_key_id, last_used_at) VALUES ($1, $2)
    ON CONFLICT (api_key_id) DO UPDATE SET last_used_at = excluded.last_used_at
    WHERE a.last_used_at <= excluded.last_used_at - interval '60 s'
"""
HAS_VERIFIED_USER = """
    SELECT true FROM members m JOIN users u ON u.id = m.user_id
    WHERE m.merchant_id = $1 AND m.removed_at IS NULL AND u.verified_at IS NOT NULL LIMIT 1
"""

Suspension = type[AccountSuspended | ApplicationSuspended]
ACTIVITY_INTERVAL = timedelta(seconds=ACTIVITY_EVERY_S)
HORIZON = timedelta(seconds=ACCESS_TOKEN_S + 60)
"""The latest expiry of a valid token, with a minute for clock differences."""

INSERT_API_KEY = """
    INSERT INTO api_keys
        (id, merchant_id, mode, name, key_hash, scope_mask, hint, created_at, limits, allowed_networks, proposals_only,
         created_by)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
"""
LIST_API_KEYS = """
    SELECT k.id, k.name, k.mode, k.scope_mask, k.hint, k.created_at, k.revoked_at, a.last_used_at,
           k.limits, k.allowed_networks, k.proposals_only
    FROM api_keys k LEFT JOIN api_key_activity a ON a.api_key_id = k.id
    WHERE k.merchant_id = $1 ORDER BY k.created_at DESC, k.id DESC
"""
GET_API_KEY = """
    SELECT k.id, k.name, k.mode, k.scope_mask, k.hint, k.created_at, k.revoked_at, a.last_used_at,
           k.limits, k.allowed_networks, k.proposals_only
    FROM api_keys k LEFT JOIN api_key_activity a ON a.api_key_id = k.id
    WHERE k.merchant_id = $1 AND k.id = $2
"""
REVOKE_API_KEY = """
    UPDATE api_keys SET revoked_at = $3 WHERE merchant_id = $1 AND id = $2 AND revoked_at IS NULL
    RETURNING id, name, mode, scope_mask, hint, created_at, revoked_at, limits, allowed_networks, proposals_only,
              (SELECT last_used_at FROM api_key_activity WHERE api_key_id = api_keys.id) AS last_used_at
"""
# $3: the keys of one mode; null for both.
REVOKE_API_KEYS = """
    UPDATE api_keys SET revoked_at = $2 WHERE merchant_id = $1 AND revoked_at IS NULL AND mode = coalesce($3, mode)
    RETURNING id, merchant_id, mode, name
"""
# Who makes a key or gives a consent holds it shared until the commit. Not waited for: whoever stops everything then ends
# what was made before, and what begins meanwhile is refused.
BEGIN_CREDENTIAL = "SELECT pg_try_advisory_xact_lock_shared(hashtextextended('credentials ' || $1::uuid || ' ' || $2, 0))"
LET_NONE_BEGIN = "SELECT pg_advisory_xact_lock(hashtextextended('credentials ' || $1::uuid || ' ' || $2, 0))"

# The exact times of the last failures form a sliding window.
# The WHERE clause bounds the array by the limit and decides races at the limit.
COUNT_FAILURE = """
    INSERT INTO failed_attempts AS f (name_hash, failed_at, forget_at)
    VALUES ($1, ARRAY[$2::timestamptz], $2::timestamptz + $3::interval)
    ON CONFLICT (name_hash) DO UPDATE SET
        failed_at = array_append(
            ARRAY(SELECT moment FROM unnest(f.failed_at) moment WHERE moment > $2::timestamptz - $3::interval), $2),
        forget_at = greatest(f.forget_at, excluded.forget_at)
    WHERE (SELECT count(*) FROM unnest(f.failed_at) moment WHERE moment > $2::timestamptz - $3::interval) < $4
"""
OLDEST_FAILURE = """
    SELECT min(moment) FROM failed_attempts f, unnest(f.failed_at) moment
    WHERE f.name_hash = $1 AND moment > $2::timestamptz - $3::interval
    HAVING count(*) >= $4
"""
DELETE_OLD_FAILURES = """
    DELETE FROM failed_attempts WHERE name_hash IN (
        SELECT name_hash FROM failed_attempts WHERE forget_at <= $1 LIMIT $2 FOR UPDATE SKIP LOCKED)
"""


class AccessToken(NamedTuple):
    """The caller of an access token, the error if it is suspended, and whether its refresh can still be repeated."""

    caller: Caller
    suspension: Suspension | None
    is_retryable: bool


async def find_by_access_token(db: Pool, token_hash: bytes, resource: Resource, now: datetime) -> AccessToken | None:
    """What an access token stands for; None if it is not valid for the resource."""
    row = await db.fetchrow_in_batch(BEARERS, (token_hash,), now, HORIZON)
    if row is None or row["resource"] != resource:
        return None
    caller = Caller(
        MerchantEnv(MerchantId(row["merchant_id"]), row["mode"]),
        row["business_name"],
        Scopes(row["scope_mask"]),
        client_id=ClientId(row["client_id"]),
        grant_id=GrantId(row["grant_id"]),
        client_is_public=row["client_type"] == "public",
        resource=resource,
        dpop_jkt=row["dpop_jkt"],
        use_is_stale=_is_stale(row, now),
        is_limited=row["is_limited"],
        proposals_only=row["proposals_only"],
    )
    suspension = ApplicationSuspended if row["application_suspended"] else None
    return AccessToken(caller, AccountSuspended if row["suspended_at"] else suspension, bool(row["is_retryable"]))


async def end_retries(db: Pool, token_hash: bytes, caller: Caller, now: datetime) -> None:
    """The refresh that issued this token is not repeated any more: one of its tokens is used."""
    await db.execute(END_RETRIES, token_hash, caller.grant_id, now, HORIZON)


async def find_by_api_key(db: Pool, key_hash: bytes, now: datetime) -> tuple[Caller, Suspension | None] | None:
    """The caller of an API key, and the error if it is suspended; None if the key is not valid."""
    row = await db.fetchrow_in_batch(API_KEYS, (key_hash,))
    if row is None:
        return None
    caller = Caller(
        MerchantEnv(MerchantId(row["merchant_id"]), row["mode"]),
        row["business_name"],
        Scopes(row["scope_mask"]),
        api_key_id=ApiKeyId(row["id"]),
        use_is_stale=_is_stale(row, now),
        is_limited=row["is_limited"],
        proposals_only=row["proposals_only"],
        allowed_networks=tuple(row["allowed_networks"] or ()),
    )
    return caller, AccountSuspended if row["suspended_at"] is not None else None


async def has_verified_user(db: Pool | Tx, merchant_id: MerchantId) -> bool:
    """Whether any user of this merchant has a verified email address."""
    return await db.fetchrow(HAS_VERIFIED_USER, merchant_id) is not None


async def record_use(db: Pool, caller: Caller, now: datetime) -> None:
    """Record a successful use, at most once a minute."""
    if caller.grant_id is not None:
        await db.execute(RECORD_GRANT_USE, caller.grant_id, now)
    elif caller.api_key_id is not None:
        await db.execute(RECORD_API_KEY_USE, caller.api_key_id, now)


def _is_stale(row: Row, now: datetime) -> bool:
    last: datetime | None = row["last_used_at"]
    return last is None or last <= now - ACTIVITY_INTERVAL


async def revoke_api_keys(tx: Tx, merchant_id: UUID, now: datetime, mode: Mode | None = None) -> list[Row]:
    """Revoke every API key of the merchant, or those of one mode; the revoked ones."""
    return await tx.fetch(REVOKE_API_KEYS, merchant_id, now, mode)


async def begin_credential(tx: Tx, env: MerchantEnv) -> None:
    """Announce a new key or consent until the end of the transaction. Raises `EverythingStops` while that happens."""
    if not await tx.fetchval(BEGIN_CREDENTIAL, env.merchant_id, env.mode):
        raise EverythingStops


async def let_no_credential_begin(tx: Tx, env: MerchantEnv) -> None:
    """Wait for keys and consents that are being made, and let none begin before the end of the transaction."""
    await tx.execute(LET_NONE_BEGIN, env.merchant_id, env.mode)


async def count_failure(db: Pool | Tx, name_hash: bytes, now: datetime, span: timedelta, limit: int) -> bool:
    """Count a failure; False if the limit within `span` is reached."""
    return await db.execute(COUNT_FAILURE, name_hash, now, span, limit) == 1


async def oldest_failure(db: Pool | Tx, name_hash: bytes, now: datetime, span: timedelta, limit: int) -> datetime | None:
    """The time of the oldest failure within `span`; None below the limit."""
    row = await db.fetchrow(OLDEST_FAILURE, name_hash, now, span, limit)
    return row[0] if row else None
