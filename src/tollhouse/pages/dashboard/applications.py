"""The pages on which owners list and register applications.

The form for a new application contains its signed client id, so that submitting it twice registers one application.
"""

from starlette.responses import Response

from tollhouse.accounts.identity.guards import signed_in_page
from tollhouse.accounts.identity.model import Person
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import page, see_other
from tollhouse.kernel import tokens
from tollhouse.kernel.errors import ValidationFailed
from tollhouse.kernel.ids import ClientId
from tollhouse.oauth import clients, clients_store, metadata, settings
from tollhouse.oauth.metadata import authorization_endpoint, token_endpoint
from tollhouse.pages.dashboard import form_tokens
from tollhouse.pages.dashboard.application_form import ApplicationForm, form_context, read_form

OPERATIONS = Operations(PAGES)
PURPOSE = b"new application:"


@OPERATIONS.add("GET", "/developers/apps", guard=signed_in_page)
async def list_page(request: Request, caller: Person) -> Response:
    """The applications of this merchant."""
    owned = await clients_store.list_owned(request.services.db, caller.merchant_id, request.now)
    return page(request, "dashboard/applications/apps.html", person=caller, here="apps", clients=owned)


@OPERATIONS.add("GET", "/developers/apps/new", guard=signed_in_page)
async def new_page(request: Request, caller: Person) -> Response:
    """The form for a new application."""
    return _form_page(request, caller, ApplicationForm())


@OPERATIONS.add("POST", "/developers/apps", guard=signed_in_page, recent_authentication="always")
async def register(request: Request, caller: Person) -> Response:
    """Register the application and show its secret once."""
    submitted = request.form()
    form = read_form(submitted)
    try:
        new = settings.check_new(form.to_body())
    except ValidationFailed as error:
        return _form_page(request, caller, form, error)
    client_id = _read_client_id(request, caller, submitted.one("signed_client_id") or "")
    client = await request.transact(lambda work: clients.register_with_id(work, caller.merchant_id, client_id, new))
    if client is None:
        return see_other(f"/developers/apps/{client_id}/secret?done=registered")
    issuer = request.services.settings.base_url
    return page(
        request,
        "dashboard/applications/app_registered.html",
        person=caller,
        here="apps",
        client=client,
        secret=client.client_secret or "",
        environment_file=metadata.environment_file(issuer, client, client.client_secret or ""),
        issuer=issuer,
        authorization_endpoint=authorization_endpoint(issuer),
        token_endpoint=token_endpoint(issuer),
    )


def _form_page(request: Request, person: Person, form: ApplicationForm, error: ValidationFailed | None = None) -> Response:
    client_id = _new_client_id()
    return page(
        request,
        "dashboard/applications/app_new.html",
        error.status if error else 200,
        person=person,
        here="apps",
        signed_client_id=f"{client_id}.{form_tokens.sign(request.services.keys, PURPOSE, person, client_id)}",
        **form_context(form, error),
    )


def _read_client_id(request: Request, person: Person, signed: str) -> ClientId:
    """The signed client id of the form; a new one if it is missing or invalid."""
    client_id, _, token = signed.partition(".")
    is_valid = form_tokens.is_valid(request.services.keys, PURPOSE, person, client_id, token)
    return ClientId(client_id) if is_valid else _new_client_id()


def _new_client_id() -> ClientId:
    return ClientId(tokens.public_name(tokens.CLIENT_ID_PREFIX))
