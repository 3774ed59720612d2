"""Texts with values in the database: a template and its values as JSON, so that pages can still translate them."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, LiteralString, cast

import msgspec

from tollhouse.kernel.text import Text, Translatable, Value


def dump_text(text: Translatable) -> str:
    """The text as JSON."""
    return msgspec.json.encode(_dump(text)).decode()


def load_text(stored: str) -> Translatable:
    """The text of `dump_text`."""
    return cast("Translatable", _load(msgspec.json.decode(stored)))


def _dump(value: Value) -> object:
    if isinstance(value, Text):
        return {"template": value.template, "values": {name: _dump(one) for name, one in value.values.items()}}
    if isinstance(value, Decimal):
        return {"amount": f"{value:f}"}
    return value if isinstance(value, int) else str(value)


def _load(stored: Any) -> Value:
    if not isinstance(stored, Mapping):
        return stored
    members = cast("Mapping[str, Any]", stored)
    if "amount" in members:
        return Decimal(members["amount"])
    return Text(cast("LiteralString", members["template"]), **{name: _load(one) for name, one in members["values"].items()})
