"""The page of an application about events of its connections: where they are sent, and the secret that signs them."""

from typing import Any

import msgspec
from msgspec import UNSET
from starlette.responses import Response

from tollhouse.accounts.identity.guards import signed_in_page
from tollhouse.accounts.identity.model import ApplicationSuspended, Person
from tollhouse.accounts.identity.stepup import is_recent, run_recent
from tollhouse.http.forms import NOT_SAVED
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import see_other
from tollhouse.kernel.errors import ApiError, ValidationFailed
from tollhouse.oauth import clients
from tollhouse.oauth.model import ApplicationChanged, ApplicationRevoked, ClientView
from tollhouse.oauth.settings import WebhookSecretRotation
from tollhouse.pages.dashboard.developers.application import CONFLICT, get_client, tab_page
from tollhouse.pages.dashboard.developers.applications import form_of, read_version

OPERATIONS = Operations(PAGES)
ERRORS = (ValidationFailed, ApplicationChanged, ApplicationRevoked, ApplicationSuspended)
URL = "connection_webhook_url"


@OPERATIONS.add("GET", "/developers/apps/{client_id}/events", guard=signed_in_page("read"))
async def show(request: Request, caller: Person, client_id: str) -> Response:
    """The URL that receives events about connections."""
    return _page(request, caller, await get_client(request, caller, client_id))


@OPERATIONS.add(
    "POST", "/developers/apps/{client_id}/events", guard=signed_in_page("developers"), recent_authentication="by_content"
)
async def save(request: Request, caller: Person, client_id: str) -> Response:
    """Save the URL; an empty one ends the events. The signing secret of the first one is shown once."""
    client, form = await get_client(request, caller, client_id), request.form()
    url = (form.one(URL) or "").strip()
    body = msgspec.structs.replace(form_of(client).to_body(read_version(form)), connection_webhook_url=url or None)

    async def update(person: Person) -> ClientView:
        recent = is_recent(person, request.now)
        return await request.transact(lambda work: clients.update(work, person, client_id, body, recent=recent))

    try:
        saved = await run_recent(request, caller, update)
    except ERRORS as error:
        return _page(request, caller, await get_client(request, caller, client_id), error, url=url)
    if saved.webhook_secret is not UNSET:
        return _page(request, caller, saved, secret=saved.webhook_secret)
    return see_other(f"/developers/apps/{client_id}/events?done=saved")


@OPERATIONS.add(
    "POST", "/developers/apps/{client_id}/events/secret", guard=signed_in_page("developers"), recent_authentication="always"
)
async def rotate(request: Request, caller: Person, client_id: str) -> Response:
    """Rotate the signing secret and show the new one once. A form that is submitted twice rotates it once."""
    rotation = WebhookSecretRotation(version=read_version(request.form()))
    try:
        rotated = await request.transact(
            lambda work: clients.rotate_webhook_secret(work, caller.merchant_id, client_id, rotation)
        )
    except ERRORS as error:
        return _page(request, caller, await get_client(request, caller, client_id), error)
    return _page(request, caller, rotated, secret=rotated.webhook_secret)


def _page(request: Request, person: Person, client: ClientView, error: ApiError | None = None, **values: Any) -> Response:
    field_errors = {each.field: each.message for each in error.field_errors} if error else {}
    message = NOT_SAVED if field_errors else CONFLICT if isinstance(error, ApplicationChanged) else ""
    return tab_page(
        request,
        person,
        client,
        "events",
        error=error,
        field_errors=field_errors,
        url=values.get("url", client.connection_webhook_url or ""),
        secret=values.get("secret", ""),
        **({"message": message} if message else {}),
    )
