"""Connections of applications: with whom an owner's application is connected, and what a merchant has connected."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec
from msgspec import Meta
from starlette.responses import Response

from tollhouse.accounts.identity.guards import signed_in_page, signed_in_page_while_suspended
from tollhouse.accounts.identity.model import Person
from tollhouse.accounts.identity.stepup import is_recent, run_recent
from tollhouse.accounts.spending import store as spending_store
from tollhouse.http.forms import flash_message
from tollhouse.http.lists import LongPageQuery, Position
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import see_other
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import NotFound, ValidationFailed
from tollhouse.kernel.limits import CONNECTIONS_PER_PAGE, EXPIRY_REMINDER_S, PAGE_ROWS_MAX
from tollhouse.kernel.scopes import PERMISSIONS, known
from tollhouse.oauth import connections, connections_store, documents_store, redirect_uris
from tollhouse.oauth.connections_model import ConnectionEnded, GrantChange
from tollhouse.oauth.model import ApplicationRevoked, ClientView, GrantView, stored_id
from tollhouse.pages.dashboard import limit_form
from tollhouse.pages.dashboard.developers.application import confirmation_errors, get_client, tab_page, unconfirmed_page
from tollhouse.pages.dashboard.layout import render
from tollhouse.pages.dashboard.limit_form import LimitForm

OPERATIONS = Operations(PAGES)


class ConnectionsPageQuery(LongPageQuery, frozen=True, forbid_unknown_fields=True):
    """`?page=` of the list, and `?done=` of the flash message."""

    limit: Annotated[int, Meta(ge=1, le=PAGE_ROWS_MAX)] = CONNECTIONS_PER_PAGE
    done: str = ""


FIRST_PAGE = ConnectionsPageQuery()


@OPERATIONS.add("GET", "/developers/apps/{client_id}/connections", guard=signed_in_page("read"))
async def list_page(request: Request, caller: Person, client_id: str, query: ConnectionsPageQuery) -> Response:
    """The merchants that are or were connected, newest first, 100 per page."""
    client = await get_client(request, caller, client_id)
    return await _list_page(request, caller, client, query=query)


@OPERATIONS.add("GET", "/developers/apps/{client_id}/connections/{grant_id}", guard=signed_in_page("read"))
async def details(request: Request, caller: Person, client_id: str, grant_id: UUID) -> Response:
    """A connection: environment, permissions, disconnect."""
    return await _details(request, caller, client_id, grant_id)


@OPERATIONS.add(
    "POST",
    "/developers/apps/{client_id}/connections/{grant_id}/disconnect",
    guard=signed_in_page_while_suspended("developers"),
)
async def disconnect(request: Request, caller: Person, client_id: str, grant_id: UUID) -> Response:
    """Disconnect one merchant. A repeated request succeeds."""
    try:
        await request.transact(lambda work: connections.disconnect_one(work, caller.merchant_id, client_id, grant_id))
    except ApplicationRevoked as error:
        return await _details(request, caller, client_id, grant_id, error)
    return see_other(f"/developers/apps/{client_id}/connections/{grant_id}?done=disconnected")


@OPERATIONS.add(
    "POST", "/developers/apps/{client_id}/connections/disconnect", guard=signed_in_page_while_suspended("developers")
)
async def disconnect_all(request: Request, caller: Person, client_id: str) -> Response:
    """Disconnect all merchants, confirmed by the application's name."""
    client = await get_client(request, caller, client_id)
    if field_errors := confirmation_errors(request.form(), client):
        return await _list_page(request, caller, client, field_errors)
    try:
        await request.transact(lambda work: connections.disconnect_all(work, caller.merchant_id, client_id))
    except ApplicationRevoked as error:
        return await _list_page(request, caller, await get_client(request, caller, client_id), error=error)
    return see_other(f"/developers/apps/{client_id}/connections?done=all")


async def _list_page(
    request: Request,
    person: Person,
    client: ClientView,
    field_errors: dict[str, str] | None = None,
    *,
    error: ApplicationRevoked | None = None,
    query: ConnectionsPageQuery = FIRST_PAGE,
) -> Response:
    found = await connections_store.list_connections(
        request.services.db, person.merchant_id, client.client_id, query.window, request.now, request.services.catalogue
    )
    rows, more = query.cut(found)
    links = msgspec.structs.replace(query, done="").links([position for _, position in rows], more=more)
    context: dict[str, Any] = {"connections": [connection for connection, _ in rows], "page_links": links}
    if field_errors:
        return unconfirmed_page(request, person, client, "connections", field_errors, **context)
    return tab_page(request, person, client, "connections", error=error, field_errors={}, **context)


