"""Every SQL statement about the applications that a merchant is connected to, as the merchant's own pages show them."""

from datetime import datetime
from uuid import UUID

from msgspec import Struct

from tollhouse.kernel.ids import MerchantId
from tollhouse.oauth.connections_store import grant_view
from tollhouse.oauth.model import GrantView
from tollhouse.platform.db import Pool

# $2 says which: true for those that live, false for those that have ended, null for all.
CONNECTED = """
    SELECT g.id, g.client_id, c.name, c.description, c.website_url, c.status AS client_status, g.scope_mask, g.mode,
           g.created_at, g.expires_at, coalesce(g.revoked_at, k.revoked_at) AS revoked_at, a.last_used_at
    FROM oauth_grants g
    JOIN oauth_clients c ON c.id = g.client_id
    LEFT JOIN oauth_grant_cutoffs k
        ON k.client_id = g.client_id AND k.grant_epoch = g.grant_epoch AND k.revoked_at < g.expires_at
    LEFT JOIN oauth_grant_activity a ON a.grant_id = g.id
    WHERE g.merchant_id = $1
      AND ($2::boolean IS NULL OR $2 = (g.revoked_at IS NULL AND k.revoked_at IS NULL AND g.expires_at > $3))
    ORDER BY g.created_at DESC, g.id DESC
    LIMIT $4 OFFSET $5
"""
CONNECTED_ONE = """
    SELECT g.id, g.client_id, c.name, c.description, c.website_url, c.status AS client_status, g.scope_mask, g.mode,
           g.created_at, g.expires_at, coalesce(g.revoked_at, k.revoked_at) AS revoked_at, a.last_used_at,
           coalesce(g.revoked_because, k.revoked_because) AS revoked_because, m.business_name AS owner_name
    FROM oauth_grants g
    JOIN oauth_clients c ON c.id = g.client_id
    JOIN merchants m ON m.id = c.merchant_id
    LEFT JOIN oauth_grant_cutoffs k
        ON k.client_id = g.client_id AND k.grant_epoch = g.grant_epoch AND k.revoked_at < g.expires_at
    LEFT JOIN oauth_grant_activity a ON a.grant_id = g.id
    WHERE g.merchant_id = $1 AND g.id = $2
"""


class ConnectedApp(Struct, frozen=True):
    """A grant, who owns its application, and why it ended; None while it lives, and where its time was simply over."""

    grant: GrantView
    owner_name: str
    ended_reason: str | None


async def listed(
    db: Pool,
    merchant_id: MerchantId,
    now: datetime,
    *,
    active: bool | None = None,
    fetch: int | None = None,
    offset: int = 0,
) -> list[GrantView]:
    """What this merchant has granted, newest first: what lives, what has ended, or all."""
    return [grant_view(row, now) for row in await db.fetch(CONNECTED, merchant_id, active, now, fetch, offset)]


async def one(db: Pool, merchant_id: MerchantId, grant_id: UUID, now: datetime) -> ConnectedApp | None:
    """One of this merchant's grants; None when there is none, or it is somebody else's."""
    row = await db.fetchrow(CONNECTED_ONE, merchant_id, grant_id)
    return None if row is None else ConnectedApp(grant_view(row, now), row["owner_name"], row["revoked_because"])
