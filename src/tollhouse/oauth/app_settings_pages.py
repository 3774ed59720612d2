"""An application's page and its settings. A form older than what is saved changes nothing, and keeps what was typed."""

from msgspec import UnsetType
from starlette.responses import Response

from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import see_other
from tollhouse.identity.guards import signed_in_page
from tollhouse.identity.model import ApplicationSuspended, Person, RecentAuthenticationRequired
from tollhouse.identity.stepup import is_recent, reauthenticate
from tollhouse.kernel.errors import ValidationFailed
from tollhouse.oauth import clients, snippets
from tollhouse.oauth.app_form import Typed, differences, form_facts, typed_from, typed_into, version_of
from tollhouse.oauth.app_tabs import owned, tab_page
from tollhouse.oauth.metadata import authorization_endpoint, token_endpoint
from tollhouse.oauth.model import ApplicationChanged, ApplicationRevoked, ClientView

OPERATIONS = Operations(PAGES)
CHANGED = "The application was changed meanwhile. Nothing was saved."


@OPERATIONS.add("GET", "/developers/apps/{client_id}", guard=signed_in_page)
async def overview(request: Request, caller: Person, client_id: str) -> Response:
    """What its developers need, and how it is doing."""
    client = await owned(request, caller, client_id)
    issuer = request.services.settings.base_url
    return tab_page(
        request,
        caller,
        client,
        "overview",
        issuer=issuer,
        authorization_endpoint=authorization_endpoint(issuer),
        token_endpoint=token_endpoint(issuer),
        authorize=snippets.authorize_address(issuer, client),
        exchange=snippets.exchange_command(issuer, client),
    )


@OPERATIONS.add("GET", "/developers/apps/{client_id}/settings", guard=signed_in_page)
async def settings(request: Request, caller: Person, client_id: str) -> Response:
    """The form of its settings, as they are now."""
    client = await owned(request, caller, client_id)
    return _form(request, caller, client, typed_from(client), client.version)


@OPERATIONS.add("POST", "/developers/apps/{client_id}/settings", guard=signed_in_page, recent_authentication="by_content")
async def save(request: Request, caller: Person, client_id: str) -> Response:
    """Replace all settings, if nobody changed the application since the form was loaded."""
    form = request.form()
    typed, version = typed_into(form), version_of(form)

    async def update(person: Person) -> None:
        recent, body = is_recent(person, request.now), typed.body(version)
        await request.services.db.transact(
            lambda tx: clients.update(tx, person.merchant_id, client_id, body, request.now, recent=recent)
        )

    try:
        try:
            await update(caller)
        except RecentAuthenticationRequired:
            await update(await reauthenticate(request, caller))
    except (ValidationFailed, ApplicationChanged, ApplicationRevoked, ApplicationSuspended) as error:
        return _form(request, caller, await owned(request, caller, client_id), typed, version, error)
    return see_other(f"/developers/apps/{client_id}/settings?done=saved")


def _form(
    request: Request,
    person: Person,
    client: ClientView,
    typed: Typed,
    version: int | UnsetType,
    error: ValidationFailed | ApplicationChanged | ApplicationRevoked | ApplicationSuspended | None = None,
) -> Response:
    conflict = isinstance(error, ApplicationChanged)
    facts = form_facts(typed, error)
    if conflict:
        facts["message"] = CHANGED
    return tab_page(
        request,
        person,
        client,
        "settings",
        error=error,
        conflict=conflict,
        changed=differences(typed, client) if conflict else [],
        version=client.version if isinstance(version, UnsetType) else version,
        **facts,
    )
