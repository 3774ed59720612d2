"""The pages of an application: overview, settings, secret, and what has consequences for others."""

from contextlib import suppress
from typing import Any, Literal

from msgspec import UNSET, UnsetType
from starlette.responses import Response

from tollhouse.accounts.identity.guards import signed_in_page, signed_in_page_while_suspended
from tollhouse.accounts.identity.model import ApplicationSuspended, Person
from tollhouse.accounts.identity.stepup import is_recent, run_recent
from tollhouse.http.forms import NOT_SAVED, Form, flash_message
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import page, see_other
from tollhouse.kernel.errors import ApiError, NotFound, ValidationFailed
from tollhouse.kernel.text import Translatable, joined
from tollhouse.oauth import clients, clients_store, metadata
from tollhouse.oauth.metadata import authorization_endpoint, token_endpoint
from tollhouse.oauth.model import ApplicationChanged, ApplicationRevoked, ClientView
from tollhouse.oauth.settings import ClientStatusChange, SecretRotation
from tollhouse.pages.dashboard.developers.applications import (
    ApplicationForm,
    differences,
    form_context,
    form_of,
    read_form,
    read_version,
)

Tab = Literal["overview", "settings", "secret", "connections", "events", "debug", "danger"]
NOTICES = {
    "registered": "This application was already registered. If you have not copied its client secret, rotate it.",
    "saved": "Settings saved.",
    "paused": "Application paused. All merchants were disconnected.",
    "resumed": "Application resumed. Merchants can connect again.",
    "revoked": "Application revoked. All merchants were disconnected.",
    "disconnected": "Merchant disconnected.",
    "all": "All merchants disconnected.",
}
NAME_MISMATCH = "The name does not match the application."


async def get_client(request: Request, person: Person, client_id: str) -> ClientView:
    """An application of the person's merchant. Raises `NotFound`."""
    client = await clients_store.find_owned(request.services.db, person.merchant_id, client_id, request.now)
    if client is None:
        raise NotFound
    return client


def tab_page(
    request: Request, person: Person, client: ClientView, tab: Tab, *, error: ApiError | None = None, **context: Any
) -> Response:
    """A tab of an application, with the error above it. `template`, `status` and `message` override the defaults."""
    done = flash_message(request.query) if request.method == "GET" else ""
    status = context.pop("status", error.status if error else 200)
    return page(
        request,
        context.pop("template", f"dashboard/applications/app_{tab}.html"),
        status,
        person=person,
        here="apps",
        client=client,
        tab=tab,
        flash=NOTICES.get(done, ""),
        message=context.pop("message", error.message if error else ""),
        **context,
    )


def confirmation_errors(form: Form, client: ClientView, field: str = "confirm") -> dict[str, str]:
    """The field error if the form does not confirm with the application's name or client id."""
    typed = _collapse_spaces(form.one(field) or "")
    return {} if typed in {_collapse_spaces(client.name), client.client_id} else {field: NAME_MISMATCH}


def unconfirmed_page(
    request: Request, person: Person, client: ClientView, tab: Tab, field_errors: dict[str, str], **context: Any
) -> Response:
    """The tab with the errors of `confirmation_errors`."""
    return tab_page(request, person, client, tab, status=422, message=NOT_SAVED, field_errors=field_errors, **context)


def _collapse_spaces(text: str) -> str:
    return " ".join(text.split())


OPERATIONS = Operations(PAGES)
CONFLICT = "The application has changed since you opened this form. Your changes were not saved."


@OPERATIONS.add("GET", "/developers/apps/{client_id}", guard=signed_in_page("read"))
async def overview(request: Request, caller: Person, client_id: str) -> Response:
    """Client id, endpoints, status and code samples."""
    client = await get_client(request, caller, client_id)
    issuer = request.services.settings.base_url
    return tab_page(
        request,
        caller,
        client,
        "overview",
        issuer=issuer,
        authorization_endpoint=authorization_endpoint(issuer),
        token_endpoint=token_endpoint(issuer),
        authorization_url=metadata.authorization_url(issuer, client),
        exchange_command=metadata.exchange_command(issuer, client),
    )


@OPERATIONS.add("GET", "/developers/apps/{client_id}/settings", guard=signed_in_page("developers"))
async def settings_page(request: Request, caller: Person, client_id: str) -> Response:
    """The form with the current settings."""
    client = await get_client(request, caller, client_id)
    return _settings_page(request, caller, client, form_of(client), client.version)


