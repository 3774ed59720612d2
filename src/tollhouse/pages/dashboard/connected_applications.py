"""Pages of the applications that a merchant has connected: list, details, disconnect."""

from typing import Literal
from uuid import UUID

from starlette.responses import Response

from tollhouse.accounts.identity.guards import signed_in_page, signed_in_page_while_suspended
from tollhouse.accounts.identity.model import Person
from tollhouse.http.forms import flash_message
from tollhouse.http.lists import PageQuery
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import page, see_other
from tollhouse.kernel.errors import NotFound
from tollhouse.kernel.scopes import PERMISSIONS
from tollhouse.oauth import connections, connections_store, redirect_uris

OPERATIONS = Operations(PAGES)
STATUSES = [("active", "active"), ("ended", "ended")]
ACTIVE: dict[str, bool] = {"active": True, "ended": False}
REVOKED_REASONS = {
    "application_paused": "The owner of the application paused it.",
    "application_revoked": "The owner of the application revoked it permanently.",
    "code_replayed": "Disconnected for security: an authorization code was used twice. It may have been stolen.",
    "disconnected_by_merchant": "You disconnected this application.",
    "disconnected_by_owner": "The owner of the application disconnected your account.",
    "password_reset": "Disconnected for security: your password was reset before your email address was verified.",
    "refresh_token_replayed": "Disconnected for security: a replaced refresh token was used again. It may have been stolen.",
    "revoked_by_application": "The application ended the connection itself.",
    "scopes_removed": "The owner of the application removed all permissions that you had granted.",
    "secret_rotated": "The owner of the application rotated its client secret and disconnected all merchants.",
}


class ConnectedAppsPageQuery(PageQuery, frozen=True, forbid_unknown_fields=True):
    """`?status=&page=` of the list. An empty status is no filter."""

    status: Literal["", "active", "ended"] = ""


@OPERATIONS.add("GET", "/settings/connected-apps", guard=signed_in_page)
async def list_page(request: Request, caller: Person, query: ConnectedAppsPageQuery) -> Response:
    """The merchant's grants of both environments, newest first, ended ones included."""
    found = await connections_store.list_grants(
        request.services.db,
        caller.merchant_id,
        active=ACTIVE.get(query.status),
        fetch=query.fetch,
        offset=query.offset,
        now=request.now,
    )
    shown, more = query.cut(found)
    return page(
        request,
        "dashboard/applications/connected_apps.html",
        person=caller,
        here="connected-apps",
        grants=shown,
        query=query,
        statuses=STATUSES,
        page_links=query.links(shown, more=more),
    )


@OPERATIONS.add("GET", "/settings/connected-apps/{grant_id}", guard=signed_in_page)
async def details(request: Request, caller: Person, grant_id: UUID) -> Response:
    """A grant: application, permissions, last use, disconnect."""
    found = await connections_store.find_grant(request.services.db, caller.merchant_id, grant_id, request.now)
    if found is None:
        raise NotFound
    website = found.grant.application.website_url
    return page(
        request,
        "dashboard/applications/connected_app.html",
        person=caller,
        here="connected-apps",
        grant=found.grant,
        owner_name=found.owner_name,
        website=redirect_uris.host_of(website) if website else "",
        revoked_reason=REVOKED_REASONS.get(found.revoked_reason or "", ""),
        permissions=PERMISSIONS,
        disconnected=flash_message(request.query) == "disconnected",
    )


@OPERATIONS.add("POST", "/settings/connected-apps/{grant_id}/disconnect", guard=signed_in_page_while_suspended)
async def disconnect(request: Request, caller: Person, grant_id: UUID) -> Response:
    """Disconnect an application. Suspended merchants can do this, too. A repeated request succeeds."""
    await request.transact(lambda work: connections.revoke_grant(work, caller.merchant_id, grant_id))
    return see_other(f"/settings/connected-apps/{grant_id}?done=disconnected")
