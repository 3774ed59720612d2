"""JSON schemas as lists of their members, for pages, and as Markdown tables."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
from markupsafe import Markup
from msgspec import Struct

from tollhouse.http.openapi_schemas import MEANINGS
from tollhouse.instance.docs.markdown import inline

Json = dict[str, Any]
NULL = {"type": "null"}
ANY = "any value"
FORMATS = {"uuid": "UUID", "date-time": "time", "uri": "URL", "uri-template": "URL", "email": "email address"}
BOUNDS = (
    ("minLength", "maxLength", "characters"),
    ("minimum", "maximum", ""),
    ("minItems", "maxItems", "entries"),
    ("minProperties", "maxProperties", "members"),
)


class SchemaMember(Struct, frozen=True):
    """A member of an object, or a parameter: its allowed values with their meanings, and the members of its objects."""

    name: str
    kind: Markup
    meaning: Markup
    values: tuple[tuple[str, Markup], ...]
    is_required: bool
    groups: tuple["MemberGroup", ...] = ()


class MemberGroup(Struct, frozen=True):
    """The members of an object. `condition` says when it applies, if there are several kinds."""

    condition: str
    members: tuple[SchemaMember, ...]


class SchemaTables:
    """Describes the schemas of one document."""

    def __init__(self, components: Json) -> None:
        self._schemas = components["schemas"]

    def groups(self, schema: Json, above: frozenset[str] = frozenset()) -> tuple[MemberGroup, ...]:
        """The members of the objects of a schema, with those of nested objects. `above` are the objects around it."""
        objects = {name: found for name, found in self._objects(schema) if name not in above and found.get("properties")}
        return tuple(
            MemberGroup(
                _which(found) if len(objects) > 1 else "",
                tuple(
                    self.member(key, member, is_required=key in found.get("required", ()), above=above | {name})
                    for key, member in found["properties"].items()
                ),
            )
            for name, found in objects.items()
        )

    def member(
        self, name: str, schema: Json, *, is_required: bool, about: str = "", above: frozenset[str] = frozenset()
    ) -> SchemaMember:
        """A member or a parameter. `about` is a description beside the schema."""
        meaning = " ".join(filter(None, [about, *_descriptions(schema), *_choices(schema), *_rules(schema)]))
        kind = self.kind(_plain(schema))
        values = tuple((value, inline(said)) for value, said in _meanings(schema))
        return SchemaMember(name, inline(kind), inline(meaning), values, is_required, self.groups(schema, above))

    def tables(self, schema: Json) -> Iterator[str]:
        """A table for the schema and for each nested object; repeated objects are referenced."""
        waiting, described = [("", schema)], dict[str, str]()
        while waiting:
            path, one = waiting.pop(0)
            inner = f"{path}[]" if path and one.get("type") == "array" else path
            objects = list(self._objects(one))
            for name, found in objects:
                if name in described:
                    yield f"`{inner}` has the same members as `{described[name]}`."
                    continue
                described[name] = inner
                if inner:
                    yield f"### Members of `{inner}`" + (_which(found) if len(objects) > 1 else "")
                yield table(("Member", "Description"), self.rows(found))
                waiting += [(f"{inner}.{key}".lstrip("."), member) for key, member in found.get("properties", {}).items()]

    def rows(self, schema: Json) -> Iterator[tuple[str, str]]:
        """Name and meaning of each member of an object."""
        required = set(schema.get("required", ()))
        for name, member in schema.get("properties", {}).items():
            yield f"`{name}`", self.meaning(member, optional=name not in required)

    def kind(self, schema: Json) -> str:
        """The type as text."""
        if "anyOf" in schema:
            return " or ".join(dict.fromkeys(self.kind(alternative) for alternative in schema["anyOf"]))
        if "$ref" in schema or schema.get("properties"):
            return "object"
        if schema.get("type") == "array":
            return f"list of {self.kind(schema.get('items') or {})}"
        if "enum" in schema:
            return " or ".join(f"`{value}`" for value in schema["enum"])
        return FORMATS.get(schema.get("format", "")) or str(schema.get("type", ANY))

    def meaning(self, schema: Json, *, optional: bool) -> str:
        """Type, description and bounds."""
        kind = self.kind(schema)
        words = [f"{kind[:1].upper()}{kind[1:]}."] + (["Optional."] if optional else [])
        values = (f"`{value}`: {said}" for value, said in _meanings(schema))
        return " ".join([*words, *_descriptions(schema), *_rules(schema), *values])

    def _objects(self, schema: Json) -> Iterator[tuple[str, Json]]:
        """The objects of a schema or list by name; anonymous ones by their members."""
        if "$ref" in schema:
            name = schema["$ref"].rpartition("/")[2]
            yield name, self._schemas[name]
        elif "anyOf" in schema:
            for alternative in schema["anyOf"]:
                yield from self._objects(alternative)
        elif schema.get("type") == "array":
            yield from self._objects(schema.get("items") or {})
        elif schema.get("properties"):
            yield " ".join(schema["properties"]), schema


def table(heads: tuple[str, str], rows: Iterable[tuple[str, str]]) -> str:
    """A Markdown table with two columns."""
    lines = [heads, ("---", "---"), *rows]
    return "\n".join(f"| {_cell(left)} | {_cell(other)} |" for left, other in lines)


def _cell(text: str) -> str:
    return re.sub(r"\s*\n\s*", " ", text).replace("|", "\\|")


def _which(schema: Json) -> str:
    """The condition under which a schema applies."""
    return f", if it is a {schema['properties']['object']['enum'][0].replace('_', ' ')}"


def _descriptions(schema: Json) -> list[str]:
    return [alternative["description"] for alternative in _alternatives(schema) if "description" in alternative]


def _rules(schema: Json) -> Iterator[str]:
    """The bounds and the default."""
    for alternative in _alternatives(schema):
        yield from (f"{bound}." for bound in _bounds(alternative))
    if "default" in schema:
        yield f"Default: `{_json(schema['default'])}`."


def _choices(schema: Json) -> Iterator[str]:
    """The values of an enumeration that have no meanings of their own."""
    for alternative in _alternatives(schema):
        values = [f"`{value}`" for value in alternative.get("enum", ())]
        if values and (len(values) == 1 or MEANINGS not in alternative):
            yield f"One of {', '.join(values)}." if len(values) > 1 else f"Always {values[0]}."


def _meanings(schema: Json) -> Iterator[tuple[str, str]]:
    """The values of an enumeration, or of the items of a list, with their meanings. A single one is no choice."""
    for alternative in _alternatives(schema):
        if len(alternative.get("enum", ())) > 1:
            yield from alternative.get(MEANINGS, {}).items()


def _plain(schema: Json) -> Json:
    """The schema without the values of enumerations, which `_choices` lists."""
    if "anyOf" in schema:
        return schema | {"anyOf": [_plain(alternative) for alternative in schema["anyOf"]]}
    if "items" in schema:
        return schema | {"items": _plain(schema["items"])}
    if "enum" not in schema:
        return schema
    kind = "string" if all(isinstance(value, str) for value in schema["enum"]) else ANY
    return {"type": kind} | {key: value for key, value in schema.items() if key != "enum"}


def _alternatives(schema: Json) -> list[Json]:
    items = [schema["items"]] if "enum" in schema.get("items", {}) else []
    return [schema, *items, *(part for part in schema.get("anyOf", ()) if part != NULL and "$ref" not in part)]


def _bounds(schema: Json) -> Iterator[str]:
    for least_name, most_name, unit in BOUNDS:
        least, most = schema.get(least_name), schema.get(most_name)
        if least is not None and most is not None:
            yield f"{least:,} to {most:,} {unit}".rstrip()
        elif most is not None:
            yield f"At most {most:,} {unit}".rstrip()
        elif least is not None:
            yield "Not empty" if unit and least == 1 else f"At least {least:,} {unit}".rstrip()
    if "pattern" in schema:
        yield f"Must match `{schema['pattern']}`"


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
