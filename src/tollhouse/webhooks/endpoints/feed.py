"""Reading the event feed: a page, a page that is waited for, and a stream."""

import time
from collections.abc import AsyncIterator, Mapping
from datetime import datetime

from msgspec import Struct, structs
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from tollhouse.accounts.identity.guards import CredentialGuard
from tollhouse.accounts.identity.model import Caller
from tollhouse.http.request import Request
from tollhouse.http.responses import ENCODER
from tollhouse.http.services import Services
from tollhouse.kernel import clock
from tollhouse.kernel.clock import stamp
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import ApiError
from tollhouse.platform.database.errors import is_unavailable
from tollhouse.platform.database.packed_json import unpack
from tollhouse.platform.encryption import DecryptionError
from tollhouse.platform.log.events import log
from tollhouse.webhooks.delivery import signed_request
from tollhouse.webhooks.endpoints import feed_store
from tollhouse.webhooks.endpoints.feed_model import (
    EventsExpired,
    FeedEvent,
    FeedPage,
    FeedQuery,
    FeedReset,
    FeedRow,
    StoredEvent,
    visible_types,
)
from tollhouse.webhooks.endpoints.feed_watch import watch_of
from tollhouse.webhooks.events import secrets
from tollhouse.webhooks.events.positions_store import number_waiting

EXAMINED_MAX = 1_000
"""Positions that a request with a filter examines."""
CHECKED_EVERY_MS = 5_000
KEPT_ALIVE_EVERY_MS = 15_000
STREAM_ENDED = "The stream ended. Connect again."
EVENT_STREAM = "text/event-stream"


class FeedReading(Struct, frozen=True):
    """Who reads what, and where the reader is."""

    env: MerchantEnv
    after: int
    limit: int
    types: tuple[str, ...] | None
    feed_id: str | None

    @classmethod
    def of(cls, caller: Caller, query: FeedQuery) -> "FeedReading":
        """What this caller may read of it."""
        types = visible_types(caller, query.type_filter)
        return cls(caller.env, query.after, query.limit, None if types is None else tuple(types), query.feed_id)


async def read(services: Services, reading: FeedReading, now: datetime) -> FeedPage:
    """The next events. Raises `FeedReset` and `EventsExpired`."""
    head = await feed_store.get_head(services.db, reading.env)
    if reading.feed_id not in {None, str(head.feed_id)} or reading.after > head.last_position:
        raise FeedReset
    if reading.after < head.expired_position:
        raise EventsExpired(head.expired_position + 1)
    examined_max = reading.limit if reading.types is None else EXAMINED_MAX
    rows = await feed_store.list_next(services.db, head, reading.after, examined_max, reading.types)
    chosen, last = _choose(rows, reading)
    events = await _as_delivered(services, reading.env, chosen, now)
    return FeedPage(head.feed_id, events, last, last < max(head.last_position, rows[-1].position if rows else 0))


async def read_now(services: Services, reading: FeedReading, now: datetime) -> FeedPage:
    """The same, with all that was committed before."""
    await services.db.transact(number_waiting)
    return await read(services, reading, now)


async def read_within(request: Request, guard: CredentialGuard, caller: Caller, query: FeedQuery) -> FeedPage:
    """The next events, after a wait for the first one if there is none. The credential is checked again after it."""
    services, ends_at_ms = request.services, _now_ms() + query.wait * 1000
    page = await read_now(services, FeedReading.of(caller, query), request.now)
    if page.events or not query.wait:
        return page
    watch, credential = watch_of(services.db), caller.credential_id
    watch.take_place(credential)
    try:
        while not page.events and (left_ms := ends_at_ms - _now_ms()) > 0 and not request.stopping.is_set():
            query = structs.replace(query, after=page.next)
            if not page.has_more:
                await watch.wait(request, caller.env, page.next, left_ms)
                caller = await guard.admit_again(request)
            reading = FeedReading.of(caller, query)
            page = await watch.read(reading, lambda reading=reading: read(services, reading, request.now))
    finally:
        watch.leave_place(credential)
    return page


