"""Every SQL statement about grants as people see them: the owner's connections, the merchant's grants, and their end.

A grant has ended when its own row says so, when all grants of its epoch were ended, or when its time is over: found by
looking, never by a job. What ended after its time was over is still called expired.
"""

from datetime import datetime
from uuid import UUID

import msgspec

from tollhouse.http.paging import Position, Window
from tollhouse.kernel.clock import stamp, stamp_or_none
from tollhouse.kernel.ids import ClientId, MerchantId
from tollhouse.kernel.scopes import Scopes
from tollhouse.oauth.model import ApplicationView, ConnectionView, EndedGrant, GrantStatus, GrantView
from tollhouse.platform.db import Pool, Row, Tx

CONNECTIONS = """
    SELECT g.id, g.merchant_id, m.business_name, g.scope_mask, g.mode, g.created_at, g.expires_at,
           coalesce(g.revoked_at, k.revoked_at) AS revoked_at, a.last_used_at
    FROM oauth_clients c
    JOIN oauth_grants g ON g.client_id = c.id
    JOIN merchants m ON m.id = g.merchant_id
    LEFT JOIN oauth_grant_cutoffs k
        ON k.client_id = g.client_id AND k.grant_epoch = g.grant_epoch AND k.revoked_at < g.expires_at
    LEFT JOIN oauth_grant_activity a ON a.grant_id = g.id
    WHERE c.merchant_id = $1 AND c.id = $2 AND g.created_at >= $3 AND (g.created_at, g.id) < ($4, $5)
    ORDER BY g.created_at DESC, g.id DESC LIMIT $6 OFFSET $7
"""
CONNECTION = """
    SELECT g.id, g.merchant_id, m.business_name, g.scope_mask, g.mode, g.created_at, g.expires_at,
           coalesce(g.revoked_at, k.revoked_at) AS revoked_at, a.last_used_at
    FROM oauth_clients c
    JOIN oauth_grants g ON g.client_id = c.id
    JOIN merchants m ON m.id = g.merchant_id
    LEFT JOIN oauth_grant_cutoffs k
        ON k.client_id = g.client_id AND k.grant_epoch = g.grant_epoch AND k.revoked_at < g.expires_at
    LEFT JOIN oauth_grant_activity a ON a.grant_id = g.id
    WHERE c.merchant_id = $1 AND c.id = $2 AND g.id = $3
"""
COUNT_ACTIVE = """
    SELECT count(*) FROM oauth_grants g JOIN oauth_clients c ON c.id = g.client_id
    WHERE c.merchant_id = $1 AND c.id = $2 AND g.grant_epoch = c.grant_epoch AND g.revoked_at IS NULL AND g.expires_at > $3
"""
DISCONNECT = """
    UPDATE oauth_grants g SET revoked_at = $4, revoked_because = 'disconnected_by_owner'
    FROM oauth_clients c
    WHERE c.merchant_id = $1 AND c.id = $2 AND g.client_id = c.id AND g.id = $3
      AND g.grant_epoch = c.grant_epoch AND g.revoked_at IS NULL AND g.expires_at > $4
    RETURNING g.client_id, c.name, g.merchant_id, g.mode
"""
HAS_CONNECTION = """
    SELECT EXISTS (
        SELECT FROM oauth_grants g JOIN oauth_clients c ON c.id = g.client_id
        WHERE c.merchant_id = $1 AND c.id = $2 AND g.id = $3)
"""
WITHDRAW = """
    UPDATE oauth_grants g SET revoked_at = $3, revoked_because = 'disconnected_by_merchant'
    FROM oauth_clients c
    WHERE g.merchant_id = $1 AND g.id = $2 AND c.id = g.client_id
      AND g.grant_epoch = c.grant_epoch AND g.revoked_at IS NULL AND g.expires_at > $3
    RETURNING g.client_id, c.name, g.merchant_id, g.mode
"""
HAS_GRANT = "SELECT EXISTS (SELECT FROM oauth_grants WHERE merchant_id = $1 AND id = $2)"
REVOKE_EMPTIED = """
    UPDATE oauth_grants g SET revoked_at = $3, revoked_because = 'scopes_removed'
    FROM oauth_clients c
    WHERE g.client_id = $1 AND c.id = $1 AND g.grant_epoch = c.grant_epoch AND g.revoked_at IS NULL AND g.expires_at > $3
      AND g.scope_mask & $2 & ~262144 = 0
"""
NARROW = """
    UPDATE oauth_grants g SET scope_mask = g.scope_mask & $2,
           refresh_hash = CASE WHEN g.scope_mask & $2 & 262144 <> 0 THEN g.refresh_hash END
    FROM oauth_clients c
    WHERE g.client_id = $1 AND c.id = $1 AND g.grant_epoch = c.grant_epoch AND g.revoked_at IS NULL AND g.expires_at > $3
      AND g.scope_mask & ~$2::int <> 0
"""