async def _details(
    request: Request, person: Person, client_id: str, grant_id: UUID, error: ApplicationRevoked | None = None
) -> Response:
    client = await get_client(request, person, client_id)
    connection = await connections_store.find_connection(
        request.services.db, person.merchant_id, client_id, grant_id, request.now, request.services.catalogue
    )
    if connection is None:
        raise NotFound
    return tab_page(
        request,
        person,
        client,
        "connections",
        error=error,
        template="dashboard/applications/app_connection.html",
        connection=connection,
        permissions=PERMISSIONS,
        ended_because=ENDED_FOR_OWNER.get(connection.ended_reason or "active", ""),
    )


NOTHING_LEFT = "Keep at least one permission that reads or changes data, or disconnect the application."
NOT_NARROWED = "The connection has changed since you opened this page. Your changes were not saved."
WRONG_LIMITS = "Check the limits and try again."
STATUSES = [("active", "active"), ("ended", "ended")]
ACTIVE: dict[str, bool] = {"active": True, "ended": False}
ENDED_FOR_MERCHANT: Mapping[str, str] = {
    "merchant": "You disconnected this application.",
    "owner": "The owner of the application disconnected your account.",
    "revoke_endpoint": "The application ended the connection itself.",
    "expired": "The connection has expired. Connect again from the application.",
    "refresh_replayed": "Disconnected for security: a refresh token was used more than once. It may have been stolen.",
    "code_replayed": "Disconnected for security: an authorization code was used twice. It may have been stolen.",
    "secret_rotated": "The owner of the application rotated its client secret and disconnected all merchants.",
    "paused": "The owner of the application paused it.",
    "revoked": "The owner of the application revoked it permanently.",
    "no_scopes": "The owner of the application removed all permissions that you had granted.",
    "operator": "The operator of this installation ended the connection.",
    "merchant_closed": "The account was closed.",
}
AFTER_RESET = "Disconnected for security: your password was reset before your email address was verified."
ENDED_FOR_OWNER: Mapping[str, str] = {
    "merchant": "The merchant disconnected your application.",
    "owner": "You disconnected this merchant.",
    "revoke_endpoint": "Your application revoked a token of this connection.",
    "expired": "The connection has expired. The merchant can connect again.",
    "refresh_replayed": "A refresh token that had been replaced was used again. Use each refresh token once.",
    "code_replayed": "An authorization code was used twice. Exchange each code once.",
    "secret_rotated": "You rotated the client secret and disconnected all merchants.",
    "paused": "You paused the application.",
    "revoked": "You revoked the application permanently.",
    "no_scopes": "You removed all permissions that the merchant had granted.",
    "operator": "The operator of this installation ended the connection.",
    "merchant_closed": "The merchant's account was closed.",
}


class ConnectedAppsPageQuery(LongPageQuery, frozen=True, forbid_unknown_fields=True):
    """`?status=&page=` of the list. An empty status is no filter."""

    status: Literal["", "active", "ended"] = ""


@OPERATIONS.add("GET", "/settings/connected-apps", guard=signed_in_page("read"))
async def connected_applications(request: Request, caller: Person, query: ConnectedAppsPageQuery) -> Response:
    """The merchant's grants of both environments, newest first, ended ones included."""
    window = query.window
    found = await connections_store.list_grants(
        request.services.db,
        caller.merchant_id,
        request.now,
        request.services.catalogue,
        active=ACTIVE.get(query.status),
        before=Position(window.before_at, window.before_id),
        fetch=window.fetch,
        offset=window.offset,
    )
    shown, more = query.cut(found)
    stored_ids = {grant.grant_id: stored_id(grant.client_id) for grant, _ in shown}
    return render(
        request,
        caller,
        "applications/connected_apps",
        here="connected-apps",
        grants=[grant for grant, _ in shown],
        stored_ids=stored_ids,
        logos=await documents_store.logo_uris(request.services.db, *stored_ids.values()),
        query=query,
        statuses=STATUSES,
        page_links=query.links([position for _, position in shown], more=more),
    )


@OPERATIONS.add("GET", "/settings/connected-apps/{grant_id}", guard=signed_in_page("read"))
async def connected_application(request: Request, caller: Person, grant_id: UUID) -> Response:
    """A grant: application, permissions, last use, disconnect."""
    return await _connected_application(request, caller, grant_id)


