"""Applications and connections in the dashboard API."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from msgspec import UNSET, Struct, UnsetType

from tollhouse.accounts.identity import stepup
from tollhouse.accounts.identity.guards import signed_in, signed_in_while_suspended
from tollhouse.accounts.identity.model import ApplicationSuspended, Person
from tollhouse.http.lists import ConnectionsPageRequest, OptionalPageQuery, PageRequest, Position
from tollhouse.http.operations import DASHBOARD, Operations
from tollhouse.http.services import Services, Work
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.errors import NotFound, ValidationFailed
from tollhouse.kernel.examples import example
from tollhouse.oauth import clients, clients_store, connections, connections_store, settings
from tollhouse.oauth.connections import DisconnectResult
from tollhouse.oauth.connections_model import ConnectionEnded, GrantChange
from tollhouse.oauth.metadata import authorization_endpoint, token_endpoint
from tollhouse.oauth.model import ApplicationChanged, ApplicationRevoked, ClientView, ConnectionView, GrantView
from tollhouse.oauth.settings import ClientStatusChange, SecretRotation, SettingsBody, SettingsUpdate, WebhookSecretRotation
from tollhouse.platform.database.pool import Pool

DASHBOARD_OPERATIONS = Operations(DASHBOARD)
CHANGES = (NotFound, ApplicationSuspended, ApplicationRevoked, ValidationFailed, ApplicationChanged)


class ClientList(Struct, frozen=True):
    """The caller's applications, newest first, revoked ones included."""

    clients: list[ClientView]
    has_more: bool | UnsetType = UNSET
    next_cursor: str | UnsetType | None = UNSET


class ConnectionList(Struct, frozen=True):
    """A page of an application's connections, newest first, ended ones included."""

    connections: list[ConnectionView]
    has_more: bool
    next_cursor: str | None


class GrantList(Struct, frozen=True):
    """The merchant's grants, newest first, ended ones included."""

    grants: list[GrantView]
    has_more: bool | UnsetType = UNSET
    next_cursor: str | UnsetType | None = UNSET


class ClientDetails(Struct, frozen=True):
    """An application, and the endpoints for connecting merchants."""

    client: ClientView
    """The application."""
    issuer: Annotated[str, example("https://pay.example")]
    authorization_endpoint: Annotated[str, example("https://pay.example/api/v2/oauth/authorize")]
    token_endpoint: Annotated[str, example("https://pay.example/api/v2/oauth/token")]


@DASHBOARD_OPERATIONS.add("GET", "/oauth/clients", guard=signed_in("read"), errors=(ValidationFailed,))
async def list_clients(caller: Person, query: OptionalPageQuery, page: PageRequest, db: Pool, now: datetime) -> ClientList:
    """List applications. Newest first, with revoked ones. All of them, unless `page`, `limit` or `cursor` is sent."""
    owner = caller.merchant_id
    if not query.is_paged:
        return ClientList(await clients_store.list_owned(db, owner, now))
    after = None if page.after is None else page.after.decode(errors="replace")
    found = await clients_store.list_owned(db, owner, now, after, page.limit + 1, page.offset)
    return ClientList(*page.cut_after(found, lambda client: client.client_id.encode()))


@DASHBOARD_OPERATIONS.add(
    "POST",
    "/oauth/clients",
    guard=signed_in("developers"),
    status=201,
    errors=(ValidationFailed,),
    recent_authentication="always",
)
async def register_client(caller: Person, body: SettingsBody, work: Work) -> ClientView:
    """Register an application. Only this response contains the secret of a confidential one."""
    return await clients.register(work, caller, settings.check_new(body))


@DASHBOARD_OPERATIONS.add("GET", "/oauth/clients/{client_id}", guard=signed_in("read"), errors=(NotFound,))
async def show_client(caller: Person, client_id: str, db: Pool, services: Services, now: datetime) -> ClientDetails:
    """Retrieve an application. The response has the OAuth endpoints too."""
    client = await clients_store.find_owned(db, caller.merchant_id, client_id, now)
    if client is None:
        raise NotFound
    issuer = services.settings.base_url
    return ClientDetails(client, issuer, authorization_endpoint(issuer), token_endpoint(issuer))


@DASHBOARD_OPERATIONS.add(
    "PUT", "/oauth/clients/{client_id}", guard=signed_in("developers"), errors=CHANGES, recent_authentication="by_content"
)
async def save_client(caller: Person, client_id: str, body: SettingsUpdate, work: Work) -> ClientView:
    """Update an application. Ends unfinished authorizations. New redirect URIs need recent authentication."""
    return await clients.update(work, caller, client_id, body, recent=stepup.is_recent(caller, work.now))


@DASHBOARD_OPERATIONS.add("POST", "/oauth/clients/{client_id}/status", guard=signed_in("developers"), errors=CHANGES)
async def pause_or_resume_client(caller: Person, client_id: str, body: ClientStatusChange, work: Work) -> ClientView:
    """Pause or resume an application. Pausing revokes its grants, and resuming restores none of them."""
    return await clients.pause_or_resume(work, caller.merchant_id, client_id, body)


