"""The consent page of an application as its owner sees it in advance. There is no request behind it, and no form to send."""

from datetime import datetime, timedelta

from starlette.responses import Response

from tollhouse.accounts.identity.guards import signed_in_page
from tollhouse.accounts.identity.model import Person
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import page
from tollhouse.kernel import scopes
from tollhouse.kernel.limits import AUTHORIZATION_REQUEST_S
from tollhouse.oauth.model import ClientView, ConsentRequest
from tollhouse.pages.dashboard.application_tabs import get_client
from tollhouse.pages.dashboard.consent import DEFAULT_SELECTED, page_context

OPERATIONS = Operations(PAGES)


@OPERATIONS.add("GET", "/developers/apps/{client_id}/preview", guard=signed_in_page)
async def preview(request: Request, caller: Person, client_id: str) -> Response:
    """The page that a merchant sees who connects, with every scope of the application and buttons without effect."""
    client = await get_client(request, caller, client_id)
    context = page_context(request, caller, _imagined(request, caller, client), DEFAULT_SELECTED)
    return page(request, "dashboard/consent/page.html", preview=True, nothing_selected=False, client=client, **context)


def _imagined(request: Request, owner: Person, client: ClientView) -> ConsentRequest:
    """What a request of this application would be. It is not stored."""
    return ConsentRequest(
        id_hash=b"",
        client_id=client.client_id,
        merchant_id=owner.merchant_id,
        redirect_uri=client.redirect_uris[0],
        scopes=scopes.known(client.scopes),
        state="",
        mode=request.mode or "test",
        expires_at=request.now + timedelta(seconds=AUTHORIZATION_REQUEST_S),
        decision=None,
        settings_changed=False,
        client_status=client.status,
        client_suspended=False,
        name=client.name,
        description=client.description,
        website_url=client.website_url,
        owner_name=owner.business_name,
        registered_at=datetime.fromisoformat(client.created_at),
        connections=client.active_connections,
    )
