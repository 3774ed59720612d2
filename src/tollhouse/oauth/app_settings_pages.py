"""An application's page and its settings. A form older than what is saved changes nothing, and keeps what was typed."""

from msgspec import UnsetType
from starlette.responses import Response

from tollhouse.callers.guards import signed_in_page
from tollhouse.callers.model import ApplicationSuspended, Person, RecentAuthenticationRequired
from tollhouse.callers.stepup import is_recent, reauthenticate
from tollhouse.kernel.refusals import ValidationFailed
from tollhouse.oauth import clients, snippets
from tollhouse.oauth.app_form import Typed, differences, form_facts, typed_from, typed_into, version_of
from tollhouse.oauth.app_tabs import owned, tab_page
from tollhouse.oauth.metadata import authorization_endpoint, token_endpoint
from tollhouse.oauth.model import ApplicationChanged, ApplicationRevoked, ClientView
from tollhouse.web.answers import see_other
from tollhouse.web.ask import Ask
from tollhouse.web.operations import PAGES, Operations

OPERATIONS = Operations(PAGES)
CHANGED = "The application was changed meanwhile. Nothing was saved."


@OPERATIONS.add("GET", "/developers/apps/{client_id}", guard=signed_in_page)
async def overview(ask: Ask, caller: Person, client_id: str) -> Response:
    """What its developers need, and how it is doing."""
    client = await owned(ask, caller, client_id)
    issuer = ask.house.settings.base_url
    return tab_page(
        ask,
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
async def settings(ask: Ask, caller: Person, client_id: str) -> Response:
    """The form of its settings, as they are now."""
    client = await owned(ask, caller, client_id)
    return _form(ask, caller, client, typed_from(client), client.version)


@OPERATIONS.add("POST", "/developers/apps/{client_id}/settings", guard=signed_in_page, recent_authentication="by_content")
async def save(ask: Ask, caller: Person, client_id: str) -> Response:
    """Replace all settings, if nobody changed the application since the form was loaded."""
    form = ask.form()
    typed, version = typed_into(form), version_of(form)

    async def update(person: Person) -> None:
        recent, body = is_recent(person, ask.now), typed.body(version)
        await ask.house.db.transact(
            lambda tx: clients.update(tx, person.merchant_id, client_id, body, ask.now, recent=recent)
        )

    try:
        try:
            await update(caller)
        except RecentAuthenticationRequired:
            await update(await reauthenticate(ask, caller))
    except (ValidationFailed, ApplicationChanged, ApplicationRevoked, ApplicationSuspended) as refusal:
        return _form(ask, caller, await owned(ask, caller, client_id), typed, version, refusal)
    return see_other(f"/developers/apps/{client_id}/settings?done=saved")


def _form(
    ask: Ask,
    person: Person,
    client: ClientView,
    typed: Typed,
    version: int | UnsetType,
    refusal: ValidationFailed | ApplicationChanged | ApplicationRevoked | ApplicationSuspended | None = None,
) -> Response:
    conflict = isinstance(refusal, ApplicationChanged)
    facts = form_facts(typed, refusal)
    if conflict:
        facts["message"] = CHANGED
    return tab_page(
        ask,
        person,
        client,
        "settings",
        refusal=refusal,
        conflict=conflict,
        changed=differences(typed, client) if conflict else [],
        version=client.version if isinstance(version, UnsetType) else version,
        **facts,
    )
