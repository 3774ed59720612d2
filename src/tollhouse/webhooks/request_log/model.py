"""Logged requests, and the filters of their page."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

import msgspec
from msgspec import Meta, Struct

from tollhouse.kernel.clock import Timestamp
from tollhouse.kernel.examples import example
from tollhouse.kernel.ids import Mode
from tollhouse.kernel.limits import PAGE_ROWS_DEFAULT, PAGE_ROWS_MAX


class LoggedRequest(Struct, frozen=True):
    """A request as stored, redacted. `credential` is an API key's id or a client ID. In the order of `INSERT`.

    `id` and `request_id` are UUIDs.
    """

    id: str
    merchant_id: UUID
    mode: Mode
    created_at: datetime
    request_id: str
    method: str
    path: str
    query: str
    status: int
    error: str | None
    duration_us: int
    credential: str
    grant_id: UUID | None
    key_hash: bytes | None
    replayed: bool
    request_body: str | None
    response_body: str | None


class RequestsQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """The query of the list. Empty matches all; `before` is the last request of the previous page."""

    method: Literal["", "GET", "POST", "PUT", "DELETE"] = ""
    status: Literal["", "2xx", "4xx", "5xx"] = ""
    path: str = ""
    credential: str = ""
    key: str = ""
    request_id: str = ""
    before: UUID | None = None

    @property
    def filters(self) -> dict[str, str]:
        """The filters that are set, by parameter name."""
        values = msgspec.structs.asdict(self)
        return {name: values[name] for name in values if name != "before" and values[name]}


class OwnRequestsQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """The query of a credential that reads the log."""

    limit: Annotated[int, Meta(ge=1, le=PAGE_ROWS_MAX)] = PAGE_ROWS_DEFAULT
    """Most requests in the response."""
    before: UUID | None = None
    """ID of the last request of the page before. Default: from the newest."""


class OwnRequest(Struct, frozen=True):
    """A request in the log, without what was sent and answered."""

    id: UUID
    created_at: Timestamp
    request_id: UUID
    """ID of the request in its response, or the one that the client sent."""
    method: Annotated[str, example("POST")]
    """HTTP method of the request."""
    path: Annotated[str, example("/payment-links")]
    """Path below the Integration API."""
    status: Annotated[int, example(201)]
    """HTTP status of the response."""
    error: Annotated[str | None, example(None)]
    """Error code of the response; null without an error."""
    duration_ms: Annotated[int, example(12)]
    """How long the service took, in milliseconds."""
    replayed: Annotated[bool, example(False)]
    """Whether the response was that of an earlier request with the same `Idempotency-Key`."""


class OwnRequests(Struct, frozen=True):
    """Requests of the log, newest first."""

    requests: list[OwnRequest]
    """Requests, newest first."""
    has_more: bool


class RequestRow(Struct, frozen=True, kw_only=True):
    """A request in the list."""

    id: UUID
    created_at: Timestamp
    method: str
    path: str
    status: int
    error: str | None
    duration_ms: str
    """With one decimal."""
    credential: str
    has_key: bool
    replayed: bool


class RequestView(RequestRow, frozen=True, kw_only=True):
    """A request on its own page. `same_key` are the others with its Idempotency-Key."""

    request_id: UUID
    query: str
    grant_id: UUID | None
    request_body: str | None
    response_body: str | None
    same_key: list[RequestRow]


class CausingRequest(Struct, frozen=True):
    """A request that changed an object, and when."""

    id: UUID
    created_at: datetime
    method: str
    path: str


CredentialKind = Literal["key", "application"]


class CredentialLabel(Struct, frozen=True):
    """An API key or application with its name."""

    credential: str
    name: str
    kind: CredentialKind
