"""The pages on which owners see and register their applications.

The form of a new one carries the name that it will have, under our MAC. So a form that is posted twice makes one.
"""

import base64
import binascii

from starlette.responses import Response

from tollhouse.callers.guards import signed_in_page
from tollhouse.callers.model import Person
from tollhouse.kernel import tokens
from tollhouse.kernel.ids import ClientId
from tollhouse.kernel.refusals import ValidationFailed
from tollhouse.oauth import clients, clients_store, settings
from tollhouse.oauth.app_form import Typed, form_facts, typed_into
from tollhouse.oauth.metadata import authorization_endpoint, token_endpoint
from tollhouse.web.answers import page, see_other
from tollhouse.web.ask import Ask
from tollhouse.web.operations import PAGES, Operations

OPERATIONS = Operations(PAGES)
PURPOSE = b"new application:"
MAC_BYTES = 32


@OPERATIONS.add("GET", "/developers/apps", guard=signed_in_page)
async def applications(ask: Ask, caller: Person) -> Response:
    """The applications that this merchant owns."""
    owned = await clients_store.owned(ask.house.db, caller.merchant_id, ask.now)
    return page(ask, "oauth/apps.html", person=caller, mode="test", here="apps", clients=owned)


@OPERATIONS.add("GET", "/developers/apps/new", guard=signed_in_page)
async def new_application(ask: Ask, caller: Person) -> Response:
    """The form for a new application."""
    return _form(ask, caller, Typed())


@OPERATIONS.add("POST", "/developers/apps", guard=signed_in_page, recent_authentication="always")
async def register(ask: Ask, caller: Person) -> Response:
    """Register the application, and show its secret once."""
    form = ask.form()
    typed, client_id = typed_into(form), _name_of(ask, caller, form.one("made_once") or "")
    try:
        checked = settings.check_new(typed.body())
    except ValidationFailed as refusal:
        return _form(ask, caller, typed, refusal)
    async with ask.house.db.transaction() as tx:
        made = await clients.register_as(tx, caller.merchant_id, client_id, checked, ask.now)
    if made is None:
        return see_other(f"/developers/apps/{client_id}/secret?done=registered")
    issuer = ask.house.settings.base_url
    return page(
        ask,
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


def _form(ask: Ask, person: Person, typed: Typed, refusal: ValidationFailed | None = None) -> Response:
    return page(
        ask,
        "oauth/app_new.html",
        refusal.status if refusal else 200,
        person=person,
        mode="test",
        here="apps",
        made_once=_vouched(ask, person, ClientId(tokens.public_name("thc"))),
        **form_facts(typed, refusal),
    )


def _vouched(ask: Ask, person: Person, client_id: ClientId) -> str:
    """A name for the form to carry, which counts for this session alone."""
    return f"{client_id}.{base64.urlsafe_b64encode(ask.house.keys.mac(_bound(person, client_id))).decode()}"


def _name_of(ask: Ask, person: Person, carried: str) -> ClientId:
    """The name that the form carries; a new one where it carries none of ours."""
    client_id, _, encoded = carried.partition(".")
    try:
        mac = base64.b64decode(encoded, altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        mac = b""
    if len(mac) == MAC_BYTES and ask.house.keys.vouches(_bound(person, client_id), mac):
        return ClientId(client_id)
    return ClientId(tokens.public_name("thc"))


def _bound(person: Person, client_id: str) -> bytes:
    return PURPOSE + person.session_id.bytes + client_id.encode()
