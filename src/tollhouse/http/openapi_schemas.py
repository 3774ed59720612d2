"""Schemas of the OpenAPI document: each Struct of requests and responses once, with descriptions and examples."""

import inspect
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast, get_args

import msgspec
from msgspec import Struct

from tollhouse.http.openapi_sentences import meanings_of, member_sentences
from tollhouse.kernel.clock import Timestamp
from tollhouse.kernel.examples import MOMENT, example_id
from tollhouse.kernel.money import format_minor
from tollhouse.platform.database.records import marked

Json = dict[str, Any]
REF = "#/components/schemas/{name}"
ERROR_RESPONSE = "ApiError"
FIELD_ERROR = "FieldError"
FIELD_ERROR_SCHEMA: Json = {
    "title": FIELD_ERROR,
    "description": "An invalid member or parameter: its path (`redirect_uris.0`), a code and a message.",
    "type": "object",
    "properties": {
        "field": {"type": "string", "description": "Path of the member, or name of the parameter."},
        "code": {"type": "string", "description": "What is wrong, for programs."},
        "message": {"type": "string", "description": "What is wrong, for people."},
        "suggestion": {"type": "string", "description": "Name that an unknown member or parameter may have meant."},
    },
    "required": ["field", "code", "message"],
}
ERROR_SCHEMA: Json = {
    "title": ERROR_RESPONSE,
    "description": "The body of every error response. `errors` lists each invalid field.",
    "type": "object",
    "properties": {
        "error": {"type": "string", "description": "The error code, for programs."},
        "error_description": {"type": "string", "description": "The explanation, for people. The text can change."},
        "request_id": {"type": "string", "format": "uuid", "description": "ID of the request, also in the server's log."},
        "doc_url": {"type": "string", "format": "uri", "description": "Page of the error code: cause and solution."},
        "errors": {
            "type": "array",
            "items": {"$ref": REF.format(name=FIELD_ERROR)},
            "description": "Every invalid member and parameter.",
        },
        "scope": {"type": "string", "description": "With `missing_scope`, the scope that is required."},
        "details": {"type": "object", "description": "Further values that depend on the error code."},
    },
    "required": ["error", "error_description", "request_id", "doc_url"],
}
MINOR = "_minor"
IN_MINOR_UNITS = "`{name}` in minor units, such as cents."
PAGE_OF, ALL_OF = "The {name} of this page.", "All {name}."
MEANINGS = "x-enumDescriptions"
"""The member of a schema with the meanings of its values, as tools for references read it."""
DECIMALS = 2
NULL = {"type": "null"}
PLAIN: Mapping[str, Any] = {"boolean": True, "object": {}}
BY_FORMAT = {"date-time": MOMENT, "uri": "https://shop.example/", "email": "nina@shop.example"}


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
            _describe(components[name], kind)

    def of(self, kind: Any) -> Json:
        """The schema of one of these types."""
        return self._shown[kind]


