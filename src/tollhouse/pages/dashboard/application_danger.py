"""Pages with consequences for others: rotate an application's secret, pause, resume or revoke it."""

from contextlib import suppress

from msgspec import UNSET
from starlette.responses import Response

from tollhouse.accounts.identity.guards import signed_in_page, signed_in_page_while_suspended
from tollhouse.accounts.identity.model import ApplicationSuspended, Person
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import see_other
from tollhouse.kernel.errors import ApiError, ValidationFailed
from tollhouse.kernel.text import Translatable, joined
from tollhouse.oauth import clients, metadata
from tollhouse.oauth.model import ApplicationChanged, ApplicationRevoked, ClientView
from tollhouse.oauth.settings import ClientStatusChange, SecretRotation
from tollhouse.pages.dashboard.application_form import read_version
from tollhouse.pages.dashboard.application_tabs import confirmation_errors, get_client, tab_page, unconfirmed_page

OPERATIONS = Operations(PAGES)
ERRORS = (ApplicationChanged, ApplicationRevoked, ApplicationSuspended, ValidationFailed)
NOT_CHANGED = (
    "The application has changed since you opened this page, so no changes were made. Check its status and try again."
)
NOT_ROTATED = (
    "The application has changed since you opened this page, so the secret was not rotated. If you clicked twice, the first "
    "click rotated it. If you did not copy that secret, rotate it again."
)


@OPERATIONS.add("GET", "/developers/apps/{client_id}/secret", guard=signed_in_page)
async def secret_page(request: Request, caller: Person, client_id: str) -> Response:
    """The last characters of the secret, and the form that rotates it."""
    return _secret_page(request, caller, await get_client(request, caller, client_id))


@OPERATIONS.add("POST", "/developers/apps/{client_id}/secret", guard=signed_in_page, recent_authentication="always")
async def rotate(request: Request, caller: Person, client_id: str) -> Response:
    """Rotate the secret and show the new one once. A form that is submitted twice rotates it once."""
    form = request.form()
    rotation = SecretRotation(version=read_version(form), revoke_grants=form.one("revoke_grants") == "yes")
    try:
        rotated = await request.transact(lambda work: clients.rotate_secret(work, caller.merchant_id, client_id, rotation))
    except ERRORS as error:
        return _secret_page(request, caller, await get_client(request, caller, client_id), error)
    new_secret = rotated.client_secret or ""
    environment_file = metadata.environment_file(request.services.settings.base_url, rotated, new_secret)
    return tab_page(
        request,
        caller,
        rotated,
        "secret",
        secret=new_secret,
        environment_file=environment_file,
        disconnected=rotation.revoke_grants,
    )


@OPERATIONS.add("GET", "/developers/apps/{client_id}/danger", guard=signed_in_page)
async def danger_page(request: Request, caller: Person, client_id: str) -> Response:
    """Pause, resume and revoke."""
    return tab_page(request, caller, await get_client(request, caller, client_id), "danger", field_errors={})


@OPERATIONS.add("POST", "/developers/apps/{client_id}/pause", guard=signed_in_page)
async def pause(request: Request, caller: Person, client_id: str) -> Response:
    """Disconnect all merchants and accept no new connections, confirmed by the application's name."""
    client = await get_client(request, caller, client_id)
    is_decided = client.status != "enabled" or client.suspended_at is not UNSET
    if not is_decided and (field_errors := confirmation_errors(request.form(), client, "confirm_pause")):
        return unconfirmed_page(request, caller, client, "danger", field_errors)
    return await _set_status(request, caller, client_id, enabled=False)


@OPERATIONS.add("POST", "/developers/apps/{client_id}/resume", guard=signed_in_page)
async def resume(request: Request, caller: Person, client_id: str) -> Response:
    """Accept connections again."""
    return await _set_status(request, caller, client_id, enabled=True)


@OPERATIONS.add(
    "POST", "/developers/apps/{client_id}/revoke", guard=signed_in_page_while_suspended, recent_authentication="always"
)
async def revoke(request: Request, caller: Person, client_id: str) -> Response:
    """Revoke the application permanently, confirmed by its name. A repeated request succeeds."""
    client = await get_client(request, caller, client_id)
    if client.status != "revoked":
        if field_errors := confirmation_errors(request.form(), client):
            return unconfirmed_page(request, caller, client, "danger", field_errors)
        with suppress(ApplicationRevoked):  # by a concurrent request
            await request.transact(lambda work: clients.revoke(work, caller.merchant_id, client_id))
    return see_other(f"/developers/apps/{client_id}/danger?done=revoked")


async def _set_status(request: Request, person: Person, client_id: str, *, enabled: bool) -> Response:
    change = ClientStatusChange(enabled, read_version(request.form()))
    try:
        await request.transact(lambda work: clients.pause_or_resume(work, person.merchant_id, client_id, change))
    except ERRORS as error:
        client = await get_client(request, person, client_id)
        if isinstance(error, ApplicationSuspended) or client.status != ("enabled" if enabled else "paused"):
            message = NOT_CHANGED if isinstance(error, ApplicationChanged) else error.message
            return tab_page(request, person, client, "danger", error=error, message=message, field_errors={})
    return see_other(f"/developers/apps/{client_id}/danger?done={'resumed' if enabled else 'paused'}")


def _secret_page(request: Request, person: Person, client: ClientView, error: ApiError | None = None) -> Response:
    message: Translatable = ""
    if isinstance(error, ApplicationChanged):
        message = NOT_ROTATED
    elif error:
        message = joined(*(one.message for one in error.field_errors)) if error.field_errors else error.message
    return tab_page(request, person, client, "secret", error=error, message=message, secret="")
