"""The part of the OpenAPI document that an SDK needs: the Integration API without errors and examples, and the events."""

from collections.abc import Iterator
from typing import Any, cast

from tollhouse.instance.api import reference
from tollhouse.platform.settings import config

PREFIX = "/api/v2/integration"
METHODS = ("get", "post", "put", "patch", "delete")
BESIDE = ("ApiError", "FieldError", "TokenResponse")
"""Schemas that no operation of the Integration API returns."""
LEFT_OUT = {"example", "examples", "title"}


def sdk_document() -> dict[str, Any]:
    """Paths are relative to the root of the Integration API, responses are those of success."""
    whole = reference.read(config.load({}))
    paths = {
        path.removeprefix(PREFIX): {method: _operation(methods[method]) for method in METHODS if method in methods}
        for path, methods in whole["paths"].items()
        if path.startswith(PREFIX + "/")
    }
    events = sorted(_references(whole["webhooks"]))
    needed = _reachable(whole["components"]["schemas"], {*_references(paths), *events, *BESIDE})
    schemas = {name: _plain(schema) for name, schema in sorted(whole["components"]["schemas"].items()) if name in needed}
    schemas["Event"] = {
        "description": "An event, by its type.",
        "oneOf": [{"$ref": f"#/components/schemas/{name}"} for name in events if name.endswith("Event")],
    }
    return {"openapi": whole["openapi"], "info": whole["info"], "paths": paths, "components": {"schemas": schemas}}


def _operation(operation: dict[str, Any]) -> dict[str, Any]:
    kept = ("operationId", "summary", "description", "parameters", "requestBody", "security")
    success = {status: response for status, response in operation["responses"].items() if status.startswith("2")}
    responses = {status: {"description": "Success.", "content": one.get("content", {})} for status, one in success.items()}
    return _plain({name: operation[name] for name in kept if name in operation} | {"responses": responses})


def _plain(value: Any) -> Any:
    """A schema or an operation without its examples. A member of an object may have one of their names."""
    if isinstance(value, list):
        return [_plain(item) for item in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    members = cast("dict[str, Any]", value)
    return {name: _plain_member(name, inner) for name, inner in members.items() if name not in LEFT_OUT}


def _plain_member(name: str, inner: Any) -> Any:
    return {member: _plain(schema) for member, schema in inner.items()} if name == "properties" else _plain(inner)


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        reference_of = members.get("$ref")
        if isinstance(reference_of, str) and "/schemas/" in reference_of:
            yield reference_of.rpartition("/")[2]
        for inner in members.values():
            yield from _references(inner)
    elif isinstance(value, list):
        for inner in cast("list[Any]", value):
            yield from _references(inner)


def _reachable(schemas: dict[str, Any], names: set[str]) -> set[str]:
    found, waiting = set[str](), set(names)
    while waiting:
        name = waiting.pop()
        found.add(name)
        waiting |= set(_references(schemas[name])) - found
    return found
