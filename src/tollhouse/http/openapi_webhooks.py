"""Webhooks of the OpenAPI document: each event type as the request that a receiver gets."""

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct, field

from tollhouse.http.openapi_schemas import REF, Examples, Json, Schemas
from tollhouse.kernel.examples import example_id

HEAD: Json = {
    "id": {"type": "string", "format": "uuid", "description": "ID of the event; the same for every attempt."},
    "type": {"type": "string"},
    "created_at": {"type": "string", "format": "date-time", "description": "When it happened."},
    "mode": {"type": "string", "enum": ["live", "test"], "description": "Environment of the object."},
    "livemode": {"type": "boolean", "description": "Whether the object is in the live environment."},
    "api_version": {"type": "string", "enum": ["v2"], "description": "Version of the payload."},
    "sequence": {"type": "integer", "description": "Increases with each event of the same object.", "examples": [1]},
}
SIGNED = "Lowercase hexadecimal HMAC-SHA256 of the raw body, with the signing secret as its key."
SENT_HEADERS: Mapping[str, tuple[str, Json]] = {
    "X-Service-Event-Id": ("ID of the event, as `id` in the body.", {"type": "string", "format": "uuid"}),
    "X-Service-Event-Type": ("Type of the event, as `type` in the body.", {"type": "string"}),
    "X-Service-Position": (
        "Position in the event feed. `webhook.test` has none.",
        {"type": "string", "pattern": "^[1-9][0-9]*$"},
    ),
    "X-Service-Mode": ("The environment.", {"type": "string", "enum": ["live", "test"]}),
    "X-Service-Attempt": ("Number of the attempt, starting with 1.", {"type": "string", "pattern": "^[1-9][0-9]*$"}),
    "X-Service-Signature": (SIGNED, {"type": "string", "pattern": "^[0-9a-f]{64}$"}),
    "webhook-id": ("ID of the event, for Standard Webhooks.", {"type": "string", "format": "uuid"}),
    "webhook-timestamp": ("When this attempt was signed, in seconds since 1970.", {"type": "string"}),
    "webhook-signature": ("Signature for Standard Webhooks.", {"type": "string", "pattern": "^v1,"}),
}
OPTIONAL = {"X-Service-Position"}
PARAMETERS: Json = {
    name: {"name": name, "in": "header", "required": name not in OPTIONAL, "description": about, "schema": schema}
    for name, (about, schema) in SENT_HEADERS.items()
}
RESPONSES: Json = {
    "2XX": {"description": "Accepted. The response headers must arrive within 10 seconds; the body is ignored."},
    "default": {"description": "The attempt failed; a redirect is a failure. Retried in live mode."},
}


class EventSpec(Struct, frozen=True, kw_only=True):
    """An event type: when it is sent, the types of its object, and further members.

    `after` names the operations whose objects it reports about: what they do at once, and what follows from it later.
    """

    type: str
    description: str
    objects: tuple[Any, ...]
    after: tuple[str, ...]
    beside: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def kinds(self) -> tuple[Any, ...]:
        """Every type in the payload."""
        return (*self.objects, *self.beside.values())

    @property
    def schema_name(self) -> str:
        """`PaymentSucceededEvent`."""
        return f"{self.type.replace('.', '_').title().replace('_', '')}Event"


def event_schemas(specs: Iterable[EventSpec], schemas: Schemas) -> Json:
    """The payload of each event by schema name."""
    return {spec.schema_name: _payload(spec, schemas) for spec in specs}


def webhooks(specs: Iterable[EventSpec], examples: Examples) -> Json:
    """The webhook requests by event type."""
    return {spec.type: {"post": _request(spec, examples)} for spec in specs}


def _payload(spec: EventSpec, schemas: Schemas) -> Json:
    objects = [schemas.of(kind) for kind in spec.objects]
    shown = objects[0] if len(objects) == 1 else {"anyOf": objects}
    data: Json = {"object": shown | {"description": "The object after the change."}}
    data |= {name: schemas.of(kind) | {"description": "What caused the change."} for name, kind in spec.beside.items()}
    members = HEAD | {
        "type": {"type": "string", "enum": [spec.type], "description": "Type of the event."},
        "data": {"type": "object", "properties": data, "required": list(data), "description": "What happened."},
    }
    return {"type": "object", "description": spec.description, "properties": members, "required": list(members)}


def _request(spec: EventSpec, examples: Examples) -> Json:
    schema = {"$ref": REF.format(name=spec.schema_name)}
    example = examples.of(schema) | {"id": example_id("event_id")}
    return {
        "operationId": f"receive_{spec.type.replace('.', '_')}",
        "summary": spec.type,
        "description": spec.description,
        "security": [],
        "parameters": [{"$ref": f"#/components/parameters/{name}"} for name in SENT_HEADERS],
        "requestBody": {"required": True, "content": {"application/json": {"schema": schema, "example": example}}},
        "responses": RESPONSES,
    }
