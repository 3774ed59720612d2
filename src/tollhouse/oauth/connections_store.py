"""SQL of grants for people: the connections of an application's owner and the grants of a merchant.

A grant is revoked by its own row or by a cutoff of its epoch, and expires without a job. A cutoff after the expiry does
not count: the grant stays expired.
"""

from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec
from msgspec import Struct

from tollhouse.accounts.identity.users_store import CHANGED_CONNECTION
from tollhouse.accounts.spending.model import Limits, read_limits
from tollhouse.http.lists import NEWEST, Position, Window
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.clock import stamp, stamp_or_none
from tollhouse.kernel.connections import ChangedConnection
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import ClientId, MerchantId, Mode
from tollhouse.kernel.scopes import Scopes
from tollhouse.oauth.connections_model import ENDED_REASONS, EndedReason
from tollhouse.oauth.model import ApplicationView, ConnectionView, GrantStatus, GrantView
from tollhouse.platform.database.pool import Pool, Row, Tx

CONNECTIONS = """
    SELECT g.id, g.merchant_id, m.business_name, g.scope_mask, g.mode, g.created_at, g.expires_at,
           g.limits, g.proposals_only,
           coalesce(g.revoked_at, k.revoked_at) AS revoked_at, a.last_used_at,
           coalesce(g.revoked_because, k.revoked_because) AS revoked_because
    FROM oauth_clients c
    JOIN oauth_grants g ON g.client_id = c.id
    JOIN merchants m ON m.id = g.merchant_id
    LEFT JOIN oauth_grant_cutoffs k
        ON k.client_id = g.client_id AND k.grant_epoch = g.grant_epoch AND k.revoked_at < g.expires_at
    LEFT JOIN oauth_grant_activity a ON a.grant_id = g.id
    WHERE c.merchant_id = $1 AND c.id = $2
"""
LIST_CONNECTIONS = f"""
    {CONNECTIONS} AND g.created_at >= $3 AND (g.created_at, g.id) < ($4, $5)
    ORDER BY g.created_at DESC, g.id DESC LIMIT $6 OFFSET $7
"""
FIND_CONNECTION = f"{CONNECTIONS} AND g.id = $3"
COUNT_ACTIVE = """
    SELECT count(*) FROM oauth_grants g JOIN oauth_clients c ON c.id = g.client_id
    WHERE c.merchant_id = $1 AND c.id = $2 AND g.grant_epoch = c.grant_epoch AND g.revoked_at IS NULL AND g.expires_at > $3
"""
REVOKE_BY_OWNER = f"""
    UPDATE oauth_grants g SET revoked_at = $4, revoked_because = 'disconnected_by_owner'
    FROM oauth_clients c
    WHERE c.merchant_id = $1 AND c.id = $2 AND g.client_id = c.id AND g.id = $3
      AND g.grant_epoch = c.grant_epoch AND g.revoked_at IS NULL AND g.expires_at > $4
    RETURNING {CHANGED_CONNECTION}
"""
HAS_CONNECTION = """
    SELECT EXISTS (
        SELECT FROM oauth_grants g JOIN oauth_clients c ON c.id = g.client_id
        WHERE c.merchant_id = $1 AND c.id = $2 AND g.id = $3)
"""
REVOKE_BY_MERCHANT = f"""
    UPDATE oauth_grants g SET revoked_at = $3, revoked_because = 'disconnected_by_merchant'
    FROM oauth_clients c
    WHERE g.merchant_id = $1 AND g.id = $2 AND c.id = g.client_id
      AND g.grant_epoch = c.grant_epoch AND g.revoked_at IS NULL AND g.expires_at > $3
    RETURNING {CHANGED_CONNECTION}
"""
GRANTS = """
    SELECT g.id, coalesce(c.document_url, g.client_id) AS client_id, c.name, c.description, c.website_url,
           c.status AS client_status, c.verified_at IS NOT NULL AS verified, g.scope_mask, g.mode,
           g.limits, g.proposals_only, g.created_at, g.expires_at, coalesce(g.revoked_at, k.revoked_at) AS revoked_at,
           a.last_used_at,
           coalesce(g.revoked_because, k.revoked_because) AS revoked_because
    FROM oauth_grants g
    JOIN oauth_clients c ON c.id = g.client_id
    LEFT JOIN oauth_grant_cutoffs k
        ON k.client_id = g.client_id AND k.grant_epoch = g.grant_epoch AND k.revoked_at < g.expires_at
    LEFT JOIN oauth_grant_activity a ON a.grant_id = g.id
    WHERE g.merchant_id = $1 AND (g.created_at, g.id) < ($2, $3)
"""
NEWEST_FIRST = "ORDER BY g.created_at DESC, g.id DESC LIMIT $4 OFFSET $5"
LIST_GRANTS = f"{GRANTS} {NEWEST_FIRST}"
# By the index of those that are open: neither revoked nor known to have expired.
LIST_ACTIVE_GRANTS = f"""
    {GRANTS} AND g.revoked_at IS NULL AND g.expiry_noted_at IS NULL AND k.revoked_at IS NULL AND g.expires_at > $6
    {NEWEST_FIRST}
"""
LIST_ENDED_GRANTS = f"""
    {GRANTS} AND (g.revoked_at IS NOT NULL OR k.revoked_at IS NOT NULL OR g.expires_at <= $6) {NEWEST_FIRST}
"""
FIND_GRANT = """
    SELECT g.id, coalesce(c.document_url, g.client_id) AS client_id, c.name, c.description, c.website_url,
           c.status AS client_status, c.verified_at IS NOT NULL AS verified, g.scope_mask, g.mode,
           g.limits, g.proposals_only, g.created_at, g.expires_at, coalesce(g.revoked_at, k.revoked_at) AS revoked_at,
           a.last_used_at,
           coalesce(g.revoked_because, k.revoked_because) AS revoked_because, coalesce(m.business_name, '') AS owner_name
    FROM oauth_grants g
    JOIN oauth_clients c ON c.id = g.client_id
    LEFT JOIN merchants m ON m.id = c.merchant_id
    LEFT JOIN oauth_grant_cutoffs k
        ON k.client_id = g.client_id AND k.grant_epoch = g.grant_epoch AND k.revoked_at < g.expires_at
    LEFT JOIN oauth_grant_activity a ON a.grant_id = g.id
    WHERE g.merchant_id = $1 AND g.id = $2
"""
# Among the newest connections of the merchant: an index for it alone would cost every exchange of a code.
FIND_EARLIER = """
    SELECT scope_mask, limits, proposals_only FROM (
        SELECT client_id, mode, scope_mask, limits, proposals_only, created_at, id FROM oauth_grants WHERE merchant_id = $1
        ORDER BY created_at DESC, id DESC LIMIT 1000) AS newest
    WHERE client_id = $2 AND mode = $3 ORDER BY created_at DESC, id DESC LIMIT 1
"""
TO_NOTIFY = """
    SELECT g.id, g.merchant_id, g.mode FROM oauth_grants g
    JOIN oauth_clients c ON c.id = g.client_id AND g.grant_epoch = c.grant_epoch
    WHERE g.client_id = $1 AND g.revoked_at IS NULL AND g.expires_at > $2
"""
# The application first, as where its owner changes it. A statement of its own: the next one sees what was committed before.
LOCK_APPLICATION = """
    SELECT FROM oauth_clients c JOIN oauth_grants g ON g.client_id = c.id
    WHERE g.merchant_id = $1 AND g.id = $2 FOR SHARE OF c
"""
LOCK_ACTIVE = f"""
    SELECT {CHANGED_CONNECTION} FROM oauth_grants g JOIN oauth_clients c ON c.id = g.client_id
    WHERE g.merchant_id = $1 AND g.id = $2 AND g.grant_epoch = c.grant_epoch AND g.revoked_at IS NULL AND g.expires_at > $3
    FOR NO KEY UPDATE OF g
"""
CHANGE = f"""
    UPDATE oauth_grants g SET scope_mask = $3, proposals_only = $4, version = g.version + 1,
           refresh_hash = CASE WHEN $3 & 262144 <> 0 THEN g.refresh_hash END
    FROM oauth_clients c
    WHERE g.merchant_id = $1 AND g.id = $2 AND c.id = g.client_id AND g.revoked_at IS NULL AND $3 & ~g.scope_mask = 0
    RETURNING {CHANGED_CONNECTION}
"""
LIST_ACTIVE = f"""
    SELECT {CHANGED_CONNECTION} FROM oauth_grants g JOIN oauth_clients c ON c.id = g.client_id
    WHERE g.client_id = $1 AND g.grant_epoch = c.grant_epoch AND g.revoked_at IS NULL AND g.expires_at > $2
      AND c.connection_webhook_url IS NOT NULL
"""
# Each once, whoever looks: what ended otherwise before is noted, too, but not returned.
NOTE_EXPIRED = f"""
    WITH due AS MATERIALIZED (
        SELECT id FROM oauth_grants
        WHERE revoked_at IS NULL AND expiry_noted_at IS NULL AND expires_at <= $1
        ORDER BY expires_at LIMIT $2 FOR NO KEY UPDATE SKIP LOCKED
    ), noted AS (
        UPDATE oauth_grants g SET expiry_noted_at = $1 FROM oauth_clients c
        WHERE g.id = ANY (ARRAY(SELECT id FROM due)) AND c.id = g.client_id
        RETURNING {CHANGED_CONNECTION}, g.grant_epoch, g.expires_at
    )
    SELECT {", ".join(ChangedConnection.__struct_fields__)},
           NOT EXISTS (SELECT FROM oauth_grant_cutoffs k WHERE k.client_id = noted.client_id
                       AND k.grant_epoch = noted.grant_epoch AND k.revoked_at < noted.expires_at) AS ended_by_time
    FROM noted
"""
HAS_GRANT = "SELECT EXISTS (SELECT FROM oauth_grants WHERE merchant_id = $1 AND id = $2)"
REVOKE_WITHOUT_API_SCOPES = f"""
    UPDATE oauth_grants g SET revoked_at = $3, revoked_because = 'scopes_removed'
    FROM oauth_clients c
    WHERE g.client_id = $1 AND c.id = $1 AND g.grant_epoch = c.grant_epoch AND g.revoked_at IS NULL AND g.expires_at > $3
      AND g.scope_mask & $2 & ~262144 = 0
    RETURNING {CHANGED_CONNECTION}
"""
RESTRICT_SCOPES = f"""
    UPDATE oauth_grants g SET scope_mask = g.scope_mask & $2,
           refresh_hash = CASE WHEN g.scope_mask & $2 & 262144 <> 0 THEN g.refresh_hash END, version = g.version + 1
    FROM oauth_clients c
    WHERE g.client_id = $1 AND c.id = $1 AND g.grant_epoch = c.grant_epoch AND g.revoked_at IS NULL AND g.expires_at > $3
      AND g.scope_mask & ~$2::int <> 0
    RETURNING {CHANGED_CONNECTION}
"""


