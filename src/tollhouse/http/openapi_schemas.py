"""Schemas of the OpenAPI document: each Struct of requests and responses once."""

import inspect
import re
from collections.abc import Iterable, Iterator
from typing import Any, cast, get_args

import msgspec
from msgspec import Struct

from tollhouse.kernel.clock import Timestamp
from tollhouse.platform.database.records import marked

Json = dict[str, Any]
REF = "#/components/schemas/{name}"
ERROR_RESPONSE = "ApiError"
FIELD_ERROR = "FieldError"
FIELD_ERROR_SCHEMA: Json = {
    "title": FIELD_ERROR,
    "description": "An invalid member or parameter: its path (`redirect_uris.0`), a code and a message.",
    "type": "object",
    "properties": {"field": {"type": "string"}, "code": {"type": "string"}, "message": {"type": "string"}},
    "required": ["field", "code", "message"],
}
ERROR_SCHEMA: Json = {
    "title": ERROR_RESPONSE,
    "description": "The body of every error response. `errors` lists each invalid field.",
    "type": "object",
    "properties": {
        "error": {"type": "string", "description": "The error code, for programs."},
        "error_description": {"type": "string", "description": "The explanation, for people. The text can change."},
        "request_id": {"type": "string", "format": "uuid"},
        "errors": {"type": "array", "items": {"$ref": REF.format(name=FIELD_ERROR)}},
        "scope": {"type": "string", "description": "With `missing_scope`, the scope that is required."},
        "details": {"type": "object", "description": "Further values that depend on the error code."},
    },
    "required": ["error", "error_description", "request_id"],
}


class Schemas:
    """The components of request and response types."""

    def __init__(self, sent: Iterable[Any], answered: Iterable[Any]) -> None:
        sent, answered = tuple(sent), tuple(answered)
        kinds = (*sent, *answered)
        shown, components = _shortly_named(*msgspec.json.schema_components(kinds, ref_template=REF))
        self._shown = dict(zip(kinds, shown, strict=True))
        self.components: Json = {ERROR_RESPONSE: ERROR_SCHEMA, FIELD_ERROR: FIELD_ERROR_SCHEMA, **components}
        requested, answered_types = set(_structs(sent)), set(_structs(answered))
        for kind in requested | answered_types:
            name = kind.__name__ if kind.__name__ in components else _short_name(_full_name(kind))
            components[name] |= {"title": name, "description": inspect.getdoc(kind)}
            if kind in answered_types:
                _show_times(components[name], kind)
            if kind in answered_types - requested and not kind.__struct_config__.omit_defaults:
                _require_defaults(components[name])
            _remove_null_default(components[name])

    def of(self, kind: Any) -> Json:
        """The schema of one of these types."""
        return self._shown[kind]


def query_parameters(kind: type[Struct]) -> list[Json]:
    """A Struct as query parameters. None means that a parameter is omitted: queries have no null."""
    _, components = msgspec.json.schema_components((kind,), ref_template=REF)
    shown = components.pop(kind.__name__)
    if components:
        raise TypeError(f"{kind.__name__} is no flat query")
    return [
        {"name": name, "in": "query", "required": name in shown["required"], "schema": _without_null(schema)}
        for name, schema in cast("Json", shown["properties"]).items()
    ]


def _structs(kinds: Iterable[Any], seen: frozenset[type] = frozenset()) -> Iterator[type[Struct]]:
    """Every Struct in these types, including nested ones."""
    for kind in kinds:
        if isinstance(kind, type) and issubclass(kind, Struct):
            if kind not in seen:
                yield kind
                yield from _structs((field.type for field in msgspec.structs.fields(kind)), seen | {kind})
        else:
            yield from _structs(get_args(kind), seen)


def _shortly_named(shown: Any, components: Json) -> tuple[Any, Json]:
    """Equal names of two types are qualified by package: generated clients create a class for each name."""
    text = msgspec.json.encode((shown, components)).decode()
    for name in components:
        if "." in name:
            text = text.replace(f'/{name}"', f'/{_short_name(name)}"').replace(f'"{name}":', f'"{_short_name(name)}":')
    return msgspec.json.decode(text, type=tuple[list[Any], Json])


def _short_name(name: str) -> str:
    """`WithdrawalsMethodView` for `tollhouse.transfers.withdrawals.views.MethodView`."""
    _, part, *_, kind = name.split(".")
    return part.title().replace("_", "") + kind


def _full_name(kind: type) -> str:
    return re.sub(r"[^a-zA-Z0-9.\-_]", "_", f"{kind.__module__}.{kind.__qualname__}")


def _show_times(schema: Json, kind: type[Struct]) -> None:
    for field in msgspec.structs.fields(kind):
        value_type, _ = marked(field.type)
        if Timestamp in {value_type, *get_args(value_type)}:
            shown = schema["properties"][field.encode_name]
            for text in (one for one in (shown, *shown.get("anyOf", ())) if one.get("type") == "string"):
                text["format"] = "date-time"


def _require_defaults(schema: Json) -> None:
    """Members with a default are required in responses."""
    members: Json = schema["properties"]
    schema["required"] = [name for name in members if name in schema["required"] or "default" in members[name]]
    for member in members.values():
        member.pop("default", None)


def _remove_null_default(schema: Json) -> None:
    """None stands for an omitted member; as a default it would be meaningless and might not fit the type."""
    for member in cast("Json", schema["properties"]).values():
        if member.get("default", ...) is None:
            del member["default"]


def _without_null(schema: Json) -> Json:
    kinds = [one for one in schema.get("anyOf", ()) if one != {"type": "null"}]
    return kinds[0] if len(kinds) == 1 else schema
