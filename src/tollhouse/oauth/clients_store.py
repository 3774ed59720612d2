"""SQL of applications. Statements for owners filter by the owner."""

import re
from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from msgspec import UNSET, Struct

from tollhouse.kernel.clock import stamp, stamp_or_none
from tollhouse.kernel.ids import ClientId, MerchantId
from tollhouse.kernel.limits import COUNTED_ROWS_MAX
from tollhouse.kernel.scopes import Scopes
from tollhouse.oauth import keys_store
from tollhouse.oauth.model import (
    DEFAULT_GRANT_TYPES,
    ClientCredentials,
    ClientStatus,
    ClientView,
    LockedClient,
    RegisteredClient,
)
from tollhouse.oauth.settings import ClientSettings
from tollhouse.platform.database.batched_store import for_many
from tollhouse.platform.database.pool import Pool, Row, Tx

CLIENT_ID = re.compile(r"th[cd]_[0-9A-Za-z]{22}|tollhouse-cli")
"""Other ids from URLs are not sent to the database: they may contain characters that PostgreSQL rejects."""

USES_READ_MAX = 100
INSERT = """
    INSERT INTO oauth_clients
        (id, merchant_id, client_type, name, description, website_url, redirect_uris, scope_mask, status,
         secret_hash, secret_hint, created_at, updated_at, grant_types, logo_uri, policy_uri, tos_uri, require_par,
         dpop_bound, token_endpoint_auth_method, jwks, jwks_uri, created_by)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 'enabled', $9, $10, $11, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21)
    ON CONFLICT (id) DO NOTHING
"""
# Counted up to a limit, of grants that are open: neither revoked nor known to have expired. Last used: the newest open ones
# and the newest of all.
USE = f"""
    CROSS JOIN LATERAL (
        SELECT (SELECT count(*) FROM (
                    SELECT FROM oauth_grants g
                    WHERE g.client_id = c.id AND g.revoked_at IS NULL AND g.expiry_noted_at IS NULL
                      AND g.grant_epoch = c.grant_epoch AND g.expires_at > $2 LIMIT {COUNTED_ROWS_MAX}) AS counted)
                   AS active_connections,
               (SELECT max(a.last_used_at) FROM (
                    (SELECT id FROM oauth_grants g
                     WHERE g.client_id = c.id AND g.revoked_at IS NULL AND g.expiry_noted_at IS NULL
                     ORDER BY g.created_at DESC, g.id DESC LIMIT {USES_READ_MAX})
                    UNION
                    (SELECT id FROM oauth_grants g WHERE g.client_id = c.id
                     ORDER BY g.created_at DESC, g.id DESC LIMIT {USES_READ_MAX})) AS newest
                JOIN oauth_grant_activity a ON a.grant_id = newest.id) AS last_used_at
    ) u"""
OWNED = f"""
    SELECT c.id, c.client_type, c.name, c.description, c.website_url, c.redirect_uris, c.scope_mask, c.status, c.version,
           c.grant_types, c.require_par, c.dpop_bound, c.logo_uri, c.policy_uri, c.tos_uri, c.connection_webhook_url,
           c.token_endpoint_auth_method, c.jwks, c.jwks_uri, c.secret_hint, c.created_at, c.updated_at, c.revoked_at,
           c.suspended_at, c.approved_at, c.verified_at, u.active_connections, u.last_used_at
    FROM oauth_clients c {USE}
    WHERE c.merchant_id = $1
"""
LIST_OWNED = f"""
    {OWNED} AND ($3::text IS NULL
                 OR (c.created_at, c.id) < (SELECT created_at, id FROM oauth_clients WHERE merchant_id = $1 AND id = $3))
    ORDER BY c.created_at DESC, c.id DESC LIMIT $4 OFFSET $5
"""
FIND_OWNED = f"{OWNED} AND c.id = $3"
# Not FOR UPDATE: that would block inserts that refer to the application, and could deadlock with an exchange.
LOCK = """
    SELECT id, name, client_type, status, version, scope_mask, suspended_at FROM oauth_clients
    WHERE merchant_id = $1 AND id = $2 FOR NO KEY UPDATE
"""
# `oauth_client_for_exchange` takes this lock shared. A separate statement, so that the next one sees their writes.
EXCHANGE_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))"
# $19 is a new digest, of no secret, for an application that authenticates by signatures.
UPDATE = """
    UPDATE oauth_clients SET name = $4, description = $5, website_url = $6, redirect_uris = $7, scope_mask = $8,
           version = version + 1, auth_epoch = auth_epoch + 1, updated_at = $9,
           grant_types = coalesce($10, grant_types), logo_uri = $11, policy_uri = $12, tos_uri = $13, require_par = $14,
           dpop_bound = $15,
           approved_at = CASE WHEN name = $4 AND $7::text[] <@ redirect_uris AND $8 & ~scope_mask = 0 THEN approved_at END,
           verified_at = CASE WHEN name = $4 AND website_url IS NOT DISTINCT FROM $6 AND logo_uri IS NOT DISTINCT FROM $11
                         THEN verified_at END,
           token_endpoint_auth_method = $16, jwks = $17, jwks_uri = $18, secret_hash = coalesce($19, secret_hash),
           secret_hint = CASE WHEN $19::bytea IS NULL THEN secret_hint END
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
SET_WEBHOOK = """
    UPDATE oauth_clients
    SET connection_webhook_url = $3,
        webhook_sender_id = CASE WHEN $3::text IS NULL THEN webhook_sender_id ELSE coalesce(webhook_sender_id, $4) END
    WHERE merchant_id = $1 AND id = $2 RETURNING webhook_sender_id
