"""SQL of authorization requests and authorization codes. A request is decided once, by one compare-and-set."""

from datetime import datetime

from msgspec import Struct

from tollhouse.accounts.spending.model import read_limits
from tollhouse.kernel.ids import ClientId, MerchantId
from tollhouse.kernel.resources import Resource
from tollhouse.kernel.scopes import WRITES, Scopes
from tollhouse.oauth.requests_model import (
    CONNECTION_COUNT_MAX,
    AuthorizationRequest,
    ConsentRequest,
    Decision,
    DeviceRequest,
    Given,
)
from tollhouse.platform.database.pool import Pool, Row, Tx

INSERT = """
    INSERT INTO oauth_requests
        (id_hash, client_id, auth_epoch, redirect_uri, scope_mask, state, challenge, mode, resource, mac_key_id, created_at,
         expires_at, is_pushed, limits, dpop_jkt)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)
"""
# The first browser has the time of any other request. It can come again until the merchant has decided (RFC 9126 section 4).
OPEN = """
    UPDATE oauth_requests r
    SET opened_at = coalesce(r.opened_at, $3), expires_at = CASE WHEN r.opened_at IS NULL THEN $4 ELSE r.expires_at END
    FROM oauth_clients c
    WHERE r.id_hash = $1 AND r.client_id = $2 AND r.is_pushed AND r.decision IS NULL AND r.expires_at > $3
      AND c.id = r.client_id AND c.auth_epoch = r.auth_epoch
"""
INSERT_OF_DEVICE = """
    INSERT INTO oauth_requests
        (id_hash, client_id, auth_epoch, scope_mask, mode, resource, mac_key_id, created_at, expires_at, device_code_hash,
         user_code, device_address, device_agent, limits)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
    ON CONFLICT (user_code) WHERE user_code IS NOT NULL DO NOTHING
"""
COUNT_OPEN = """
    SELECT count(*) >= $3 AS is_full FROM (
        SELECT FROM oauth_requests WHERE client_id = $1 AND decision IS NULL AND expires_at > $2 LIMIT $3) AS open
"""
FIND_BY_USER_CODE = "SELECT device_code_hash FROM oauth_requests WHERE user_code = $1 AND expires_at > $2"
# A statement of its own: the next one sees what a decision or another poll has committed while this one waited.
LOCK_OF_DEVICE = "SELECT FROM oauth_requests WHERE device_code_hash = $1 AND client_id = $2 FOR NO KEY UPDATE"
# A poll before its time raises the interval by 5 s.
POLL = """
    WITH request AS MATERIALIZED (
        SELECT id_hash, client_id, auth_epoch, decision, resource, expires_at,
               coalesce(polled_at > $3::timestamptz - make_interval(secs => poll_interval_s), false) AS is_early
        FROM oauth_requests WHERE device_code_hash = $1 AND client_id = $2
    )
    UPDATE oauth_requests r SET polled_at = $3, poll_interval_s = r.poll_interval_s + CASE WHEN q.is_early THEN 5 ELSE 0 END
    FROM request q JOIN oauth_clients c ON c.id = q.client_id
    WHERE r.id_hash = q.id_hash
    RETURNING q.decision, q.resource, q.is_early, q.expires_at <= $3 AS is_expired,
              q.auth_epoch <> c.auth_epoch OR c.status <> 'enabled' AS is_ended,
              EXISTS (SELECT FROM oauth_codes k WHERE k.code_hash = $1 AND k.used_at IS NOT NULL) AS is_used,
              EXISTS (SELECT FROM oauth_codes k WHERE k.code_hash = $1 AND k.expires_at > $3) AS is_redeemable
"""
BIND = """
    UPDATE oauth_requests SET merchant_id = $2
    WHERE id_hash = $1 AND merchant_id IS NULL AND is_pushed = (opened_at IS NOT NULL)
"""
RELEASE = "UPDATE oauth_requests SET merchant_id = NULL WHERE id_hash = $1 AND merchant_id = $2 AND decision IS NULL"
FIND_FOR_MERCHANT = """
    SELECT r.id_hash, r.client_id, r.merchant_id, r.redirect_uri, r.scope_mask & c.scope_mask AS scope_mask, r.state, r.mode,
           r.resource, r.expires_at, r.decision, r.auth_epoch <> c.auth_epoch AS settings_changed, c.status AS client_status,
           c.suspended_at IS NOT NULL OR o.suspended_at IS NOT NULL AS client_suspended, c.name, c.description,
           c.website_url, c.policy_uri, c.tos_uri, c.created_at AS registered_at, o.business_name AS owner_name,
           s.branding->>'support_email' AS owner_email, r.created_at, r.device_code_hash, c.document_url,
           c.verified_at IS NOT NULL AS verified,
           $5 AND r.mode = 'live' AND c.approved_at IS NULL AND c.merchant_id IS NOT NULL
               AND r.scope_mask & c.scope_mask & $6 <> 0 AS awaits_approval,
           r.user_code, r.device_address, r.device_agent, r.limits,
           (SELECT count(*) FROM (
                SELECT FROM oauth_grants g
                WHERE g.client_id = c.id AND g.grant_epoch = c.grant_epoch AND g.revoked_at IS NULL AND g.expires_at > $3
                LIMIT $4) AS active) AS connections
    FROM oauth_requests r
    JOIN oauth_clients c ON c.id = r.client_id
    LEFT JOIN merchants o ON o.id = c.merchant_id
    LEFT JOIN merchant_settings s ON s.merchant_id = c.merchant_id AND s.mode = r.mode
    WHERE r.id_hash = $1 AND r.merchant_id = $2 AND r.is_pushed = (r.opened_at IS NOT NULL)
"""
# The scopes of the code are those that are requested, registered now and selected. A device code is bound to its digest.
ALLOW = """
    WITH decided AS (
        UPDATE oauth_requests r SET decision = 'allowed', decided_at = $4
        FROM oauth_clients c LEFT JOIN merchants o ON o.id = c.merchant_id, merchants m
        WHERE r.id_hash = $1 AND r.merchant_id = $2 AND r.decision IS NULL AND r.expires_at > $4
          AND c.id = r.client_id AND c.auth_epoch = r.auth_epoch AND c.status = 'enabled'
          AND c.suspended_at IS NULL AND o.suspended_at IS NULL AND m.id = r.merchant_id AND m.suspended_at IS NULL
          AND r.scope_mask & c.scope_mask & $3 & ~262144 <> 0
          AND (NOT $7 OR r.mode <> 'live' OR c.approved_at IS NOT NULL OR c.merchant_id IS NULL
               OR r.scope_mask & c.scope_mask & $3 & $8 = 0)
        RETURNING r.client_id, r.auth_epoch, r.merchant_id, r.mode, coalesce(r.redirect_uri, '') AS redirect_uri,
                  coalesce(r.challenge, r.device_code_hash) AS challenge,
                  r.scope_mask & c.scope_mask & $3 AS scope_mask, r.resource, r.dpop_jkt
    )
    INSERT INTO oauth_codes
        (code_hash, client_id, auth_epoch, merchant_id, mode, redirect_uri, challenge, scope_mask, resource, created_at,
         expires_at, proposals_only, limits, dpop_jkt, granted_by)
    SELECT $5, client_id, auth_epoch, merchant_id, mode, redirect_uri, challenge, scope_mask, resource, $4, $6,
           $10 OR resource = 'mcp' AND mode = 'live', $9, dpop_jkt, $11
    FROM decided
"""
DENY = """
    UPDATE oauth_requests r SET decision = 'denied', decided_at = $3
    FROM oauth_clients c
    WHERE r.id_hash = $1 AND r.merchant_id = $2 AND r.decision IS NULL AND r.expires_at > $3
      AND c.id = r.client_id AND c.auth_epoch = r.auth_epoch AND c.status = 'enabled'
"""


