"""HTTP/1.1 connections to untrusted servers: one request at a time, and limits on everything that is received.

A connection is reused only if its last response was complete, agreed to it, and was followed by nothing.
"""

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable
from typing import cast

import httptools

from tollhouse.kernel.limits import DELIVERY_ANSWER_BYTES_MAX, DELIVERY_BODY_BYTES_MAX

IDLE_TIMEOUT_S = 4  # shorter than the keep-alive timeout of common servers
REAP_EVERY_S = 1
IDLE_CONNECTIONS_MAX = 256
INTERIM_STATUSES = frozenset(range(100, 200)) - {101}
Origin = tuple[str, str, int]
"""Scheme, host and port."""


class ResponseError(Exception):
    """The response is not HTTP, or its head is too long."""


class Response:
    """A response as it arrives. The first `kept_bytes` of its body are kept.

    At most `DELIVERY_ANSWER_BYTES_MAX` of it are parsed, interim responses and framing included, and reading ends after
    `body_bytes_max` of its body. `status` is that of a complete head.
    """

    __slots__ = (
        "_body_bytes_left", "_bytes_left", "_parser", "body", "has_begun", "headers", "is_over", "is_reusable", "kept_bytes",
        "status",
    )  # fmt: skip

    def __init__(self, kept_bytes: int, body_bytes_max: int = DELIVERY_BODY_BYTES_MAX) -> None:
        self.kept_bytes = kept_bytes
        self.status: int | None = None
        self.headers: list[tuple[bytes, bytes]] = []
        self.body = b""
        self.has_begun = self.is_over = self.is_reusable = False
        self._bytes_left = DELIVERY_ANSWER_BYTES_MAX + max(0, body_bytes_max - DELIVERY_BODY_BYTES_MAX)
        self._body_bytes_left = body_bytes_max
        self._parser: httptools.HttpResponseParser | None = None

    def feed(self, data: bytes) -> bool:
        """Parse more data. True if no more is to be read. Raises `ResponseError`."""
        self.has_begun = True
        if self._parser is None:
            self._parser = httptools.HttpResponseParser(self)
            self._parser.set_dangerous_leniencies(
                lenient_headers=True, lenient_optional_cr_before_lf=True, lenient_spaces_after_chunk_size=True
            )
        is_too_long = len(data) > self._bytes_left
        try:
            self._parser.feed_data(data[: self._bytes_left] if is_too_long else data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._end(error)
        self._bytes_left -= len(data)
        if is_too_long:
            self._end(None)
        return self.is_over

    def release(self) -> None:
        """End parsing."""
        self._parser = None

    def on_message_begin(self) -> None:
        """Parser: a response begins. After the final one that is not expected."""
        if self.is_over:
            raise ResponseError

    def on_header(self, name: bytes, value: bytes) -> None:
        """Parser: a header, or an ignored trailer."""
        if self.status is None:
            self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        """Parser: the head is complete."""
        status = self._current.get_status_code()
        if status in INTERIM_STATUSES:
            self.headers.clear()
        else:
            self.status = status

    def on_body(self, body: bytes) -> None:
        """Parser: a part of the body."""
        self._body_bytes_left -= len(body)
        if len(self.body) < self.kept_bytes:
            self.body += body[: self.kept_bytes - len(self.body)]
        if self._body_bytes_left <= 0:
            self.is_over = True

    def on_message_complete(self) -> None:
        """Parser: a response is complete."""
        if self.status is not None:
            self.is_over = True
            self.is_reusable = self._body_bytes_left >= 0 and self._current.should_keep_alive()

    @property
    def _current(self) -> httptools.HttpResponseParser:
        if self._parser is None:
            raise AssertionError("the parser calls while it parses")
        return self._parser

    def _end(self, error: Exception | None) -> None:
        """End reading. Without a complete head it is no response."""
        self.is_over, self.is_reusable = True, False
        if self.status is None:
            raise ResponseError from error


class ClientConnection(asyncio.Protocol):
    """One connection. It is never read while it is idle: data that arrives then closes it."""

    def __init__(self, on_closed: "Callable[[ClientConnection], None]") -> None:
        self._on_closed = on_closed
        self._transport: asyncio.Transport | None = None
        self._response: Response | None = None
        self._ended: asyncio.Future[None] | None = None

    @property
    def is_open(self) -> bool:
        """Whether another request can be sent."""
        return self._transport is not None and not self._transport.is_closing()

    async def exchange(self, request: bytes, response: Response) -> None:
        """Send a request and read its response; afterwards the connection is open only if it can be reused.

        Raises `ConnectionResetError`, `ssl.SSLError` and `ResponseError`, none of them once the head is complete.
        """
        if self._transport is None or not self.is_open:
            raise ConnectionResetError
        self._response = response
        self._ended = asyncio.get_running_loop().create_future()
        try:
            self._transport.write(request)
            await self._ended
        finally:
            self._response = self._ended = None
            response.release()
            if not response.is_reusable or self._transport.get_write_buffer_size():
                self.abort()

    def abort(self) -> None:
        """Close at once."""
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Event loop: the connection is open, its TLS handshake done."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Event loop: data arrived."""
        response = self._response
        if response is None or response.is_over:
            self.abort()
            return
        try:
            if response.feed(data):
                self._end(None)
        except ResponseError as error:
            self._end(error)

    def connection_lost(self, exc: Exception | None) -> None:
        """Event loop: the connection is closed. A response whose head is complete counts."""
        self._on_closed(self)
        if self._response is None:
            return
        if self._response.status is None:
            self._end(exc or ConnectionResetError())
        else:
            self._response.is_over, self._response.is_reusable = True, False
            self._end(None)

    def _end(self, error: Exception | None) -> None:
        if self._ended is None or self._ended.done():
            return
        if error is None:
            self._ended.set_result(None)
        else:
            self._ended.set_exception(error)


class ConnectionPool:
    """The open connections of a client, and which of them are idle. `close` ends all."""

    def __init__(self) -> None:
        self.open: set[ClientConnection] = set()
        self._idle: defaultdict[Origin, list[ClientConnection]] = defaultdict(list)
        self._since: dict[ClientConnection, tuple[int, Origin]] = {}
        self._reaping: asyncio.TimerHandle | None = None

    def create(self) -> ClientConnection:
        """A connection to be opened by the event loop."""
        connection = ClientConnection(self.open.discard)
        self.open.add(connection)
        return connection

    def take(self, origin: Origin) -> ClientConnection | None:
        """The connection that became idle last; None without a usable one."""
        while idle := self._idle.get(origin):
            connection = idle[-1]
            since, _ = self._since[connection]
            self._drop(connection)
            if connection.is_open and since >= _stale_before_ns():
                return connection
            connection.abort()
        return None

    def put(self, origin: Origin, connection: ClientConnection) -> None:
        """Keep an open connection for the next request. Of too many idle ones the oldest is closed."""
        if not connection.is_open:
            return
        self._idle[origin].append(connection)
        self._since[connection] = time.monotonic_ns(), origin
        if len(self._since) > IDLE_CONNECTIONS_MAX:
            oldest = next(iter(self._since))
            self._drop(oldest)
            oldest.abort()
        if self._reaping is None:
            self._reaping = asyncio.get_running_loop().call_later(REAP_EVERY_S, self._reap)

    def close(self) -> None:
        """Close all connections."""
        if self._reaping is not None:
            self._reaping.cancel()
        for connection in list(self.open):
            connection.abort()

    def _drop(self, connection: ClientConnection) -> None:
        """Forget that a connection is idle."""
        _, origin = self._since.pop(connection)
        self._idle[origin].remove(connection)
        if not self._idle[origin]:
            del self._idle[origin]

    def _reap(self) -> None:
        """Close what has been idle for too long."""
        stale_before_ns = _stale_before_ns()
        for connection, (since, _) in list(self._since.items()):
            if since < stale_before_ns or not connection.is_open:
                self._drop(connection)
                connection.abort()
        self._reaping = asyncio.get_running_loop().call_later(REAP_EVERY_S, self._reap) if self._since else None


def _stale_before_ns() -> int:
    """The time by the monotonic clock before which connections became idle that are too old to be used."""
    return time.monotonic_ns() - int(IDLE_TIMEOUT_S * 1_000_000_000)
