"""The methods of the TypeScript SDK, one for each operation of the Integration API: `src/resources.ts`."""

import re
from collections import defaultdict
from typing import Any

from tests.sdk_typescript.document import METHODS

NAMES = {
    ("post", "/payment-links/{link_id}/expiry"): "changeExpiry",
    ("post", "/webhook/test"): "sendTest",
    ("get", "/reports/financial-summary"): "financialSummary",
    ("get", "/fulfillments/statistics"): "statistics",
    ("delete", "/webhook"): "disable",
    ("put", "/webhook"): "save",
}
"""Where the rule of `method_name` would say less."""
VERBS = {"get": "get", "post": "create", "put": "update", "patch": "update", "delete": "delete"}
HEADER = """// The operations of the Integration API, generated from its OpenAPI document by `just records`. Do not edit.

import type { Api, List } from "./api.js";
import type { RequestOptions } from "./options.js";
import { path } from "./path.js";
import type * as schema from "../types/schema.js";

type Query<Name extends keyof schema.operations> = NonNullable<schema.operations[Name]["parameters"]["query"]>;

abstract class Resource {
  constructor(protected readonly api: Api) {}
}
"""


def resources(document: dict[str, Any]) -> str:
    """The module."""
    by_resource: defaultdict[str, list[str]] = defaultdict(list)
    for path, operations in document["paths"].items():
        for method in METHODS:
            if method in operations:
                by_resource[_segments(path)[0]].append(_method(document, method, path, operations[method]))
    parts = [HEADER]
    for name, methods in sorted(by_resource.items()):
        parts.append(f"export class {_pascal(name)} extends Resource {{\n" + "\n".join(methods) + "}\n")
    members = [f"    this.{_camel(name)} = new {_pascal(name)}(api);" for name in sorted(by_resource)]
    declared = [f"  readonly {_camel(name)}: {_pascal(name)};" for name in sorted(by_resource)]
    constructor = ["  constructor(api: Api) {", *members, "  }"]
    parts.append("export class Resources {\n" + "\n".join([*declared, "", *constructor]) + "\n}\n")
    return "\n".join(parts)


def method_name(document: dict[str, Any], method: str, path: str) -> tuple[str, str]:
    """Resource and method: `GET /payment-links/{link_id}` is `paymentLinks.get`, `POST …/cancel` is `cancel`."""
    segments = _segments(path)
    resource, parts = _camel(segments[0]), [part for part in segments[1:] if not part.startswith("{")]
    if (method, path) in NAMES:
        return resource, NAMES[method, path]
    verb = "list" if method == "get" and _is_list(document["paths"][path]["get"]) else VERBS[method]
    if segments[0] == "test":
        return resource, _camel(f"{parts[-1]}-{_singular(parts[-2])}")
    if not parts:
        return resource, verb
    has_reader = "get" in document["paths"][path]
    if method == "post" and not has_reader:
        return resource, _camel(parts[-1])
    return resource, _camel(f"{verb}-{_singular(parts[-1]) if verb == 'create' else parts[-1]}")


def _method(document: dict[str, Any], method: str, path: str, operation: dict[str, Any]) -> str:
    name, parameters = method_name(document, method, path)[1], operation.get("parameters", [])
    ids = [_camel(part["name"].replace("_", "-")) for part in parameters if part["in"] == "path"]
    arguments, extras = [f"{one}: string" for one in ids], list[str]()
    template = re.sub(r"\{(\w+)\}", lambda found: "${" + _camel(found[1].replace("_", "-")) + "}", path)
    address = f"path`{template}`" if ids else f'"{path}"'
    if body := operation.get("requestBody"):
        kind = _type(body["content"]["application/json"]["schema"])
        arguments.append(f"body: {kind}" if body.get("required") else f"body: {kind} = {{}}")
        extras.append("body")
    response = next(iter(operation["responses"].values()))["content"]
    result = response["application/json"]["schema"]
    if _is_list(operation):
        listed = document["components"]["schemas"][result["$ref"].rpartition("/")[2]]
        member, items = next((key, value["items"]) for key, value in listed["properties"].items() if "items" in value)
        arguments.append(f'query: Query<"{operation["operationId"]}"> = {{}}')
        returned = f"List<{_type(result)}, {_type(items)}>"
        call = f'this.api.list({address}, "{member}", query, options)'
    else:
        if any(part["in"] == "query" for part in parameters):
            query = f'Query<"{operation["operationId"]}">'
            kind = query if len(response) == 1 else f'Omit<{query}, "format">'
            arguments.append(f"query: {kind} = {{}}")
            extras.append("query")
        if _shows_secret(document, method, result):
            extras.append("once: true")
        rest = f", {{ {', '.join(extras)} }}" if extras else ""
        returned, call = f"Promise<{_type(result)}>", f'this.api.call("{method.upper()}", {address}, options{rest})'
    arguments.append("options?: RequestOptions")
    comment = f"  /** {operation['summary']}{_scopes(operation)} */\n"
    return f"{comment}  {name}({', '.join(arguments)}): {returned} {{\n    return {call};\n  }}\n"


def _shows_secret(document: dict[str, Any], method: str, result: dict[str, Any]) -> bool:
    """A response with a new secret is never stored, so a repeated request would make another one."""
    shown = document["components"]["schemas"].get(result.get("$ref", "").rpartition("/")[2], {})
    return method in {"post", "put"} and "secret" in shown.get("properties", {})


def _scopes(operation: dict[str, Any]) -> str:
    scopes = [scope for one in operation.get("security", []) for scope in one.get("access_token", [])]
    return f" Scope: `{'` or `'.join(scopes)}`." if scopes else ""


def _is_list(operation: dict[str, Any]) -> bool:
    return any(part["name"] == "cursor" for part in operation.get("parameters", []))


def _type(schema: dict[str, Any]) -> str:
    if "anyOf" in schema:
        return " | ".join(_type(one) for one in schema["anyOf"])
    return "null" if schema.get("type") == "null" else f"schema.{schema['$ref'].rpartition('/')[2]}"


def _segments(path: str) -> list[str]:
    return path.strip("/").split("/")


def _singular(noun: str) -> str:
    return noun.removesuffix("s")


def _camel(name: str) -> str:
    first, *rest = name.split("-")
    return first + "".join(part.capitalize() for part in rest)


def _pascal(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("-"))
