"""Every SQL statement about applications. Those of their owner name the owner, so that others' are not there."""

import re
from collections.abc import Sequence
from datetime import datetime

from msgspec import UNSET, Struct

from tollhouse.kernel.clock import stamp, stamp_or_none
from tollhouse.kernel.ids import ClientId, MerchantId
from tollhouse.kernel.scopes import Scopes
from tollhouse.oauth.model import ClientSecret, ClientStatus, ClientView, LockedClient, RegisteredClient
from tollhouse.oauth.settings import ClientSettings
from tollhouse.platform.db import Pool, Row, Tx

CLIENT_ID = re.compile(r"thc_[0-9A-Za-z]{22}")
"""Nothing else from an address is shown to the database, which does not take every text."""

INSERT = """
    INSERT INTO oauth_clients
        (id, merchant_id, client_type, name, description, website_url, redirect_uris, scope_mask, status,
         secret_hash, secret_hint, created_at, updated_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 'enabled', $9, $10, $11, $11)
    ON CONFLICT (id) DO NOTHING
"""
OWNED = """
    SELECT c.id, c.client_type, c.name, c.description, c.website_url, c.redirect_uris, c.scope_mask, c.status, c.version,
           c.secret_hint, c.created_at, c.updated_at, c.revoked_at, c.suspended_at, u.active_connections, u.last_used_at
    FROM oauth_clients c
    LEFT JOIN LATERAL (
        SELECT count(*) FILTER (WHERE g.revoked_at IS NULL AND g.grant_epoch = c.grant_epoch AND g.expires_at > $2)
                   AS active_connections,
               max(a.last_used_at) AS last_used_at
        FROM oauth_grants g LEFT JOIN oauth_grant_activity a ON a.grant_id = g.id
        WHERE g.client_id = c.id
    ) u ON true
    WHERE c.merchant_id = $1
    ORDER BY c.created_at DESC, c.id DESC
"""
OWNED_ONE = """
    SELECT c.id, c.client_type, c.name, c.description, c.website_url, c.redirect_uris, c.scope_mask, c.status, c.version,
           c.secret_hint, c.created_at, c.updated_at, c.revoked_at, c.suspended_at, u.active_connections, u.last_used_at
    FROM oauth_clients c
    LEFT JOIN LATERAL (
        SELECT count(*) FILTER (WHERE g.revoked_at IS NULL AND g.grant_epoch = c.grant_epoch AND g.expires_at > $3)
                   AS active_connections,
               max(a.last_used_at) AS last_used_at
        FROM oauth_grants g LEFT JOIN oauth_grant_activity a ON a.grant_id = g.id
        WHERE g.client_id = c.id
    ) u ON true
    WHERE c.merchant_id = $1 AND c.id = $2
"""
# Not FOR UPDATE: that would hold up every insert that refers to the application, and could deadlock with an exchange.
LOCK = """
    SELECT id, name, client_type, status, version, scope_mask, suspended_at FROM oauth_clients
    WHERE merchant_id = $1 AND id = $2 FOR NO KEY UPDATE
"""
# Exchanges and refreshes hold this lock shared; a statement of its own, so that the next one sees what they did.
OWN_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))"
SAVE = """
    UPDATE oauth_clients SET name = $4, description = $5, website_url = $6, redirect_uris = $7, scope_mask = $8,
           version = version + 1, auth_epoch = auth_epoch + 1, updated_at = $9
    WHERE merchant_id = $1 AND id = $2 AND version = $3 AND status <> 'revoked'
"""
SET_STATUS = """
    UPDATE oauth_clients SET status = $4, version = version + 1, updated_at = $5
    WHERE merchant_id = $1 AND id = $2 AND version = $3 AND status <> 'revoked'
"""
ROTATE = """
    UPDATE oauth_clients SET secret_hash = $4, secret_hint = $5, version = version + 1, updated_at = $6
    WHERE merchant_id = $1 AND id = $2 AND version = $3 AND status <> 'revoked' AND client_type = 'confidential'
"""
REVOKE = """
    UPDATE oauth_clients SET status = 'revoked', revoked_at = $3, version = version + 1, updated_at = $3
    WHERE merchant_id = $1 AND id = $2 AND status <> 'revoked'
"""
# All grants, unexchanged codes and pending requests end by one row, however many they are.
END_ALL = """
    WITH ended AS (
        UPDATE oauth_clients SET grant_epoch = grant_epoch + 1, auth_epoch = auth_epoch + 1
        WHERE merchant_id = $1 AND id = $2
        RETURNING id, grant_epoch - 1 AS grant_epoch
    )
    INSERT INTO oauth_grant_cutoffs (client_id, grant_epoch, revoked_at, revoked_because)
    SELECT id, grant_epoch, $3, $4 FROM ended
"""
# Suspended is an application that an operator suspended, or whose owner is.
REGISTERED = """
    SELECT c.id, c.status, c.redirect_uris, c.scope_mask, c.auth_epoch,
           c.suspended_at IS NOT NULL OR o.suspended_at IS NOT NULL AS suspended
    FROM oauth_clients c JOIN merchants o ON o.id = c.merchant_id WHERE c.id = $1
"""
AUTHENTICATED_BY = """
    SELECT c.id, c.status, c.secret_hash, c.suspended_at IS NOT NULL OR o.suspended_at IS NOT NULL AS suspended
    FROM oauth_clients c JOIN merchants o ON o.id = c.merchant_id WHERE c.id = $1
"""


