"""Responses of the OpenAPI document: success and every error of each operation, by status."""

from collections.abc import Iterable, Sequence
from http import HTTPStatus
from typing import Any, get_args

from msgspec import Struct
from starlette.responses import Response

from tollhouse.http.dispatch import IdempotencyKeyInvalid, IdempotencyKeyRequired
from tollhouse.http.lists import PageTooDeep
from tollhouse.http.openapi_schemas import ERROR_RESPONSE, REF, Json
from tollhouse.http.operations import INTEGRATION, Operation
from tollhouse.kernel.errors import (
    ApiError,
    InvalidRequest,
    NotFound,
    PayloadTooLarge,
    ServerError,
    TemporarilyUnavailable,
    UnsupportedMediaType,
    ValidationFailed,
)

EXAMPLE = "#/components/examples/{name}"
REQUEST_ID = "019a8f6e-2d4b-7c31-9e55-0a1b2c3d4e5f"
EXTRA_MEMBERS: Json = {
    "validation_failed": {
        "errors": [{"field": "amount", "code": "missing", "message": "This field is required."}],
    },
    "missing_scope": {"scope": "payments:write"},
}
"""Additional members of some codes."""
JSON = "application/json"
HEADERS: Json = {
    "X-Request-Id": {
        "description": "Identifies this request, also in the server's log.",
        "schema": {"type": "string", "format": "uuid"},
    },
    "Location": {"description": "The address to which the browser is redirected.", "schema": {"type": "string"}},
    "Retry-After": {"description": "Seconds to wait before trying again.", "schema": {"type": "string"}},
    "WWW-Authenticate": {
        "description": "The authentication scheme and the reason of the error.",
        "schema": {"type": "string"},
    },
    "RateLimit-Policy": {
        "description": "The limit of requests of the credential: `q` in `w` seconds.",
        "schema": {"type": "string", "examples": ['"api";q=1000;w=60']},
    },
    "RateLimit": {
        "description": "Requests that are left (`r`) until the count starts again in `t` seconds.",
        "schema": {"type": "string", "examples": ['"api";r=958;t=13']},
    },
    "Deprecation": {"description": "Time since which this operation is deprecated.", "schema": {"type": "string"}},
    "Link": {"description": "Link to the replacement.", "schema": {"type": "string"}},
    "Idempotency-Replayed": {
        "description": "Present if this is the stored response of the first request with this key.",
        "schema": {"enum": ["true"]},
    },
}
AT_STATUS = {
    HTTPStatus.SEE_OTHER: "Location",
    HTTPStatus.UNAUTHORIZED: "WWW-Authenticate",
    HTTPStatus.TOO_MANY_REQUESTS: "Retry-After",
    HTTPStatus.SERVICE_UNAVAILABLE: "Retry-After",
}
BODILESS = frozenset({HTTPStatus.NO_CONTENT, HTTPStatus.SEE_OTHER})


class ErrorComponents:
    """The components of errors, collected while operations are described."""

    def __init__(self, base_url: str) -> None:
        self._base_url = base_url
        self.schemas: Json = {}
        self.examples: Json = {}
        self._named: dict[tuple[str, str], str] = {}

    def content(self, kinds: Iterable[type[ApiError]]) -> Json:
        """The error schema with the codes that are possible here. `kinds` have one status and different codes."""
        kinds = tuple(kinds)
        shapes = [{"$ref": REF.format(name=self._schema(kind))} for kind in kinds]
        return {
            "schema": shapes[0] if len(shapes) == 1 else {"anyOf": shapes},
            "examples": {kind.code: {"$ref": EXAMPLE.format(name=self._example(kind))} for kind in kinds},
        }

    def _schema(self, kind: type[ApiError]) -> str:
        name = f"{kind.code.title().replace('_', '')}Refusal"
        body = {"type": "object", "properties": {"error": {"type": "string", "enum": [kind.code]}}}
        self.schemas.setdefault(name, {"allOf": [{"$ref": REF.format(name=ERROR_RESPONSE)}, body]})
        return name

    def _example(self, kind: type[ApiError]) -> str:
        """The name of an example. A second message of one code is numbered."""
        message = str(kind.message)
        known = self._named.get((kind.code, message))
        if known is not None:
            return known
        count = sum(code == kind.code for code, _ in self._named)
        name = kind.code if count == 0 else f"{kind.code}_{count + 1}"
        body: Json = {"error": kind.code, "error_description": message, "request_id": REQUEST_ID}
        body["doc_url"] = kind.doc_url(self._base_url)
        self._named[kind.code, message] = name
        self.examples[name] = {"summary": message, "value": body | EXTRA_MEMBERS.get(kind.code, {})}
        return name


