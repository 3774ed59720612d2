"""The pages on which owners list and register applications, and the form of an application."""

import json
from typing import Any

from msgspec import UNSET, Struct, UnsetType
from starlette.responses import Response

from tollhouse.accounts.identity.guards import signed_in_page
from tollhouse.accounts.identity.model import Person
from tollhouse.http.forms import NOT_SAVED, Form
from tollhouse.http.lists import PageQuery
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import see_other
from tollhouse.kernel import foreign_json, tokens
from tollhouse.kernel.errors import ApiError, FieldError, ValidationFailed
from tollhouse.kernel.foreign_json import ForeignJsonError
from tollhouse.kernel.ids import ClientId
from tollhouse.kernel.scopes import PERMISSIONS
from tollhouse.kernel.text import Text, Translatable, as_text, joined
from tollhouse.oauth import clients, clients_store, metadata, settings
from tollhouse.oauth.metadata import authorization_endpoint, token_endpoint
from tollhouse.oauth.model import AUTH_METHODS, DEFAULT_GRANT_TYPES, ClientView
from tollhouse.oauth.settings import SettingsBody
from tollhouse.pages.dashboard import layout
from tollhouse.pages.dashboard.layout import render

VERSION_DIGITS_MAX = 18
LISTS = ("redirect_uris", "scopes", "grant_types", "jwks")
"""Fields whose errors name an entry."""
LINKS = ("logo_uri", "policy_uri", "tos_uri")
FLAGS = ("require_par", "dpop_bound")


class ApplicationForm(Struct, frozen=True):
    """The values of the form. `redirect_uris` has one URI per line."""

    name: str = ""
    client_type: str = "confidential"
    description: str = ""
    website_url: str = ""
    redirect_uris: str = ""
    scopes: tuple[str, ...] = ()
    grant_types: tuple[str, ...] | None = tuple(DEFAULT_GRANT_TYPES)
    """None: the form did not have them."""
    logo_uri: str = ""
    policy_uri: str = ""
    tos_uri: str = ""
    token_endpoint_auth_method: str | None = ""
    """None: the form did not have fields of keys, as for a public application."""
    jwks: str = ""
    jwks_uri: str = ""
    flags: tuple[str, ...] | None = ()
    """The names of those that are set; None: the form did not have them."""

    @property
    def has_keys(self) -> bool:
        """Whether there is something about keys."""
        return bool(self.token_endpoint_auth_method or self.jwks or self.jwks_uri)

    def to_body(self, version: int | UnsetType = UNSET) -> SettingsBody:
        """The settings body of these values."""
        return SettingsBody(
            name=self.name,
            client_type=self.client_type,
            description=self.description,
            website_url=self.website_url or None,
            redirect_uris=[line.strip() for line in self.redirect_uris.splitlines() if line.strip()],
            scopes=list(self.scopes),
            grant_types=UNSET if self.grant_types is None else list(self.grant_types),
            **{name: getattr(self, name) or None for name in LINKS},
            **{} if self.flags is None else {name: name in self.flags for name in FLAGS},
            **self._keys(),
            version=version,
        )

    def _keys(self) -> dict[str, Any]:
        if self.token_endpoint_auth_method is None:
            return {}
        method, uri = self.token_endpoint_auth_method or None, self.jwks_uri.strip() or None
        return {"token_endpoint_auth_method": method, "jwks": _parsed(self.jwks), "jwks_uri": uri}


class Difference(Struct, frozen=True):
    """A setting with different submitted and saved values; of scopes, those that only one side has."""

    field: str
    submitted: str
    saved: str


def read_form(form: Form) -> ApplicationForm:
    """The submitted values."""
    return ApplicationForm(
        form.one("name") or "",
        form.one("client_type") or "",
        (form.one("description") or "").replace("\r\n", "\n"),
        form.one("website_url") or "",
        (form.one("redirect_uris") or "").replace("\r\n", "\n"),
        tuple(form.all("scope")),
        tuple(form.all("grant_type")) if form.one("grant_types") else None,
        *(form.one(name) or "" for name in LINKS),
        token_endpoint_auth_method=(form.all("token_endpoint_auth_method") or [None])[0],
        jwks=(form.one("jwks") or "").replace("\r\n", "\n"),
        jwks_uri=form.one("jwks_uri") or "",
        flags=tuple(form.all("flag")) if form.one("flags") else None,
    )


def form_of(client: ClientView) -> ApplicationForm:
    """The saved values."""
    return ApplicationForm(
        client.name,
        client.client_type,
        client.description,
        client.website_url or "",
        "\n".join(client.redirect_uris),
        tuple(client.scopes),
        tuple(client.grant_types),
        *(getattr(client, name) or "" for name in LINKS),
        token_endpoint_auth_method=client.token_endpoint_auth_method or "",
        jwks="" if client.jwks is None else json.dumps(client.jwks, indent=2),
        jwks_uri=client.jwks_uri or "",
        flags=tuple(name for name in FLAGS if getattr(client, name)),
    )


def read_version(form: Form) -> int | UnsetType:
    """The version that the form is based on; unset if it has none."""
    text = form.one("version") or ""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= VERSION_DIGITS_MAX else UNSET


