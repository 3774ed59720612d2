"""The event feed of the Integration API."""

from msgspec import structs

from tollhouse.accounts.identity.guards import scope
from tollhouse.accounts.identity.model import Caller
from tollhouse.http.operations import INTEGRATION, Operations
from tollhouse.http.request import Request
from tollhouse.kernel import messages
from tollhouse.kernel.errors import FieldError, ValidationFailed
from tollhouse.webhooks.endpoints import feed
from tollhouse.webhooks.endpoints.feed_model import (
    POSITION_MAX,
    EventsExpired,
    FeedPage,
    FeedQuery,
    FeedReset,
    TooManyReaders,
)

OPERATIONS = Operations(INTEGRATION)
READ = scope("webhooks:read")
LAST_EVENT_ID = "last-event-id"


@OPERATIONS.add(
    "GET",
    "/events",
    guard=READ,
    errors=(ValidationFailed, FeedReset, EventsExpired, TooManyReaders),
    responses=FeedPage,
    formats=(feed.EVENT_STREAM,),
)
async def read_feed(caller: Caller, query: FeedQuery, request: Request) -> FeedPage | feed.EventStream:
    """Read the event feed. Events of the environment in the order of their positions, oldest first.

    With `Accept: text/event-stream`, events are streamed as they happen; `id` is the position, and `Last-Event-ID` resumes.
    """
    if feed.EVENT_STREAM not in (request.headers.get("accept") or ""):
        return await feed.read_within(request, READ, caller, query)
    query = _resumed(request, query)
    first = await feed.read_now(request.services, feed.FeedReading.of(caller, query), request.now)
    return feed.EventStream(request, READ, caller, query, first)


def _resumed(request: Request, query: FeedQuery) -> FeedQuery:
    """The query from the last position that the client has seen. Raises `ValidationFailed`."""
    last = request.headers.get(LAST_EVENT_ID)
    if last is None:
        return query
    if not (last.isascii() and last.isdecimal() and len(last) <= len(str(POSITION_MAX))):
        raise ValidationFailed(FieldError("Last-Event-ID", "invalid_value", messages.A_WHOLE_NUMBER))
    return structs.replace(query, after=int(last))
