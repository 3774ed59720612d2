"""The settings body of an application, and its rules. One answer names every field that is refused."""

from typing import Annotated, Any, cast

from msgspec import UNSET, Meta, Struct

from tollhouse.http.bodies import ValidationContext
from tollhouse.kernel import messages, scopes
from tollhouse.kernel.errors import FieldError, ValidationFailed
from tollhouse.kernel.limits import (
    APPLICATION_NAME_CHARS_MAX,
    CALLBACK_URLS_MAX,
    DESCRIPTION_CHARS_MAX,
)
from tollhouse.kernel.names import LINE_BREAKS, is_readable
from tollhouse.kernel.scopes import Scopes
from tollhouse.oauth import redirect_uris
from tollhouse.oauth.model import ClientType
from tollhouse.oauth.redirect_uris import UrlError

VERSION_BITS = 63  # any whole number that fits a bigint may be a version, if a stale one
TEXT = Meta(extra_json_schema={"type": "string"})
TEXTS = Meta(extra_json_schema={"type": "array", "items": {"type": "string"}})
NUMBER = Meta(extra_json_schema={"type": "integer"})
FLAG = Meta(extra_json_schema={"type": "boolean"})


class SettingsBody(Struct, frozen=True, forbid_unknown_fields=True):
    """The complete settings of an application. `version` goes with every update and is not looked at on creation.

    The members are taken as they come and judged here, so that wrong types and broken rules are told in one answer.
    """

    name: Annotated[Any, TEXT] = UNSET
    client_type: Annotated[Any, TEXT] = UNSET
    redirect_uris: Annotated[Any, TEXTS] = UNSET
    scopes: Annotated[Any, TEXTS] = UNSET
    description: Annotated[Any, TEXT] = UNSET
    website_url: Annotated[Any, TEXT] = UNSET
    version: Annotated[Any, NUMBER] = UNSET

    def rule_errors(self, _context: ValidationContext) -> list[FieldError]:
        """Every field that is refused."""
        found = _FieldErrors()
        _check(self, found)
        return found


class SettingsUpdate(SettingsBody, frozen=True, forbid_unknown_fields=True):
    """The complete settings anew, with the version that was read."""

    def rule_errors(self, _context: ValidationContext) -> list[FieldError]:
        """Every field that is refused, as far as the application is not known."""
        found = _FieldErrors()
        _check(self, found)
        _version(self.version, found)
        return found


class StatusChange(Struct, frozen=True, forbid_unknown_fields=True):
    """The body that pauses or resumes."""

    enabled: Annotated[Any, FLAG] = UNSET
    version: Annotated[Any, NUMBER] = UNSET

    def rule_errors(self, _context: ValidationContext) -> list[FieldError]:
        """Every field that is refused."""
        return _flag("enabled", self.enabled, self.version)[2]


class Rotation(Struct, frozen=True, forbid_unknown_fields=True):
    """The body that rotates the secret."""

    version: Annotated[Any, NUMBER] = UNSET
    revoke_grants: Annotated[Any, FLAG] = False

    def rule_errors(self, _context: ValidationContext) -> list[FieldError]:
        """Every field that is refused."""
        return _flag("revoke_grants", self.revoke_grants, self.version)[2]


class ClientSettings(Struct, frozen=True):
    """Settings that keep every rule."""

    name: str
    client_type: ClientType
    description: str
    website_url: str | None
    redirect_uris: list[str]
    scopes: Scopes


def check_new(body: SettingsBody) -> ClientSettings:
    """The settings of an application to be made. Raises `ValidationFailed`."""
    found = _FieldErrors()
    settings = _check(body, found)
    found.refuse()
    return settings


def check_update(body: SettingsBody, client_type: ClientType) -> tuple[ClientSettings, int]:
    """The settings to save and the version they were made from. Raises `ValidationFailed`."""
    found = _FieldErrors()
    settings = _check(body, found)
    version = _version(body.version, found)
    if settings.client_type in {"confidential", "public"} and settings.client_type != client_type:
        found.add("client_type", "fixed", messages.FIXED)
    found.refuse()
    return settings, version


def check_flag(field: str, sent: object, sent_version: object) -> tuple[bool, int]:
    """What a body of one flag says, and the version it was made from. Raises `ValidationFailed`."""
    flag, version, found = _flag(field, sent, sent_version)
    found.refuse()
    return flag, version


def _flag(field: str, sent: object, sent_version: object) -> tuple[bool, int, "_FieldErrors"]:
    found = _FieldErrors()
    if sent is UNSET:
        found.add(field, "missing", messages.REQUIRED)
    elif not isinstance(sent, bool):
        found.add(field, "invalid_type", messages.A_BOOLEAN)
    return sent is True, _version(sent_version, found), found


class _FieldErrors(list[FieldError]):
    """The faults found so far."""

    def add(self, field: str, code: str, message: str) -> None:
        """One more."""
        self.append(FieldError(field, code, message))

    def refuse(self) -> None:
        """Refuse the body if there are any. Raises `ValidationFailed`."""
        if self:
            raise ValidationFailed(*self)


