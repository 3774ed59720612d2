"""The operations that tools can call: those of the Integration API, without webhooks and settings.

They are read from the OpenAPI document of this service, so a new operation is there when it is documented.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from msgspec import Struct

from tollhouse.http.operations import INTEGRATION

Json = dict[str, Any]
WITHHELD = ("webhooks:", "settings:")
"""How scopes begin whose operations no tool has: what is told to whom, and the rules of the account."""
WITHHELD_MEMBERS = frozenset({"webhook_url"})
"""Members of bodies that tools do not take: where events are sent is not an agent's to choose."""
PROPOSALS = f"{INTEGRATION.prefix}/proposals"
PROPOSED: Mapping[str, str] = {
    "request_withdrawal": "withdrawals",
    "request_refund": "refunds",
    "make_balance_payment": "balance_payments",
    "convert": "conversions",
    "order_fulfillment": "fulfillments",
}
"""Operations that can be proposed, with their name in a proposal."""
SEGMENT = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""What may stand for a `{name}` of a path: an ID or a currency."""
WORD = re.compile(r"[a-z0-9]+")
OWN_CURSOR = frozenset({"page", "cursor"})
"""Parameters of lists that a tool has an argument for."""
NOT_FOR_AGENTS = frozenset({"examples", "example", "title", "x-enumDescriptions"})


class ToolOperation(Struct, frozen=True):
    """An operation. `parameters` are the schemas of those in the path and in the query, `body` is that of the body."""

    name: str
    method: str
    path: str
    scopes: tuple[str, ...]
    summary: str
    parameters: Mapping[str, Json]
    required: tuple[str, ...]
    in_path: tuple[str, ...]
    body: Json | None
    words: frozenset[str]

    @property
    def tool(self) -> str:
        """The tool that calls it."""
        return "read" if self.method == "GET" else "act"

    def matches(self, wanted: Iterable[str]) -> int:
        """How many of these words describe it. The beginning of a word is enough."""
        return sum(any(word.startswith(start) for word in self.words) for start in wanted)

    @property
    def is_paged(self) -> bool:
        """Whether it has a cursor and a limit."""
        return "limit" in self.parameters

    @property
    def input_schema(self) -> Json:
        """The schema of the arguments `parameters` and `body` of a tool."""
        shown = {name: schema for name, schema in self.parameters.items() if name not in OWN_CURSOR}
        members: Json = {}
        if shown:
            members["parameters"] = _object(shown, self.required)
        if self.body is not None:
            members["body"] = self.body
        return _object(members, ["parameters"] if self.required else [])


class OperationTable:
    """The operations by name."""

    def __init__(self, document: Json) -> None:
        self._operations = {operation.name: operation for operation in _operations(document)}
        self._fixed = {path for path in document["paths"] if "{" not in path}

    def get(self, name: str) -> ToolOperation | None:
        """The operation of this name."""
        return self._operations.get(name)

    def search(self, words: str) -> list[ToolOperation]:
        """Operations with some of these words, those with most first; all of them without words."""
        wanted = [_stem(word) for word in WORD.findall(words.lower())]
        if not wanted:
            return list(self._operations.values())
        found = [(operation.matches(wanted), operation) for operation in self._operations.values()]
        found = sorted((pair for pair in found if pair[0]), key=lambda pair: (-pair[0], len(pair[1].path)))
        return [operation for _, operation in found]

    def path(self, operation: ToolOperation, parameters: Mapping[str, Any]) -> str | None:
        """The path of a call; None if a value in it is no ID, or if it would be the path of another operation."""
        path = operation.path
        for name in operation.in_path:
            value = parameters.get(name)
            if not isinstance(value, str) or not SEGMENT.fullmatch(value):
                return None
            path = path.replace(f"{{{name}}}", value)
        return None if operation.in_path and path in self._fixed else path


def _operations(document: Json) -> Iterator[ToolOperation]:
    schemas = document["components"]["schemas"]
    for path, methods in document["paths"].items():
        for method, shown in methods.items():
            scopes = tuple(shown.get("x-scopes", ()))
            is_withheld = bool(scopes) and all(scope.startswith(WITHHELD) for scope in scopes)
            if INTEGRATION.name not in shown["tags"] or is_withheld or (path, method) == (PROPOSALS, "post"):
                continue
            yield _operation(path, method.upper(), scopes, shown, schemas)


def _operation(path: str, method: str, scopes: tuple[str, ...], shown: Json, schemas: Json) -> ToolOperation:
    parameters = [parameter for parameter in shown["parameters"] if parameter.get("in") in {"path", "query"}]
    content = shown.get("requestBody", {}).get("content", {}).get("application/json")
    words = " ".join([shown["operationId"], path.removeprefix(INTEGRATION.prefix), shown["summary"], *scopes])
    return ToolOperation(
        name=shown["operationId"],
        method=method,
        path=path,
        scopes=scopes,
        summary=shown["summary"],
        parameters={
            parameter["name"]: _described(_resolved(parameter["schema"], schemas), parameter) for parameter in parameters
        },
        required=tuple(parameter["name"] for parameter in parameters if parameter["required"]),
        in_path=tuple(parameter["name"] for parameter in parameters if parameter["in"] == "path"),
        body=None if content is None else _resolved(content["schema"], schemas),
        words=frozenset(_stem(word) for word in WORD.findall(words.lower())),
    )


def _stem(word: str) -> str:
    """A word without its plural."""
    return word.removesuffix("s")


def _object(members: Mapping[str, Json], required: Iterable[str]) -> Json:
    shown: Json = {"type": "object", "properties": dict(members), "additionalProperties": False}
    return shown | {"required": list(required)} if required else shown


def _described(schema: Json, parameter: Json) -> Json:
    return schema | ({"description": parameter["description"]} if "description" in parameter else {})


def _resolved(value: Any, schemas: Json) -> Any:
    """A schema without references and examples. No type of a request contains itself."""
    if isinstance(value, list):
        return [_resolved(item, schemas) for item in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    schema = cast("Json", value)
    if "$ref" in schema:
        return _resolved(schemas[schema["$ref"].rpartition("/")[2]], schemas)
    if isinstance(schema.get("properties"), dict):  # a member may be called as what is left out
        shown = {name: member for name, member in schema["properties"].items() if name not in WITHHELD_MEMBERS}
        members = {name: _resolved(member, schemas) for name, member in shown.items()}
        schema = schema | {"properties": members}
        return {name: item for name, item in schema.items() if name not in NOT_FOR_AGENTS}
    return {name: _resolved(item, schemas) for name, item in schema.items() if name not in NOT_FOR_AGENTS}
