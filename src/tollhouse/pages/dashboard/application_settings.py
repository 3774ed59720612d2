"""An application's overview and settings. A form based on an old version saves nothing and keeps the submitted values."""

from msgspec import UnsetType
from starlette.responses import Response

from tollhouse.accounts.identity.guards import signed_in_page
from tollhouse.accounts.identity.model import ApplicationSuspended, Person, RecentAuthenticationRequired
from tollhouse.accounts.identity.stepup import is_recent, reauthenticate
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import see_other
from tollhouse.kernel.errors import ValidationFailed
from tollhouse.oauth import clients, metadata
from tollhouse.oauth.metadata import authorization_endpoint, token_endpoint
from tollhouse.oauth.model import ApplicationChanged, ApplicationRevoked, ClientView
from tollhouse.pages.dashboard.application_form import (
    ApplicationForm,
    differences,
    form_context,
    form_of,
    read_form,
    read_version,
)
from tollhouse.pages.dashboard.application_tabs import get_client, tab_page

OPERATIONS = Operations(PAGES)
NOT_SAVED = "The application has changed since you opened this form. Your changes were not saved."


@OPERATIONS.add("GET", "/developers/apps/{client_id}", guard=signed_in_page)
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


@OPERATIONS.add("GET", "/developers/apps/{client_id}/settings", guard=signed_in_page)
async def settings_page(request: Request, caller: Person, client_id: str) -> Response:
    """The form with the current settings."""
    client = await get_client(request, caller, client_id)
    return _settings_page(request, caller, client, form_of(client), client.version)


@OPERATIONS.add("POST", "/developers/apps/{client_id}/settings", guard=signed_in_page, recent_authentication="by_content")
async def save(request: Request, caller: Person, client_id: str) -> Response:
    """Replace all settings if the form is based on the current version."""
    submitted = request.form()
    form, version = read_form(submitted), read_version(submitted)

    async def update(person: Person) -> None:
        recent, body = is_recent(person, request.now), form.to_body(version)
        await request.transact(lambda work: clients.update(work, person.merchant_id, client_id, body, recent=recent))

    try:
        try:
            await update(caller)
        except RecentAuthenticationRequired:
            await update(await reauthenticate(request, caller))
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
        context["message"] = NOT_SAVED
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
