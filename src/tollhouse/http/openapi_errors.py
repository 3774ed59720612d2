"""Errors of the OpenAPI document: each code once as a schema, each message once as an example."""

from collections.abc import Iterable

from tollhouse.http.openapi_schemas import ERROR_RESPONSE, REF, Json
from tollhouse.kernel.errors import ApiError

EXAMPLE = "#/components/examples/{name}"
REQUEST_ID = "019a8f6e-2d4b-7c31-9e55-0a1b2c3d4e5f"
EXTRA_MEMBERS: Json = {
    "validation_failed": {
        "errors": [{"field": "amount", "code": "missing", "message": "This field is required."}],
    },
    "missing_scope": {"scope": "payments:write"},
}
"""Additional members of some codes."""


class ErrorComponents:
    """The components of errors, collected while operations are described."""

    def __init__(self) -> None:
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
        self._named[kind.code, message] = name
        self.examples[name] = {"summary": message, "value": body | EXTRA_MEMBERS.get(kind.code, {})}
        return name
