"""Webhook receivers of the test bed: many loopback addresses with a chosen behavior, which record each delivery."""

import asyncio
import re
import socket
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from typing import NamedTuple, Self

HEAD_BYTES_MAX = 1 << 16
LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
EVENT = re.compile(rb"\r\nx-service-event-id: *([0-9a-f-]{36})", re.IGNORECASE)
NUMBER = re.compile(rb'"number":(\d+)')
RESPONSE_OK = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
RESPONSE_OK_CLOSE = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
POLL_EVERY_S = 0.1
BACKLOG = 1024


class Arrival(NamedTuple):
    """A received delivery. `number` is the producer's, `sender` the source address."""

    number: int
    event_id: str
    sender: str
    at: float


class Connection:
    """One connection, as the receiver sees it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, arrivals: list[Arrival]) -> None:
        self._reader = reader
        self._arrivals = arrivals
        self.writer = writer
        self.sent_bytes = 0

    async def request(self) -> bool:
        """Read the next request and record its delivery; False at the end of the connection."""
        try:
            head = await self._reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError:
            return False
        length, event_id = LENGTH.search(head), EVENT.search(head)
        body = await self._reader.readexactly(int(length[1]) if length else 0)
        if event_id is not None and (number := NUMBER.search(body)):
            sender = self.writer.get_extra_info("peername")[0]
            self._arrivals.append(Arrival(int(number[1]), event_id[1].decode(), sender, time.perf_counter()))
        return True

    async def send(self, data: bytes) -> None:
        """Write, and wait while the peer does not read. Raises `ConnectionError` when the peer has closed."""
        if self.writer.is_closing():
            raise ConnectionResetError
        self.writer.write(data)
        self.sent_bytes += len(data)
        await self.writer.drain()

    async def until_closed(self) -> None:
        """Read until the peer closes the connection."""
        while await self._reader.read(HEAD_BYTES_MAX):
            pass


Behavior = Callable[[Connection], Awaitable[None]]


async def respond_promptly(connection: Connection) -> None:
    """Answer each request at once."""
    while await connection.request():
        await connection.send(RESPONSE_OK)


async def respond_once(connection: Connection) -> None:
    """Answer one request, then close the connection."""
    if await connection.request():
        await connection.send(RESPONSE_OK_CLOSE)


def respond_slowly(delay_s: Callable[[], float]) -> Behavior:
    """Answer each request after a delay."""

    async def behavior(connection: Connection) -> None:
        while await connection.request():
            await asyncio.sleep(delay_s())
            await connection.send(RESPONSE_OK)

    return behavior


async def hang(connection: Connection) -> None:
    """Read the request and never answer."""
    await connection.request()
    await connection.until_closed()


class Receivers:
    """`async with Receivers(hosts, behavior) as receivers`: all hosts on one port."""

    def __init__(self, hosts: Sequence[str], behavior: Behavior = respond_promptly, port: int = 0) -> None:
        self.hosts = hosts
        self.port = port
        self.arrivals: list[Arrival] = []
        self.calls = 0
        self.open = 0
        self.longest_s = 0.0
        self.most_sent_bytes = 0
        self._behavior = behavior
        self._connections: set[asyncio.StreamWriter] = set()
        self._closed = False

    @property
    def urls(self) -> list[str]:
        """The webhook URLs."""
        return [f"http://{host}:{self.port}/hook" for host in self.hosts]

    async def __aenter__(self) -> Self:
        self._servers: list[asyncio.Server] = []
        for host in self.hosts:
            listener = socket.create_server((host, self.port), backlog=BACKLOG)
            self.port = listener.getsockname()[1]  # the first listener picks the port for all
            self._servers.append(await asyncio.start_server(self._receive, sock=listener, limit=HEAD_BYTES_MAX))
        return self

    async def __aexit__(self, *_: object) -> None:
        for server in self._servers:
            server.close()
        self._closed = True
        for writer in list(self._connections):
            writer.transport.abort()

    async def wait_for(self, numbers: Iterable[int], within_s: float) -> set[int]:
        """Wait until these events have arrived. Returns those that have not."""
        missing, seen = set(numbers), 0
        until = time.perf_counter() + within_s
        while True:
            missing -= {arrival.number for arrival in self.arrivals[seen:]}
            seen = len(self.arrivals)
            if not missing or time.perf_counter() > until:
                return missing
            await asyncio.sleep(POLL_EVERY_S)

    async def wait_until_closed(self, within_s: float) -> int:
        """Wait until every connection has closed. Returns how many are still open."""
        until = time.perf_counter() + within_s
        while self.open and time.perf_counter() < until:
            await asyncio.sleep(POLL_EVERY_S)
        return self.open

    async def _receive(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._closed:  # accepted by the kernel before
            writer.transport.abort()
            return
        began = time.perf_counter()
        self.calls += 1
        self.open += 1
        self._connections.add(writer)
        connection = Connection(reader, writer, self.arrivals)
        try:
            with suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
                await self._behavior(connection)
        finally:
            self.most_sent_bytes = max(self.most_sent_bytes, connection.sent_bytes)
            self.open -= 1
            self.longest_s = max(self.longest_s, time.perf_counter() - began)
            self._connections.discard(writer)
            writer.close()


def hosts(network: int, count: int) -> list[str]:
    """That many loopback addresses in 127.`network`.x.y."""
    return [f"127.{network}.{n // 250}.{n % 250 + 1}" for n in range(count)]
