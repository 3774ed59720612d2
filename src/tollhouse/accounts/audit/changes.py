"""The changed values of an audit event, without secrets: they are kept for years."""

import re
from collections.abc import Mapping
from typing import Any, cast

import msgspec

from tollhouse.kernel.limits import AUDIT_VALUE_CHARS_MAX

Value = str | int | bool | list[str] | None
Changes = dict[str, tuple[Value, Value]]
"""For each field, the value before and the value after."""
URL = re.compile(r"(https?://)(?:[^/?#]*@)?([^/?#]*)([^?#]*)(.*)", re.IGNORECASE | re.DOTALL)
ELLIPSIS = "…"
SECRET_PATH_FIELD = "webhook_url"  # noqa: S105 - a field name
"""The URL whose path often holds a secret."""


def new_values(**values: object) -> Changes:
    """The values of a new object, without those that are None."""
    return changes({}, {name: value for name, value in values.items() if value is not None})


def changes(before: object, after: object) -> Changes:
    """The fields that differ between two Structs or mappings; a nested field is named `outer.inner`."""
    old, new = _flatten(before), _flatten(after)
    return {
        name: (_redact(name, old.get(name)), _redact(name, new.get(name)))
        for name in {**old, **new}
        if old.get(name) != new.get(name)
    }


def _flatten(value: object) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, member in cast("Mapping[str, Any]", msgspec.to_builtins(value)).items():
        if isinstance(member, dict):
            flat |= {f"{name}.{inner}": one for inner, one in cast("dict[str, Any]", member).items()}
        else:
            flat[name] = member
    return flat


def _redact(name: str, value: Any) -> Value:
    if isinstance(value, list | tuple):
        return [_redact_text(name, str(one)) for one in cast("list[object]", value)]
    return value if value is None or isinstance(value, int) else _redact_text(name, str(value))


def _redact_text(name: str, text: str) -> str:
    """The text, cut to its limit; a URL without user name, query and fragment, since each may be a secret."""
    match = URL.fullmatch(text)
    if match is not None:
        scheme, host, path, rest = match.groups()
        if name == SECRET_PATH_FIELD:
            path, rest = "", path.strip("/") + rest
        text = f"{scheme}{host}{path}{ELLIPSIS if rest else ''}"
    return text if len(text) <= AUDIT_VALUE_CHARS_MAX else text[: AUDIT_VALUE_CHARS_MAX - 1] + ELLIPSIS
