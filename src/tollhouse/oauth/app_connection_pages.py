"""The connections of an application, as its owner sees and ends them."""

from typing import Annotated, Any
from uuid import UUID

from msgspec import Meta, Struct
from starlette.responses import Response

from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.paging import PageLinks, PageQuery
from tollhouse.http.request import Request
from tollhouse.http.responses import see_other
from tollhouse.identity.guards import signed_in_page, signed_in_page_while_suspended
from tollhouse.identity.model import Person
from tollhouse.kernel.errors import NotFound
from tollhouse.kernel.limits import CONNECTIONS_PER_PAGE, PAGE_MAX
from tollhouse.kernel.scopes import PERMISSIONS
from tollhouse.oauth import connections, connections_store
from tollhouse.oauth.app_tabs import misnamed, owned, tab_page, unconfirmed
from tollhouse.oauth.model import ApplicationRevoked, ClientView, ConnectionView

OPERATIONS = Operations(PAGES)


class ConnectionsPage(Struct, frozen=True, forbid_unknown_fields=True):
    """`?page=` of the page of connections, and what was done to them."""

    page: Annotated[int, Meta(ge=1, le=PAGE_MAX)] = 1
    done: str = ""


@OPERATIONS.add("GET", "/developers/apps/{client_id}/connections", guard=signed_in_page)
async def all_connections(request: Request, caller: Person, client_id: str, query: ConnectionsPage) -> Response:
    """The merchants that are or were connected, newest first, 100 a page."""
    client = await owned(request, caller, client_id)
    return await _all(request, caller, client, number=query.page)


@OPERATIONS.add("GET", "/developers/apps/{client_id}/connections/{grant_id}", guard=signed_in_page)
async def connection(request: Request, caller: Person, client_id: str, grant_id: UUID) -> Response:
    """One connection, and the question whether it shall end."""
    client = await owned(request, caller, client_id)
    found = await connections_store.connection(request.services.db, caller.merchant_id, client_id, grant_id, request.now)
    if found is None:
        raise NotFound
    return _one(request, caller, client, found)


@OPERATIONS.add(
    "POST", "/developers/apps/{client_id}/connections/{grant_id}/disconnect", guard=signed_in_page_while_suspended
)
async def disconnect(request: Request, caller: Person, client_id: str, grant_id: UUID) -> Response:
    """End one connection. Clicked twice, it ends once and that is well."""
    try:
        await request.services.db.transact(
            lambda tx: connections.disconnect_one(tx, caller.merchant_id, client_id, grant_id, request.now)
        )
    except ApplicationRevoked as error:
        client = await owned(request, caller, client_id)
        found = await connections_store.connection(request.services.db, caller.merchant_id, client_id, grant_id, request.now)
        if found is None:
            raise NotFound from None
        return _one(request, caller, client, found, error)
    return see_other(f"/developers/apps/{client_id}/connections/{grant_id}?done=disconnected")


@OPERATIONS.add("POST", "/developers/apps/{client_id}/connections/disconnect", guard=signed_in_page_while_suspended)
async def disconnect_all(request: Request, caller: Person, client_id: str) -> Response:
    """End all connections, where the application's name was typed."""
    client = await owned(request, caller, client_id)
    if field_errors := misnamed(request.form(), client):
        return await _all(request, caller, client, field_errors)
    try:
        await request.services.db.transact(
            lambda tx: connections.disconnect_all(tx, caller.merchant_id, client_id, request.now)
        )
    except ApplicationRevoked as error:
        return await _all(request, caller, await owned(request, caller, client_id), error=error)
    return see_other(f"/developers/apps/{client_id}/connections?done=all")


async def _all(
    request: Request,
    person: Person,
    client: ClientView,
    field_errors: dict[str, str] | None = None,
    *,
    error: ApplicationRevoked | None = None,
    number: int = 1,
) -> Response:
    query = PageQuery(number, CONNECTIONS_PER_PAGE)
    found = await connections_store.connections(
        request.services.db, person.merchant_id, client.client_id, query.window, request.now
    )
    rows = [connection for connection, _ in found]
    newer = f"?page={number - 1}" if number > 1 else ""
    older = f"?page={number + 1}" if len(rows) > CONNECTIONS_PER_PAGE else ""
    shown: dict[str, Any] = {"connections": rows[:CONNECTIONS_PER_PAGE], "page_links": PageLinks(number, newer, older)}
    if field_errors:
        return unconfirmed(request, person, client, "connections", field_errors, **shown)
    return tab_page(request, person, client, "connections", error=error, field_errors={}, **shown)


def _one(
    request: Request, person: Person, client: ClientView, found: ConnectionView, error: ApplicationRevoked | None = None
) -> Response:
    return tab_page(
        request,
        person,
        client,
        "connections",
        error=error,
        template="oauth/app_connection.html",
        connection=found,
        permissions=PERMISSIONS,
    )