async def connections(
    db: Pool, owner: MerchantId, client_id: str, window: Window, now: datetime
) -> list[tuple[ConnectionView, Position]]:
    """Connections of one application of this owner and where they stand in the list, newest first, ended ones too."""
    rows = await db.fetch_custom_plan(CONNECTIONS, owner, client_id, *msgspec.structs.astuple(window))
    return [(_connection(row, now), Position(row["created_at"], row["id"])) for row in rows]


async def connection(db: Pool, owner: MerchantId, client_id: str, grant_id: UUID, now: datetime) -> ConnectionView | None:
    """One connection of an application of this owner; None when there is none."""
    row = await db.fetchrow(CONNECTION, owner, client_id, grant_id)
    return None if row is None else _connection(row, now)


async def count_active(tx: Tx, owner: MerchantId, client_id: ClientId, now: datetime) -> int:
    """How many connections of the application live."""
    return int(await tx.fetchval(COUNT_ACTIVE, owner, client_id, now))


async def disconnect(tx: Tx, owner: MerchantId, client_id: ClientId, grant_id: UUID, now: datetime) -> EndedGrant | None:
    """End one connection; None where it had ended, or there is none."""
    row = await tx.fetchrow(DISCONNECT, owner, client_id, grant_id, now)
    return None if row is None else EndedGrant(**row)


async def has_connection(tx: Tx, owner: MerchantId, client_id: ClientId, grant_id: UUID) -> bool:
    """Whether the application has, or had, this connection."""
    return bool(await tx.fetchval(HAS_CONNECTION, owner, client_id, grant_id))


async def withdraw(tx: Tx, merchant_id: MerchantId, grant_id: UUID, now: datetime) -> EndedGrant | None:
    """End one of the merchant's own grants; None where it had ended, or there is none."""
    row = await tx.fetchrow(WITHDRAW, merchant_id, grant_id, now)
    return None if row is None else EndedGrant(**row)


async def has_grant(tx: Tx, merchant_id: MerchantId, grant_id: UUID) -> bool:
    """Whether the merchant has given, or had given, this grant."""
    return bool(await tx.fetchval(HAS_GRANT, merchant_id, grant_id))


async def narrow(tx: Tx, client_id: ClientId, registered: Scopes, now: datetime) -> None:
    """Take from every grant what the application may not have any more; one left without an API permission ends."""
    await tx.execute(REVOKE_EMPTIED, client_id, registered.mask, now)
    await tx.execute(NARROW, client_id, registered.mask, now)


def grant_view(row: Row, now: datetime) -> GrantView:
    """A grant as its merchant sees it."""
    return GrantView(
        grant_id=row["id"],
        client_id=ClientId(row["client_id"]),
        application=ApplicationView(row["name"], row["description"], row["website_url"], row["client_status"]),
        scopes=Scopes(row["scope_mask"]).names(),
        mode=row["mode"],
        livemode=row["mode"] == "live",
        status=_status(row, now),
        created_at=stamp(row["created_at"]),
        expires_at=stamp(row["expires_at"]),
        revoked_at=stamp_or_none(row["revoked_at"]),
        last_used_at=stamp_or_none(row["last_used_at"]),
    )


def _connection(row: Row, now: datetime) -> ConnectionView:
    return ConnectionView(
        grant_id=row["id"],
        merchant_id=row["merchant_id"],
        business_name=row["business_name"],
        scopes=Scopes(row["scope_mask"]).names(),
        mode=row["mode"],
        livemode=row["mode"] == "live",
        status=_status(row, now),
        created_at=stamp(row["created_at"]),
        expires_at=stamp(row["expires_at"]),
        revoked_at=stamp_or_none(row["revoked_at"]),
        last_used_at=stamp_or_none(row["last_used_at"]),
    )


def _status(row: Row, now: datetime) -> GrantStatus:
    if row["revoked_at"] is not None:
        return "revoked"
    return "active" if now < row["expires_at"] else "expired"