DELETE_REQUESTS = """
    DELETE FROM oauth_requests WHERE id_hash IN (
        SELECT id_hash FROM oauth_requests WHERE created_at <= $1 ORDER BY created_at LIMIT $2 FOR UPDATE SKIP LOCKED)
"""
DELETE_CODES = """
    DELETE FROM oauth_codes WHERE code_hash IN (
        SELECT code_hash FROM oauth_codes WHERE created_at <= $1 ORDER BY created_at LIMIT $2 FOR UPDATE SKIP LOCKED)
"""


class DevicePoll(Struct, frozen=True):
    """What a request of a device is when it is polled. `is_early`: before the interval has passed."""

    decision: Decision | None
    resource: Resource
    is_early: bool
    is_expired: bool
    is_ended: bool
    """The application was paused, or its settings were changed."""
    is_used: bool
    """The tokens were issued."""
    is_redeemable: bool


async def insert(
    db: Pool,
    id_hash: bytes,
    request: AuthorizationRequest,
    mac_key_id: str,
    now: datetime,
    expires_at: datetime,
    *,
    is_pushed: bool = False,
) -> None:
    """Insert a request. One that is pushed must be opened before a merchant can decide on it."""
    await db.execute(
        INSERT,
        id_hash,
        request.client_id,
        request.auth_epoch,
        request.redirect_uri,
        request.scopes.mask,
        request.state,
        request.challenge,
        request.mode,
        request.resource,
        mac_key_id,
        now,
        expires_at,
        is_pushed,
        request.limits,
        request.dpop_jkt,
    )


