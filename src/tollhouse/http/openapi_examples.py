"""Examples of the OpenAPI document: values that fit a schema, from typical values of its members."""

from collections.abc import Mapping
from typing import Any, cast

from msgspec import Struct

from tollhouse.http.openapi_schemas import Json
from tollhouse.kernel.examples import MOMENT, example_id
from tollhouse.kernel.money import format_minor

DECIMALS = 2
NULL = {"type": "null"}
MINOR = "_minor"
PLAIN: Mapping[str, Any] = {"boolean": True, "object": {}}
BY_FORMAT = {"date-time": MOMENT, "uri": "https://shop.example/", "email": "nina@shop.example"}


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
