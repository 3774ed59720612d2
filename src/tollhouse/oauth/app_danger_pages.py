"""What an owner does to an application that others notice: a new secret, a pause, the end. Each page is its own question."""

from contextlib import suppress

from starlette.responses import Response

from tollhouse.callers.guards import signed_in_page, signed_in_page_while_suspended
from tollhouse.callers.model import ApplicationSuspended, Person
from tollhouse.kernel.refusals import Refusal, ValidationFailed
from tollhouse.oauth import clients, snippets
from tollhouse.oauth.app_form import version_of
from tollhouse.oauth.app_tabs import misnamed, owned, tab_page, unconfirmed
from tollhouse.oauth.model import ApplicationChanged, ApplicationRevoked, ClientView
from tollhouse.oauth.settings import Rotation, StatusChange
from tollhouse.web.answers import see_other
from tollhouse.web.ask import Ask
from tollhouse.web.operations import PAGES, Operations

OPERATIONS = Operations(PAGES)
TURNED_DOWN = (ApplicationChanged, ApplicationRevoked, ApplicationSuspended, ValidationFailed)
LOOK_AGAIN = "The application was changed meanwhile. Nothing was done: this is how it is now."
ROTATED_TWICE = (
    "The application was changed meanwhile, and the secret was not replaced now. If you pressed the button twice, the first "
    "press replaced it: press it once more, unless you have copied what that showed."
)


@OPERATIONS.add("GET", "/developers/apps/{client_id}/secret", guard=signed_in_page)
async def secret(ask: Ask, caller: Person, client_id: str) -> Response:
    """By which characters to tell the secret, and the form that replaces it."""
    return _secret(ask, caller, await owned(ask, caller, client_id))


@OPERATIONS.add("POST", "/developers/apps/{client_id}/secret", guard=signed_in_page, recent_authentication="always")
async def rotate(ask: Ask, caller: Person, client_id: str) -> Response:
    """Replace the secret and show the new one, once. A form that is posted twice replaces it once."""
    form = ask.form()
    rotation = Rotation(version=version_of(form), revoke_grants=form.one("revoke_grants") == "yes")
    try:
        rotated = await ask.house.db.transact(
            lambda tx: clients.rotate_secret(tx, caller.merchant_id, client_id, rotation, ask.now)
        )
    except TURNED_DOWN as refusal:
        return _secret(ask, caller, await owned(ask, caller, client_id), refusal)
    made = rotated.client_secret or ""
    lines = snippets.environment_lines(ask.house.settings.base_url, rotated, made)
    return tab_page(ask, caller, rotated, "secret", secret=made, lines=lines, ended=rotation.revoke_grants)


@OPERATIONS.add("GET", "/developers/apps/{client_id}/danger", guard=signed_in_page)
async def danger(ask: Ask, caller: Person, client_id: str) -> Response:
    """Pausing, resuming and revoking."""
    return tab_page(ask, caller, await owned(ask, caller, client_id), "danger", faults={})


@OPERATIONS.add("POST", "/developers/apps/{client_id}/pause", guard=signed_in_page)
async def pause(ask: Ask, caller: Person, client_id: str) -> Response:
    """End every connection and take no new ones."""
    return await _switch(ask, caller, client_id, enabled=False)


@OPERATIONS.add("POST", "/developers/apps/{client_id}/resume", guard=signed_in_page)
async def resume(ask: Ask, caller: Person, client_id: str) -> Response:
    """Take connections again."""
    return await _switch(ask, caller, client_id, enabled=True)


@OPERATIONS.add(
    "POST", "/developers/apps/{client_id}/revoke", guard=signed_in_page_while_suspended, recent_authentication="always"
)
async def revoke(ask: Ask, caller: Person, client_id: str) -> Response:
    """End the application for ever, where its name was typed. Clicked twice, it is revoked once and that is well."""
    client = await owned(ask, caller, client_id)
    if client.status != "revoked":
        if faults := misnamed(ask.form(), client):
            return unconfirmed(ask, caller, client, "danger", faults)
        with suppress(ApplicationRevoked):  # then the other click was first
            await ask.house.db.transact(lambda tx: clients.revoke(tx, caller.merchant_id, client_id, ask.now))
    return see_other(f"/developers/apps/{client_id}/danger?done=revoked")


async def _switch(ask: Ask, person: Person, client_id: str, *, enabled: bool) -> Response:
    change = StatusChange(enabled, version_of(ask.form()))
    try:
        await ask.house.db.transact(lambda tx: clients.pause_or_resume(tx, person.merchant_id, client_id, change, ask.now))
    except TURNED_DOWN as refusal:
        client = await owned(ask, person, client_id)
        if isinstance(refusal, ApplicationSuspended) or client.status != ("enabled" if enabled else "paused"):
            message = LOOK_AGAIN if isinstance(refusal, ApplicationChanged) else refusal.message
            return tab_page(ask, person, client, "danger", refusal=refusal, message=message, faults={})
    return see_other(f"/developers/apps/{client_id}/danger?done={'resumed' if enabled else 'paused'}")


def _secret(ask: Ask, person: Person, client: ClientView, refusal: Refusal | None = None) -> Response:
    message = ""
    if refusal:
        told = " ".join(fault.message for fault in refusal.faults) or refusal.message
        message = ROTATED_TWICE if isinstance(refusal, ApplicationChanged) else told
    return tab_page(ask, person, client, "secret", refusal=refusal, message=message, secret="")
