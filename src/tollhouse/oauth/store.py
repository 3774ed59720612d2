"""SQL of grants and tokens: code exchange, refresh and revocation, each one compare-and-set.

Under READ COMMITTED the loser of a race waits for the winner's row lock and then matches no row, so there is one winner
and no serialization failure. Exchange and refresh are one statement each, which commits itself. An update of an
application's settings takes the lock of `oauth_client_for_exchange` exclusively, so that no new grant has a removed scope.
A refresh needs no such lock: it changes no scopes of its grant, and waits for its row if they are being removed.
"""

from datetime import datetime
from typing import Literal

import msgspec
from msgspec import Struct

from tollhouse.accounts.identity.users_store import CHANGED_CONNECTION
from tollhouse.kernel.connections import ChangedConnection
from tollhouse.kernel.ids import ClientId, GrantId
from tollhouse.kernel.resources import Resource
from tollhouse.kernel.scopes import Scopes
from tollhouse.oauth.model import AuthMethod, RefreshUnknown, TokensUnknown
from tollhouse.oauth.refresh_tokens import RefreshToken
from tollhouse.oauth.token_model import IssuedToken
from tollhouse.platform.database.errors import CONNECTION_LOST
from tollhouse.platform.database.pool import Pool, Row, Tx

# Of each client that proves who it is: the digest of its secret, and the method.
# 262144 is offline_access, bit 18 of a scope mask; ~262144 is every other scope.
# The key that was proved binds the access token, and of a public application, which has no secret, the refresh token too.
EXCHANGE = """
    WITH client AS MATERIALIZED (
        SELECT id, auth_epoch, grant_epoch, scope_mask FROM oauth_client_for_exchange($1)
        WHERE EXISTS (
            SELECT FROM oauth_clients o
            WHERE o.id = $1 AND o.secret_hash IS NOT DISTINCT FROM $12::bytea
              AND coalesce(o.token_endpoint_auth_method, $14) = $14 AND ($15::bytea IS NOT NULL OR NOT o.dpop_bound))
    ), code AS (
        UPDATE oauth_codes k SET used_at = $5, grant_id = $6
        FROM client
        WHERE k.code_hash = $2 AND k.client_id = client.id AND k.auth_epoch = client.auth_epoch
          AND k.redirect_uri = $3 AND k.challenge = $4 AND k.used_at IS NULL AND k.expires_at > $5
          AND k.resource = coalesce($13, k.resource) AND (k.dpop_jkt IS NULL OR k.dpop_jkt = $15)
        RETURNING k.merchant_id, k.mode, k.scope_mask & client.scope_mask AS scope_mask, client.grant_epoch, k.limits,
                  k.proposals_only, k.resource, k.granted_by
    ), new_grant AS (
        INSERT INTO oauth_grants
            (id, client_id, merchant_id, mode, scope_mask, grant_epoch, refresh_hash, mac_key_id, created_at, expires_at,
             limits, proposals_only, resource, dpop_jkt, granted_by)
        SELECT $6, $1, merchant_id, mode, scope_mask, grant_epoch,
               CASE WHEN scope_mask & 262144 <> 0 THEN $8::bytea END,
               CASE WHEN scope_mask & 262144 <> 0 THEN $11 END, $5, $7, limits, proposals_only, resource,
               CASE WHEN $12 IS NULL THEN $15 END, granted_by
        FROM code
        RETURNING scope_mask, expires_at, limits
    )
    INSERT INTO oauth_access_tokens (token_hash, grant_id, scope_mask, expires_at, created_at, dpop_jkt)
    SELECT $9, $6, scope_mask, least($10, expires_at), $5, $15 FROM new_grant
    RETURNING scope_mask, expires_at, (SELECT limits FROM new_grant) AS limits
"""
# The conditions of `EXCHANGE` without the requested resource: tells invalid_target from invalid_grant.
FIND_RESOURCE_OF_CODE = """
    SELECT k.resource FROM oauth_codes k JOIN oauth_clients c ON c.id = k.client_id AND c.auth_epoch = k.auth_epoch
    WHERE k.code_hash = $2 AND k.client_id = $1 AND k.redirect_uri = $3 AND k.challenge = $4 AND k.used_at IS NULL
      AND k.expires_at > $5 AND c.status = 'enabled' AND (k.dpop_jkt IS NULL OR k.dpop_jkt = $6)
"""
# A used code, sent again with the right binding. The code's own expiry does not matter.
REVOKE_BY_REPLAYED_CODE = f"""
    UPDATE oauth_grants g SET revoked_at = $5, revoked_because = 'code_replayed'
    FROM oauth_codes k JOIN oauth_clients c ON c.id = k.client_id
    WHERE k.code_hash = $2 AND k.client_id = $1 AND k.redirect_uri = $3 AND k.challenge = $4 AND k.used_at IS NOT NULL
      AND (k.dpop_jkt IS NULL OR k.dpop_jkt = $6)
      AND g.id = k.grant_id AND g.grant_epoch = c.grant_epoch AND g.revoked_at IS NULL AND g.expires_at > $5
    RETURNING {CHANGED_CONNECTION}
"""
# A grant in its last second issues no access token, so that `expires_in` is never 0.
# $6 is the requested scope mask, null for every granted scope. $7 is null if the requested scope omits offline_access.
# $11 is the requested resource, null for that of the grant. $13 is the key that was proved, null for none.
# The first key of a public application stays that of the grant: whoever has only the refresh token cannot use it.
REFRESHED = """refreshed AS (
        UPDATE oauth_grants g
        SET refresh_generation = g.refresh_generation + 1, refresh_hash = $7,
            dpop_jkt = coalesce(g.dpop_jkt, CASE WHEN $10 IS NULL THEN $13 END)
        FROM oauth_clients c LEFT JOIN merchants o ON o.id = c.merchant_id
        WHERE g.id = $1 AND g.client_id = $2 AND c.id = g.client_id AND c.status = 'enabled'
          AND c.secret_hash IS NOT DISTINCT FROM $10::bytea AND coalesce(c.token_endpoint_auth_method, $12) = $12
          AND ($13::bytea IS NOT NULL OR NOT c.dpop_bound) AND (g.dpop_jkt IS NULL OR g.dpop_jkt = $13)
          AND c.suspended_at IS NULL AND o.suspended_at IS NULL
          AND g.grant_epoch = c.grant_epoch AND g.refresh_generation = $3 AND g.refresh_hash = $4
          AND g.revoked_at IS NULL AND g.expires_at >= $5::timestamptz + interval '1 s'
          AND g.scope_mask & c.scope_mask & 262144 <> 0
          AND coalesce($6::int, 0) & ~(g.scope_mask & c.scope_mask) = 0 AND g.resource = coalesce($11, g.resource)
        RETURNING g.id, coalesce($6, g.scope_mask & c.scope_mask) AS scope_mask, g.expires_at, g.limits
    )"""