class GrantDetails(Struct, frozen=True):
    """A grant, the owner of its application, and the reason of its revocation; None if it was not revoked."""

    grant: GrantView
    owner_name: str
    revoked_reason: str | None


class EarlierConnection(Struct, frozen=True):
    """What the last connection with an application had."""

    scopes: Scopes
    limits: Limits
    proposals_only: bool


async def list_connections(
    db: Pool, owner: MerchantId, client_id: str, window: Window, now: datetime, catalogue: Catalogue
) -> list[tuple[ConnectionView, Position]]:
    """All connections of an application of this owner, newest first, with their positions in the list."""
    rows = await db.fetch_custom_plan(LIST_CONNECTIONS, owner, client_id, *msgspec.structs.astuple(window))
    return [(_connection(row, now, catalogue), Position(row["created_at"], row["id"])) for row in rows]


async def find_connection(
    db: Pool, owner: MerchantId, client_id: str, grant_id: UUID, now: datetime, catalogue: Catalogue
) -> ConnectionView | None:
    """One connection of an application of this owner."""
    row = await db.fetchrow(FIND_CONNECTION, owner, client_id, grant_id)
    return None if row is None else _connection(row, now, catalogue)


async def count_active(tx: Tx, owner: MerchantId, client_id: ClientId, now: datetime) -> int:
    """The number of active connections of an application."""
    return int(await tx.fetchval(COUNT_ACTIVE, owner, client_id, now))


