"""SQL of documents that were fetched from URLs of applications, which all processes share."""

from datetime import datetime

from msgspec import Struct, structs

from tollhouse.kernel.ids import ClientId
from tollhouse.platform.database.pool import Pool

FIND = "SELECT body, fetched_at FROM oauth_documents WHERE url = $1"
LOGO_URIS = "SELECT id, logo_uri FROM oauth_clients WHERE id = ANY ($1) AND logo_uri IS NOT NULL"
SAVE = """
    INSERT INTO oauth_documents AS d (url, body, fetched_at) VALUES ($1, $2, $3)
    ON CONFLICT (url) DO UPDATE SET body = excluded.body, fetched_at = excluded.fetched_at
    WHERE d.fetched_at < excluded.fetched_at
"""
# Nothing is written or locked for a document that says the same as before.
SAVE_CLIENT = """
    INSERT INTO oauth_clients AS c
        (id, document_url, name, website_url, redirect_uris, scope_mask, grant_types, policy_uri, tos_uri, require_par,
         dpop_bound, client_type, description, status, created_at, updated_at)
    SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 'public', '', 'enabled', $12, $12
    WHERE NOT EXISTS (
        SELECT FROM oauth_clients o
        WHERE o.id = $1 AND (o.name, o.website_url, o.redirect_uris, o.scope_mask, o.grant_types, o.policy_uri, o.tos_uri)
              IS NOT DISTINCT FROM ($3, $4, $5, $6, $7, $8, $9) AND (o.require_par, o.dpop_bound) = ($10, $11))
    ON CONFLICT (id) DO UPDATE
    SET name = excluded.name, website_url = excluded.website_url, redirect_uris = excluded.redirect_uris,
        scope_mask = excluded.scope_mask, grant_types = excluded.grant_types, policy_uri = excluded.policy_uri,
        tos_uri = excluded.tos_uri, require_par = excluded.require_par, dpop_bound = excluded.dpop_bound,
        updated_at = excluded.updated_at, version = c.version + 1, auth_epoch = c.auth_epoch + 1
    WHERE c.document_url = $2
"""
# Applications of documents that were only tried. One that operators did something to, or that was reported, is kept.
DELETE_UNUSED_CLIENTS = """
    DELETE FROM oauth_clients WHERE id IN (
        SELECT c.id FROM oauth_clients c
        WHERE c.document_url IS NOT NULL AND c.updated_at <= $1 AND c.suspended_at IS NULL
          AND NOT EXISTS (SELECT FROM oauth_requests r WHERE r.client_id = c.id)
          AND NOT EXISTS (SELECT FROM oauth_codes k WHERE k.client_id = c.id)
          AND NOT EXISTS (SELECT FROM oauth_grants g WHERE g.client_id = c.id)
          AND NOT EXISTS (SELECT FROM operator_actions a WHERE a.client_id = c.id)
          AND NOT EXISTS (SELECT FROM application_reports p WHERE p.client_id = c.id)
        ORDER BY c.updated_at LIMIT $2 FOR UPDATE SKIP LOCKED)
"""
DELETE_OLD = """
    DELETE FROM oauth_documents WHERE url IN (
        SELECT url FROM oauth_documents WHERE fetched_at <= $1 ORDER BY fetched_at LIMIT $2 FOR UPDATE SKIP LOCKED)
"""


class Document(Struct, frozen=True):
    """What a URL answered, and when."""

    body: bytes
    fetched_at: datetime


class DocumentClient(Struct, frozen=True, kw_only=True):
    """An application as its document describes it. In the order of `SAVE_CLIENT`."""

    id: ClientId
    document_url: str
    name: str
    website_url: str
    redirect_uris: list[str]
    scope_mask: int
    grant_types: list[str]
    policy_uri: str | None
    tos_uri: str | None
    require_par: bool
    dpop_bound: bool


async def find(db: Pool, url: str) -> Document | None:
    """What was last fetched from this URL."""
    row = await db.fetchrow(FIND, url)
    return Document(row["body"], row["fetched_at"]) if row else None


async def save(db: Pool, url: str, document: Document) -> None:
    """Keep what this URL answered, unless something newer is kept."""
    await db.execute(SAVE, url, document.body, document.fetched_at)


async def save_client(db: Pool, client: DocumentClient, now: datetime) -> None:
    """Store an application as its document describes it now. A change ends its pending requests and unused codes."""
    await db.execute(SAVE_CLIENT, *structs.astuple(client), now)


async def logo_uris(db: Pool, *client_ids: str) -> dict[str, str]:
    """Where the logos of these applications are, of those that name one."""
    return {row["id"]: row["logo_uri"] for row in await db.fetch(LOGO_URIS, client_ids)}