def query_parameters(kind: type[Struct]) -> list[Json]:
    """A Struct as query parameters. None means that a parameter is omitted: queries have no null."""
    _, components = msgspec.json.schema_components((kind,), ref_template=REF)
    shown = components.pop(kind.__name__)
    if components:
        raise TypeError(f"{kind.__name__} is no flat query")
    sentences = member_sentences(kind)
    return [
        {"name": name, "in": "query", "required": name in shown["required"], "schema": _without_null(schema)}
        | ({"description": sentences[name]} if name in sentences else {})
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
            for text in (part for part in (shown, *shown.get("anyOf", ())) if part.get("type") == "string"):
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
    kinds = [kind for kind in schema.get("anyOf", ()) if kind != NULL]
    return kinds[0] if len(kinds) == 1 else schema


class UsualDescriptions(Struct, frozen=True, kw_only=True):
    """Descriptions of members and parameters that mean the same everywhere, by name; of parameters also by their place."""

    members: Mapping[str, str]
    parameters: Mapping[str, Mapping[str, str]]


def described(components: Mapping[str, Json], usual: UsualDescriptions) -> Json:
    """The components with a description of each member that has a usual one and none of its own."""
    return {name: schema | _members(schema, usual) for name, schema in components.items()}


def described_parameters(parameters: list[Json], usual: UsualDescriptions) -> list[Json]:
    """The parameters, likewise."""
    return [parameter | _parameter(parameter, usual.parameters.get(parameter["in"], {})) for parameter in parameters]


def with_meanings(value: Any, events: Mapping[str, str]) -> Any:
    """A part of the document in which each list of values has the meanings of its vocabulary. `events`: those of types."""
    if isinstance(value, list):
        return [with_meanings(item, events) for item in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    shown = {name: with_meanings(member, events) for name, member in cast("Json", value).items()}
    if not isinstance(shown.get("enum"), list):
        return shown
    values = frozenset(map(str, shown["enum"]))
    meanings = {event: events[event] for event in sorted(values)} if values <= events.keys() else meanings_of(values)
    return shown | {MEANINGS: meanings} if meanings else shown


def _parameter(parameter: Json, usual: Mapping[str, str]) -> Json:
    is_described = "description" in parameter or _is_described(parameter["schema"])
    return {} if is_described or parameter["name"] not in usual else {"description": usual[parameter["name"]]}


def _members(schema: Json, usual: UsualDescriptions) -> Json:
    members = cast("Json", schema.get("properties", {}))
    return {"properties": dict(_described_members(members, usual))} if members else {}


def _described_members(members: Json, usual: UsualDescriptions) -> Iterator[tuple[str, Json]]:
    for name, member in members.items():
        about = usual.members.get(name, "")
        if name.endswith(MINOR) and name.removesuffix(MINOR) in members:
            about = IN_MINOR_UNITS.format(name=name.removesuffix(MINOR))
        elif not about and member.get("type") == "array":
            about = (PAGE_OF if "has_more" in members else ALL_OF).format(name=name.replace("_", " "))
        yield name, member | {"description": about} if about and not _is_described(member) else member


def _describe(schema: Json, kind: type[Struct]) -> None:
    """Add the sentences of the fields to the members. That of `amount_minor` is said of `amount`, which stands beside it."""
    members, sentences = cast("Json", schema["properties"]), member_sentences(kind)
    for name, member in members.items():
        is_minor = name.endswith(MINOR) and name.removesuffix(MINOR) in members
        about = None if is_minor else sentences.get(name) or sentences.get(name + MINOR)
        if about:
            member["description"] = about


def _is_described(schema: Json) -> bool:
    return "description" in schema or any("description" in kind for kind in schema.get("anyOf", ()))


class ExampleValues(Struct, frozen=True, kw_only=True):
    """Typical values of members that mean the same in many types, by name. `minor` are amounts; any other is zero.

    The example of any other member stands at its field, by `kernel.examples.example`.
    """

    members: Mapping[str, Any]
    minor: Mapping[str, int]


class Examples:
    """Builds examples for the schemas of one document."""

    def __init__(self, components: Json, usual: ExampleValues) -> None:
        self._components = components
        self._usual = usual

    def of(self, schema: Json, name: str = "") -> Any:
        """A value that fits; `name` is its member name. Nullable members are null unless they have a typical value."""
        if "examples" in schema:
            return schema["examples"][0]
        if "$ref" in schema:
            component = schema["$ref"].rpartition("/")[2]
            return self._object(self._components[component], component)
        if "anyOf" in schema:
            if NULL in schema["anyOf"] and name and name not in self._usual.members:
                return None
            return self.of(next(kind for kind in schema["anyOf"] if kind != NULL), name)
        return self._plain(schema, name)

    def _plain(self, schema: Json, name: str) -> Any:
        """A value of a schema without references."""
        usual = self._usual.members.get(name)
        if "enum" in schema:
            return usual if usual in schema["enum"] else schema["enum"][0]
        if usual is not None:
            return usual
        if schema.get("type") == "array":
            return [self.of(schema["items"], name)] if schema.get("items") else []
        if schema.get("type") == "object":
            return self._object(schema, "")
        if schema.get("format") == "uuid":
            return example_id(name)
        if schema.get("type") in {"string", "integer"} and schema.get("format") not in BY_FORMAT:
            raise TypeError(f"`{name}` has no example: declare it at the field, `{name}: Annotated[…, example(…)]`")
        return BY_FORMAT.get(schema.get("format", ""), PLAIN.get(schema.get("type", ""), {}))

    def _object(self, schema: Json, component: str) -> Json:
        """The required members and those with an example of their own."""
        members = cast("Json", schema.get("properties", {}))
        always = set(schema.get("required", ()))
        kind = cast("Json", members.get("object", {})).get("enum", [component])[0]
        return {
            name: member["examples"][0] if "examples" in member else self._member(name, member, members, kind)
            for name, member in members.items()
            if name in always or "examples" in member
        }

    def _member(self, name: str, schema: Json, beside: Json, kind: str) -> Any:
        if name == "id" and schema.get("format") == "uuid":
            return example_id(f"{kind}_id")
        if schema.get("type") == "string" and name + MINOR in beside:
            return format_minor(self._usual.minor.get(name, 0), DECIMALS)
        if schema.get("type") == "integer" and name.endswith(MINOR) and name.removesuffix(MINOR) in beside:
            return self._usual.minor.get(name.removesuffix(MINOR), 0)
        return self.of(schema, name)
