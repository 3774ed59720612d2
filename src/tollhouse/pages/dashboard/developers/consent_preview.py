"""The consent page of an application as its owner sees it before any merchant does."""

from datetime import datetime, timedelta

from starlette.responses import Response

from tollhouse.accounts.environments import payment_settings
from tollhouse.accounts.identity.guards import signed_in_page
from tollhouse.accounts.identity.model import Person
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import page
from tollhouse.kernel import scopes
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.limits import AUTHORIZATION_REQUEST_S
from tollhouse.oauth.model import ClientView
from tollhouse.oauth.requests_model import ConsentRequest
from tollhouse.pages.dashboard.developers import consent
from tollhouse.pages.dashboard.developers.application import get_client

OPERATIONS = Operations(PAGES)


@OPERATIONS.add("GET", "/developers/apps/{client_id}/preview", guard=signed_in_page("read"))
async def preview(request: Request, caller: Person, client_id: str) -> Response:
    """The page that a merchant sees who connects, with every scope of the application and buttons without effect."""
    client = await get_client(request, caller, client_id)
    settings = await payment_settings.of(request.services.db, MerchantEnv(caller.merchant_id, request.mode or "test"))
    imagined = _imagined(request, caller, client, settings.branding.support_email)
    context = await consent.page_context(request, caller, imagined, consent.DEFAULT_SELECTED)
    return page(request, "dashboard/consent/page.html", preview=True, nothing_selected=False, client=client, **context)


def _imagined(request: Request, owner: Person, client: ClientView, owner_email: str | None) -> ConsentRequest:
    """What a request of this application would be. It is not stored."""
    return ConsentRequest(
        id_hash=b"",
        client_id=client.client_id,
        merchant_id=owner.merchant_id,
        redirect_uri=client.redirect_uris[0],
        scopes=scopes.known(client.scopes),
        state="",
        mode=request.mode or "test",
        resource="api",
        created_at=request.now,
        expires_at=request.now + timedelta(seconds=AUTHORIZATION_REQUEST_S),
        decision=None,
        settings_changed=False,
        client_status=client.status,
        client_suspended=False,
        name=client.name,
        description=client.description,
        website_url=client.website_url,
        policy_uri=client.policy_uri,
        tos_uri=client.tos_uri,
        owner_name=owner.business_name,
        owner_email=owner_email,
        registered_at=datetime.fromisoformat(client.created_at),
        verified=bool(client.verified_at),
        awaits_approval=False,
        connections=client.active_connections,
    )