REFRESH = f"""
    WITH {REFRESHED}
    INSERT INTO oauth_access_tokens (token_hash, grant_id, scope_mask, expires_at, created_at, dpop_jkt)
    SELECT $8, id, scope_mask, least($9, expires_at), $5, $13 FROM refreshed
    RETURNING scope_mask, expires_at, (SELECT limits FROM refreshed) AS limits
"""
# A request that has waited for the grant's row finds the retry. It expires before the access token that it returns.
REFRESH_RETRYABLY = f"""
    WITH {REFRESHED}, token AS (
        INSERT INTO oauth_access_tokens
            (token_hash, grant_id, scope_mask, expires_at, created_at, dpop_jkt, retryable_until)
        SELECT $8, id, scope_mask, least($9, expires_at), $5, $13,
               least($14, $9 - interval '1 s', expires_at - interval '1 s')
        FROM refreshed
        RETURNING token_hash, grant_id, scope_mask, expires_at, retryable_until
    ), retry AS (
        INSERT INTO oauth_refresh_retries AS r
            (grant_id, generation, request_hash, token_hash, scope_mask, encrypted_tokens, token_expires_at, expires_at)
        SELECT grant_id, $3, $15, token_hash, scope_mask, $16, expires_at, retryable_until FROM token
        ON CONFLICT (grant_id) DO UPDATE SET
            generation = excluded.generation, request_hash = excluded.request_hash, token_hash = excluded.token_hash,
            scope_mask = excluded.scope_mask, encrypted_tokens = excluded.encrypted_tokens,
            token_expires_at = excluded.token_expires_at, expires_at = excluded.expires_at
    )
    SELECT scope_mask, expires_at, (SELECT limits FROM refreshed) AS limits FROM token
"""
# The conditions are those of a refresh. No use of the new refresh token: it would have raised the generation.
FIND_RETRY = """
    SELECT r.encrypted_tokens, r.scope_mask & g.scope_mask & c.scope_mask AS scope_mask, r.token_expires_at AS expires_at,
           g.limits
    FROM oauth_refresh_retries r
    JOIN oauth_grants g ON g.id = r.grant_id AND g.refresh_generation = r.generation + 1
    JOIN oauth_clients c ON c.id = g.client_id
    LEFT JOIN merchants o ON o.id = c.merchant_id
    WHERE r.grant_id = $1 AND g.client_id = $2 AND r.generation = $3 AND r.request_hash = $4 AND r.expires_at > $5
      AND c.status = 'enabled' AND c.secret_hash IS NOT DISTINCT FROM $7::bytea
      AND coalesce(c.token_endpoint_auth_method, $9) = $9
      AND ($10::bytea IS NOT NULL OR NOT c.dpop_bound) AND (g.dpop_jkt IS NULL OR g.dpop_jkt = $10)
      AND c.suspended_at IS NULL AND o.suspended_at IS NULL AND g.grant_epoch = c.grant_epoch AND g.revoked_at IS NULL
      AND g.expires_at > $5 AND g.scope_mask & c.scope_mask & 262144 <> 0
      AND coalesce($6::int, 0) & ~(g.scope_mask & c.scope_mask) = 0 AND g.resource = coalesce($8, g.resource)
"""
# A statement of its own: the next one sees what was committed while this one waited.
LOCK_GRANT = "SELECT FROM oauth_grants WHERE id = $1 AND client_id = $2 FOR NO KEY UPDATE"
# A retry that gets no tokens: the application or the grant has changed, unless the requested scope or resource is at fault.
FIND_ERROR_OF_RETRY = """
    SELECT CASE WHEN c.status <> 'enabled' OR g.grant_epoch <> c.grant_epoch OR g.revoked_at IS NOT NULL
                     OR g.expires_at <= $5 THEN 'grant'
                WHEN g.resource <> $7 THEN 'target'
                WHEN coalesce($6::int, 0) & ~(g.scope_mask & c.scope_mask) <> 0 THEN 'scope'
                ELSE 'grant' END
    FROM oauth_refresh_retries r
    JOIN oauth_grants g ON g.id = r.grant_id AND g.refresh_generation = r.generation + 1
    JOIN oauth_clients c ON c.id = g.client_id
    WHERE r.grant_id = $1 AND g.client_id = $2 AND r.generation = $3 AND r.request_hash = $4 AND r.expires_at > $5
"""
REVOKE_BY_REPLAYED_REFRESH = f"""
    UPDATE oauth_grants g SET revoked_at = $4, revoked_because = 'refresh_token_replayed'
    FROM oauth_clients c
    WHERE g.id = $1 AND g.client_id = $2 AND c.id = g.client_id AND g.grant_epoch = c.grant_epoch
      AND g.refresh_generation > $3 AND g.revoked_at IS NULL AND g.expires_at > $4
    RETURNING {CHANGED_CONNECTION}
"""
# The condition of `REFRESH` without the requested scope and resource: tells what they are from invalid_grant.
FIND_RESOURCE_OF_REFRESH = """
    SELECT g.resource FROM oauth_grants g JOIN oauth_clients c ON c.id = g.client_id
    WHERE g.id = $1 AND g.client_id = $2 AND c.status = 'enabled' AND g.grant_epoch = c.grant_epoch
      AND g.refresh_generation = $3 AND g.refresh_hash = $4 AND g.revoked_at IS NULL
      AND g.expires_at >= $5::timestamptz + interval '1 s' AND g.scope_mask & c.scope_mask & 262144 <> 0
      AND (g.dpop_jkt IS NULL OR g.dpop_jkt = $6)
"""
REVOKE_BY_ACCESS = f"""
    UPDATE oauth_grants g SET revoked_at = $3, revoked_because = 'revoked_by_application'
    FROM oauth_access_tokens t, oauth_clients c
    WHERE t.token_hash = $2 AND g.id = t.grant_id AND g.client_id = $1 AND c.id = $1 AND g.grant_epoch = c.grant_epoch
      AND g.revoked_at IS NULL AND g.expires_at > $3
    RETURNING {CHANGED_CONNECTION}
"""
REVOKE_BY_REFRESH = f"""
    UPDATE oauth_grants g SET revoked_at = $3, revoked_because = 'revoked_by_application'
    FROM oauth_clients c
    WHERE g.id = $2 AND g.client_id = $1 AND c.id = $1 AND g.grant_epoch = c.grant_epoch
      AND g.revoked_at IS NULL AND g.expires_at > $3
    RETURNING {CHANGED_CONNECTION}
"""
DELETE_RETRIES = """
    DELETE FROM oauth_refresh_retries WHERE grant_id IN (
        SELECT grant_id FROM oauth_refresh_retries
        WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED)
"""