def differences(form: ApplicationForm, client: ClientView) -> list[Difference]:
    """The settings that the form would change."""
    saved = form_of(client)
    pairs = {
        "name": (form.name, saved.name),
        "description": (form.description, saved.description),
        "website_url": (form.website_url, saved.website_url),
        "redirect_uris": ("\n".join(form.to_body().redirect_uris), saved.redirect_uris),
        "grant_types": tuple("\n".join(sorted(kept.grant_types or ())) for kept in (form, saved)),
        **{name: (getattr(form, name), getattr(saved, name)) for name in LINKS},
        "flags": tuple("\n".join(sorted(kept.flags or ())) for kept in (form, saved)),
        **_differences_of_keys(form, saved, client),
        "scopes": (_scopes_only_in(form, saved), _scopes_only_in(saved, form)),
    }
    return [Difference(name, submitted, kept) for name, (submitted, kept) in pairs.items() if submitted != kept]


def _differences_of_keys(form: ApplicationForm, saved: ApplicationForm, client: ClientView) -> dict[str, tuple[str, str]]:
    if form.token_endpoint_auth_method is None:
        return {}
    return {
        "token_endpoint_auth_method": (form.token_endpoint_auth_method, saved.token_endpoint_auth_method or ""),
        "jwks": (form.jwks if _parsed(form.jwks) != client.jwks else saved.jwks, saved.jwks),
        "jwks_uri": (form.jwks_uri.strip(), saved.jwks_uri),
    }


def form_context(form: ApplicationForm, error: ApiError | None = None) -> dict[str, Any]:
    """The context of the form's template."""
    field_errors = error.field_errors if error else ()
    messages = {
        field_error.field: field_error.message for field_error in field_errors if _field_name(field_error) not in LISTS
    }
    for name in LISTS:
        if texts := [_entry_message(field_error) for field_error in field_errors if _field_name(field_error) == name]:
            messages[name] = joined(*texts)
    return {
        "form": form,
        "permissions": PERMISSIONS,
        "auth_methods": [(method, method) for method in AUTH_METHODS.get(form.client_type, ())],
        "field_errors": messages,
        "message": NOT_SAVED if messages else error.message if error else "",
    }


def _parsed(jwks: str) -> object:
    """The key set that was entered; None for nothing, and the text itself if it is not JSON, which its rule refuses."""
    if not jwks.strip():
        return None
    try:
        return foreign_json.decode(jwks.encode(), dict[str, Any])
    except ForeignJsonError:
        return jwks


def _scopes_only_in(form: ApplicationForm, other: ApplicationForm) -> str:
    names = {*form.scopes} - {*other.scopes}
    return "\n".join(permission.scope for permission in PERMISSIONS if permission.scope in names)


def _field_name(field_error: FieldError) -> str:
    return field_error.field.partition(".")[0]


def _entry_message(field_error: FieldError) -> Translatable:
    """The message; for a redirect URI, with its line number."""
    name, _, index = field_error.field.partition(".")
    if name != "redirect_uris" or not index:
        return field_error.message
    return Text("Line %(line)s: %(message)s", line=int(index) + 1, message=as_text(field_error.message))


OPERATIONS = Operations(PAGES)
PURPOSE = b"new application:"


@OPERATIONS.add("GET", "/developers/apps", guard=signed_in_page("read"))
async def list_page(request: Request, caller: Person, query: PageQuery) -> Response:
    """The applications of this merchant, newest first."""
    db, owner = request.services.db, caller.merchant_id
    found = await clients_store.list_owned(db, owner, request.now, None, query.fetch, query.offset)
    owned, more = query.cut(found)
    page_links = query.links(owned, more=more)
    return render(request, caller, "applications/apps", here="apps", clients=owned, page_links=page_links)


@OPERATIONS.add("GET", "/developers/apps/new", guard=signed_in_page("developers"))
async def new_page(request: Request, caller: Person) -> Response:
    """The form for a new application."""
    return _form_page(request, caller, ApplicationForm())


@OPERATIONS.add("POST", "/developers/apps", guard=signed_in_page("developers"), recent_authentication="always")
async def register(request: Request, caller: Person) -> Response:
    """Register the application and show its secret once."""
    submitted = request.form()
    form = read_form(submitted)
    try:
        new = settings.check_new(form.to_body())
    except ValidationFailed as error:
        return _form_page(request, caller, form, error)
    client_id = _read_client_id(request, caller, submitted.one("signed_client_id") or "")
    client = await request.transact(lambda work: clients.register_with_id(work, caller, client_id, new))
    if client is None:
        return see_other(f"/developers/apps/{client_id}/secret?done=registered")
    issuer = request.services.settings.base_url
    return render(
        request,
        caller,
        "applications/app_registered",
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
    return render(
        request,
        person,
        "applications/app_new",
        error.status if error else 200,
        here="apps",
        signed_client_id=f"{client_id}.{layout.sign_form(request.services.keys, PURPOSE, person, client_id)}",
        **form_context(form, error),
    )


def _read_client_id(request: Request, person: Person, signed: str) -> ClientId:
    """The signed client id of the form; a new one if it is missing or invalid."""
    client_id, _, token = signed.partition(".")
    is_valid = layout.is_form_token(request.services.keys, PURPOSE, person, client_id, token)
    return ClientId(client_id) if is_valid else _new_client_id()


def _new_client_id() -> ClientId:
    return ClientId(tokens.public_name(tokens.CLIENT_ID_PREFIX))
