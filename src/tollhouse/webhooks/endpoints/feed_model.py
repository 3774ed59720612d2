"""The event feed: its query, its view and its errors, and which types of events a caller sees."""

from collections.abc import Collection, Iterator
from datetime import datetime
from typing import Annotated
from uuid import UUID

from msgspec import Meta, Struct

from tollhouse.accounts.identity.model import Caller
from tollhouse.http.bodies import ValidationContext
from tollhouse.kernel import messages
from tollhouse.kernel.clock import Timestamp
from tollhouse.kernel.errors import ApiError, FieldError
from tollhouse.kernel.examples import example
from tollhouse.kernel.limits import FEED_WAIT_S_MAX, PAGE_ROWS_DEFAULT, PAGE_ROWS_MAX
from tollhouse.webhooks.events.record import EVENT_TYPES, types_of

POSITION_MAX = 2**53 - 1


class FeedQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Where a reader continues, and what it asks for."""

    after: Annotated[int, Meta(ge=0, le=POSITION_MAX)] = 0
    """Position after which to read: `next` of the last response. Default: from the beginning."""
    limit: Annotated[int, Meta(ge=1, le=PAGE_ROWS_MAX)] = PAGE_ROWS_DEFAULT
    """Most events in the response."""
    types: str | None = None
    """Event types, separated by commas. Default: all."""
    wait: Annotated[int, Meta(ge=0, le=FEED_WAIT_S_MAX)] = 0
    """Seconds to wait for an event if there is none yet."""
    feed_id: str | None = None
    """`feed_id` of the first response. Another feed is refused with `feed_reset`."""

    def rule_errors(self, _context: ValidationContext) -> Iterator[FieldError]:
        """The errors of the types."""
        if self.types is not None and not {*self.types.split(",")} <= {*EVENT_TYPES}:
            yield FieldError("types", "unknown_event_type", messages.AN_EVENT_TYPE)

    @property
    def type_filter(self) -> Collection[str] | None:
        """The types to read; None for all."""
        return None if self.types is None else self.types.split(",")


class StoredEvent(Struct, frozen=True):
    """An event as it is stored."""

    id: UUID
    type: str
    created_at: datetime
    body: bytes


class FeedRow(Struct, frozen=True):
    """A position, whether its event exists, and the event if it was asked for."""

    position: int
    exists: bool
    event: StoredEvent | None


class FeedHead(Struct, frozen=True):
    """The feed of an environment: its last position, and the last one that was deleted by age."""

    feed_id: UUID
    number: int | None
    last_position: int
    expired_position: int


class FeedEvent(Struct, frozen=True):
    """An event as it is delivered."""

    position: Annotated[int, example(41)]
    """Position in the feed, from 1 without gaps."""
    id: UUID
    type: Annotated[str, example("payment.succeeded")]
    """Type of the event."""
    created_at: Timestamp
    body: Annotated[str, example('{"id":"018f0000-0000-7000-8000-000000000001","type":"payment.succeeded"}')]
    """The exact text that is delivered and signed."""
    headers: Annotated[dict[str, str], example({"webhook-id": "018f0000-0000-7000-8000-000000000001"})]
    """Signature headers, made for this response. Empty without an active secret."""


class FeedPage(Struct, frozen=True):
    """Events in the order of their positions."""

    feed_id: UUID
    """ID of the feed. It changes when the database is restored from a backup."""
    events: list[FeedEvent]
    """Events, oldest first."""
    next: Annotated[int, example(41)]
    """Last position that was examined. Send it as `after` to continue."""
    has_more: bool


class EventsExpired(ApiError):
    """410: events after this position were deleted by age. `details.oldest` is the oldest position that is left."""

    code, status = "events_expired", 410
    message = (
        "Events after this position were deleted by age. Continue before the oldest position, and read what you missed."
    )

    def __init__(self, oldest: int) -> None:
        super().__init__(members={"details": {"oldest": oldest}})


class FeedReset(ApiError):
    """409: the position or the feed is not of this database, which was restored from a backup since."""

    code, status = "feed_reset", 409
    message = "This position is not in the feed. The database may have been restored. Read your objects, then start again."


class TooManyReaders(ApiError):
    """429: too many requests of this credential wait for events."""

    code, status = "rate_limited", 429
    message = "Too many requests wait for events. Wait with fewer requests at a time."

    def __init__(self) -> None:
        super().__init__(headers={"Retry-After": "5"})


def visible_types(caller: Caller, types: Collection[str] | None = None) -> list[str] | None:
    """Of these types, or of all, those that the caller sees; None for all: an application needs the scope of the object."""
    if caller.client_id is None:
        return None if types is None else [*types]
    return [name for name in types_of(caller.scopes) if types is None or name in types]
