"""Descriptions in the OpenAPI document of members and parameters that have none at their field."""

from collections.abc import Iterator, Mapping
from typing import cast

from msgspec import Struct

from tollhouse.http.openapi_schemas import Json

MINOR = "_minor"
IN_MINOR_UNITS = "`{name}` in minor units, such as cents."


class UsualDescriptions(Struct, frozen=True, kw_only=True):
    """Descriptions by name: of members, of members of one type (`LinkRequest.amount`), and of parameters by their place."""

    members: Mapping[str, str]
    of_types: Mapping[str, str]
    parameters: Mapping[str, Mapping[str, str]]


def described(components: Mapping[str, Json], usual: UsualDescriptions) -> Json:
    """The components with a description of each member that has a usual one and none of its own."""
    return {name: schema | _members(name, schema, usual) for name, schema in components.items()}


def described_parameters(parameters: list[Json], usual: UsualDescriptions) -> list[Json]:
    """The parameters, likewise."""
    return [one | _parameter(one, usual.parameters.get(one["in"], {})) for one in parameters]


def _parameter(one: Json, usual: Mapping[str, str]) -> Json:
    is_described = "description" in one or _is_described(one["schema"])
    return {} if is_described or one["name"] not in usual else {"description": usual[one["name"]]}


def _members(kind: str, schema: Json, usual: UsualDescriptions) -> Json:
    members = cast("Json", schema.get("properties", {}))
    return {"properties": dict(_described_members(kind, members, usual))} if members else {}


def _described_members(kind: str, members: Json, usual: UsualDescriptions) -> Iterator[tuple[str, Json]]:
    for name, member in members.items():
        about = usual.of_types.get(f"{kind}.{name}") or usual.members.get(name, "")
        if name.endswith(MINOR) and name.removesuffix(MINOR) in members:
            about = IN_MINOR_UNITS.format(name=name.removesuffix(MINOR))
        shown = about and "$ref" not in member and not _is_described(member)
        yield name, member | {"description": about} if shown else member


def _is_described(schema: Json) -> bool:
    return "description" in schema or any("description" in one for one in schema.get("anyOf", ()))
