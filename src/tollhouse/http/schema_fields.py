"""Form fields of a JSON Schema, and the object that the submitted texts stand for."""

from collections.abc import Iterable, Iterator
from typing import Any, cast

import msgspec
from msgspec import Struct

from tollhouse.http.forms import Form
from tollhouse.http.json_text import parse_json
from tollhouse.kernel.errors import InvalidRequest
from tollhouse.kernel.text import Text, Translatable, joined

ABBREVIATIONS = {"bic": "BIC", "iban": "IBAN"}
YES_OR_NO = {"true": "Yes", "false": "No"}


class SchemaField(Struct, frozen=True, kw_only=True):
    """A form field, named like its field errors: `provider_fields.reference`, or `provider_fields.address.country`.

    `path` leads to its value in the object: properties of an object within it are fields of their own. Values that are not
    texts (`plain` is false) are entered as JSON, for a number the number itself. `choices` are the allowed values with their
    labels.
    """

    name: str
    path: tuple[str, ...]
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
    """One field for each property of an object's schema, and of the objects within it, required ones first."""
    return sorted(_fields(schema, member, (), is_required=True), key=lambda field: not field.required)


def read_values(fields: Iterable[SchemaField], form: Form) -> dict[str, str]:
    """The submitted text of each field."""
    return {field.name: form.one(field.name) or "" for field in fields}


def to_object(fields: Iterable[SchemaField], typed: dict[str, str]) -> dict[str, Any]:
    """The submitted object. Empty fields are omitted, and objects without any; invalid JSON stays a text."""
    made: dict[str, Any] = {}
    for field in fields:
        if typed.get(field.name):
            within = made
            for name in field.path[:-1]:
                within = within.setdefault(name, {})
            within[field.path[-1]] = typed[field.name] if field.plain else _json_of(typed[field.name])
    return made


def to_values(fields: Iterable[SchemaField], sent: dict[str, Any]) -> dict[str, str]:
    """The text of each field for a stored object; empty if the object does not have it."""
    return {field.name: _typed(_at(sent, field.path)) for field in fields}


def describe(sent: dict[str, Any]) -> list[tuple[str, str]]:
    """The labels and values of a stored object, and of the objects within it, whatever the current schema is."""
    return list(_described(sent))


def _described(sent: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in sent.items():
        if isinstance(value, dict):
            yield from _described(cast("dict[str, Any]", value))
        else:
            yield _label(name), value if isinstance(value, str) else _words(value)


def _at(sent: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        sent = cast("dict[str, Any]", sent).get(name) if isinstance(sent, dict) else None
    return sent


def _fields(schema: dict[str, Any], member: str, path: tuple[str, ...], *, is_required: bool) -> Iterator[SchemaField]:
    """The fields of an object, which is itself required or not."""
    required = frozenset(schema.get("required", ()))
    for name, value in schema.get("properties", {}).items():
        facts = cast("dict[str, Any]", value if isinstance(value, dict) else {})
        within, needed = (*path, name), is_required and name in required
        if facts.get("type") == "object" and facts.get("properties"):
            yield from _fields(facts, member, within, is_required=needed)
        else:
            yield _field(member, within, facts, required=needed, with_others=not is_required and name in required)


def _field(member: str, path: tuple[str, ...], facts: dict[str, Any], *, required: bool, with_others: bool) -> SchemaField:
    """The field of a property. `with_others`: it is required if another one of its object is entered."""
    kinds = facts.get("type", [])
    choices = [True, False] if kinds == "boolean" else facts.get("enum", [])
    plain = "string" in kinds if kinds else all(isinstance(choice, str) for choice in choices)
    return SchemaField(
        name=".".join((member, *path)),
        path=path,
        label=facts.get("title") or _label(path[-1]),
        hint=_hint(facts, required=required, with_others=with_others),
        required=required,
        plain=plain,
        maxlength=facts.get("maxLength"),
        choices=tuple((str(choice), str(choice)) if plain else (_text(choice), _words(choice)) for choice in choices),
    )


def _label(name: str) -> str:
    return ABBREVIATIONS.get(name) or name.replace("_", " ").capitalize()


def _hint(facts: dict[str, Any], *, required: bool, with_others: bool) -> Translatable:
    most = facts.get("maxLength")
    words = facts.get("description") or ("" if most is None else Text("At most %(most)s characters.", most=most))
    if required:
        return words
    optional = "Required if you enter other parts." if with_others else "Optional."
    return joined(optional, words) if words else optional


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