async def open_pushed(db: Pool, id_hash: bytes, client_id: ClientId, now: datetime, expires_at: datetime) -> bool:
    """Open a pushed request; False if the application has none that is valid and not decided."""
    return await db.execute(OPEN, id_hash, client_id, now, expires_at) == 1


async def is_full(db: Pool, client_id: ClientId, now: datetime, limit: int) -> bool:
    """Whether this many requests of the application wait for an answer. Requests at once can exceed it by their number."""
    row = await db.fetchrow(COUNT_OPEN, client_id, now, limit) if limit else None
    return row is not None and row["is_full"]


async def insert_of_device(db: Pool, new: DeviceRequest, mac_key_id: str, now: datetime, expires_at: datetime) -> bool:
    """Insert a request of a device; False if its user code exists."""
    return (
        await db.execute(
            INSERT_OF_DEVICE,
            new.id_hash,
            new.client_id,
            new.auth_epoch,
            new.scopes.mask,
            new.mode,
            new.resource,
            mac_key_id,
            now,
            expires_at,
            new.device_code_hash,
            new.user_code,
            new.address,
            new.agent,
            new.limits,
        )
        == 1
    )


async def find_by_user_code(db: Pool, user_code: str, now: datetime) -> bytes | None:
    """The digest of the device code of a request that has not expired."""
    row = await db.fetchrow(FIND_BY_USER_CODE, user_code, now)
    return None if row is None else row["device_code_hash"]


async def poll(tx: Tx, client_id: ClientId, device_code_hash: bytes, now: datetime) -> DevicePoll | None:
    """Record a poll, and what the request is then; None if the application has no such request."""
    await tx.fetchrow(LOCK_OF_DEVICE, device_code_hash, client_id)
    row = await tx.fetchrow(POLL, device_code_hash, client_id, now)
    return DevicePoll(**row) if row else None


async def find_for_merchant(
    db: Pool, id_hash: bytes, merchant_id: MerchantId, now: datetime, *, review: bool
) -> ConsentRequest | None:
    """The request, bound to the first merchant that opens it; None if it does not exist or is bound to another merchant.

    `review`: live write permissions need an approved application.
    """
    await db.execute(BIND, id_hash, merchant_id)
    counted = CONNECTION_COUNT_MAX + 1
    row = await db.fetchrow(FIND_FOR_MERCHANT, id_hash, merchant_id, now, counted, review, WRITES.mask)
    return _consent_request(row) if row else None


async def release(db: Pool, request: ConsentRequest) -> None:
    """Let another merchant open the request, unless it is decided."""
    await db.execute(RELEASE, request.id_hash, request.merchant_id)


async def allow(tx: Tx, request: ConsentRequest, given: Given, now: datetime, *, review: bool) -> bool:
    """Allow what is given and insert the code. False if the request was decided before or is not valid any more."""
    decided = (request.id_hash, request.merchant_id, given.scopes.mask, now, given.code_hash, given.code_expires_at)
    restricted = (given.limits.stored, given.proposals_only, given.user_id)
    return await tx.execute(ALLOW, *decided, review, WRITES.mask, *restricted) > 0


async def deny(db: Pool, request: ConsentRequest, now: datetime) -> bool:
    """Deny the request; False if it was decided before or is not valid any more."""
    return await db.execute(DENY, request.id_hash, request.merchant_id, now) > 0


def _consent_request(row: Row) -> ConsentRequest:
    values = dict(row)
    limits = read_limits(values.pop("limits"))
    return ConsentRequest(scopes=Scopes(values.pop("scope_mask")), limits=limits, **values)