"""
ROTATE_OF_WEBHOOKS = """
    UPDATE oauth_clients SET version = version + 1, updated_at = $4
    WHERE merchant_id = $1 AND id = $2 AND version = $3 AND status <> 'revoked' AND webhook_sender_id IS NOT NULL
    RETURNING webhook_sender_id
"""
REVOKE = """
    UPDATE oauth_clients SET status = 'revoked', revoked_at = $3, version = version + 1, updated_at = $3
    WHERE merchant_id = $1 AND id = $2 AND status <> 'revoked'
"""
LIST_TO_REVOKE = "SELECT id FROM oauth_clients WHERE merchant_id = $1 AND status <> 'revoked' ORDER BY id"
# Pending authorization requests and unused codes of a merchant's applications end.
END_AUTHORIZATIONS = "UPDATE oauth_clients SET auth_epoch = auth_epoch + 1 WHERE merchant_id = $1"
# Pending authorization requests and unused codes end, as when the owner saves the settings.
SUSPEND = """
    UPDATE oauth_clients SET suspended_at = $2, auth_epoch = auth_epoch + 1
    WHERE id = $1 AND suspended_at IS NULL AND status <> 'revoked' RETURNING merchant_id, name
"""
REACTIVATE = """
    UPDATE oauth_clients SET suspended_at = NULL WHERE id = $1 AND suspended_at IS NOT NULL RETURNING merchant_id, name
"""
# Withdrawn, pending requests and unused codes end, too.
ALLOW_DEVICE_WRITES = """
    UPDATE oauth_clients SET device_writes_allowed_at = $2
    WHERE id = $1 AND device_writes_allowed_at IS NULL AND status <> 'revoked' RETURNING merchant_id, name
"""
WITHDRAW_DEVICE_WRITES = """
    UPDATE oauth_clients SET device_writes_allowed_at = NULL, auth_epoch = auth_epoch + 1
    WHERE id = $1 AND device_writes_allowed_at IS NOT NULL RETURNING merchant_id, name
"""
# For what the operator saw: the version is that of the settings.
APPROVE = """
    UPDATE oauth_clients SET approved_at = $3
    WHERE id = $1 AND version = $2 AND approved_at IS NULL AND status <> 'revoked' RETURNING merchant_id, name
"""
# Withdrawn, pending requests and unused codes end, too.
WITHDRAW_APPROVAL = """
    UPDATE oauth_clients SET approved_at = NULL, auth_epoch = auth_epoch + 1
    WHERE id = $1 AND approved_at IS NOT NULL RETURNING merchant_id, name
"""
VERIFY = """
    UPDATE oauth_clients SET verified_at = $3
    WHERE id = $1 AND version = $2 AND verified_at IS NULL AND status <> 'revoked' RETURNING merchant_id, name
"""
WITHDRAW_VERIFICATION = """
    UPDATE oauth_clients SET verified_at = NULL WHERE id = $1 AND verified_at IS NOT NULL RETURNING merchant_id, name
"""
# One row revokes all grants, unexchanged codes and pending requests of the current epochs.
REVOKE_ALL_GRANTS = """
    WITH cutoff AS (
        UPDATE oauth_clients SET grant_epoch = grant_epoch + 1, auth_epoch = auth_epoch + 1
        WHERE merchant_id = $1 AND id = $2
        RETURNING id, grant_epoch - 1 AS grant_epoch
    )
    INSERT INTO oauth_grant_cutoffs (client_id, grant_epoch, revoked_at, revoked_because)
    SELECT id, grant_epoch, $3, $4 FROM cutoff
