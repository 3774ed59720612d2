"""The applications that a merchant is connected to: what each may do, until when, and the end of it."""

from typing import Literal
from uuid import UUID

from starlette.responses import Response

from tollhouse.http.forms import flash_message
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.paging import PageQuery, page_links
from tollhouse.http.request import Request
from tollhouse.http.responses import page, see_other
from tollhouse.identity.guards import signed_in_page, signed_in_page_while_suspended
from tollhouse.identity.model import Person
from tollhouse.kernel.errors import NotFound
from tollhouse.kernel.scopes import PERMISSIONS
from tollhouse.oauth import connected_apps_store, connections, redirect_uris

OPERATIONS = Operations(PAGES)
STATUSES = [("active", "active"), ("ended", "ended")]
ACTIVE: dict[str, bool] = {"active": True, "ended": False}
WHY_ENDED = {
    "application_paused": "Its owner paused the application.",
    "application_revoked": "Its owner ended the application for ever.",
    "code_replayed": "Its code was used twice, which is how stolen codes show. So it was ended.",
    "disconnected_by_merchant": "You disconnected it.",
    "disconnected_by_owner": "Its owner disconnected you.",
    "password_reset": "The password was reset, and the address had never been verified. So all connections were ended.",
    "refresh_token_replayed": "A token that was replaced came again, which is how stolen tokens show. So it was ended.",
    "revoked_by_application": "The application gave it back.",
    "scopes_removed": "The application lost the last permission that you had given it.",
    "secret_rotated": "Its owner replaced the application's secret and ended all connections.",
}


class ConnectedAppsPage(PageQuery, frozen=True, forbid_unknown_fields=True):
    """`?status=&page=` of the page of connected applications. Empty is no filter."""

    status: Literal["", "active", "ended"] = ""


@OPERATIONS.add("GET", "/settings/connected-apps", guard=signed_in_page)
async def connected_apps(request: Request, caller: Person, query: ConnectedAppsPage) -> Response:
    """The connections of this merchant, newest first, of both environments, with what has ended."""
    found = await connected_apps_store.listed(
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
        "oauth/connected_apps.html",
        person=caller,
        mode="test",
        here="connected-apps",
        grants=shown,
        query=query,
        statuses=STATUSES,
        page_links=page_links(query, more=more),
    )


@OPERATIONS.add("GET", "/settings/connected-apps/{grant_id}", guard=signed_in_page)
async def connected_app(request: Request, caller: Person, grant_id: UUID) -> Response:
    """One connection: what the application may do, when it did anything, and the question whether it shall end."""
    found = await connected_apps_store.one(request.services.db, caller.merchant_id, grant_id, request.now)
    if found is None:
        raise NotFound
    website = found.grant.application.website_url
    return page(
        request,
        "oauth/connected_app.html",
        person=caller,
        mode="test",
        here="connected-apps",
        grant=found.grant,
        owner_name=found.owner_name,
        website=redirect_uris.host_of(website) if website else "",
        why_ended=WHY_ENDED.get(found.ended_reason or "", ""),
        permissions=PERMISSIONS,
        done=flash_message(request.query) == "disconnected",
    )


@OPERATIONS.add("POST", "/settings/connected-apps/{grant_id}/disconnect", guard=signed_in_page_while_suspended)
async def disconnect(request: Request, caller: Person, grant_id: UUID) -> Response:
    """End the connection. It takes something away, so a suspended merchant may do it too; clicked twice, it ends once."""
    await request.services.db.transact(lambda tx: connections.withdraw(tx, caller.merchant_id, grant_id, request.now))
    return see_other(f"/settings/connected-apps/{grant_id}?done=disconnected")
