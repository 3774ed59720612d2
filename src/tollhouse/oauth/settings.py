"""The settings of an application and their rules. One response names every invalid field."""

from typing import Annotated, Any, cast, get_args

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from tollhouse.http.bodies import ValidationContext
from tollhouse.kernel import messages, scopes
from tollhouse.kernel.errors import FieldError, ValidationFailed
from tollhouse.kernel.examples import example
from tollhouse.kernel.limits import APPLICATION_NAME_CHARS_MAX, CALLBACK_URLS_MAX, DESCRIPTION_CHARS_MAX
from tollhouse.kernel.names import LINE_FEEDS, is_readable
from tollhouse.kernel.scopes import OFFLINE, Scopes
from tollhouse.kernel.text import Translatable
from tollhouse.oauth import protocol_settings, redirect_uris
from tollhouse.oauth.model import DEFAULT_GRANT_TYPES, DEVICE_CODE_GRANT, AuthMethod, ClientType, ClientView, GrantType
from tollhouse.oauth.redirect_uris import UrlError

GRANT_TYPES: tuple[str, ...] = get_args(GrantType)
KEPT = (
    "require_par",
    "dpop_bound",
    "logo_uri",
    "policy_uri",
    "tos_uri",
    "connection_webhook_url",
    "token_endpoint_auth_method",
    "jwks",
    "jwks_uri",
)
"""Members that keep their value when an update lacks them."""
VERSION_BITS = 63  # of a bigint
TEXT = Meta(extra_json_schema={"type": "string"})
TEXTS = Meta(extra_json_schema={"type": "array", "items": {"type": "string"}})
NUMBER = Meta(extra_json_schema={"type": "integer"})
KEY_SET = Meta(extra_json_schema={"type": "object"})
FLAG = Meta(extra_json_schema={"type": "boolean"})


class SettingsBody(Struct, frozen=True, forbid_unknown_fields=True):
    """The complete settings of an application. `version` is required for updates and ignored on creation.

    Members accept any type and are validated here, so that one response names wrong types and broken rules.
    """

    name: Annotated[Any, TEXT, example("Northwind Ledger")] = UNSET
    """Name of the application. Merchants see it on the consent page."""
    client_type: Annotated[Any, TEXT, example("confidential")] = UNSET
    redirect_uris: Annotated[Any, TEXTS, example(["https://app.example/callback"])] = UNSET
    scopes: Annotated[Any, TEXTS, example(["payments:read", "payments:write"])] = UNSET
    description: Annotated[Any, TEXT] = UNSET
    """What the application does. Merchants see it on the consent page."""
    website_url: Annotated[Any, TEXT] = UNSET
    grant_types: Annotated[Any, TEXTS, example(["authorization_code", "refresh_token"])] = UNSET
    """How the application gets tokens. Left out of an update, they stay; `null` is the default."""
    logo_uri: Annotated[Any, TEXT, example("https://app.example/logo.png")] = UNSET
    """https URL of the logo. Left out of an update, it stays; `null` removes it."""
    policy_uri: Annotated[Any, TEXT, example("https://app.example/privacy")] = UNSET
    """https URL of the privacy policy. Left out of an update, it stays; `null` removes it."""
    tos_uri: Annotated[Any, TEXT, example("https://app.example/terms")] = UNSET
    """https URL of the terms of service. Left out of an update, it stays; `null` removes it."""
    require_par: Annotated[Any, FLAG, example(False)] = UNSET
    """Whether authorization requests must be pushed. Left out of an update, it stays; `null` is false."""
    dpop_bound: Annotated[Any, FLAG, example(False)] = UNSET
    """Whether new tokens must be bound to a key (DPoP, RFC 9449). Left out of an update, it stays; `null` is false."""
    connection_webhook_url: Annotated[Any, TEXT, example("https://app.example/hooks/connections")] = UNSET
    """URL for events about connections, https or of this machine. Left out of an update, it stays; `null` ends them."""
    token_endpoint_auth_method: Annotated[Any, TEXT, example("client_secret_basic")] = UNSET
    """How the application must authenticate: `client_secret_basic`, `client_secret_post`, `private_key_jwt`, or `none`
    if it is public. Left out of an update, it stays; `null` is its secret in either way. `private_key_jwt` ends the secret.
    """
    jwks: Annotated[Any, KEY_SET] = UNSET
    """The public keys of the application, a JSON Web Key Set. Left out of an update, they stay; `null` removes them."""
    jwks_uri: Annotated[Any, TEXT] = UNSET
    """The https URL of the public keys, instead of `jwks`. Left out of an update, it stays; `null` removes it."""
    version: Annotated[Any, NUMBER] = UNSET

    def rule_errors(self, _context: ValidationContext) -> list[FieldError]:
        """Every invalid field."""
        errors = _FieldErrors()
        _check(self, errors)
        return errors


