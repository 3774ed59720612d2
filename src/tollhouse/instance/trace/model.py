"""The story of an object or a request, as `tollhouse trace` prints it."""

from collections.abc import Mapping
from datetime import datetime
from typing import Literal
from uuid import UUID

from msgspec import Struct

from tollhouse.kernel.clock import Timestamp, stamp

EntryKind = Literal["request", "object", "operator", "audit", "rail", "transfer", "status", "ledger", "event", "attempt"]
ORDER: Mapping[EntryKind, int] = {
    "request": 0,
    "operator": 1,
    "audit": 2,
    "object": 3,
    "rail": 4,
    "transfer": 5,
    "status": 6,
    "ledger": 7,
    "event": 8,
    "attempt": 9,
}
"""What comes first of one moment: the cause before its effects."""


class Happening(Struct, frozen=True):
    """Something that happened. `id` is its own or its object's, `request_id` that of the request that caused it."""

    at: datetime
    kind: EntryKind
    summary: str
    id: str | None = None
    request_id: UUID | None = None


class TraceEntry(Struct, frozen=True):
    """A line of the story."""

    at: Timestamp
    kind: EntryKind
    summary: str
    id: str | None
    request_id: UUID | None


class Trace(Struct, frozen=True):
    """A story in order of time, and what it leaves out, in words."""

    entries: list[TraceEntry]
    left_out: list[str]


class LoggedCall(Struct, frozen=True, kw_only=True):
    """A request of the request log. `object_ids` are those in its path, and the object that it answered with."""

    id: UUID
    merchant_id: UUID
    created_at: datetime
    request_id: UUID
    method: str
    path: str
    status: int
    error: str | None
    duration_us: int
    credential: str
    replayed: bool
    object_ids: frozenset[UUID]


class TracedObjects(Struct, frozen=True):
    """The objects of a story: payments, their links, and all IDs by kind."""

    payments: list[UUID]
    links: list[UUID]
    others: list[UUID]
    bank_references: list[str]
    """Of payments by bank transfer."""


class ObjectRow(Struct, frozen=True):
    """An object of a story. `owner_id` is the second merchant of a balance payment."""

    kind: str
    id: UUID
    merchant_id: UUID
    owner_id: UUID | None
    mode: str
    currency: str
    amount_minor: int
    status: str
    note: str | None
    created_at: datetime
    updated_at: datetime


def entry_of(happening: Happening) -> TraceEntry:
    """A line of the story."""
    return TraceEntry(stamp(happening.at), happening.kind, happening.summary, happening.id, happening.request_id)
