"""The settings of an application that concern the protocol: how it authenticates, its keys, and keys of its tokens.

Left out of an update they stay as they are; `null` is the default.
"""

import json
from typing import Any, cast

from msgspec import UNSET, UnsetType

from tollhouse.accounts.identity import jose
from tollhouse.kernel import messages
from tollhouse.kernel.errors import FieldError, ValidationFailed
from tollhouse.oauth.model import AUTH_METHODS, SIGNED, AuthMethod, ClientType
from tollhouse.platform.outgoing.targets import url_error
from tollhouse.platform.settings.config import Settings

JWKS_CHARS_MAX = 16_384
KEYS_MAX = 20


def require_consistent(
    client_type: ClientType,
    method: AuthMethod | None,
    jwks: dict[str, Any] | None,
    jwks_uri: str | None,
    settings: Settings,
) -> None:
    """Raises `ValidationFailed` for settings that do not fit the application or each other."""
    errors: list[FieldError] = []
    allowed = AUTH_METHODS[client_type]
    if method not in {None, *allowed}:
        errors.append(FieldError("token_endpoint_auth_method", "invalid_value", messages.one_of(allowed)))
    if jwks is not None and jwks_uri is not None:
        errors.append(FieldError("jwks_uri", "not_with_jwks", messages.NOT_WITH_JWKS))
    elif jwks_uri is not None and (error := url_error(jwks_uri, settings, if_http=messages.AN_HTTPS_URL)):
        errors.append(FieldError("jwks_uri", "invalid_url", error))
    if method == SIGNED and jwks is None and jwks_uri is None:
        errors.append(FieldError("jwks", "missing", messages.KEYS_FOR_SIGNATURES))
    if errors:
        raise ValidationFailed(*errors)


def usable_keys(document: object) -> list[dict[str, Any]]:
    """The public keys of a key set that signatures can be verified by. Raises `jose.JoseError` if it is not a key set.

    Keys of kinds that are not supported do not count: the set may be used elsewhere, too.
    """
    keys = cast("dict[str, Any]", document).get("keys") if isinstance(document, dict) else None
    if not isinstance(keys, list):
        raise jose.JoseError("not a key set")
    usable: list[dict[str, Any]] = []
    for key in cast("list[object]", keys)[:KEYS_MAX]:
        try:
            jose.check_public_key(key)
        except jose.JoseError:
            continue
        usable.append(cast("dict[str, Any]", key))
    return usable


def auth_method(sent: object, errors: list[FieldError]) -> AuthMethod | UnsetType | None:
    """How the application must authenticate. Adds every field error."""
    every = (*AUTH_METHODS["confidential"], *AUTH_METHODS["public"])
    if sent is UNSET or sent is None:
        return cast("UnsetType | None", sent)
    if not isinstance(sent, str):
        errors.append(FieldError("token_endpoint_auth_method", "invalid_type", messages.A_STRING))
    elif sent not in every:
        errors.append(FieldError("token_endpoint_auth_method", "invalid_value", messages.one_of(every)))
    return cast("AuthMethod", sent)


def key_set(sent: object, errors: list[FieldError]) -> dict[str, Any] | UnsetType | None:
    """The public keys of the application. Adds every field error."""
    if sent is UNSET or sent is None:
        return cast("UnsetType | None", sent)
    keys = cast("dict[str, Any]", sent).get("keys") if isinstance(sent, dict) else None
    if not isinstance(keys, list) or not 1 <= len(cast("list[Any]", keys)) <= KEYS_MAX:
        errors.append(FieldError("jwks", "invalid_type", messages.A_KEY_SET))
        return UNSET
    for index, key in enumerate(cast("list[object]", keys)):
        try:
            jose.check_public_key(key)
        except jose.JoseError:
            errors.append(FieldError(f"jwks.keys.{index}", "invalid_key", messages.A_PUBLIC_KEY))
    if len(json.dumps(sent)) > JWKS_CHARS_MAX:
        errors.append(FieldError("jwks", "invalid_length", messages.characters(None, JWKS_CHARS_MAX)))
    return cast("dict[str, Any]", sent)


def key_set_url(sent: object, errors: list[FieldError]) -> str | UnsetType | None:
    """The URL of the public keys. Adds a field error if it is no text."""
    if sent is UNSET or sent is None or isinstance(sent, str):
        return cast("UnsetType | str | None", sent)
    errors.append(FieldError("jwks_uri", "invalid_type", messages.A_STRING))
    return UNSET