async def revoke_by_owner(
    tx: Tx, owner: MerchantId, client_id: ClientId, grant_id: UUID, now: datetime
) -> ChangedConnection | None:
    """Revoke one connection; None if it does not exist or is not active."""
    row = await tx.fetchrow(REVOKE_BY_OWNER, owner, client_id, grant_id, now)
    return None if row is None else ChangedConnection(**row)


async def has_connection(tx: Tx, owner: MerchantId, client_id: ClientId, grant_id: UUID) -> bool:
    """Whether the application has this connection, active or not."""
    return bool(await tx.fetchval(HAS_CONNECTION, owner, client_id, grant_id))


async def list_grants(
    db: Pool,
    merchant_id: MerchantId,
    now: datetime,
    catalogue: Catalogue,
    *,
    active: bool | None = None,
    before: Position = NEWEST,
    fetch: int | None = None,
    offset: int = 0,
) -> list[tuple[GrantView, Position]]:
    """The merchant's grants with their positions, newest first: the active ones, the ended ones, or all."""
    page = (merchant_id, before.at, before.id, fetch, offset)
    if active is None:
        rows = await db.fetch(LIST_GRANTS, *page)
    else:
        rows = await db.fetch(LIST_ACTIVE_GRANTS if active else LIST_ENDED_GRANTS, *page, now)
    return [(_grant(row, now, catalogue), Position(row["created_at"], row["id"])) for row in rows]