@OPERATIONS.add("POST", "/settings/connected-apps/{grant_id}/permissions", guard=signed_in_page("connections"))
async def narrow(request: Request, caller: Person, grant_id: UUID) -> Response:
    """Leave the selected permissions to an application."""
    kept = request.form().all("scope")
    change = GrantChange(scopes=kept)
    try:
        if not known(kept).has_api:
            return await _connected_application(request, caller, grant_id, 422, NOTHING_LEFT)
        await request.transact(lambda work: connections.change_grant(work, caller, grant_id, change, recent=False))
    except (ValidationFailed, ConnectionEnded) as error:
        return await _connected_application(request, caller, grant_id, error.status, NOT_NARROWED)
    return see_other(f"/settings/connected-apps/{grant_id}?done=narrowed")


@OPERATIONS.add(
    "POST",
    "/settings/connected-apps/{grant_id}/limits",
    guard=signed_in_page("connections"),
    recent_authentication="by_content",
)
async def save_limits(request: Request, caller: Person, grant_id: UUID) -> Response:
    """Save the limits of a connection, and whether it may only propose."""
    before = await spending_store.get(request.services.db, caller.merchant_id, grant_id)
    typed = limit_form.read(request.form(), request.services.catalogue, caller.zone, before)
    change = GrantChange(
        limits=typed.requests,
        recipients=typed.recipients,
        limits_expire_at=typed.expires_at,
        proposals_only=typed.proposals_only,
    )
    if typed.errors:
        return await _connected_application(request, caller, grant_id, 422, WRONG_LIMITS, unsaved=typed)

    async def save(person: Person) -> None:
        recent = is_recent(person, request.now)
        await request.transact(lambda work: connections.change_grant(work, person, grant_id, change, recent=recent))

    try:
        await run_recent(request, caller, save)
    except ValidationFailed as error:
        return await _connected_application(request, caller, grant_id, 422, WRONG_LIMITS, unsaved=typed.refused(error))
    except ConnectionEnded as error:
        return await _connected_application(request, caller, grant_id, error.status, NOT_NARROWED)
    return see_other(f"/settings/connected-apps/{grant_id}?done=limited")


async def _connected_application(
    request: Request,
    caller: Person,
    grant_id: UUID,
    status: int = 200,
    message: str = "",
    *,
    unsaved: LimitForm | None = None,
) -> Response:
    db, catalogue = request.services.db, request.services.catalogue
    found = await connections_store.find_grant(db, caller.merchant_id, grant_id, request.now, catalogue)
    if found is None:
        raise NotFound
    website, client_id = found.grant.application.website_url, stored_id(found.grant.client_id)
    limits = await spending_store.get(db, caller.merchant_id, grant_id)
    shown = limit_form.of_limits(
        limits, known(found.grant.scopes), catalogue, caller.zone, proposals_only=found.grant.proposals_only
    )
    return render(
        request,
        caller,
        "applications/connected_app",
        status,
        here="connected-apps",
        grant=found.grant,
        stored_id=client_id,
        has_logo=bool(await documents_store.logo_uris(db, client_id)),
        owner_name=found.owner_name,
        owner_verified=found.grant.application.verified,
        website=redirect_uris.host_of(website) if website else "",
        ended_because=AFTER_RESET
        if found.revoked_reason == "password_reset"
        else ENDED_FOR_MERCHANT.get(found.grant.ended_reason or "active", ""),
        permissions=PERMISSIONS,
        limit_form=unsaved or shown,
        limit_options=await limit_form.options(db, MerchantEnv(caller.merchant_id, found.grant.mode), catalogue),
        limits_left=limits.remaining(await spending_store.get_spent(db, grant_id, request.now), catalogue),
        limit_titles=limit_form.TITLES,
        renewable=_is_renewable(found.grant, request.now),
        done=flash_message(request.query),
        message=message,
    )


def _is_renewable(grant: GrantView, now: datetime) -> bool:
    """Whether it is time to connect again: the connection expires within seven days, or has expired."""
    soon = datetime.fromisoformat(grant.expires_at) - timedelta(seconds=EXPIRY_REMINDER_S) <= now
    return grant.application.status == "enabled" and (grant.status == "expired" or (grant.status == "active" and soon))


@OPERATIONS.add(
    "POST", "/settings/connected-apps/{grant_id}/disconnect", guard=signed_in_page_while_suspended("connections")
)
async def disconnect_application(request: Request, caller: Person, grant_id: UUID) -> Response:
    """Disconnect an application. Suspended merchants can do this, too. A repeated request succeeds."""
    await request.transact(lambda work: connections.revoke_grant(work, caller.merchant_id, grant_id))
    return see_other(f"/settings/connected-apps/{grant_id}?done=disconnected")
