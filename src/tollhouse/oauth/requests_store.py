"""SQL of authorization requests and authorization codes. A request is decided once, by one compare-and-set."""

from datetime import datetime

from tollhouse.kernel.ids import MerchantId
from tollhouse.kernel.scopes import Scopes
from tollhouse.oauth.model import CONNECTION_COUNT_MAX, AuthorizationRequest, ConsentRequest
from tollhouse.platform.database.pool import Pool, Row, Tx

INSERT = """
    INSERT INTO oauth_requests
        (id_hash, client_id, auth_epoch, redirect_uri, scope_mask, state, challenge, mode, mac_key_id, created_at,
         expires_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
"""
BIND = "UPDATE oauth_requests SET merchant_id = $2 WHERE id_hash = $1 AND merchant_id IS NULL"
RELEASE = "UPDATE oauth_requests SET merchant_id = NULL WHERE id_hash = $1 AND merchant_id = $2 AND decision IS NULL"
FIND_FOR_MERCHANT = """
    SELECT r.id_hash, r.client_id, r.merchant_id, r.redirect_uri, r.scope_mask & c.scope_mask AS scope_mask, r.state, r.mode,
           r.expires_at, r.decision, r.auth_epoch <> c.auth_epoch AS settings_changed, c.status AS client_status,
           c.suspended_at IS NOT NULL OR o.suspended_at IS NOT NULL AS client_suspended, c.name, c.description,
           c.website_url, c.created_at AS registered_at, o.business_name AS owner_name,
           (SELECT count(*) FROM (
                SELECT FROM oauth_grants g
                WHERE g.client_id = c.id AND g.grant_epoch = c.grant_epoch AND g.revoked_at IS NULL AND g.expires_at > $3
                LIMIT $4) AS active) AS connections
    FROM oauth_requests r
    JOIN oauth_clients c ON c.id = r.client_id
    JOIN merchants o ON o.id = c.merchant_id
    WHERE r.id_hash = $1 AND r.merchant_id = $2
"""
# The scopes of the code are those that are requested, registered now and selected.
ALLOW = """
    WITH decided AS (
        UPDATE oauth_requests r SET decision = 'allowed', decided_at = $4
        FROM oauth_clients c JOIN merchants o ON o.id = c.merchant_id, merchants m
        WHERE r.id_hash = $1 AND r.merchant_id = $2 AND r.decision IS NULL AND r.expires_at > $4
          AND c.id = r.client_id AND c.auth_epoch = r.auth_epoch AND c.status = 'enabled'
          AND c.suspended_at IS NULL AND o.suspended_at IS NULL AND m.id = r.merchant_id AND m.suspended_at IS NULL
          AND r.scope_mask & c.scope_mask & $3 & ~262144 <> 0
        RETURNING r.client_id, r.auth_epoch, r.merchant_id, r.mode, r.redirect_uri, r.challenge,
                  r.scope_mask & c.scope_mask & $3 AS scope_mask
    )
    INSERT INTO oauth_codes
        (code_hash, client_id, auth_epoch, merchant_id, mode, redirect_uri, challenge, scope_mask, created_at, expires_at)
    SELECT $5, client_id, auth_epoch, merchant_id, mode, redirect_uri, challenge, scope_mask, $4, $6 FROM decided
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


async def insert(
    db: Pool, id_hash: bytes, request: AuthorizationRequest, mac_key_id: str, now: datetime, expires_at: datetime
) -> None:
    """Insert a request."""
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
        mac_key_id,
        now,
        expires_at,
    )


async def find_for_merchant(db: Pool, id_hash: bytes, merchant_id: MerchantId, now: datetime) -> ConsentRequest | None:
    """The request, bound to the first merchant that opens it; None if it does not exist or is bound to another merchant."""
    await db.execute(BIND, id_hash, merchant_id)
    row = await db.fetchrow(FIND_FOR_MERCHANT, id_hash, merchant_id, now, CONNECTION_COUNT_MAX + 1)
    return _consent_request(row) if row else None


async def release(db: Pool, request: ConsentRequest) -> None:
    """Let another merchant open the request, unless it is decided."""
    await db.execute(RELEASE, request.id_hash, request.merchant_id)


async def allow(
    tx: Tx, request: ConsentRequest, selected: Scopes, code_hash: bytes, now: datetime, code_expires_at: datetime
) -> bool:
    """Allow the selected scopes and insert the code; False if the request was decided before or is not valid any more."""
    inserted = await tx.execute(ALLOW, request.id_hash, request.merchant_id, selected.mask, now, code_hash, code_expires_at)
    return inserted > 0


async def deny(db: Pool, request: ConsentRequest, now: datetime) -> bool:
    """Deny the request; False if it was decided before or is not valid any more."""
    return await db.execute(DENY, request.id_hash, request.merchant_id, now) > 0


def _consent_request(row: Row) -> ConsentRequest:
    values = dict(row)
    return ConsentRequest(scopes=Scopes(values.pop("scope_mask")), **values)
