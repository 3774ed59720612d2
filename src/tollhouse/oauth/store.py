"""Every SQL statement about grants and tokens: exchange, refresh and revocation, each decided by one compare-and-set.

Under READ COMMITTED the loser of a race waits for the winner's row and then finds its condition false: one winner, no
serialization failures. Whoever saves an application's settings holds the lock of `SHARE_LOCK` exclusively, so that no
grant slips past a removal of permissions; it must be a statement of its own, for the next one's snapshot to be younger.
"""

from datetime import datetime

from msgspec import Struct

from tollhouse.kernel.ids import ClientId, GrantId
from tollhouse.kernel.scopes import Scopes
from tollhouse.oauth.model import EndedGrant, Issued
from tollhouse.oauth.refresh_tokens import RefreshToken
from tollhouse.platform.db import Row, Tx

SHARE_LOCK = "SELECT pg_advisory_xact_lock_shared(hashtextextended($1, 0))"
# 262144 is offline_access, bit 18 of a scope mask; ~262144 are all the others.
EXCHANGE = """
    WITH client AS (
        SELECT c.id, c.auth_epoch, c.grant_epoch, c.scope_mask FROM oauth_clients c JOIN merchants o ON o.id = c.merchant_id
        WHERE c.id = $1 AND c.status = 'enabled' AND c.suspended_at IS NULL AND o.suspended_at IS NULL
    ), code AS (
        UPDATE oauth_codes k SET used_at = $5, grant_id = $6
        FROM client
        WHERE k.code_hash = $2 AND k.client_id = client.id AND k.auth_epoch = client.auth_epoch
          AND k.redirect_uri = $3 AND k.challenge = $4 AND k.used_at IS NULL AND k.expires_at > $5
        RETURNING k.merchant_id, k.mode, k.scope_mask & client.scope_mask AS scope_mask, client.grant_epoch
    ), opened AS (
        INSERT INTO oauth_grants
            (id, client_id, merchant_id, mode, scope_mask, grant_epoch, refresh_hash, mac_key_id, created_at, expires_at)
        SELECT $6, $1, merchant_id, mode, scope_mask, grant_epoch,
               CASE WHEN scope_mask & 262144 <> 0 THEN $8::bytea END,
               CASE WHEN scope_mask & 262144 <> 0 THEN $11 END, $5, $7
        FROM code
        RETURNING scope_mask, expires_at
    )
    INSERT INTO oauth_access_tokens (token_hash, grant_id, scope_mask, expires_at)
    SELECT $9, $6, scope_mask, least($10, expires_at) FROM opened
    RETURNING scope_mask, expires_at
"""
# A code that is used and comes again, with every binding right, whenever that is.
REVOKE_REPLAYED_CODE = """
    UPDATE oauth_grants g SET revoked_at = $5, revoked_because = 'code_replayed'
    FROM oauth_codes k JOIN oauth_clients c ON c.id = k.client_id
    WHERE k.code_hash = $2 AND k.client_id = $1 AND k.redirect_uri = $3 AND k.challenge = $4 AND k.used_at IS NOT NULL
      AND g.id = k.grant_id AND g.grant_epoch = c.grant_epoch AND g.revoked_at IS NULL AND g.expires_at > $5
    RETURNING g.client_id, c.name, g.merchant_id, g.mode
"""
# An access token lives a whole second at least, so that `expires_in` is never 0: in its last second a grant gives none.
# $6 is the narrowed scope, null for the whole grant. $7 is null where the narrowed scope drops offline_access.
REFRESH = """
    WITH turned AS (
        UPDATE oauth_grants g SET refresh_generation = g.refresh_generation + 1, refresh_hash = $7
        FROM oauth_clients c JOIN merchants o ON o.id = c.merchant_id
        WHERE g.id = $1 AND g.client_id = $2 AND c.id = g.client_id AND c.status = 'enabled'
          AND c.suspended_at IS NULL AND o.suspended_at IS NULL
          AND g.grant_epoch = c.grant_epoch AND g.refresh_generation = $3 AND g.refresh_hash = $4
          AND g.revoked_at IS NULL AND g.expires_at >= $5::timestamptz + interval '1 s'
          AND g.scope_mask & c.scope_mask & 262144 <> 0
          AND coalesce($6::int, 0) & ~(g.scope_mask & c.scope_mask) = 0
        RETURNING g.id, coalesce($6, g.scope_mask & c.scope_mask) AS scope_mask, g.expires_at
    )
    INSERT INTO oauth_access_tokens (token_hash, grant_id, scope_mask, expires_at)
    SELECT $8, id, scope_mask, least($9, expires_at) FROM turned
    RETURNING scope_mask, expires_at
"""
REVOKE_REPLAYED_REFRESH = """
    UPDATE oauth_grants g SET revoked_at = $4, revoked_because = 'refresh_token_replayed'
    FROM oauth_clients c
    WHERE g.id = $1 AND g.client_id = $2 AND c.id = g.client_id AND g.grant_epoch = c.grant_epoch
      AND g.refresh_generation > $3 AND g.revoked_at IS NULL AND g.expires_at > $4
    RETURNING g.client_id, c.name, g.merchant_id, g.mode
"""
# Whether it was the scope alone that kept a refresh token from refreshing.
IS_REFRESHABLE = """
    SELECT EXISTS (
        SELECT FROM oauth_grants g JOIN oauth_clients c ON c.id = g.client_id
        WHERE g.id = $1 AND g.client_id = $2 AND c.status = 'enabled' AND g.grant_epoch = c.grant_epoch
          AND g.refresh_generation = $3 AND g.refresh_hash = $4 AND g.revoked_at IS NULL
          AND g.expires_at >= $5::timestamptz + interval '1 s' AND g.scope_mask & c.scope_mask & 262144 <> 0)
"""
REVOKE_BY_ACCESS = """
    UPDATE oauth_grants g SET revoked_at = $3, revoked_because = 'revoked_by_application'
    FROM oauth_access_tokens t, oauth_clients c
    WHERE t.token_hash = $2 AND g.id = t.grant_id AND g.client_id = $1 AND c.id = $1 AND g.grant_epoch = c.grant_epoch
      AND g.revoked_at IS NULL AND g.expires_at > $3
    RETURNING g.client_id, c.name, g.merchant_id, g.mode
"""
REVOKE_BY_REFRESH = """
    UPDATE oauth_grants g SET revoked_at = $3, revoked_because = 'revoked_by_application'
    FROM oauth_clients c
    WHERE g.id = $2 AND g.client_id = $1 AND c.id = $1 AND g.grant_epoch = c.grant_epoch
      AND g.revoked_at IS NULL AND g.expires_at > $3
    RETURNING g.client_id, c.name, g.merchant_id, g.mode
"""