"""
# An application is also suspended while its owner is.
FIND_REGISTERED = """
    SELECT c.id, c.status, c.redirect_uris, c.scope_mask, c.auth_epoch, c.grant_types, c.require_par,
           c.device_writes_allowed_at IS NOT NULL AS device_writes_allowed,
           c.approved_at IS NOT NULL OR c.merchant_id IS NULL AS approved, c.document_url,
           c.suspended_at IS NOT NULL OR o.suspended_at IS NOT NULL AS suspended
    FROM oauth_clients c LEFT JOIN merchants o ON o.id = c.merchant_id WHERE c.id = $1
"""
FIND_CREDENTIALS = """
    SELECT c.id, c.status, c.secret_hash, c.suspended_at IS NOT NULL OR o.suspended_at IS NOT NULL AS suspended,
           c.token_endpoint_auth_method, c.dpop_bound
    FROM oauth_clients c LEFT JOIN merchants o ON o.id = c.merchant_id WHERE c.id = $1
"""

FIND_MANY_CREDENTIALS = for_many(FIND_CREDENTIALS, "text")


class NewSecret(Struct, frozen=True):
    """A client secret as stored: the digest, and the last characters to recognize it by, if there are any."""

    hash: bytes
    hint: str | None


async def insert(
    tx: Tx,
    owner: MerchantId,
    client_id: ClientId,
    settings: ClientSettings,
    secret: NewSecret | None,
    made_by: UUID | None,
    now: datetime,
) -> bool:
    """Insert an application; False if the id exists."""
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
        settings.grant_types or DEFAULT_GRANT_TYPES,
        settings.logo_uri or None,
        settings.policy_uri or None,
        settings.tos_uri or None,
        settings.require_par is True,
        settings.dpop_bound is True,
        *keys_store.values(settings),
        made_by,
    )
    return inserted == 1


async def list_owned(
    db: Pool, owner: MerchantId, now: datetime, after: str | None = None, fetch: int | None = None, offset: int = 0
) -> list[ClientView]:
    """The owner's applications after the application `after`, newest first, revoked ones included."""
    return [_view(row) for row in await db.fetch(LIST_OWNED, owner, now, after, fetch, offset)]


async def find_owned(db: Pool | Tx, owner: MerchantId, client_id: str, now: datetime) -> ClientView | None:
    """One application of this owner."""
    row = await db.fetchrow(FIND_OWNED, owner, now, client_id) if CLIENT_ID.fullmatch(client_id) else None
    return _view(row) if row else None


async def lock(tx: Tx, owner: MerchantId, client_id: str) -> LockedClient | None:
    """Lock one application of this owner until the end of the transaction."""
    row = await tx.fetchrow(LOCK, owner, client_id) if CLIENT_ID.fullmatch(client_id) else None
    if row is None:
        return None
    return LockedClient(
        client_id=ClientId(row["id"]),
        name=row["name"],
        client_type=row["client_type"],
        status=row["status"],
        version=row["version"],
        scopes=Scopes(row["scope_mask"]),
        suspended=row["suspended_at"] is not None,
    )


async def update(
    tx: Tx,
    owner: MerchantId,
    client: LockedClient,
    settings: ClientSettings,
    no_secret: NewSecret | None,
    now: datetime,
) -> None:
    """Replace all settings, and the secret by `no_secret`, if there is one.

    Invalidates pending requests and unexchanged codes. Waits for exchanges and refreshes.
    """
    await wait_for_exchanges(tx, client.client_id)
    updated = await tx.execute(
        UPDATE,
        owner,
        client.client_id,
        client.version,
        settings.name,
        settings.description,
        settings.website_url,
        settings.redirect_uris,
        settings.scopes.mask,
        now,
        settings.grant_types,
        settings.logo_uri,
        settings.policy_uri,
        settings.tos_uri,
        settings.require_par,
        settings.dpop_bound,
        *keys_store.values(settings),
        no_secret.hash if no_secret else None,
    )
    _require_one_row(updated)


async def wait_for_exchanges(tx: Tx, client_id: ClientId) -> None:
    """Let code exchanges of the application end, and none begin before the end of the transaction."""
    await tx.execute(EXCHANGE_LOCK, client_id)


async def set_status(tx: Tx, owner: MerchantId, client: LockedClient, status: ClientStatus, now: datetime) -> None:
    """Pause or resume."""
    _require_one_row(await tx.execute(SET_STATUS, owner, client.client_id, client.version, status, now))


