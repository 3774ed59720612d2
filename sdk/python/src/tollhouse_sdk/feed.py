"""Events read from the feed, in their order and without gaps, instead of or beside webhooks."""

import json
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from tollhouse_sdk.checkpoints import Checkpoint, Position, SqlCheckpoint
from tollhouse_sdk.client import AsyncTollhouse, Tollhouse
from tollhouse_sdk.requests import Requests
from tollhouse_sdk.steps import Flow, run

if TYPE_CHECKING:
    from tollhouse_sdk.generated.models import Event

WAIT_MAX_S = 30
MARGIN_S = 30.0
"""How much longer than the service waits, the client waits for its response."""


@dataclass(frozen=True)
class FeedEvent:
    """An event of the feed. `body` is the text that webhooks deliver, `headers` are its signature, made when it was read."""

    position: int
    id: str
    type: str
    created_at: str
    body: str
    headers: dict[str, str]

    @property
    def payload(self) -> "Event":
        """The body, decoded."""
        return cast("Event", json.loads(self.body))


@dataclass(frozen=True)
class FeedPage:
    """Events up to `next`, the last position that was examined."""

    feed_id: str
    events: Sequence[FeedEvent]
    next: int
    has_more: bool


@dataclass(frozen=True)
class Reading:
    """What is read: the types (all, where none is named), how many at once, and how long to wait for the next event."""

    types: Sequence[str] = ()
    limit: int = 100
    wait_s: int = WAIT_MAX_S

    def page(self, requests: Requests, after: Position, *, waits: bool) -> Flow[FeedPage]:
        """What comes after a position. The feed that the position belongs to must still be there."""
        query = {
            "after": after.position,
            "limit": self.limit,
            "types": ",".join(self.types) or None,
            "wait": self.wait_s if waits else None,
            "feed_id": after.feed_id or None,
        }
        timeout_s = self.wait_s + MARGIN_S
        body: dict[str, Any] = yield from requests.result("GET", "/events", query, timeout_s=timeout_s)
        return FeedPage(body["feed_id"], [FeedEvent(**one) for one in body["events"]], body["next"], body["has_more"])


class Feed:
    """The events after a checkpoint. Raises `FeedReset` and `EventsExpired`, which only you can decide about."""

    def __init__(self, client: Tollhouse, checkpoint: Checkpoint, reading: Reading | None = None) -> None:
        self._client = client
        self._checkpoint = checkpoint
        self._reading = reading or Reading()

    def pages(self, *, follow: bool = True) -> Iterator[FeedPage]:
        """Page by page from the checkpoint, without moving it. `follow`: wait for more at the end."""
        after = self._checkpoint.load()
        while True:
            page = self._client.complete(self._reading.page(self._client.requests, after, waits=follow))
            yield page
            after = Position(page.feed_id, page.next)
            if not (follow or page.has_more):
                return

    def events(self, *, follow: bool = True) -> Iterator[FeedEvent]:
        """Event by event. The checkpoint moves when the next one is asked for: then each is processed at least once."""
        for page in self.pages(follow=follow):
            for event in page.events:
                yield event
                self._checkpoint.save(Position(page.feed_id, event.position))
            self._save_end(page)

    def run_in_transaction(self, effect: Callable[[FeedEvent, Any], None], *, follow: bool = True) -> None:
        """Call `effect(event, cursor)` in the transaction that moves the checkpoint: then each is processed exactly once.

        The checkpoint is an `SqlCheckpoint`. An exception rolls the transaction back and ends the call.
        """
        checkpoint = self._checkpoint
        if not isinstance(checkpoint, SqlCheckpoint):
            raise TypeError("The checkpoint of a transaction is an SqlCheckpoint.")
        for page in self.pages(follow=follow):
            for event in page.events:
                with checkpoint.advancing(Position(page.feed_id, event.position)) as cursor:
                    if cursor is not None:
                        effect(event, cursor)
            if page.events or page.next:
                with checkpoint.advancing(Position(page.feed_id, page.next)):
                    pass

    def _save_end(self, page: FeedPage) -> None:
        end = Position(page.feed_id, page.next)
        if end != self._checkpoint.load():
            self._checkpoint.save(end)


class AsyncFeed:
    """The events after a checkpoint, with asyncio. Raises `FeedReset` and `EventsExpired`: what then is for you to say."""

    def __init__(self, client: AsyncTollhouse, checkpoint: Checkpoint, reading: Reading | None = None) -> None:
        self._client = client
        self._checkpoint = checkpoint
        self._reading = reading or Reading()

    async def pages(self, *, follow: bool = True) -> AsyncIterator[FeedPage]:
        """Page by page from the checkpoint, without moving it. `follow`: wait for more at the end."""
        after = await self._client.complete(run(self._checkpoint.load))
        while True:
            page = await self._client.complete(self._reading.page(self._client.requests, after, waits=follow))
            yield page
            after = Position(page.feed_id, page.next)
            if not (follow or page.has_more):
                return

    async def events(self, *, follow: bool = True) -> AsyncIterator[FeedEvent]:
        """Event by event. The checkpoint moves when the next one is asked for: then each is processed at least once."""
        async for page in self.pages(follow=follow):
            for event in page.events:
                yield event
                await self._save(Position(page.feed_id, event.position))
            await self._save(Position(page.feed_id, page.next))

    async def _save(self, position: Position) -> None:
        await self._client.complete(run(lambda: self._checkpoint.save(position)))