class SettingsUpdate(SettingsBody, frozen=True, forbid_unknown_fields=True):
    """The complete new settings, with the version they are based on."""

    version: Annotated[Any, NUMBER, example(1)] = UNSET

    def rule_errors(self, _context: ValidationContext) -> list[FieldError]:
        """Every invalid field, without the rules that depend on the application."""
        errors = _FieldErrors()
        _check(self, errors)
        _version(self.version, errors)
        return errors


class WebhookSecretRotation(Struct, frozen=True, forbid_unknown_fields=True):
    """Replace the signing secret of events about connections."""

    version: Annotated[Any, NUMBER, example(1)] = UNSET

    def rule_errors(self, _context: ValidationContext) -> list[FieldError]:
        """Every invalid field."""
        errors = _FieldErrors()
        _version(self.version, errors)
        return errors


class ClientStatusChange(Struct, frozen=True, forbid_unknown_fields=True):
    """Pause or resume an application."""

    enabled: Annotated[Any, FLAG, example(False)] = UNSET
    version: Annotated[Any, NUMBER, example(1)] = UNSET

    def rule_errors(self, _context: ValidationContext) -> list[FieldError]:
        """Every invalid field."""
        return _flag("enabled", self.enabled, self.version)[2]


class SecretRotation(Struct, frozen=True, forbid_unknown_fields=True):
    """Rotate the client secret."""

    version: Annotated[Any, NUMBER, example(1)] = UNSET
    revoke_grants: Annotated[Any, FLAG, example(False)] = False

    def rule_errors(self, _context: ValidationContext) -> list[FieldError]:
        """Every invalid field."""
        return _flag("revoke_grants", self.revoke_grants, self.version)[2]


class ClientSettings(Struct, frozen=True):
    """Valid settings."""

    name: str
    client_type: ClientType
    description: str
    website_url: str | None
    redirect_uris: list[str]
    scopes: Scopes
    grant_types: list[str] | None
    """None: as they are."""
    require_par: bool | UnsetType
    dpop_bound: bool | UnsetType
    logo_uri: str | UnsetType | None
    policy_uri: str | UnsetType | None
    tos_uri: str | UnsetType | None
    connection_webhook_url: str | UnsetType | None
    token_endpoint_auth_method: AuthMethod | UnsetType | None
    jwks: dict[str, Any] | UnsetType | None
    jwks_uri: str | UnsetType | None


def keep_unset(new: ClientSettings, before: ClientView) -> ClientSettings:
    """The new settings, with the present value of each member that was left out."""
    kept = {name: getattr(before, name) for name in KEPT if getattr(new, name) is UNSET}
    return msgspec.structs.replace(new, **kept)


def check_new(body: SettingsBody) -> ClientSettings:
    """The settings of a new application. Raises `ValidationFailed`."""
    errors = _FieldErrors()
    settings = _check(body, errors)
    errors.raise_if_any()
    return settings


def check_update(body: SettingsBody, client_type: ClientType) -> tuple[ClientSettings, int]:
    """The new settings and the version they are based on. Raises `ValidationFailed`."""
    errors = _FieldErrors()
    settings = _check(body, errors)
    version = _version(body.version, errors)
    if settings.client_type in {"confidential", "public"} and settings.client_type != client_type:
        errors.add("client_type", "fixed", messages.FIXED)
    errors.raise_if_any()
    return settings, version


def check_flag(field: str, sent: object, sent_version: object) -> tuple[bool, int]:
    """A boolean and the version it is based on. Raises `ValidationFailed`."""
    flag, version, errors = _flag(field, sent, sent_version)
    errors.raise_if_any()
    return flag, version


def check_version(sent: object) -> int:
    """The version that a change is based on. Raises `ValidationFailed`."""
    errors = _FieldErrors()
    version = _version(sent, errors)
    errors.raise_if_any()
    return version


