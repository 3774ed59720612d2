"""What a deed changed, as far as it may be kept for years: names, and values that open nothing."""

import re
from collections.abc import Mapping
from typing import Any, cast

import msgspec

from tollhouse.kernel.limits import AUDIT_VALUE_CHARS_MAX

Value = str | int | bool | list[str] | None
Changes = dict[str, tuple[Value, Value]]
"""By its name, what something was before and what it is after."""
ADDRESS = re.compile(r"(https?://)(?:[^/?#]*@)?([^/?#]*)([^?#]*)(.*)", re.IGNORECASE | re.DOTALL)
MORE = "…"
RECEIVING = "webhook_url"
"""Addresses that are called with secrets in their paths, often enough."""


def made(**facts: object) -> Changes:
    """What there is now and was not before; what is None is left out."""
    return changes({}, {name: value for name, value in facts.items() if value is not None})


def changes(before: object, after: object) -> Changes:
    """What differs between two Structs or mappings; of members within members, each by both names."""
    old, new = _facts(before), _facts(after)
    return {
        name: (_kept(name, old.get(name)), _kept(name, new.get(name)))
        for name in {**old, **new}
        if old.get(name) != new.get(name)
    }


def _facts(said: object) -> dict[str, Any]:
    plain = cast("Mapping[str, Any]", msgspec.to_builtins(said))
    facts: dict[str, Any] = {}
    for name, value in plain.items():
        if isinstance(value, dict):
            facts |= {f"{name}.{inner}": one for inner, one in cast("dict[str, Any]", value).items()}
        else:
            facts[name] = value
    return facts


def _kept(name: str, value: Any) -> Value:
    if isinstance(value, list | tuple):
        return [_text(name, str(one)) for one in cast("list[object]", value)]
    return value if value is None or isinstance(value, int) else _text(name, str(value))


def _text(name: str, text: str) -> str:
    """A text, cut; of an address not who signs in there, nor what is asked of it: either may be a secret."""
    match = ADDRESS.fullmatch(text)
    if match is not None:
        scheme, host, path, asked = match.groups()
        if name == RECEIVING:
            path, asked = "", path.strip("/") + asked
        text = f"{scheme}{host}{path}{MORE if asked else ''}"
    return text if len(text) <= AUDIT_VALUE_CHARS_MAX else text[: AUDIT_VALUE_CHARS_MAX - 1] + MORE