class CodeProof(Struct, frozen=True):
    """Everything that must match for a code to be worth anything."""

    client_id: ClientId
    code_hash: bytes
    redirect_uri: str
    challenge: bytes


class NewGrant(Struct, frozen=True):
    """What an exchange opens; the refresh token counts only where offline_access was granted."""

    grant_id: GrantId
    expires_at: datetime
    refresh_hash: bytes
    token_hash: bytes
    token_expires_at: datetime
    mac_key_id: str


class NewTokens(Struct, frozen=True):
    """What a refresh puts in place of the old. Without `refresh_hash` there is no next refresh."""

    scopes: Scopes | None
    refresh_hash: bytes | None
    token_hash: bytes
    token_expires_at: datetime


async def exchange(tx: Tx, proof: CodeProof, new: NewGrant, now: datetime) -> Issued | None:
    """Use the code and open its grant; None when the code is not to be had with this proof, or not any more."""
    await tx.execute(SHARE_LOCK, proof.client_id)
    row = await tx.fetchrow(
        EXCHANGE,
        proof.client_id,
        proof.code_hash,
        proof.redirect_uri,
        proof.challenge,
        now,
        new.grant_id,
        new.expires_at,
        new.refresh_hash,
        new.token_hash,
        new.token_expires_at,
        new.mac_key_id,
    )
    return _issued(row) if row else None


async def revoke_if_code_was_used(tx: Tx, proof: CodeProof, now: datetime) -> EndedGrant | None:
    """End the grant of a code that had been used; None where this call ended none."""
    facts = (proof.client_id, proof.code_hash, proof.redirect_uri, proof.challenge)
    return _ended(await tx.fetchrow(REVOKE_REPLAYED_CODE, *facts, now))


async def refresh(tx: Tx, client_id: ClientId, presented: RefreshToken, new: NewTokens, now: datetime) -> Issued | None:
    """Turn the current refresh token into new tokens; None when it is not current, or cannot give these scopes."""
    await tx.execute(SHARE_LOCK, client_id)
    row = await tx.fetchrow(
        REFRESH,
        presented.grant_id,
        client_id,
        presented.generation,
        presented.hash,
        now,
        new.scopes.mask if new.scopes is not None else None,
        new.refresh_hash,
        new.token_hash,
        new.token_expires_at,
    )
    return _issued(row) if row else None


async def revoke_if_replaced(tx: Tx, client_id: ClientId, presented: RefreshToken, now: datetime) -> EndedGrant | None:
    """End the grant of a refresh token that had been replaced; None where this call ended none."""
    return _ended(await tx.fetchrow(REVOKE_REPLAYED_REFRESH, presented.grant_id, client_id, presented.generation, now))


async def is_refreshable(tx: Tx, client_id: ClientId, presented: RefreshToken, now: datetime) -> bool:
    """Whether this is a current refresh token, whatever scope it is asked for."""
    return bool(await tx.fetchval(IS_REFRESHABLE, presented.grant_id, client_id, presented.generation, presented.hash, now))


async def revoke_by_access_token(tx: Tx, client_id: ClientId, token_hash: bytes, now: datetime) -> EndedGrant | None:
    """End the grant of this access token, if it is this application's. The token itself may have expired."""
    return _ended(await tx.fetchrow(REVOKE_BY_ACCESS, client_id, token_hash, now))


async def revoke_by_refresh_token(tx: Tx, client_id: ClientId, grant_id: GrantId, now: datetime) -> EndedGrant | None:
    """End the grant of this refresh token, current or replaced, if it is this application's."""
    return _ended(await tx.fetchrow(REVOKE_BY_REFRESH, client_id, grant_id, now))


def _ended(row: Row | None) -> EndedGrant | None:
    return None if row is None else EndedGrant(**row)


def _issued(row: Row) -> Issued:
    return Issued(Scopes(row["scope_mask"]), row["expires_at"])