def _flag(field: str, sent: object, sent_version: object) -> tuple[bool, int, "_FieldErrors"]:
    errors = _FieldErrors()
    if sent is UNSET:
        errors.add(field, "missing", messages.REQUIRED)
    elif not isinstance(sent, bool):
        errors.add(field, "invalid_type", messages.A_BOOLEAN)
    return sent is True, _version(sent_version, errors), errors


class _FieldErrors(list[FieldError]):
    """The field errors of one body."""

    def add(self, field: str, code: str, message: Translatable) -> None:
        """Add a field error."""
        self.append(FieldError(field, code, message))

    def raise_if_any(self) -> None:
        """Raises `ValidationFailed` if there is an error."""
        if self:
            raise ValidationFailed(*self)


def _check(body: SettingsBody, errors: _FieldErrors) -> ClientSettings:
    return ClientSettings(
        name=_name(body.name, errors),
        client_type=_client_type(body.client_type, errors),
        description=_description(body.description, errors),
        website_url=_website_url(body.website_url, errors),
        redirect_uris=_redirect_uris(body.redirect_uris, errors),
        scopes=_scopes(body.scopes, errors),
        grant_types=_grant_types(body.grant_types, errors),
        require_par=_optional_flag("require_par", body.require_par, errors),
        dpop_bound=_optional_flag("dpop_bound", body.dpop_bound, errors),
        logo_uri=_https_url("logo_uri", body.logo_uri, errors),
        policy_uri=_https_url("policy_uri", body.policy_uri, errors),
        tos_uri=_https_url("tos_uri", body.tos_uri, errors),
        connection_webhook_url=_connection_webhook_url(body.connection_webhook_url, errors),
        token_endpoint_auth_method=protocol_settings.auth_method(body.token_endpoint_auth_method, errors),
        jwks=protocol_settings.key_set(body.jwks, errors),
        jwks_uri=protocol_settings.key_set_url(body.jwks_uri, errors),
    )


def _name(sent: object, errors: _FieldErrors) -> str:
    name = _text("name", sent, errors)
    if name is None:
        return ""
    if not name.strip() or len(name) > APPLICATION_NAME_CHARS_MAX:
        errors.add("name", "invalid_length", messages.characters(1, APPLICATION_NAME_CHARS_MAX))
    elif not is_readable(name):
        errors.add("name", "invalid_characters", messages.NO_CONTROLS)
    return name


def _client_type(sent: object, errors: _FieldErrors) -> ClientType:
    client_type = _text("client_type", sent, errors)
    if client_type is not None and client_type not in {"confidential", "public"}:
        errors.add("client_type", "invalid_value", messages.one_of(("confidential", "public")))
    return cast("ClientType", client_type or "")


def _description(sent: object, errors: _FieldErrors) -> str:
    description = _text("description", sent, errors, required=False) or ""
    if len(description) > DESCRIPTION_CHARS_MAX:
        errors.add("description", "invalid_length", messages.characters(None, DESCRIPTION_CHARS_MAX))
    elif not is_readable(description, LINE_FEEDS):
        errors.add("description", "invalid_characters", messages.ONLY_LINE_BREAKS)
    return description


def _website_url(sent: object, errors: _FieldErrors) -> str | None:
    url = _text("website_url", sent, errors, required=False)
    parsed = None if url is None else redirect_uris.parse(url)
    if isinstance(parsed, UrlError):
        errors.add("website_url", *parsed)
    return url


def _https_url(field: str, sent: object, errors: _FieldErrors) -> str | UnsetType | None:
    if sent is UNSET:
        return UNSET
    url = _text(field, sent, errors, required=False)
    parsed = None if url is None else redirect_uris.parse(url)
    if isinstance(parsed, UrlError):
        errors.add(field, *parsed)
    elif parsed is not None and parsed.scheme != "https":
        errors.add(field, "https_required", messages.AN_HTTPS_ADDRESS)
    return url


def _redirect_uris(sent: object, errors: _FieldErrors) -> list[str]:
    uris = _texts("redirect_uris", sent, errors)
    if uris is None:
        return []
    if not 1 <= len(uris) <= CALLBACK_URLS_MAX:
        errors.add("redirect_uris", "invalid_length", messages.items(1, CALLBACK_URLS_MAX))
        return []
    for index, uri in enumerate(uris):
        if uri is None:
            continue
        if uri in uris[:index]:
            errors.add(f"redirect_uris.{index}", "duplicate", messages.NO_REPEAT)
        elif error := redirect_uris.find_error(uri):
            errors.add(f"redirect_uris.{index}", *error)
    return [uri for uri in uris if uri is not None]