@DASHBOARD_OPERATIONS.add(
    "POST",
    "/oauth/clients/{client_id}/rotate-secret",
    guard=signed_in("developers"),
    errors=CHANGES,
    recent_authentication="always",
)
async def rotate_client_secret(caller: Person, client_id: str, body: SecretRotation, work: Work) -> ClientView:
    """Rotate the client secret. The old one stops working immediately. Only this response contains the new one."""
    return await clients.rotate_secret(work, caller, client_id, body)


@DASHBOARD_OPERATIONS.add(
    "POST",
    "/oauth/clients/{client_id}/rotate-webhook-secret",
    guard=signed_in("developers"),
    errors=CHANGES,
    recent_authentication="always",
)
async def rotate_webhook_secret(caller: Person, client_id: str, body: WebhookSecretRotation, work: Work) -> ClientView:
    """Rotate the webhook secret of connections. Only this response contains the new one."""
    return await clients.rotate_webhook_secret(work, caller.merchant_id, client_id, body)


@DASHBOARD_OPERATIONS.add(
    "DELETE",
    "/oauth/clients/{client_id}",
    guard=signed_in_while_suspended("developers"),
    errors=(NotFound, ApplicationRevoked),
)
async def revoke_client(caller: Person, client_id: str, work: Work) -> ClientView:
    """Revoke an application. This is permanent. Revokes every grant; the history stays."""
    return await clients.revoke(work, caller.merchant_id, client_id)


@DASHBOARD_OPERATIONS.add(
    "GET", "/oauth/clients/{client_id}/connections", guard=signed_in("read"), errors=(NotFound, ValidationFailed)
)
async def list_connections(
    caller: Person, client_id: str, page: ConnectionsPageRequest, db: Pool, now: datetime, catalogue: Catalogue
) -> ConnectionList:
    """List connected merchants. Those that an application is or was connected to, 100 per page."""
    if await clients_store.find_owned(db, caller.merchant_id, client_id, now) is None:
        raise NotFound
    found = await connections_store.list_connections(db, caller.merchant_id, client_id, page.window, now, catalogue)
    shown, more, cursor = page.cut(found, lambda row: row[1])
    return ConnectionList([connection for connection, _ in shown], more, cursor)


@DASHBOARD_OPERATIONS.add(
    "DELETE",
    "/oauth/clients/{client_id}/connections/{grant_id}",
    guard=signed_in_while_suspended("developers"),
    errors=(NotFound, ApplicationRevoked),
)
async def disconnect_one(caller: Person, client_id: str, grant_id: UUID, work: Work) -> DisconnectResult:
    """Disconnect a merchant."""
    return await connections.disconnect_one(work, caller.merchant_id, client_id, grant_id)


@DASHBOARD_OPERATIONS.add(
    "DELETE",
    "/oauth/clients/{client_id}/connections",
    guard=signed_in_while_suspended("developers"),
    errors=(NotFound, ApplicationRevoked),
)
async def disconnect_all(caller: Person, client_id: str, work: Work) -> DisconnectResult:
    """Disconnect all merchants. Also invalidates unexchanged codes and pending requests."""
    return await connections.disconnect_all(work, caller.merchant_id, client_id)


@DASHBOARD_OPERATIONS.add("GET", "/oauth/grants", guard=signed_in("read"), errors=(ValidationFailed,))
async def list_grants(
    caller: Person, query: OptionalPageQuery, page: PageRequest, db: Pool, now: datetime, catalogue: Catalogue
) -> GrantList:
    """List connected applications. Those that the merchant is or was connected to.

    All of them, unless `page`, `limit` or `cursor` is sent.
    """
    if not query.is_paged:
        every = await connections_store.list_grants(db, caller.merchant_id, now, catalogue)
        return GrantList([grant for grant, _ in every])
    window = page.window
    found = await connections_store.list_grants(
        db,
        caller.merchant_id,
        now,
        catalogue,
        before=Position(window.before_at, window.before_id),
        fetch=window.fetch,
        offset=window.offset,
    )
    shown, more, cursor = page.cut(found, lambda row: row[1])
    return GrantList([grant for grant, _ in shown], more, cursor)


@DASHBOARD_OPERATIONS.add(
    "DELETE", "/oauth/grants/{grant_id}", guard=signed_in_while_suspended("connections"), errors=(NotFound,)
)
async def withdraw_grant(caller: Person, grant_id: UUID, work: Work) -> DisconnectResult:
    """Disconnect an application."""
    return await connections.revoke_grant(work, caller.merchant_id, grant_id)


@DASHBOARD_OPERATIONS.add(
    "PATCH",
    "/oauth/grants/{grant_id}",
    guard=signed_in("connections"),
    errors=(NotFound, ConnectionEnded, ValidationFailed),
    recent_authentication="by_content",
)
async def change_grant(caller: Person, grant_id: UUID, body: GrantChange, work: Work) -> GrantView:
    """Change a connection. It keeps some of its permissions, and gets limits; both take effect immediately.

    To let a live connection move more than before needs recent authentication.
    """
    recent = stepup.is_recent(caller, work.now)
    return await connections.change_grant(work, caller, grant_id, body, recent=recent)