class EventStream(Response):
    """The feed as server-sent events, until the client or the service ends it, or the credential does."""

    def __init__(self, request: Request, guard: CredentialGuard, caller: Caller, query: FeedQuery, first: FeedPage) -> None:
        super().__init__(media_type=EVENT_STREAM)
        del self.headers["content-length"]
        self.headers["x-accel-buffering"] = "no"
        self._request, self._guard, self._caller, self._query, self._first = request, guard, caller, query, first
        self._credential = caller.credential_id
        self._watch = watch_of(request.services.db)
        self._watch.take_place(self._credential)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - ASGI
        """Send until it ends."""
        try:
            await self._send(send)
        except ClientDisconnect:
            pass
        finally:
            self._watch.leave_place(self._credential)

    async def _send(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        try:
            if self._request.method != "HEAD":
                async for part in self._parts():
                    await send({"type": "http.response.body", "body": part, "more_body": True})
        except ClientDisconnect:
            raise
        except Exception as error:  # noqa: BLE001 - the response has begun: all that can be done is to end it
            await send({"type": "http.response.body", "body": _ending(error), "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    async def _parts(self) -> AsyncIterator[bytes]:
        request, watch, page = self._request, self._watch, self._first
        checked_at_ms = sent_at_ms = _now_ms()
        yield b": events follow\n\n"
        while not request.stopping.is_set():
            if page.events or page.next != self._query.after:
                yield b"".join(_part(event.position, event) for event in page.events) + _part_of_end(page)
                sent_at_ms = _now_ms()
            self._query = structs.replace(self._query, after=page.next)
            left_ms = max(0, checked_at_ms + CHECKED_EVERY_MS - _now_ms())
            is_more = page.has_more or await watch.wait(request, self._caller.env, page.next, left_ms)
            if _now_ms() >= checked_at_ms + CHECKED_EVERY_MS:
                self._caller = await self._guard.admit_again(request)
                checked_at_ms = _now_ms()
            if _now_ms() >= sent_at_ms + KEPT_ALIVE_EVERY_MS:
                yield b":\n\n"
                sent_at_ms = _now_ms()
            page = await self._read_next() if is_more else structs.replace(page, events=[])

    async def _read_next(self) -> FeedPage:
        reading = FeedReading.of(self._caller, self._query)
        return await self._watch.read(reading, lambda: read(self._request.services, reading, clock.now()))


def _now_ms() -> int:
    return time.monotonic_ns() // 1_000_000


def _part(position: int, event: FeedEvent) -> bytes:
    return b"id: %d\ndata: %s\n\n" % (position, ENCODER.encode(event))


def _part_of_end(page: FeedPage) -> bytes:
    """Moves the reader on over events that it did not ask for."""
    is_sent = page.events and page.events[-1].position == page.next
    return b"" if is_sent else b"id: %d\n\n" % page.next


def _ending(error: Exception) -> bytes:
    """An event `error` with what a request would be answered."""
    if isinstance(error, ApiError):
        members = {"error": error.code, "error_description": str(error.message), **error.members}
    else:
        code = "temporarily_unavailable" if is_unavailable(error) else "server_error"
        log.error("feed_stream_failed", error=type(error).__name__, code=code)
        members = {"error": code, "error_description": STREAM_ENDED}
    return b"event: error\ndata: %s\n\n" % ENCODER.encode(members)


def _choose(rows: list[FeedRow], reading: FeedReading) -> tuple[dict[int, StoredEvent], int]:
    """The events to show by position, and the last position that was examined."""
    chosen: dict[int, StoredEvent] = {}
    last = reading.after
    for row in rows:
        if not row.exists:  # deleted by age a moment ago
            later = (left.position for left in rows if left.exists and left.position > row.position)
            raise EventsExpired(next(later, rows[-1].position + 1))
        last = row.position
        if row.event is not None:
            chosen[row.position] = row.event
            if len(chosen) == reading.limit:
                break
    return chosen, last


async def _as_delivered(
    services: Services, env: MerchantEnv, events: Mapping[int, StoredEvent], now: datetime
) -> list[FeedEvent]:
    signing = await secrets.list_signing(services.db, env, now) if events else []
    delivered: list[FeedEvent] = []
    for position, event in events.items():
        body = unpack(event.body)
        try:
            headers = signed_request.signature_headers(services.keys, env, signing, event.id, now, body)
        except (DecryptionError, ValueError) as error:
            log.error("webhook_signing_failed", event_id=str(event.id), error=type(error).__name__)
            headers = {}
        delivered.append(FeedEvent(position, event.id, event.type, stamp(event.created_at), body.decode(), headers))
    return delivered