async def find_grant(
    db: Pool | Tx, merchant_id: MerchantId, grant_id: UUID, now: datetime, catalogue: Catalogue
) -> GrantDetails | None:
    """One of the merchant's grants."""
    row = await db.fetchrow(FIND_GRANT, merchant_id, grant_id)
    if row is None:
        return None
    return GrantDetails(_grant(row, now, catalogue), row["owner_name"], row["revoked_because"])


async def revoke_by_merchant(tx: Tx, merchant_id: MerchantId, grant_id: UUID, now: datetime) -> ChangedConnection | None:
    """Revoke one grant of the merchant; None if it does not exist or is not active."""
    row = await tx.fetchrow(REVOKE_BY_MERCHANT, merchant_id, grant_id, now)
    return None if row is None else ChangedConnection(**row)


async def lock_active(tx: Tx, merchant_id: MerchantId, grant_id: UUID, now: datetime) -> ChangedConnection | None:
    """Lock one grant of the merchant, and its application against changes. None if it is not active."""
    await tx.fetchrow(LOCK_APPLICATION, merchant_id, grant_id)
    row = await tx.fetchrow(LOCK_ACTIVE, merchant_id, grant_id, now)
    return None if row is None else ChangedConnection(**row)


async def change(tx: Tx, locked: ChangedConnection, kept: Scopes, *, proposals_only: bool) -> ChangedConnection:
    """Leave these scopes to a locked grant. Without `offline_access` it cannot be refreshed again."""
    row = await tx.fetchrow(CHANGE, locked.merchant_id, locked.grant_id, kept.mask, proposals_only)
    if row is None:
        raise AssertionError("a locked grant was not changed")
    return ChangedConnection(**row)


