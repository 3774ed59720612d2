"""The reference: the table of operations as an OpenAPI 3.1 document."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from tollhouse.kernel.limits import IDEMPOTENCY_KEY_CHARS_MAX
from tollhouse.kernel.refusals import Refusal
from tollhouse.web.forms import FORM
from tollhouse.web.openapi_answers import HEADERS, JSON, Admission, answer_type, refusals, refused, success
from tollhouse.web.openapi_schemas import Json, Schemas, query_parameters
from tollhouse.web.operations import Operation


def document(
    operations: Sequence[Operation],
    *,
    base_url: str,
    security_schemes: Json,
    admission: Callable[[Operation], Admission],
    keeper_refuses: Sequence[type[Refusal]],
) -> Json:
    """The document of these operations, each named as its handler; of two with one name, the second after its door too."""
    schemas = Schemas(
        sent=(kind for one in operations for kind in (one.body, _form(one)) if kind is not None),
        answered=(kind for one in operations if (kind := answer_type(one)) is not None),
    )
    paths: dict[str, Json] = {}
    names: set[str] = set()
    for operation in operations:
        name = operation.handler.__name__
        name = f"{operation.door.name}_{name}" if name in names else name
        names.add(name)
        shown = {"operationId": name, **_operation(operation, schemas, admission(operation), keeper_refuses)}
        paths.setdefault(operation.full_path, {})[operation.method.lower()] = shown
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Tollhouse",
            "version": "v2",
            "description": "A self-hosted payment platform for merchants. Every answer carries X-Request-Id.",
        },
        "servers": [{"url": base_url}],
        "paths": paths,
        "components": {"schemas": schemas.components, "headers": HEADERS, "securitySchemes": security_schemes},
    }


def _operation(operation: Operation, schemas: Schemas, admission: Admission, of_keys: Sequence[type[Refusal]]) -> Json:
    summary, _, more = (inspect.getdoc(operation.handler) or "").partition("\n")
    answered = answer_type(operation)
    shown: Json = {
        "tags": [operation.door.name],
        "summary": summary,
        "security": list(admission.security),
        "parameters": _parameters(operation),
        "responses": {str(operation.status): success(operation, None if answered is None else schemas.of(answered))},
    }
    if more.strip():
        shown["description"] = more.strip()
    for media_type, kind in ((JSON, operation.body), (FORM, _form(operation))):
        if kind is not None:
            required = kind is not operation.accepts or not operation.body_optional
            shown["requestBody"] = {"required": required, "content": {media_type: {"schema": schemas.of(kind)}}}
    for status, kinds in refusals(operation, admission, of_keys).items():
        shown["responses"][str(status.value)] = refused(status, kinds)
    return shown


def _form(operation: Operation) -> Any:
    return operation.reads if operation.method == "POST" else None


def _parameters(operation: Operation) -> list[Json]:
    found = [
        _path_parameter(part[1:-1], is_uuid=part[1:-1] in operation.uuids)
        for part in operation.path.split("/")
        if part.startswith("{")
    ]
    query = operation.reads if operation.method == "GET" and operation.reads is not None else operation.query
    if query is not None:
        found += query_parameters(query)
    if operation.idempotency != "no":
        found.append(_idempotency_key(required=operation.idempotency == "required"))
    return found


def _path_parameter(name: str, *, is_uuid: bool) -> Json:
    schema = {"type": "string", "format": "uuid"} if is_uuid else {"type": "string", "minLength": 1}
    return {"name": name, "in": "path", "required": True, "schema": schema}


def _idempotency_key(*, required: bool) -> Json:
    schema = {"type": "string", "pattern": "^[!-~]+$", "minLength": 1, "maxLength": IDEMPOTENCY_KEY_CHARS_MAX}
    description = "Names this deed: sent again, it is answered as the first time and not done again."
    return {"name": "Idempotency-Key", "in": "header", "required": required, "description": description, "schema": schema}