def _check(body: SettingsBody, found: _FieldErrors) -> ClientSettings:
    return ClientSettings(
        name=_name(body.name, found),
        client_type=_client_type(body.client_type, found),
        description=_description(body.description, found),
        website_url=_website_url(body.website_url, found),
        redirect_uris=_redirect_uris(body.redirect_uris, found),
        scopes=_scopes(body.scopes, found),
    )


def _name(sent: object, found: _FieldErrors) -> str:
    name = _text("name", sent, found)
    if name is None:
        return ""
    if not name.strip() or len(name) > APPLICATION_NAME_CHARS_MAX:
        found.add("name", "invalid_length", messages.characters(1, APPLICATION_NAME_CHARS_MAX))
    elif not is_readable(name):
        found.add("name", "invalid_characters", messages.NO_CONTROLS)
    return name


def _client_type(sent: object, found: _FieldErrors) -> ClientType:
    client_type = _text("client_type", sent, found)
    if client_type is not None and client_type not in {"confidential", "public"}:
        found.add("client_type", "invalid_value", messages.one_of(("confidential", "public")))
    return cast("ClientType", client_type or "")


def _description(sent: object, found: _FieldErrors) -> str:
    description = _text("description", sent, found, required=False) or ""
    if len(description) > DESCRIPTION_CHARS_MAX:
        found.add("description", "invalid_length", messages.characters(None, DESCRIPTION_CHARS_MAX))
    elif not is_readable(description, LINE_BREAKS):
        found.add("description", "invalid_characters", messages.ONLY_LINE_BREAKS)
    return description


def _website_url(sent: object, found: _FieldErrors) -> str | None:
    url = _text("website_url", sent, found, required=False)
    form_errors = None if url is None else redirect_uris.read(url)
    if isinstance(form_errors, UrlError):
        found.add("website_url", *form_errors)
    return url


def _redirect_uris(sent: object, found: _FieldErrors) -> list[str]:
    uris = _texts("redirect_uris", sent, found)
    if uris is None:
        return []
    if not 1 <= len(uris) <= CALLBACK_URLS_MAX:
        found.add("redirect_uris", "invalid_length", messages.items(1, CALLBACK_URLS_MAX))
        return []
    for place, uri in enumerate(uris):
        if uri is None:
            continue
        if uri in uris[:place]:
            found.add(f"redirect_uris.{place}", "duplicate", messages.NO_REPEAT)
        elif form_errors := redirect_uris.error_of(uri):
            found.add(f"redirect_uris.{place}", *form_errors)
    return [uri for uri in uris if uri is not None]


def _scopes(sent: object, found: _FieldErrors) -> Scopes:
    names = _texts("scopes", sent, found)
    if names is None:
        return Scopes(0)
    if len(names) > len(scopes.PERMISSIONS):
        found.add("scopes", "invalid_length", messages.items(1, len(scopes.PERMISSIONS)))
        return Scopes(0)
    unknown = [place for place, name in enumerate(names) if name is not None and name not in scopes.ALL]
    for place in unknown:
        found.add(f"scopes.{place}", "unknown_scope", messages.A_SCOPE)
    asked = scopes.parse(name for name in names if name is not None and name in scopes.ALL) or Scopes(0)
    if not unknown and None not in names and not asked.has_api:
        found.add("scopes", "api_scope_required", messages.AN_API_SCOPE)
    return asked


def _version(sent: object, found: _FieldErrors) -> int:
    if sent is UNSET or sent is None:
        found.add("version", "missing", messages.REQUIRED)
    elif not isinstance(sent, int) or isinstance(sent, bool):  # true is no number, though Python thinks so
        found.add("version", "invalid_type", "The version is a whole number.")
    elif sent.bit_length() > VERSION_BITS:
        found.add("version", "invalid_value", messages.A_WHOLE_NUMBER)
    else:
        return sent
    return 0


def _text(field: str, sent: object, found: _FieldErrors, *, required: bool = True) -> str | None:
    if isinstance(sent, str):
        return sent
    if sent is UNSET or sent is None:
        if required:
            found.add(field, "missing", messages.REQUIRED)
    else:
        found.add(field, "invalid_type", messages.A_STRING)
    return None


def _texts(field: str, sent: object, found: _FieldErrors) -> list[str | None] | None:
    """The entries, with None for each that is no text."""
    if isinstance(sent, list):
        texts = [one if isinstance(one, str) else None for one in cast("list[object]", sent)]
        for place, text in enumerate(texts):
            if text is None:
                found.add(f"{field}.{place}", "invalid_type", messages.A_STRING)
        return texts
    if sent is UNSET or sent is None:
        found.add(field, "missing", messages.REQUIRED)
    else:
        found.add(field, "invalid_type", messages.A_LIST)
    return None