async def has_grant(tx: Tx, merchant_id: MerchantId, grant_id: UUID) -> bool:
    """Whether the merchant has this grant, active or not."""
    return bool(await tx.fetchval(HAS_GRANT, merchant_id, grant_id))


async def restrict_scopes(
    tx: Tx, client_id: ClientId, registered: Scopes, now: datetime
) -> tuple[list[ChangedConnection], list[ChangedConnection]]:
    """Remove scopes that are not registered from grants; revoke those that keep no API scope. The revoked, the others."""
    revoked = await tx.fetch(REVOKE_WITHOUT_API_SCOPES, client_id, registered.mask, now)
    restricted = await tx.fetch(RESTRICT_SCOPES, client_id, registered.mask, now)
    return [ChangedConnection(**row) for row in revoked], [ChangedConnection(**row) for row in restricted]


def _grant(row: Row, now: datetime, catalogue: Catalogue) -> GrantView:
    return GrantView(
        client_id=ClientId(row["client_id"]),
        application=ApplicationView(
            row["name"], row["description"], row["website_url"], row["client_status"], row["verified"]
        ),
        **_members(row, now, catalogue),
    )


def _connection(row: Row, now: datetime, catalogue: Catalogue) -> ConnectionView:
    return ConnectionView(
        merchant_id=row["merchant_id"],
        business_name=row["business_name"],
        **_members(row, now, catalogue),
    )


def _members(row: Row, now: datetime, catalogue: Catalogue) -> dict[str, Any]:
    """The members of `ConnectionFacts`."""
    return {
        "grant_id": row["id"],
        "scopes": Scopes(row["scope_mask"]).names(),
        "mode": row["mode"],
        "livemode": row["mode"] == "live",
        "status": _status(row, now),
        "created_at": stamp(row["created_at"]),
        "expires_at": stamp(row["expires_at"]),
        "revoked_at": stamp_or_none(row["revoked_at"]),
        "ended_reason": _ended_reason(row, now),
        "last_used_at": stamp_or_none(row["last_used_at"]),
        "proposals_only": row["proposals_only"],
    } | read_limits(row["limits"]).members(catalogue, "limits_expire_at")


def _status(row: Row, now: datetime) -> GrantStatus:
    if row["revoked_at"] is not None:
        return "revoked"
    return "active" if now < row["expires_at"] else "expired"


def _ended_reason(row: Row, now: datetime) -> EndedReason | None:
    if row["revoked_at"] is not None:
        return ENDED_REASONS.get(row["revoked_because"])
    return None if now < row["expires_at"] else "expired"


async def find_earlier(db: Pool, merchant_id: MerchantId, client_id: ClientId, mode: Mode) -> EarlierConnection | None:
    """The merchant's last connection with the application, also an ended one; None without one among its newest 1,000."""
    row = await db.fetchrow(FIND_EARLIER, merchant_id, client_id, mode)
    if row is None:
        return None
    return EarlierConnection(Scopes(row["scope_mask"]), read_limits(row["limits"]), row["proposals_only"])


async def note_expired(tx: Tx, now: datetime, limit: int) -> tuple[int, list[ChangedConnection]]:
    """Note that connections have expired. Returns how many, and those that nothing else had ended before."""
    rows = [dict(row) for row in await tx.fetch(NOTE_EXPIRED, now, limit)]
    return len(rows), [ChangedConnection(**row) for row in rows if row.pop("ended_by_time")]


async def list_to_announce(tx: Tx, client_id: ClientId, now: datetime) -> list[ChangedConnection]:
    """The active connections of an application that has an address for events about them."""
    return [ChangedConnection(**row) for row in await tx.fetch(LIST_ACTIVE, client_id, now)]


async def list_to_notify(tx: Tx, client_id: ClientId, now: datetime) -> list[tuple[MerchantEnv, UUID]]:
    """The active grants of an application, each with its environment."""
    rows = await tx.fetch(TO_NOTIFY, client_id, now)
    return [(MerchantEnv(MerchantId(row["merchant_id"]), row["mode"]), row["id"]) for row in rows]