class CodeBinding(Struct, frozen=True):
    """The code and what it is bound to: client, redirect URI and PKCE challenge (RFC 7636 section 4.6)."""

    client_id: ClientId
    code_hash: bytes
    redirect_uri: str
    challenge: bytes


class ClientProof(Struct, frozen=True):
    """How a client proves who it is: the digest of its secret, and the method. `key` is what its tokens are bound to."""

    secret_hash: bytes | None
    method: AuthMethod
    key: bytes | None = None


class NewGrant(Struct, frozen=True):
    """The grant and tokens that an exchange inserts; `refresh_hash` is stored only if offline_access was granted."""

    grant_id: GrantId
    expires_at: datetime
    refresh_hash: bytes
    token_hash: bytes
    token_expires_at: datetime
    mac_key_id: str


class NewTokens(Struct, frozen=True):
    """The tokens of a refresh. Without `refresh_hash` the grant cannot be refreshed again.

    `scopes` and `resource` are those that the request names; None for those of the grant.
    """

    scopes: Scopes | None
    resource: Resource | None
    refresh_hash: bytes | None
    token_hash: bytes
    token_expires_at: datetime


class NewRetry(Struct, frozen=True):
    """Until when the same request gets the new tokens again, by what it is recognized, and the tokens."""

    expires_at: datetime
    request_hash: bytes
    encrypted_tokens: bytes


