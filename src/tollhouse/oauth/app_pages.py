"""The pages on which owners see and register their applications.

The form of a new one carries the name that it will have, under our MAC. So a form that is posted twice makes one.
"""

import base64
import binascii

from starlette.responses import Response

from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import page, see_other
from tollhouse.identity.guards import signed_in_page
from tollhouse.identity.model import Person
from tollhouse.kernel import tokens
from tollhouse.kernel.errors import ValidationFailed
from tollhouse.kernel.ids import ClientId
from tollhouse.oauth import clients, clients_store, settings
from tollhouse.oauth.app_form import Typed, form_facts, typed_into
from tollhouse.oauth.metadata import authorization_endpoint, token_endpoint

OPERATIONS = Operations(PAGES)
PURPOSE = b"new application:"
MAC_BYTES = 32


@OPERATIONS.add("GET", "/developers/apps", guard=signed_in_page)
async def applications(request: Request, caller: Person) -> Response:
    """The applications that this merchant owns."""
    owned = await clients_store.owned(request.services.db, caller.merchant_id, request.now)
    return page(request, "oauth/apps.html", person=caller, mode="test", here="apps", clients=owned)


@OPERATIONS.add("GET", "/developers/apps/new", guard=signed_in_page)
async def new_application(request: Request, caller: Person) -> Response:
    """The form for a new application."""
    return _form(request, caller, Typed())


@OPERATIONS.add("POST", "/developers/apps", guard=signed_in_page, recent_authentication="always")
async def register(request: Request, caller: Person) -> Response:
    """Register the application, and show its secret once."""
    form = request.form()
    typed, client_id = typed_into(form), _name_of(request, caller, form.one("made_once") or "")
    try:
        checked = settings.check_new(typed.body())
    except ValidationFailed as error:
        return _form(request, caller, typed, error)
    async with request.services.db.transaction() as tx:
        made = await clients.register_as(tx, caller.merchant_id, client_id, checked, request.now)
    if made is None:
        return see_other(f"/developers/apps/{client_id}/secret?done=registered")
    issuer = request.services.settings.base_url
    return page(
        request,
        "oauth/app_made.html",
        person=caller,
        mode="test",
        here="apps",
        client=made,
        secret=made.client_secret or "",
        issuer=issuer,
        authorization_endpoint=authorization_endpoint(issuer),
        token_endpoint=token_endpoint(issuer),
    )


def _form(request: Request, person: Person, typed: Typed, error: ValidationFailed | None = None) -> Response:
    return page(
        request,
        "oauth/app_new.html",
        error.status if error else 200,
        person=person,
        mode="test",
        here="apps",
        made_once=_vouched(request, person, ClientId(tokens.public_name(tokens.CLIENT_ID_PREFIX))),
        **form_facts(typed, error),
    )


def _vouched(request: Request, person: Person, client_id: ClientId) -> str:
    """A name for the form to carry, which counts for this session alone."""
    return f"{client_id}.{base64.urlsafe_b64encode(request.services.keys.mac(_bound(person, client_id))).decode()}"


def _name_of(request: Request, person: Person, carried: str) -> ClientId:
    """The name that the form carries; a new one where it carries none of ours."""
    client_id, _, encoded = carried.partition(".")
    try:
        mac = base64.b64decode(encoded, altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        mac = b""
    if len(mac) == MAC_BYTES and request.services.keys.vouches(_bound(person, client_id), mac):
        return ClientId(client_id)
    return ClientId(tokens.public_name(tokens.CLIENT_ID_PREFIX))


def _bound(person: Person, client_id: str) -> bytes:
    return PURPOSE + person.session_id.bytes + client_id.encode()
