"""Every SQL statement about authorization requests and their answers. A request is answered once, by one compare-and-set."""

from datetime import datetime

from tollhouse.kernel.ids import ClientId, MerchantId
from tollhouse.kernel.scopes import Scopes
from tollhouse.oauth.model import CONNECTIONS_COUNTED, AuthorizationRequest, ConsentRequest
from tollhouse.platform.db import Pool, Row, Tx

INSERT = """
    INSERT INTO oauth_requests
        (id_hash, client_id, auth_epoch, redirect_uri, scope_mask, state, challenge, mode, mac_key_id, created_at,
         expires_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
"""
BIND = "UPDATE oauth_requests SET merchant_id = $2 WHERE id_hash = $1 AND merchant_id IS NULL"
RELEASE = "UPDATE oauth_requests SET merchant_id = NULL WHERE id_hash = $1 AND merchant_id = $2 AND decision IS NULL"
OPENED = """
    SELECT r.id_hash, r.client_id, r.merchant_id, r.redirect_uri, r.scope_mask & c.scope_mask AS scope_mask, r.state, r.mode,
           r.expires_at, r.decision, r.auth_epoch <> c.auth_epoch AS settings_changed, c.status,
           c.suspended_at IS NOT NULL OR o.suspended_at IS NOT NULL AS application_suspended, c.name, c.description,
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
# What is granted is computed here once more, from what was asked and what is registered at this moment.
ALLOW = """
    WITH answered AS (
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
    SELECT $5, client_id, auth_epoch, merchant_id, mode, redirect_uri, challenge, scope_mask, $4, $6 FROM answered
"""
DENY = """
    UPDATE oauth_requests r SET decision = 'denied', decided_at = $3
    FROM oauth_clients c
    WHERE r.id_hash = $1 AND r.merchant_id = $2 AND r.decision IS NULL AND r.expires_at > $3
      AND c.id = r.client_id AND c.auth_epoch = r.auth_epoch AND c.status = 'enabled'
"""


async def insert(
    db: Pool, id_hash: bytes, request: AuthorizationRequest, mac_key_id: str, now: datetime, expires_at: datetime
) -> None:
    """Keep a request until a merchant answers it."""
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


async def open_for(db: Pool, id_hash: bytes, merchant_id: MerchantId, now: datetime) -> ConsentRequest | None:
    """The request, given to the first merchant that opens it; None when there is none, or it is another merchant's."""
    await db.execute(BIND, id_hash, merchant_id)
    row = await db.fetchrow(OPENED, id_hash, merchant_id, now, CONNECTIONS_COUNTED + 1)
    return _opened(row) if row else None


async def release(db: Pool, request: ConsentRequest) -> None:
    """Let another merchant open the request. One that is answered stays with whom it was answered by."""
    await db.execute(RELEASE, request.id_hash, request.merchant_id)


async def allow(
    tx: Tx, request: ConsentRequest, ticked: Scopes, code_hash: bytes, now: datetime, code_expires_at: datetime
) -> bool:
    """Answer with a code that carries what was ticked; False when somebody answered, or something changed, before."""
    written = await tx.execute(ALLOW, request.id_hash, request.merchant_id, ticked.mask, now, code_hash, code_expires_at)
    return written > 0


async def deny(db: Pool, request: ConsentRequest, now: datetime) -> bool:
    """Answer with a refusal; False when somebody answered, or something changed, before."""
    return await db.execute(DENY, request.id_hash, request.merchant_id, now) > 0


def _opened(row: Row) -> ConsentRequest:
    return ConsentRequest(
        id_hash=row["id_hash"],
        client_id=ClientId(row["client_id"]),
        merchant_id=MerchantId(row["merchant_id"]),
        redirect_uri=row["redirect_uri"],
        scopes=Scopes(row["scope_mask"]),
        state=row["state"],
        mode=row["mode"],
        expires_at=row["expires_at"],
        decision=row["decision"],
        settings_changed=row["settings_changed"],
        client_status=row["status"],
        client_suspended=row["application_suspended"],
        name=row["name"],
        description=row["description"],
        website_url=row["website_url"],
        owner_name=row["owner_name"],
        registered_at=row["registered_at"],
        connections=row["connections"],
    )
