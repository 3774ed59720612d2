"""What is kept of an API request, and what a merchant can look for."""

from datetime import datetime
from typing import Literal
from uuid import UUID

from msgspec import Struct

from tollhouse.kernel.clock import Timestamp
from tollhouse.kernel.ids import Mode


class Entry(Struct, frozen=True):
    """A request as it is written down, all redacted. `credential` is an API key's id or an application's client ID."""

    id: UUID
    merchant_id: UUID
    mode: Mode
    created_at: datetime
    request_id: UUID
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
    asked: str | None
    answered: str | None


class RequestsQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """What the page of requests is asked for. Empty is no filter; `before` is the last one of the page before."""

    method: Literal["", "GET", "POST", "PUT", "DELETE"] = ""
    status: Literal["", "2xx", "4xx", "5xx"] = ""
    path: str = ""
    credential: str = ""
    key: str = ""
    request_id: str = ""
    before: UUID | None = None

    @property
    def filters(self) -> dict[str, str]:
        """The filters that are set, as the address names them."""
        named = {
            "method": self.method,
            "status": self.status,
            "path": self.path,
            "credential": self.credential,
            "key": self.key,
            "request_id": self.request_id,
        }
        return {name: value for name, value in named.items() if value}


class RequestLine(Struct, frozen=True, kw_only=True):
    """A request in the list."""

    id: UUID
    created_at: Timestamp
    method: str
    path: str
    status: int
    error: str | None
    took: str
    """Milliseconds, with one decimal."""
    credential: str
    has_key: bool
    replayed: bool


class RequestView(RequestLine, frozen=True, kw_only=True):
    """A request on its own page. `twins` are the others with the same Idempotency-Key."""

    request_id: UUID
    query: str
    grant_id: UUID | None
    asked: str | None
    answered: str | None
    twins: list[RequestLine]


CredentialKind = Literal["key", "application"]


class Credential(Struct, frozen=True):
    """An API key or an application that may have asked, by the name that people gave it."""

    credential: str
    name: str
    kind: CredentialKind