def _scopes(sent: object, errors: _FieldErrors) -> Scopes:
    names = _texts("scopes", sent, errors)
    if names is None:
        return Scopes(0)
    if len(names) > len(scopes.PERMISSIONS):
        errors.add("scopes", "invalid_length", messages.items(1, len(scopes.PERMISSIONS)))
        return Scopes(0)
    unknown = [index for index, name in enumerate(names) if name is not None and name not in scopes.ALL]
    for index in unknown:
        errors.add(f"scopes.{index}", "unknown_scope", messages.A_SCOPE)
    requested = scopes.known(name for name in names if name is not None)
    if not unknown and None not in names and not requested.has_api:
        errors.add("scopes", "api_scope_required", messages.AN_API_SCOPE)
    return requested


def _grant_types(sent: object, errors: _FieldErrors) -> list[str] | None:
    if sent is UNSET:
        return None
    names = DEFAULT_GRANT_TYPES if sent is None else _texts("grant_types", sent, errors)
    if names is None:
        return None
    unknown = [index for index, name in enumerate(names) if name is not None and name not in GRANT_TYPES]
    for index in unknown:
        errors.add(f"grant_types.{index}", "invalid_value", messages.one_of(GRANT_TYPES))
    if not unknown and None not in names and not {"authorization_code", DEVICE_CODE_GRANT} & {*names}:
        errors.add("grant_types", "missing", messages.one_of(("authorization_code", DEVICE_CODE_GRANT)))
    return [name for name in GRANT_TYPES if name in names]


def _optional_flag(field: str, sent: object, errors: _FieldErrors) -> bool | UnsetType:
    """True or false, false for null; unset if it was left out."""
    if sent is UNSET:
        return UNSET
    if sent is not None and not isinstance(sent, bool):
        errors.add(field, "invalid_type", messages.A_BOOLEAN)
    return sent is True


def require_refreshes(scopes: Scopes, grant_types: list[str]) -> None:
    """Raises `ValidationFailed` for `offline_access` without refreshes."""
    if OFFLINE.within(scopes) and "refresh_token" not in grant_types:
        raise ValidationFailed(FieldError("grant_types", "refresh_token_required", messages.REFRESHES_FOR_OFFLINE))


def _connection_webhook_url(sent: object, errors: _FieldErrors) -> str | UnsetType | None:
    if sent is UNSET:
        return UNSET
    url = _text("connection_webhook_url", sent, errors, required=False)
    if url is not None and (error := redirect_uris.find_error(url)):
        errors.add("connection_webhook_url", *error)
    return url


def _version(sent: object, errors: _FieldErrors) -> int:
    if sent is UNSET or sent is None:
        errors.add("version", "missing", messages.REQUIRED)
    elif not isinstance(sent, int) or isinstance(sent, bool):
        errors.add("version", "invalid_type", messages.A_WHOLE_NUMBER)
    elif sent.bit_length() > VERSION_BITS:
        errors.add("version", "invalid_value", messages.A_WHOLE_NUMBER)
    else:
        return sent
    return 0


def _text(field: str, sent: object, errors: _FieldErrors, *, required: bool = True) -> str | None:
    if isinstance(sent, str):
        return sent
    if sent is UNSET or sent is None:
        if required:
            errors.add(field, "missing", messages.REQUIRED)
    else:
        errors.add(field, "invalid_type", messages.A_STRING)
    return None


def _texts(field: str, sent: object, errors: _FieldErrors) -> list[str | None] | None:
    """The entries, None for each that is not a string."""
    if isinstance(sent, list):
        texts = [entry if isinstance(entry, str) else None for entry in cast("list[object]", sent)]
        for index, text in enumerate(texts):
            if text is None:
                errors.add(f"{field}.{index}", "invalid_type", messages.A_STRING)
        return texts
    if sent is UNSET or sent is None:
        errors.add(field, "missing", messages.REQUIRED)
    else:
        errors.add(field, "invalid_type", messages.A_LIST)
    return None
