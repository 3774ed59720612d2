"""The form of an application's settings: reading it, its errors, and its differences from the saved settings."""

from typing import Any

from msgspec import UNSET, Struct, UnsetType

from tollhouse.http.forms import NOT_SAVED, Form
from tollhouse.kernel.errors import ApiError, FieldError
from tollhouse.kernel.scopes import PERMISSIONS
from tollhouse.kernel.text import Text, Translatable, as_text, joined
from tollhouse.oauth.model import ClientView
from tollhouse.oauth.settings import SettingsBody

VERSION_DIGITS_MAX = 18
LISTS = ("redirect_uris", "scopes")
"""Fields whose errors name an entry."""


class ApplicationForm(Struct, frozen=True):
    """The values of the form. `redirect_uris` has one URI per line."""

    name: str = ""
    client_type: str = "confidential"
    description: str = ""
    website_url: str = ""
    redirect_uris: str = ""
    scopes: tuple[str, ...] = ()

    def to_body(self, version: int | UnsetType = UNSET) -> SettingsBody:
        """The settings body of these values."""
        return SettingsBody(
            name=self.name,
            client_type=self.client_type,
            description=self.description,
            website_url=self.website_url or None,
            redirect_uris=[line.strip() for line in self.redirect_uris.splitlines() if line.strip()],
            scopes=list(self.scopes),
            version=version,
        )


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
        "scopes": (_scopes_only_in(form, saved), _scopes_only_in(saved, form)),
    }
    return [Difference(name, submitted, kept) for name, (submitted, kept) in pairs.items() if submitted != kept]


def form_context(form: ApplicationForm, error: ApiError | None = None) -> dict[str, Any]:
    """The context of the form's template."""
    field_errors = error.field_errors if error else ()
    messages = {one.field: one.message for one in field_errors if _field_name(one) not in LISTS}
    for name in LISTS:
        if texts := [_entry_message(one) for one in field_errors if _field_name(one) == name]:
            messages[name] = joined(*texts)
    return {
        "form": form,
        "permissions": PERMISSIONS,
        "field_errors": messages,
        "message": NOT_SAVED if messages else error.message if error else "",
    }


def _scopes_only_in(one: ApplicationForm, other: ApplicationForm) -> str:
    names = {*one.scopes} - {*other.scopes}
    return "\n".join(permission.scope for permission in PERMISSIONS if permission.scope in names)


def _field_name(field_error: FieldError) -> str:
    return field_error.field.partition(".")[0]


def _entry_message(field_error: FieldError) -> Translatable:
    """The message; for a redirect URI, with its line number."""
    name, _, index = field_error.field.partition(".")
    if name != "redirect_uris" or not index:
        return field_error.message
    return Text("Line %(line)s: %(message)s", line=int(index) + 1, message=as_text(field_error.message))
