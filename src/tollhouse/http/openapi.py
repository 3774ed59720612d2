"""The OpenAPI 3.1 document of the operations and webhook events."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from tollhouse.http.forms import FORM
from tollhouse.http.openapi_responses import (
    HEADERS,
    JSON,
    Admission,
    ErrorComponents,
    possible_errors,
    refused,
    response_type,
    success,
)
from tollhouse.http.openapi_schemas import (
    Examples,
    ExampleValues,
    Json,
    Schemas,
    UsualDescriptions,
    described,
    described_parameters,
    query_parameters,
    with_meanings,
)
from tollhouse.http.openapi_webhooks import PARAMETERS, EventSpec, event_schemas, webhooks
from tollhouse.http.operations import Operation
from tollhouse.kernel.errors import ApiError
from tollhouse.kernel.examples import example_id
from tollhouse.kernel.limits import IDEMPOTENCY_KEY_CHARS_MAX


class ReferenceSource(Struct, frozen=True, kw_only=True):
    """The sources of a document. `surfaces` has the description of each by name; `admission` describes a guard."""

    operations: Sequence[Operation]
    surfaces: Mapping[str, str]
    event_specs: Sequence[EventSpec]
    usual: ExampleValues
    descriptions: UsualDescriptions
    security_schemes: Json
    admission: Callable[[Operation], Admission]
    idempotency_errors: Sequence[type[ApiError]]


def document(source: ReferenceSource, base_url: str) -> Json:
    """The document. Operation ids are handler names; of two equal ones, the second also has the surface."""
    schemas = Schemas(
        sent=(kind for operation in source.operations for kind in (operation.body, _form(operation)) if kind is not None),
        answered=(
            *(kind for operation in source.operations if (kind := response_type(operation)) is not None),
            *(kind for event_spec in source.event_specs for kind in event_spec.kinds),
        ),
    )
    schemas.components |= event_schemas(source.event_specs, schemas)
    parts = _Parts(source, schemas, Examples(schemas.components, source.usual), ErrorComponents(base_url))
    paths: dict[str, Json] = {}
    names: set[str] = set()
    for operation in source.operations:
        name = operation.handler.__name__
        name = f"{operation.surface.name}_{name}" if name in names else name
        names.add(name)
        paths.setdefault(operation.full_path, {})[operation.method.lower()] = _operation(operation, name, parts)
    shown: Json = {
        "openapi": "3.1.0",
        "info": {
            "title": "Tollhouse",
            "version": "v2",
            "description": "A self-hosted payment platform for merchants. Every response has the X-Request-Id header.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "externalDocs": {"url": f"{base_url}/docs", "description": "Documentation"},
        "servers": [{"url": base_url}],
        "tags": [{"name": name, "description": about} for name, about in source.surfaces.items()],
        "paths": paths,
        "webhooks": webhooks(source.event_specs, parts.examples),
        "components": {
            "schemas": described(schemas.components, source.descriptions) | parts.errors.schemas,
            "examples": parts.errors.examples,
            "parameters": PARAMETERS,
            "headers": HEADERS,
            "securitySchemes": source.security_schemes,
        },
    }
    return with_meanings(shown, {event_spec.type: event_spec.description for event_spec in source.event_specs})


class _Parts(Struct, frozen=True):
    """The shared parts of operation objects."""

    source: ReferenceSource
    schemas: Schemas
    examples: Examples
    errors: ErrorComponents


def _operation(operation: Operation, name: str, parts: _Parts) -> Json:
    summary, _, more = (inspect.getdoc(operation.handler) or "").partition("\n")
    admission = parts.source.admission(operation)
    shown: Json = {
        "operationId": name,
        "tags": [operation.surface.name],
        "summary": summary,
        "security": list(admission.security),
        "parameters": described_parameters(_parameters(operation, parts.source.usual), parts.source.descriptions),
        "responses": {str(operation.status): _success(operation, parts)},
    }
    scopes = {scope for alternative in admission.security for scope in alternative.get("access_token", ())}
    events = [event_spec.type for event_spec in parts.source.event_specs if operation.handler.__name__ in event_spec.after]
    shown |= {name: values for name, values in (("x-scopes", sorted(scopes)), ("x-events", events)) if values}
    if more.strip():
        shown["description"] = more.strip()
    if operation.deprecated is not None:
        shown["deprecated"] = True
    for media_type, kind in ((JSON, operation.body), (FORM, _form(operation))):
        if kind is not None:
            required = kind is not operation.accepts or not operation.body_optional
            schema = parts.schemas.of(kind)
            content = {media_type: {"schema": schema, "example": parts.examples.of(schema)}}
            shown["requestBody"] = {"required": required, "content": content}
    possible = possible_errors(operation, admission, parts.source.idempotency_errors)
    for status, kinds in possible.items():
        shown["responses"][str(status.value)] = refused(status, kinds, parts.errors)
    return shown


def _success(operation: Operation, parts: _Parts) -> Json:
    answered = response_type(operation)
    if answered is None:
        return success(operation, None)
    schema = parts.schemas.of(answered)
    return success(operation, schema, parts.examples.of(schema))


def _form(operation: Operation) -> Any:
    return operation.reads if operation.method == "POST" else None


def _parameters(operation: Operation, usual: ExampleValues) -> list[Json]:
    found = [
        _path_parameter(part[1:-1], usual, is_uuid=part[1:-1] in operation.uuids)
        for part in operation.path.split("/")
        if part.startswith("{")
    ]
    query = operation.reads if operation.method == "GET" and operation.reads is not None else operation.query
    if query is not None:
        found += query_parameters(query)
    if operation.headers is not None:
        found += [parameter | {"in": "header"} for parameter in query_parameters(operation.headers)]
    if operation.idempotency != "no":
        found.append(_idempotency_key(required=operation.idempotency == "required"))
    return found


def _path_parameter(name: str, usual: ExampleValues, *, is_uuid: bool) -> Json:
    schema = {"type": "string", "format": "uuid"} if is_uuid else {"type": "string", "minLength": 1}
    example = example_id(name) if is_uuid else usual.members.get(name, name)
    return {"name": name, "in": "path", "required": True, "schema": schema, "example": example}


def _idempotency_key(*, required: bool) -> Json:
    schema = {"type": "string", "pattern": "^[!-~]+$", "minLength": 1, "maxLength": IDEMPOTENCY_KEY_CHARS_MAX}
    description = (
        "Identifies this action. A repeated request with the same key returns the first response and changes nothing."
    )
    return {"name": "Idempotency-Key", "in": "header", "required": required, "description": description, "schema": schema}
