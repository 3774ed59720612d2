"""Examples of the OpenAPI document: values that fit a schema, from typical values of its members."""

from collections.abc import Mapping
from typing import Any, cast
from zlib import crc32

from msgspec import Struct

from tollhouse.http.openapi_schemas import Json
from tollhouse.kernel.money import format_minor

DECIMALS = 2
NULL = {"type": "null"}
MINOR = "_minor"
MOMENT = "2026-11-21T09:30:00.000Z"
PLAIN: Mapping[str, Any] = {"string": "text", "integer": 1, "boolean": True, "null": None}
BY_FORMAT = {"date-time": MOMENT, "uri": "https://shop.example/", "email": "nina@shop.example"}


class ExampleValues(Struct, frozen=True, kw_only=True):
    """The values that examples are built from.

    `members`: by member name, anywhere; `minor`: members that are amounts, of which every other one is
    zero; `of_schema`: values for members of one schema; `bodies`: complete bodies by operation id.
    """

    members: Mapping[str, Any]
    minor: Mapping[str, int]
    of_schema: Mapping[str, Mapping[str, Any]]
    bodies: Mapping[str, Json]


class Examples:
    """Builds examples for the schemas of one document."""

    def __init__(self, components: Json, usual: ExampleValues) -> None:
        self._components = components
        self._usual = usual

    def of_body(self, operation_id: str, schema: Json) -> Any:
        """A valid body."""
        return self._usual.bodies.get(operation_id) or self.of(schema)

    def of(self, schema: Json, name: str = "") -> Any:
        """A value that fits; `name` is its member name. Nullable members are null unless they have a typical value."""
        if "$ref" in schema:
            component = schema["$ref"].rpartition("/")[2]
            return self._object(self._components[component], component)
        if "anyOf" in schema:
            if NULL in schema["anyOf"] and name and name not in self._usual.members:
                return None
            return self.of(next(one for one in schema["anyOf"] if one != NULL), name)
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
            return id_of(name)
        return BY_FORMAT.get(schema.get("format", ""), PLAIN.get(schema.get("type", ""), {}))

    def _object(self, schema: Json, component: str) -> Json:
        """The required members and those with a value for this schema."""
        own = self._usual.of_schema.get(component, {})
        members = cast("Json", schema.get("properties", {}))
        always = set(schema.get("required", ()))
        kind = cast("Json", members.get("object", {})).get("enum", [component])[0]
        return {
            name: own[name] if name in own else self._member(name, member, members, kind)
            for name, member in members.items()
            if name in always or name in own
        }

    def _member(self, name: str, schema: Json, beside: Json, kind: str) -> Any:
        if name == "id" and schema.get("format") == "uuid":
            return id_of(f"{kind}_id")
        if schema.get("type") == "string" and name + MINOR in beside:
            return format_minor(self._usual.minor.get(name, 0), DECIMALS)
        if schema.get("type") == "integer" and name.endswith(MINOR) and name.removesuffix(MINOR) in beside:
            return self._usual.minor.get(name.removesuffix(MINOR), 0)
        return self.of(schema, name)


def id_of(name: str) -> str:
    """The id of an object in every example: `payment_link_id` is the `id` of a `payment_link`."""
    return f"019a8f6e-2d4b-7c31-9e55-{crc32(name.encode()):012x}"
