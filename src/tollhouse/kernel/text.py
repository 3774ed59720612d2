"""A text with values. The API answers it in English, and pages show it in the reader's language.

A text without values is a plain `str`. Both are found and translated by their English template. In the database a text is
its template and its values as JSON, so that pages can still translate it.
"""

from collections.abc import Callable, Mapping
from datetime import date
from decimal import Decimal
from functools import reduce
from typing import Any, LiteralString, cast
from uuid import UUID

import msgspec


class Text:
    """A template and its values, by the names of its places: `Text("From %(least)s to %(most)s.", least=1, most=10_000)`.

    An `int` is a count, written in groups of three. A `Decimal` is an amount of money. A `Text` is translated itself. All
    else is not: it is an identifier or a day, or was written by somebody else.
    """

    __slots__ = ("template", "values")

    def __init__(self, template: LiteralString, /, **values: "Value") -> None:
        self.template: str = template
        self.values: Mapping[str, Value] = values

    def __str__(self) -> str:
        """The text in English."""
        return self.fill(self.template, _english)

    def fill(self, template: str, write: Callable[["Value"], str]) -> str:
        """This template, or a translation of it, with the values as `write` writes them."""
        return template % {name: write(value) for name, value in self.values.items()} if self.values else template

    def __repr__(self) -> str:
        """The text in English, in quotes."""
        return f"Text({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        """Equal if template and values are."""
        return isinstance(other, Text) and (self.template, self.values) == (other.template, other.values)

    def __hash__(self) -> int:
        """Hash by the template."""
        return hash(self.template)


Value = int | Decimal | Text | str | UUID | date
Translatable = str | Text


def as_text(text: Translatable) -> Text:
    """A translatable text as the value of another one, where a plain `str` would not be translated."""
    return text if isinstance(text, Text) else Text(cast("LiteralString", text))


def joined(*sentences: Translatable) -> Translatable:
    """Sentences that follow each other."""
    return reduce(_join, sentences)


def _join(before: Translatable, after: Translatable) -> Text:
    return Text("%(before)s %(after)s", before=as_text(before), after=as_text(after))


def _english(value: Value) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:f}" if isinstance(value, Decimal) else str(value)


def dump_text(text: Translatable) -> str:
    """The text as JSON."""
    return msgspec.json.encode(_dump(text)).decode()


def load_text(stored: str) -> Translatable:
    """The text of `dump_text`."""
    return cast("Translatable", _load(msgspec.json.decode(stored)))


def _dump(value: Value) -> object:
    if isinstance(value, Text):
        return {"template": value.template, "values": {name: _dump(member) for name, member in value.values.items()}}
    if isinstance(value, Decimal):
        return {"amount": f"{value:f}"}
    return value if isinstance(value, int) else str(value)


def _load(stored: Any) -> Value:
    if not isinstance(stored, Mapping):
        return stored
    members = cast("Mapping[str, Any]", stored)
    if "amount" in members:
        return Decimal(members["amount"])
    return Text(
        cast("LiteralString", members["template"]), **{name: _load(value) for name, value in members["values"].items()}
    )
