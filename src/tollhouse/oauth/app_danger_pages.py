"""What an owner does to an application that others notice: a new secret, a pause, the end. Each page is its own question."""

from contextlib import suppress

from starlette.responses import Response

from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import see_other
from tollhouse.identity.guards import signed_in_page, signed_in_page_while_suspended
from tollhouse.identity.model import ApplicationSuspended, Person
from tollhouse.kernel.errors import ApiError, ValidationFailed
from tollhouse.oauth import clients, snippets
from tollhouse.oauth.app_form import version_of
from tollhouse.oauth.app_tabs import misnamed, owned, tab_page, unconfirmed
from tollhouse.oauth.model import ApplicationChanged, ApplicationRevoked, ClientView
from tollhouse.oauth.settings import Rotation, StatusChange

OPERATIONS = Operations(PAGES)
TURNED_DOWN = (ApplicationChanged, ApplicationRevoked, ApplicationSuspended, ValidationFailed)
LOOK_AGAIN = "The application was changed meanwhile. Nothing was done: this is how it is now."
ROTATED_TWICE = (
    "The application was changed meanwhile, and the secret was not replaced now. If you pressed the button twice, the first "
    "press replaced it: press it once more, unless you have copied what that showed."
)


@OPERATIONS.add("GET", "/developers/apps/{client_id}/secret", guard=signed_in_page)
async def secret(request: Request, caller: Person, client_id: str) -> Response:
    """By which characters to tell the secret, and the form that replaces it."""
    return _secret(request, caller, await owned(request, caller, client_id))


@OPERATIONS.add("POST", "/developers/apps/{client_id}/secret", guard=signed_in_page, recent_authentication="always")
async def rotate(request: Request, caller: Person, client_id: str) -> Response:
    """Replace the secret and show the new one, once. A form that is posted twice replaces it once."""
    form = request.form()
    rotation = Rotation(version=version_of(form), revoke_grants=form.one("revoke_grants") == "yes")
    try:
        rotated = await request.services.db.transact(
            lambda tx: clients.rotate_secret(tx, caller.merchant_id, client_id, rotation, request.now)
        )
    except TURNED_DOWN as error:
        return _secret(request, caller, await owned(request, caller, client_id), error)
    made = rotated.client_secret or ""
    lines = snippets.environment_lines(request.services.settings.base_url, rotated, made)
    return tab_page(request, caller, rotated, "secret", secret=made, lines=lines, ended=rotation.revoke_grants)


@OPERATIONS.add("GET", "/developers/apps/{client_id}/danger", guard=signed_in_page)
async def danger(request: Request, caller: Person, client_id: str) -> Response:
    """Pausing, resuming and revoking."""
    return tab_page(request, caller, await owned(request, caller, client_id), "danger", field_errors={})


@OPERATIONS.add("POST", "/developers/apps/{client_id}/pause", guard=signed_in_page)
async def pause(request: Request, caller: Person, client_id: str) -> Response:
    """End every connection and take no new ones."""
    return await _switch(request, caller, client_id, enabled=False)


@OPERATIONS.add("POST", "/developers/apps/{client_id}/resume", guard=signed_in_page)
async def resume(request: Request, caller: Person, client_id: str) -> Response:
    """Take connections again."""
    return await _switch(request, caller, client_id, enabled=True)


@OPERATIONS.add(
    "POST", "/developers/apps/{client_id}/revoke", guard=signed_in_page_while_suspended, recent_authentication="always"
)
async def revoke(request: Request, caller: Person, client_id: str) -> Response:
    """End the application for ever, where its name was typed. Clicked twice, it is revoked once and that is well."""
    client = await owned(request, caller, client_id)
    if client.status != "revoked":
        if field_errors := misnamed(request.form(), client):
            return unconfirmed(request, caller, client, "danger", field_errors)
        with suppress(ApplicationRevoked):  # then the other click was first
            await request.services.db.transact(lambda tx: clients.revoke(tx, caller.merchant_id, client_id, request.now))
    return see_other(f"/developers/apps/{client_id}/danger?done=revoked")


async def _switch(request: Request, person: Person, client_id: str, *, enabled: bool) -> Response:
    change = StatusChange(enabled, version_of(request.form()))
    try:
        await request.services.db.transact(
            lambda tx: clients.pause_or_resume(tx, person.merchant_id, client_id, change, request.now)
        )
    except TURNED_DOWN as error:
        client = await owned(request, person, client_id)
        if isinstance(error, ApplicationSuspended) or client.status != ("enabled" if enabled else "paused"):
            message = LOOK_AGAIN if isinstance(error, ApplicationChanged) else error.message
            return tab_page(request, person, client, "danger", error=error, message=message, field_errors={})
    return see_other(f"/developers/apps/{client_id}/danger?done={'resumed' if enabled else 'paused'}")


def _secret(request: Request, person: Person, client: ClientView, error: ApiError | None = None) -> Response:
    message = ""
    if error:
        notice = " ".join(field_error.message for field_error in error.field_errors) or error.message
        message = ROTATED_TWICE if isinstance(error, ApplicationChanged) else notice
    return tab_page(request, person, client, "secret", error=error, message=message, secret="")
