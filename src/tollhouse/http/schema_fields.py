"""Form fields of a JSON Schema, and the object that the submitted texts stand for."""

from collections.abc import Iterable
from typing import Any, cast

import msgspec
from msgspec import Struct

from tollhouse.http.forms import Form
from tollhouse.http.json_text import parse_json
from tollhouse.kernel.errors import InvalidRequest
from tollhouse.kernel.text import Text, Translatable, joined

YES_OR_NO = {"true": "Yes", "false": "No"}


class SchemaField(Struct, frozen=True, kw_only=True):
    """A form field, named like its field errors: `provider_fields.reference`.

    Values that are not texts (`plain` is false) are entered as JSON, for a number the number itself. `choices` are the
    allowed values with their labels.
    """

    name: str
    label: str
    hint: Translatable
    required: bool
    plain: bool
    choices: tuple[tuple[str, str], ...] = ()
    maxlength: int | None = None

    def words(self, typed: str) -> str:
        """The label of a chosen value; empty for texts, which are shown as they are."""
        return "" if self.plain else dict(self.choices).get(typed, "")


def form_fields(schema: dict[str, Any], member: str) -> list[SchemaField]:
    """One field for each property of an object's schema, required ones first."""
    required = frozenset(schema.get("required", ()))
    fields = [
        _field(
            f"{member}.{name}", cast("dict[str, Any]", facts if isinstance(facts, dict) else {}), required=name in required
        )
        for name, facts in schema.get("properties", {}).items()
    ]
    return sorted(fields, key=lambda field: not field.required)


def read_values(fields: Iterable[SchemaField], form: Form) -> dict[str, str]:
    """The submitted text of each field."""
    return {field.name: form.one(field.name) or "" for field in fields}


def to_object(fields: Iterable[SchemaField], member: str, typed: dict[str, str]) -> dict[str, Any]:
    """The submitted object. Empty fields are omitted; invalid JSON stays a text."""
    return {
        field.name.removeprefix(f"{member}."): typed[field.name] if field.plain else _json_of(typed[field.name])
        for field in fields
        if typed.get(field.name)
    }


def to_values(fields: Iterable[SchemaField], member: str, sent: dict[str, Any]) -> dict[str, str]:
    """The text of each field for a stored object; empty if the object does not have it."""
    return {field.name: _typed(sent.get(field.name.removeprefix(f"{member}."))) for field in fields}


def describe(sent: dict[str, Any]) -> list[tuple[str, str]]:
    """The labels and values of a stored object, whatever the current schema is."""
    return [(_label(name), value if isinstance(value, str) else _words(value)) for name, value in sent.items()]


def _field(name: str, facts: dict[str, Any], *, required: bool) -> SchemaField:
    """The field of a property."""
    kinds = facts.get("type", [])
    choices = [True, False] if kinds == "boolean" else facts.get("enum", [])
    plain = "string" in kinds if kinds else all(isinstance(one, str) for one in choices)
    return SchemaField(
        name=name,
        label=facts.get("title") or _label(name.partition(".")[2]),
        hint=_hint(facts, required=required),
        required=required,
        plain=plain,
        maxlength=facts.get("maxLength"),
        choices=tuple((str(one), str(one)) if plain else (_text(one), _words(one)) for one in choices),
    )


def _label(name: str) -> str:
    return name.replace("_", " ").capitalize()


def _hint(facts: dict[str, Any], *, required: bool) -> Translatable:
    most = facts.get("maxLength")
    words = facts.get("description") or ("" if most is None else Text("At most %(most)s characters.", most=most))
    if required:
        return words
    return joined("Optional.", words) if words else "Optional."


def _typed(value: Any) -> str:
    return "" if value is None else value if isinstance(value, str) else _text(value)


def _text(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _words(value: Any) -> str:
    text = _text(value)
    return YES_OR_NO.get(text, text)


def _json_of(text: str) -> Any:
    try:
        return parse_json(text.encode())
    except InvalidRequest:
        return text
