"""SQL of applications as operators see them."""

import re
from datetime import datetime
from uuid import UUID

from tollhouse.kernel.clock import stamp, stamp_or_none
from tollhouse.kernel.ids import ClientId
from tollhouse.kernel.scopes import Scopes
from tollhouse.oauth import clients_store
from tollhouse.pages.console.model import ApplicationSummary
from tollhouse.platform.database.pool import Pool, Row, Tx

CLIENT_ID = re.compile(r"thc_[0-9A-Za-z]{22}")
"""Other texts from a URL are not sent to the database, which rejects some of them."""

COLUMNS = """c.id, c.name, c.client_type, c.status, c.merchant_id, m.business_name,
           m.suspended_at IS NOT NULL AS owner_suspended, c.description, c.website_url, c.redirect_uris, c.scope_mask,
           c.created_at, c.suspended_at"""
# The search text may be part of the name or the owner's name, or the id of either.
APPLICATIONS = f"""
    SELECT {COLUMNS}
    FROM oauth_clients c JOIN merchants m ON m.id = c.merchant_id
    WHERE ($1 = '' OR $1 = CASE WHEN c.status <> 'revoked' AND c.suspended_at IS NOT NULL THEN 'suspended' ELSE c.status END)
      AND ($2 = '' OR strpos(lower(c.name), lower($2)) > 0 OR c.id = $2 OR strpos(lower(m.business_name), lower($2)) > 0
           OR m.id::text = lower($2))
    ORDER BY c.created_at DESC, c.id DESC LIMIT $3 OFFSET $4
"""
APPLICATION = f"""
    SELECT {COLUMNS}
    FROM oauth_clients c JOIN merchants m ON m.id = c.merchant_id WHERE c.id = $1
"""
ACTIVE_CONNECTIONS = """
    SELECT count(*) FROM (
        SELECT FROM oauth_grants g JOIN oauth_clients c ON c.id = g.client_id
        WHERE c.id = $1 AND g.grant_epoch = c.grant_epoch AND g.revoked_at IS NULL AND g.expires_at > $2 LIMIT $3) AS active
"""


async def applications(
    db: Pool, *, status: str = "", search: str = "", limit: int | None = None, offset: int = 0
) -> list[ApplicationSummary]:
    """Applications, newest first, with this status and matching this search."""
    return [_application(row) for row in await db.fetch(APPLICATIONS, status, search, limit, offset)]


async def application(db: Pool | Tx, client_id: str) -> ApplicationSummary | None:
    """One application."""
    row = await db.fetchrow(APPLICATION, client_id) if CLIENT_ID.fullmatch(client_id) else None
    return None if row is None else _application(row)


async def active_connections(db: Pool, client_id: ClientId, now: datetime, limit: int) -> int:
    """The number of active connections, counted up to the limit."""
    [row] = await db.fetch(ACTIVE_CONNECTIONS, client_id, now, limit)
    return row["count"]


async def suspend(tx: Tx, client_id: str, now: datetime) -> tuple[UUID, str] | None:
    """Suspend an application. Returns its owner and name; None if it cannot be suspended."""
    return _owner(await tx.fetchrow(clients_store.SUSPEND, client_id, now) if CLIENT_ID.fullmatch(client_id) else None)


async def reactivate(tx: Tx, client_id: str) -> tuple[UUID, str] | None:
    """Reactivate an application. Returns its owner and name; None if it is not suspended."""
    return _owner(await tx.fetchrow(clients_store.REACTIVATE, client_id) if CLIENT_ID.fullmatch(client_id) else None)


def _owner(row: Row | None) -> tuple[UUID, str] | None:
    return None if row is None else (row["merchant_id"], row["name"])


def _application(row: Row) -> ApplicationSummary:
    suspended = row["suspended_at"] is not None and row["status"] != "revoked"
    return ApplicationSummary(
        client_id=ClientId(row["id"]),
        name=row["name"],
        client_type=row["client_type"],
        status="suspended" if suspended else row["status"],
        merchant_id=row["merchant_id"],
        business_name=row["business_name"],
        owner_suspended=row["owner_suspended"],
        description=row["description"],
        website_url=row["website_url"],
        redirect_uris=row["redirect_uris"],
        scopes=Scopes(row["scope_mask"]).names(),
        created_at=stamp(row["created_at"]),
        suspended_at=stamp_or_none(row["suspended_at"]),
    )