@OPERATIONS.add(
    "POST", "/developers/apps/{client_id}/settings", guard=signed_in_page("developers"), recent_authentication="by_content"
)
async def save(request: Request, caller: Person, client_id: str) -> Response:
    """Replace all settings if the form is based on the current version."""
    submitted = request.form()
    form, version = read_form(submitted), read_version(submitted)

    async def update(person: Person) -> None:
        recent, body = is_recent(person, request.now), form.to_body(version)
        await request.transact(lambda work: clients.update(work, person, client_id, body, recent=recent))

    try:
        await run_recent(request, caller, update)
    except (ValidationFailed, ApplicationChanged, ApplicationRevoked, ApplicationSuspended) as error:
        return _settings_page(request, caller, await get_client(request, caller, client_id), form, version, error)
    return see_other(f"/developers/apps/{client_id}/settings?done=saved")


def _settings_page(
    request: Request,
    person: Person,
    client: ClientView,
    form: ApplicationForm,
    version: int | UnsetType,
    error: ValidationFailed | ApplicationChanged | ApplicationRevoked | ApplicationSuspended | None = None,
) -> Response:
    conflict = isinstance(error, ApplicationChanged)
    context = form_context(form, error)
    if conflict:
        context["message"] = CONFLICT
    return tab_page(
        request,
        person,
        client,
        "settings",
        error=error,
        conflict=conflict,
        changed=differences(form, client) if conflict else [],
        version=client.version if isinstance(version, UnsetType) else version,
        **context,
    )


@OPERATIONS.add("GET", "/developers/apps/{client_id}/debug", guard=signed_in_page("read"))
async def debugger(request: Request, caller: Person, client_id: str) -> Response:
    """Walk the authorization code flow with the own account in test mode. The browser makes the requests and shows them."""
    client = await get_client(request, caller, client_id)
    issuer = request.services.settings.base_url
    callback = f"{issuer}/developers/apps/{client.client_id}/debug"
    return tab_page(
        request, caller, client, "debug", issuer=issuer, callback=callback, is_registered=callback in client.redirect_uris
    )


ERRORS = (ApplicationChanged, ApplicationRevoked, ApplicationSuspended, ValidationFailed)
NOT_CHANGED = (
    "The application has changed since you opened this page, so no changes were made. Check its status and try again."
)
NOT_ROTATED = (
    "The application has changed since you opened this page, so the secret was not rotated. If you clicked twice, the first "
    "click rotated it. If you did not copy that secret, rotate it again."
)


@OPERATIONS.add("GET", "/developers/apps/{client_id}/secret", guard=signed_in_page("developers"))
async def secret_page(request: Request, caller: Person, client_id: str) -> Response:
    """The last characters of the secret, and the form that rotates it."""
    return _secret_page(request, caller, await get_client(request, caller, client_id))


@OPERATIONS.add(
    "POST", "/developers/apps/{client_id}/secret", guard=signed_in_page("developers"), recent_authentication="always"
)
async def rotate(request: Request, caller: Person, client_id: str) -> Response:
    """Rotate the secret and show the new one once. A form that is submitted twice rotates it once."""
    form = request.form()
    rotation = SecretRotation(version=read_version(form), revoke_grants=form.one("revoke_grants") == "yes")
    try:
        rotated = await request.transact(lambda work: clients.rotate_secret(work, caller, client_id, rotation))
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


@OPERATIONS.add("GET", "/developers/apps/{client_id}/danger", guard=signed_in_page("developers"))
async def danger_page(request: Request, caller: Person, client_id: str) -> Response:
    """Pause, resume and revoke."""
    return tab_page(request, caller, await get_client(request, caller, client_id), "danger", field_errors={})


@OPERATIONS.add("POST", "/developers/apps/{client_id}/pause", guard=signed_in_page("developers"))
async def pause(request: Request, caller: Person, client_id: str) -> Response:
    """Disconnect all merchants and accept no new connections, confirmed by the application's name."""
    client = await get_client(request, caller, client_id)
    is_decided = client.status != "enabled" or client.suspended_at is not UNSET
    if not is_decided and (field_errors := confirmation_errors(request.form(), client, "confirm_pause")):
        return unconfirmed_page(request, caller, client, "danger", field_errors)
    return await _set_status(request, caller, client_id, enabled=False)


@OPERATIONS.add("POST", "/developers/apps/{client_id}/resume", guard=signed_in_page("developers"))
async def resume(request: Request, caller: Person, client_id: str) -> Response:
    """Accept connections again."""
    return await _set_status(request, caller, client_id, enabled=True)


@OPERATIONS.add(
    "POST",
    "/developers/apps/{client_id}/revoke",
    guard=signed_in_page_while_suspended("developers"),
    recent_authentication="always",
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
        message = (
            joined(*(field_error.message for field_error in error.field_errors)) if error.field_errors else error.message
        )
    return tab_page(request, person, client, "secret", error=error, message=message, secret="")
