"""The connections of an application, as its owner sees and ends them."""

from typing import Annotated, Any
from uuid import UUID

from msgspec import Meta, Struct
from starlette.responses import Response

from tollhouse.callers.guards import signed_in_page, signed_in_page_while_suspended
from tollhouse.callers.model import Person
from tollhouse.kernel.limits import CONNECTIONS_PER_PAGE, PAGE_MAX
from tollhouse.kernel.refusals import NotFound
from tollhouse.kernel.scopes import PERMISSIONS
from tollhouse.oauth import connections, connections_store
from tollhouse.oauth.app_tabs import misnamed, owned, tab_page, unconfirmed
from tollhouse.oauth.model import ApplicationRevoked, ClientView, ConnectionView
from tollhouse.web.answers import see_other
from tollhouse.web.ask import Ask
from tollhouse.web.operations import PAGES, Operations
from tollhouse.web.paging import PageQuery, Turn

OPERATIONS = Operations(PAGES)


class ConnectionsPage(Struct, frozen=True, forbid_unknown_fields=True):
    """`?page=` of the page of connections, and what was done to them."""

    page: Annotated[int, Meta(ge=1, le=PAGE_MAX)] = 1
    done: str = ""


@OPERATIONS.add("GET", "/developers/apps/{client_id}/connections", guard=signed_in_page)
async def all_connections(ask: Ask, caller: Person, client_id: str, query: ConnectionsPage) -> Response:
    """The merchants that are or were connected, newest first, 100 a page."""
    client = await owned(ask, caller, client_id)
    return await _all(ask, caller, client, number=query.page)


@OPERATIONS.add("GET", "/developers/apps/{client_id}/connections/{grant_id}", guard=signed_in_page)
async def connection(ask: Ask, caller: Person, client_id: str, grant_id: UUID) -> Response:
    """One connection, and the question whether it shall end."""
    client = await owned(ask, caller, client_id)
    found = await connections_store.connection(ask.house.db, caller.merchant_id, client_id, grant_id, ask.now)
    if found is None:
        raise NotFound
    return _one(ask, caller, client, found)


@OPERATIONS.add(
    "POST", "/developers/apps/{client_id}/connections/{grant_id}/disconnect", guard=signed_in_page_while_suspended
)
async def disconnect(ask: Ask, caller: Person, client_id: str, grant_id: UUID) -> Response:
    """End one connection. Clicked twice, it ends once and that is well."""
    try:
        await ask.house.db.transact(
            lambda tx: connections.disconnect_one(tx, caller.merchant_id, client_id, grant_id, ask.now)
        )
    except ApplicationRevoked as refusal:
        client = await owned(ask, caller, client_id)
        found = await connections_store.connection(ask.house.db, caller.merchant_id, client_id, grant_id, ask.now)
        if found is None:
            raise NotFound from None
        return _one(ask, caller, client, found, refusal)
    return see_other(f"/developers/apps/{client_id}/connections/{grant_id}?done=disconnected")


@OPERATIONS.add("POST", "/developers/apps/{client_id}/connections/disconnect", guard=signed_in_page_while_suspended)
async def disconnect_all(ask: Ask, caller: Person, client_id: str) -> Response:
    """End all connections, where the application's name was typed."""
    client = await owned(ask, caller, client_id)
    if faults := misnamed(ask.form(), client):
        return await _all(ask, caller, client, faults)
    try:
        await ask.house.db.transact(lambda tx: connections.disconnect_all(tx, caller.merchant_id, client_id, ask.now))
    except ApplicationRevoked as refusal:
        return await _all(ask, caller, await owned(ask, caller, client_id), refusal=refusal)
    return see_other(f"/developers/apps/{client_id}/connections?done=all")


async def _all(
    ask: Ask,
    person: Person,
    client: ClientView,
    faults: dict[str, str] | None = None,
    *,
    refusal: ApplicationRevoked | None = None,
    number: int = 1,
) -> Response:
    query = PageQuery(number, CONNECTIONS_PER_PAGE)
    found = await connections_store.connections(ask.house.db, person.merchant_id, client.client_id, query.window, ask.now)
    rows = [connection for connection, _ in found]
    newer = f"?page={number - 1}" if number > 1 else ""
    older = f"?page={number + 1}" if len(rows) > CONNECTIONS_PER_PAGE else ""
    shown: dict[str, Any] = {"connections": rows[:CONNECTIONS_PER_PAGE], "turn": Turn(number, newer, older)}
    if faults:
        return unconfirmed(ask, person, client, "connections", faults, **shown)
    return tab_page(ask, person, client, "connections", refusal=refusal, faults={}, **shown)


def _one(
    ask: Ask, person: Person, client: ClientView, found: ConnectionView, refusal: ApplicationRevoked | None = None
) -> Response:
    return tab_page(
        ask,
        person,
        client,
        "connections",
        refusal=refusal,
        template="oauth/app_connection.html",
        connection=found,
        permissions=PERMISSIONS,
    )