class Admission(Struct, frozen=True):
    """The security requirements of a guard and its errors."""

    security: tuple[dict[str, tuple[str, ...]], ...] = ()
    errors: tuple[type[ApiError], ...] = ()


def possible_errors(
    operation: Operation, admission: Admission, of_keys: Sequence[type[ApiError]]
) -> dict[HTTPStatus, list[type[ApiError]]]:
    """The errors of an operation by status, each code once. `of_keys` are those of the Idempotency-Key."""
    found: dict[HTTPStatus, dict[str, type[ApiError]]] = {}
    for error in (
        *admission.errors,
        *operation.errors,
        *_of_decoding(operation),
        *(of_keys if operation.idempotency != "no" else ()),
        ServerError,
        TemporarilyUnavailable,
    ):
        found.setdefault(HTTPStatus(error.status), {}).setdefault(error.code, error)
    return {status: list(found[status].values()) for status in sorted(found)}


def success(operation: Operation, schema: Json | None, example: Any = None) -> Json:
    """The success response; it has no body if there is no schema."""
    replayable = operation.idempotency != "no"
    more = ["Deprecation", "Link"] if operation.deprecated is not None else []
    counted = ["RateLimit-Policy", "RateLimit"] if operation.surface == INTEGRATION else []
    named = [*(["Idempotency-Replayed"] if replayable else []), *more, *counted]
    response = _answer(HTTPStatus(operation.status), "Success.", named)
    if schema is not None:
        shown = {JSON: {"schema": schema, "example": example}}
        for kind in operation.formats:
            shown[kind] = {"schema": {"type": "string"}} if kind.startswith("text/") else shown[JSON]
        response["content"] = shown
    return response


def refused(status: HTTPStatus, kinds: Sequence[type[ApiError]], errors: ErrorComponents) -> Json:
    """The error response with the codes that are possible here."""
    response = _answer(status, "\n".join(f"- `{kind.code}`: {kind.message}" for kind in kinds))
    response["content"] = {JSON: errors.content(kinds)}
    return response


def response_type(operation: Operation) -> Any:
    """The type of a success response; None if it has no body. Raises `TypeError` if it is not declared."""
    if operation.status in BODILESS:
        return None
    if Response in {operation.response, *get_args(operation.response)}:
        raise TypeError(f"{operation.handler.__qualname__} returns a Response: declare what it answers")
    return operation.response


def _of_decoding(operation: Operation) -> list[type[ApiError]]:
    found: list[type[ApiError]] = []
    if "{" in operation.path:
        found.append(NotFound)
    if operation.method != "GET":
        found.append(PayloadTooLarge)
    if operation.accepts is not None:
        found += [InvalidRequest, UnsupportedMediaType, ValidationFailed]
    if operation.query is not None:
        found += [InvalidRequest, ValidationFailed]
    if "page" in operation.needs:
        found.append(PageTooDeep)
    if operation.reads is not None:
        found.append(InvalidRequest)
    if operation.idempotency != "no":
        found += [InvalidRequest, IdempotencyKeyInvalid]
    if operation.idempotency == "required":
        found.append(IdempotencyKeyRequired)
    return found


def _answer(status: HTTPStatus, description: str, headers: Sequence[str] = ()) -> Json:
    named = ["X-Request-Id", *headers, *([AT_STATUS[status]] if status in AT_STATUS else [])]
    return {"description": description, "headers": {name: {"$ref": f"#/components/headers/{name}"} for name in named}}
