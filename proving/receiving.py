"""Receivers of the test bed: many addresses of this host with manners of their own, which note who came and when."""

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
TAKEN = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
TAKEN_FOR_THE_LAST_TIME = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
LOOK_EVERY_S = 0.1
BACKLOG = 1024


class Arrival(NamedTuple):
    """One delivery as it came in. `number` is the producer's, `sender` the address it came from."""

    number: int
    event_id: str
    sender: str
    at: float


class Visit:
    """One connection, from the receiver's side."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, arrivals: list[Arrival]) -> None:
        self._reader = reader
        self._arrivals = arrivals
        self.writer = writer
        self.said_bytes = 0

    async def request(self) -> bool:
        """Take the next request and note it; False when nobody asks any more."""
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

    async def say(self, data: bytes) -> None:
        """Write, and wait while the other side does not read. Raises `ConnectionError` when it has gone."""
        if self.writer.is_closing():
            raise ConnectionResetError
        self.writer.write(data)
        self.said_bytes += len(data)
        await self.writer.drain()

    async def until_gone(self) -> None:
        """Say nothing until the other side gives up."""
        while await self._reader.read(HEAD_BYTES_MAX):
            pass


Manners = Callable[[Visit], Awaitable[None]]


async def promptly(visit: Visit) -> None:
    """Take every request at once."""
    while await visit.request():
        await visit.say(TAKEN)


async def once(visit: Visit) -> None:
    """Take one request, and no other on this connection."""
    if await visit.request():
        await visit.say(TAKEN_FOR_THE_LAST_TIME)


def slowly(wait_s: Callable[[], float]) -> Manners:
    """Take every request after a while."""

    async def manners(visit: Visit) -> None:
        while await visit.request():
            await asyncio.sleep(wait_s())
            await visit.say(TAKEN)

    return manners


async def hangs(visit: Visit) -> None:
    """Take the request and never answer."""
    await visit.request()
    await visit.until_gone()


class Receivers:
    """`async with Receivers(hosts, manners) as receivers`: all hosts on one port."""

    def __init__(self, hosts: Sequence[str], manners: Manners = promptly, port: int = 0) -> None:
        self.hosts = hosts
        self.port = port
        self.arrivals: list[Arrival] = []
        self.calls = 0
        self.open = 0
        self.longest_s = 0.0
        self.most_said_bytes = 0
        self._manners = manners
        self._visits: set[asyncio.StreamWriter] = set()

    @property
    def urls(self) -> list[str]:
        """Where to send."""
        return [f"http://{host}:{self.port}/hook" for host in self.hosts]

    async def __aenter__(self) -> Self:
        self._servers: list[asyncio.Server] = []
        for host in self.hosts:
            listener = socket.create_server((host, self.port), backlog=BACKLOG)
            self.port = listener.getsockname()[1]  # the first one's, then the same for all
            self._servers.append(await asyncio.start_server(self._receive, sock=listener, limit=HEAD_BYTES_MAX))
        return self

    async def __aexit__(self, *_: object) -> None:
        for server in self._servers:
            server.close()
        for writer in list(self._visits):
            writer.transport.abort()

    async def wait_for(self, numbers: Iterable[int], within_s: float) -> set[int]:
        """Until all of these have arrived; those that have not by then."""
        missing, seen = set(numbers), 0
        until = time.perf_counter() + within_s
        while True:
            missing -= {arrival.number for arrival in self.arrivals[seen:]}
            seen = len(self.arrivals)
            if not missing or time.perf_counter() > until:
                return missing
            await asyncio.sleep(LOOK_EVERY_S)

    async def are_left(self, within_s: float) -> int:
        """Until every visit has ended, as this side sees it; how many have not by then."""
        until = time.perf_counter() + within_s
        while self.open and time.perf_counter() < until:
            await asyncio.sleep(LOOK_EVERY_S)
        return self.open

    async def _receive(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        began = time.perf_counter()
        self.calls += 1
        self.open += 1
        self._visits.add(writer)
        visit = Visit(reader, writer, self.arrivals)
        try:
            with suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
                await self._manners(visit)
        finally:
            self.most_said_bytes = max(self.most_said_bytes, visit.said_bytes)
            self.open -= 1
            self.longest_s = max(self.longest_s, time.perf_counter() - began)
            self._visits.discard(writer)
            writer.close()


def hosts(network: int, count: int) -> list[str]:
    """That many loopback addresses of a network of their own: 127.`network`.x.y."""
    return [f"127.{network}.{n // 250}.{n % 250 + 1}" for n in range(count)]