class NewSecret(Struct, frozen=True):
    """A client secret as its row keeps it: the digest, and the last characters for people to tell it by."""

    hash: bytes
    hint: str


async def insert(
    tx: Tx, owner: MerchantId, client_id: ClientId, settings: ClientSettings, secret: NewSecret | None, now: datetime
) -> bool:
    """Keep a new application; False where there is one of this name already."""
    inserted = await tx.execute(
        INSERT,
        client_id,
        owner,
        settings.client_type,
        settings.name,
        settings.description,
        settings.website_url,
        settings.redirect_uris,
        settings.scopes.mask,
        secret.hash if secret else None,
        secret.hint if secret else None,
        now,
    )
    return inserted == 1


async def owned(db: Pool, owner: MerchantId, now: datetime) -> list[ClientView]:
    """The owner's applications, newest first, revoked ones included."""
    return [_view(row) for row in await db.fetch(OWNED, owner, now)]


async def owned_one(db: Pool | Tx, owner: MerchantId, client_id: str, now: datetime) -> ClientView | None:
    """One application of this owner; None when there is none, or it is somebody else's."""
    row = await db.fetchrow(OWNED_ONE, owner, client_id, now) if CLIENT_ID.fullmatch(client_id) else None
    return _view(row) if row else None


async def hold(tx: Tx, owner: MerchantId, client_id: str) -> LockedClient | None:
    """One application of this owner, that nobody else changes until this transaction ends; None as for `owned_one`."""
    row = await tx.fetchrow(LOCK, owner, client_id) if CLIENT_ID.fullmatch(client_id) else None
    if row is None:
        return None
    said = (row["name"], row["client_type"], row["status"], row["version"])
    return LockedClient(ClientId(row["id"]), *said, Scopes(row["scope_mask"]), row["suspended_at"] is not None)


async def save(tx: Tx, owner: MerchantId, held: LockedClient, settings: ClientSettings, now: datetime) -> None:
    """Replace all settings; pending requests and unexchanged codes end. Waits for exchanges and refreshes under way."""
    await tx.execute(OWN_LOCK, held.client_id)
    saved = await tx.execute(
        SAVE,
        owner,
        held.client_id,
        held.version,
        settings.name,
        settings.description,
        settings.website_url,
        settings.redirect_uris,
        settings.scopes.mask,
        now,
    )
    _one(saved)


async def set_status(tx: Tx, owner: MerchantId, held: LockedClient, status: ClientStatus, now: datetime) -> None:
    """Pause or resume."""
    _one(await tx.execute(SET_STATUS, owner, held.client_id, held.version, status, now))


async def set_secret(tx: Tx, owner: MerchantId, held: LockedClient, secret: NewSecret, now: datetime) -> None:
    """Replace the secret; the old one is worth nothing from here on."""
    _one(await tx.execute(ROTATE, owner, held.client_id, held.version, secret.hash, secret.hint, now))


async def revoke(tx: Tx, owner: MerchantId, held: LockedClient, now: datetime) -> None:
    """Revoke the registration, for ever."""
    _one(await tx.execute(REVOKE, owner, held.client_id, now))


async def end_all(tx: Tx, owner: MerchantId, held: LockedClient, reason: str, now: datetime) -> None:
    """End every grant, unexchanged code and pending request of the application."""
    _one(await tx.execute(END_ALL, owner, held.client_id, now, reason))


async def registered(db: Pool, client_id: str) -> RegisteredClient | None:
    """An application, for an authorization request."""
    row = await db.fetchrow(REGISTERED, client_id)
    if row is None:
        return None
    uris: Sequence[str] = row["redirect_uris"]
    said = (tuple(uris), Scopes(row["scope_mask"]), row["auth_epoch"], row["suspended"])
    return RegisteredClient(ClientId(row["id"]), row["status"], *said)


async def secret(db: Pool | Tx, client_id: str) -> ClientSecret | None:
    """An application, for its authentication."""
    row = await db.fetchrow(AUTHENTICATED_BY, client_id)
    return ClientSecret(ClientId(row["id"]), row["status"], row["secret_hash"], row["suspended"]) if row else None


def _one(written: int) -> None:
    if written != 1:
        raise AssertionError("a held application cannot change under us")


def _view(row: Row) -> ClientView:
    return ClientView(
        client_id=ClientId(row["id"]),
        name=row["name"],
        client_type=row["client_type"],
        description=row["description"],
        website_url=row["website_url"],
        redirect_uris=row["redirect_uris"],
        scopes=Scopes(row["scope_mask"]).names(),
        version=row["version"],
        status=row["status"],
        active_connections=row["active_connections"],
        last_used_at=stamp_or_none(row["last_used_at"]),
        secret_hint=row["secret_hint"],
        created_at=stamp(row["created_at"]),
        updated_at=stamp(row["updated_at"]),
        revoked_at=stamp_or_none(row["revoked_at"]),
        suspended_at=stamp(row["suspended_at"]) if row["suspended_at"] else UNSET,
    )