async def set_secret(tx: Tx, owner: MerchantId, client: LockedClient, secret: NewSecret, now: datetime) -> None:
    """Replace the secret; the previous one stops working."""
    _require_one_row(await tx.execute(ROTATE, owner, client.client_id, client.version, secret.hash, secret.hint, now))


async def set_webhook(tx: Tx, owner: MerchantId, client_id: ClientId, url: str | None, new_sender: UUID) -> UUID | None:
    """Set the address for events about connections. Returns who sends them: `new_sender` with the first address."""
    sender: UUID | None = await tx.fetchval(SET_WEBHOOK, owner, client_id, url, new_sender)
    return sender


async def rotate_webhook_secret(tx: Tx, owner: MerchantId, client: LockedClient, now: datetime) -> UUID | None:
    """Raise the version. Returns whose signing secret is to be replaced; None if there never was an address."""
    sender: UUID | None = await tx.fetchval(ROTATE_OF_WEBHOOKS, owner, client.client_id, client.version, now)
    return sender


async def revoke(tx: Tx, owner: MerchantId, client: LockedClient, now: datetime) -> None:
    """Revoke the application permanently."""
    _require_one_row(await tx.execute(REVOKE, owner, client.client_id, now))


async def list_to_revoke(tx: Tx, owner: MerchantId) -> list[str]:
    """The applications of this owner that are not revoked."""
    return [row["id"] for row in await tx.fetch(LIST_TO_REVOKE, owner)]


async def revoke_all_grants(tx: Tx, owner: MerchantId, client: LockedClient, reason: str, now: datetime) -> None:
    """Revoke every grant, unexchanged code and pending request of the application."""
    _require_one_row(await tx.execute(REVOKE_ALL_GRANTS, owner, client.client_id, now, reason))


async def find_registered(db: Pool, client_id: str) -> RegisteredClient | None:
    """An application, for an authorization request."""
    row = await db.fetchrow(FIND_REGISTERED, client_id)
    if row is None:
        return None
    uris: Sequence[str] = row["redirect_uris"]
    scopes = Scopes(row["scope_mask"])
    return RegisteredClient(
        ClientId(row["id"]),
        row["status"],
        tuple(uris),
        scopes,
        row["auth_epoch"],
        row["suspended"],
        frozenset(row["grant_types"]),
        row["device_writes_allowed"],
        row["require_par"],
        row["approved"],
        row["document_url"],
    )


async def find_credentials(db: Pool, client_id: str) -> ClientCredentials | None:
    """What client authentication is checked against, read together with that of other requests."""
    row = await db.fetchrow_in_batch(FIND_MANY_CREDENTIALS, (client_id,)) if CLIENT_ID.fullmatch(client_id) else None
    if row is None:
        return None
    client_id = ClientId(row["id"])
    return ClientCredentials(
        client_id,
        row["status"],
        row["secret_hash"],
        row["suspended"],
        row["token_endpoint_auth_method"],
        row["dpop_bound"],
    )


def _require_one_row(updated: int) -> None:
    if updated != 1:
        raise AssertionError("the row of a locked application was not updated")


def _view(row: Row) -> ClientView:
    return ClientView(
        client_id=ClientId(row["id"]),
        name=row["name"],
        client_type=row["client_type"],
        description=row["description"],
        website_url=row["website_url"],
        redirect_uris=row["redirect_uris"],
        grant_types=row["grant_types"],
        require_par=row["require_par"],
        dpop_bound=row["dpop_bound"],
        logo_uri=row["logo_uri"],
        connection_webhook_url=row["connection_webhook_url"],
        policy_uri=row["policy_uri"],
        tos_uri=row["tos_uri"],
        token_endpoint_auth_method=row["token_endpoint_auth_method"],
        jwks=keys_store.key_set(row),
        jwks_uri=row["jwks_uri"],
        scopes=Scopes(row["scope_mask"]).names(),
        version=row["version"],
        status=row["status"],
        active_connections=row["active_connections"],
        last_used_at=stamp_or_none(row["last_used_at"]),
        secret_hint=row["secret_hint"],
        created_at=stamp(row["created_at"]),
        updated_at=stamp(row["updated_at"]),
        revoked_at=stamp_or_none(row["revoked_at"]),
        suspended_at=stamp_or_none(row["suspended_at"]) or UNSET,
        approved_at=stamp_or_none(row["approved_at"]) or UNSET,
        verified_at=stamp_or_none(row["verified_at"]) or UNSET,
    )
