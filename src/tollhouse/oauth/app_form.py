"""The form of an application's settings: what was typed, what body it means, what is wrong, what changed meanwhile."""

from typing import Any

from msgspec import UNSET, Struct, UnsetType

from tollhouse.http.form_errors import NOT_SAVED
from tollhouse.http.forms import Form
from tollhouse.kernel.errors import ApiError, FieldError
from tollhouse.kernel.scopes import PERMISSIONS
from tollhouse.oauth.model import ClientView
from tollhouse.oauth.settings import SettingsBody

VERSION_DIGITS_MAX = 18
LISTS = ("redirect_uris", "scopes")
"""Fields whose faults name a place within them."""


class Typed(Struct, frozen=True):
    """What stands in the form: one callback a line."""

    name: str = ""
    client_type: str = "confidential"
    description: str = ""
    website_url: str = ""
    redirect_uris: str = ""
    scopes: tuple[str, ...] = ()

    def body(self, version: int | UnsetType = UNSET) -> SettingsBody:
        """The settings body that this form means."""
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
    """A setting that was typed one way and is kept another way; of permissions, those that only one side has."""

    field: str
    typed: str
    kept: str


def typed_into(form: Form) -> Typed:
    """What was typed."""
    return Typed(
        form.one("name") or "",
        form.one("client_type") or "",
        (form.one("description") or "").replace("\r\n", "\n"),
        form.one("website_url") or "",
        (form.one("redirect_uris") or "").replace("\r\n", "\n"),
        tuple(form.all("scope")),
    )


def typed_from(client: ClientView) -> Typed:
    """The form as it stands before anybody types."""
    return Typed(
        client.name,
        client.client_type,
        client.description,
        client.website_url or "",
        "\n".join(client.redirect_uris),
        tuple(client.scopes),
    )


def version_of(form: Form) -> int | UnsetType:
    """The version that the form was made from; unset where it names none."""
    text = form.one("version") or ""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= VERSION_DIGITS_MAX else UNSET


def differences(typed: Typed, client: ClientView) -> list[Difference]:
    """The settings that a form would change, beside what they are now."""
    kept = typed_from(client)
    pairs = {
        "name": (typed.name, kept.name),
        "description": (typed.description, kept.description),
        "website_url": (typed.website_url, kept.website_url),
        "redirect_uris": ("\n".join(typed.body().redirect_uris), kept.redirect_uris),
        "scopes": (_only_in(typed, kept), _only_in(kept, typed)),
    }
    return [Difference(name, ours, theirs) for name, (ours, theirs) in pairs.items() if ours != theirs]


def form_facts(typed: Typed, error: ApiError | None = None) -> dict[str, Any]:
    """What the template of the form needs: the values, and what is said above it and at its fields."""
    field_errors = error.field_errors if error else ()
    at_fields = {field_error.field: field_error.message for field_error in field_errors if not _is_of_list(field_error)}
    for name in LISTS:
        if words := " ".join(_of_line(one) for one in field_errors if one.field.partition(".")[0] == name):
            at_fields[name] = words
    return {
        "asked": typed,
        "permissions": PERMISSIONS,
        "field_errors": at_fields,
        "message": NOT_SAVED if at_fields else error.message if error else "",
    }


def _only_in(one: Typed, other: Typed) -> str:
    names = {*one.scopes} - {*other.scopes}
    return "\n".join(permission.scope for permission in PERMISSIONS if permission.scope in names)


def _is_of_list(field_error: FieldError) -> bool:
    return field_error.field.partition(".")[0] in LISTS


def _of_line(field_error: FieldError) -> str:
    """The message; of a callback, with the number of the line it is about."""
    name, _, place = field_error.field.partition(".")
    return f"Line {int(place) + 1}: {field_error.message}" if name == "redirect_uris" and place else field_error.message