class RetryRequest(Struct, frozen=True):
    """What a request for stored tokens is recognized by, and what it asks for, as in `NewTokens`."""

    hash: bytes
    scopes: Scopes | None
    resource: Resource | None


class StoredTokens(Struct, frozen=True):
    """The encrypted tokens of an earlier refresh, with what the access token allows now."""

    encrypted_tokens: bytes
    issued: IssuedToken


async def exchange(
    db: Pool, binding: CodeBinding, new: NewGrant, now: datetime, proof: ClientProof, resource: Resource | None
) -> IssuedToken | None:
    """Use the code and insert its grant; None if the code is unknown, used or expired, or its binding does not match.

    None also for another secret than that of the application, and for another resource than that of the code.
    """
    values = *msgspec.structs.astuple(binding), now, *msgspec.structs.astuple(new)
    row = await _write(db, EXCHANGE, *values, proof.secret_hash, resource, proof.method, proof.key)
    return _issued_token(row) if row else None


async def find_resource_of_code(tx: Tx, binding: CodeBinding, key: bytes | None, now: datetime) -> Resource | None:
    """The resource of a code that could be exchanged; None if it could not."""
    resource: Resource | None = await tx.fetchval(FIND_RESOURCE_OF_CODE, *msgspec.structs.astuple(binding), now, key)
    return resource


async def revoke_by_replayed_code(
    tx: Tx, binding: CodeBinding, key: bytes | None, now: datetime
) -> ChangedConnection | None:
    """Revoke the grant of a used code; None if the code is not used or its grant is not active."""
    return _revoked_grant(await tx.fetchrow(REVOKE_BY_REPLAYED_CODE, *msgspec.structs.astuple(binding), now, key))


async def refresh(
    db: Pool, client_id: ClientId, token: RefreshToken, new: NewTokens, now: datetime, proof: ClientProof
) -> IssuedToken | None:
    """Replace the current refresh token with new tokens; None if it is not current or a scope was not granted.

    None also for another secret than that of the application.
    """
    return await _refresh(db, REFRESH, client_id, token, new, now, proof)


async def refresh_retryably(
    db: Pool,
    client_id: ClientId,
    token: RefreshToken,
    new: NewTokens,
    retry: NewRetry,
    now: datetime,
    proof: ClientProof,
) -> IssuedToken | None:
    """Replace the current refresh token, and store the new ones for a repeated request. None as for `refresh`."""
    return await _refresh(db, REFRESH_RETRYABLY, client_id, token, new, now, proof, *msgspec.structs.astuple(retry))


async def find_retry(
    db: Pool, client_id: ClientId, token: RefreshToken, request: RetryRequest, now: datetime, proof: ClientProof
) -> StoredTokens | None:
    """What this very request was answered; None if it was not, or if it could not be answered so any more."""
    values = (*_of_retry(client_id, token, request, now), proof.secret_hash, request.resource, proof.method, proof.key)
    row = await db.fetchrow(FIND_RETRY, *values)
    return StoredTokens(row["encrypted_tokens"], _issued_token(row)) if row else None


async def lock_grant(tx: Tx, client_id: ClientId, grant_id: GrantId) -> None:
    """Wait for refreshes of the grant, and let none begin before the end of the transaction."""
    await tx.fetchrow(LOCK_GRANT, grant_id, client_id)


async def find_error_of_retry(
    tx: Tx, client_id: ClientId, token: RefreshToken, request: RetryRequest, now: datetime
) -> Literal["grant", "target", "scope"] | None:
    """Why a retry gets no tokens: its grant has changed, or its resource or scope is not granted. None: it is no retry."""
    error: Literal["grant", "target", "scope"] | None = await tx.fetchval(
        FIND_ERROR_OF_RETRY, *_of_retry(client_id, token, request, now), request.resource
    )
    return error


async def revoke_by_replayed_refresh_token(
    tx: Tx, client_id: ClientId, token: RefreshToken, now: datetime
) -> ChangedConnection | None:
    """Revoke the grant of a replaced refresh token; None if the token was not replaced or its grant is not active."""
    return _revoked_grant(await tx.fetchrow(REVOKE_BY_REPLAYED_REFRESH, token.grant_id, client_id, token.generation, now))


async def find_resource_of_refresh_token(
    tx: Tx, client_id: ClientId, token: RefreshToken, key: bytes | None, now: datetime
) -> Resource | None:
    """The resource of a refresh token that could be used with another scope or resource; None if it could not."""
    values = token.grant_id, client_id, token.generation, token.hash, now, key
    resource: Resource | None = await tx.fetchval(FIND_RESOURCE_OF_REFRESH, *values)
    return resource


async def revoke_by_access_token(tx: Tx, client_id: ClientId, token_hash: bytes, now: datetime) -> ChangedConnection | None:
    """Revoke the grant of an access token of this application. The token may have expired."""
    return _revoked_grant(await tx.fetchrow(REVOKE_BY_ACCESS, client_id, token_hash, now))


async def revoke_by_refresh_token(tx: Tx, client_id: ClientId, grant_id: GrantId, now: datetime) -> ChangedConnection | None:
    """Revoke the grant of a refresh token of this application, whether current or replaced."""
    return _revoked_grant(await tx.fetchrow(REVOKE_BY_REFRESH, client_id, grant_id, now))


async def _refresh(
    db: Pool,
    sql: str,
    client_id: ClientId,
    token: RefreshToken,
    new: NewTokens,
    now: datetime,
    proof: ClientProof,
    *retry: object,
) -> IssuedToken | None:
    row = await _write(
        db,
        sql,
        token.grant_id,
        client_id,
        token.generation,
        token.hash,
        now,
        new.scopes.mask if new.scopes is not None else None,
        new.refresh_hash,
        new.token_hash,
        new.token_expires_at,
        proof.secret_hash,
        new.resource,
        proof.method,
        proof.key,
        *retry,
    )
    return _issued_token(row) if row else None


def _of_retry(client_id: ClientId, token: RefreshToken, request: RetryRequest, now: datetime) -> tuple[object, ...]:
    scope_mask = None if request.scopes is None else request.scopes.mask
    return token.grant_id, client_id, token.generation, request.hash, now, scope_mask


async def _write(db: Pool, sql: str, *args: object) -> Row | None:
    """The row of a statement that commits itself. Raises `OutcomeUnknown` if the connection is lost before its answer."""
    try:
        return await db.fetchrow(sql, *args)
    except CONNECTION_LOST as error:
        unknown = RefreshUnknown if sql == REFRESH_RETRYABLY else TokensUnknown
        raise unknown(detail=f"statement: {type(error).__name__}") from error


def _revoked_grant(row: Row | None) -> ChangedConnection | None:
    return None if row is None else ChangedConnection(**row)


def _issued_token(row: Row) -> IssuedToken:
    return IssuedToken(Scopes(row["scope_mask"]), row["expires_at"], row["limits"])
