"""The floor: a bare ASGI application that makes one database call for a request, and nothing else.

The same server, driver, settings and size of pool as the product; no router, no guard, no validation, no log, no headers
but two. `python -m benchmarks.harness.onetrip DSN PORT FILE PROCESSES`
"""

import asyncio
import itertools
import os
import pickle
import secrets
import socket
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg
import msgspec
import uvicorn
from msgspec import Struct
from uuid_utils.compat import uuid7

from benchmarks.harness.fold import Call, Now
from benchmarks.harness.requests import READERS, operation_of
from benchmarks.harness.trace import PLACES, Count, Fresh, Known, Moment, Random, Several, Text
from tollhouse.kernel.limits import DATABASE_CONNECTIONS
from tollhouse.platform.database import pool as db

ENCODER = msgspec.json.Encoder()
JSON = (b"content-type", b"application/json")
NUMBERS = itertools.count(1_000_000_000 + os.getpid() % 1000 * 1_000_000_000)
ALPHABET = bytes(b"abcdefghijklmnopqrstuvwxyz234567"[place % 32] for place in range(256))


class Facts:
    """What is one request's own."""

    def __init__(self, known: dict[str, Any]) -> None:
        self.now = datetime.now(UTC)
        self.known = known
        self.fresh: dict[int, UUID] = {}
        self.random: dict[int, bytes] = {}


Place = Callable[[Facts], Any]


def filled(value: Any) -> Place:  # noqa: PLR0911 - one line for each kind of value
    """How the value at a place is found for a request."""
    match value:
        case Known(name):
            return lambda facts: facts.known[name]
        case Fresh(place):
            return lambda facts: facts.fresh.get(place) or facts.fresh.setdefault(place, uuid7())
        case Random(place, length, is_text):
            return lambda facts: drawn(facts, place, length, is_text=is_text)
        case Now():
            return lambda facts: facts.now
        case Moment(after):
            return lambda facts: facts.now + after
        case Count():
            return lambda _: next(NUMBERS)
        case Text(parts, is_text):
            places = [filled(part) for part in parts]
            join = (lambda text: text) if is_text else str.encode
            return lambda facts: join("".join([str(place(facts)) for place in places]))
        case Several(values):
            places = [filled(value) for value in values]
            return lambda facts: [place(facts) for place in places]
        case _:
            return lambda _: value


def drawn(facts: Facts, place: int, length: int, *, is_text: bool) -> str | bytes:
    """Random bytes, or as many letters."""
    found = facts.random.get(place) or facts.random.setdefault(place, secrets.token_bytes(length))
    return found.translate(ALPHABET).decode() if is_text else found


class Operation:
    """A call that can be made for another request."""

    def __init__(self, call: Call) -> None:
        self.sql, self.status = call.sql, call.status
        self.places = [filled(value) for value in call.places]
        self.answer = dict(call.answer)
        self.own = [(name, filled(value)) for name, value in call.answer if isinstance(value, PLACES)]

    def response(self, facts: Facts) -> bytes:
        """The response to a request."""
        return ENCODER.encode(self.answer | {name: shown(place(facts)) for name, place in self.own})


def shown(value: Any) -> Any:
    """A value as JSON has it."""
    return value.decode() if isinstance(value, bytes) else value


class Setup(Struct, frozen=True):
    """What the harness leaves for the floor: the calls by operation, and the merchants by API key."""

    calls: dict[str, Call]
    merchants: Mapping[str, UUID]


class Borrowed:
    """A connection and its prepared statements."""

    def __init__(self, raw: "asyncpg.Connection[asyncpg.Record]") -> None:
        self.raw = raw
        self.prepared: dict[str, Any] = {}

    async def fetch(self, sql: str, values: list[Any]) -> list[asyncpg.Record]:
        """Run a statement. It is prepared when it is first used: the server's time limit runs from then."""
        statement = self.prepared.get(sql)
        if statement is None:
            statement = self.prepared[sql] = await self.raw.prepare(sql, name=f"s{len(self.prepared)}")
        return await statement.fetch(*values)


class OneTrip:
    """As many connections as a process of the product has, reused last-in-first-out."""

    def __init__(self, dsn: str, setup: Setup) -> None:
        self.dsn, self.merchants = dsn, setup.merchants
        self.operations = {name: Operation(call) for name, call in setup.calls.items()}
        self.connections: list[asyncpg.Connection[asyncpg.Record]] = []
        self.idle: list[dict[str, Any]] = []
        self.room = asyncio.Semaphore(DATABASE_CONNECTIONS)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """ASGI."""
        if scope["type"] == "lifespan":
            await receive()
            await self.open(DATABASE_CONNECTIONS)
            await send({"type": "lifespan.startup.complete"})
            await receive()
            await self.close()
            await send({"type": "lifespan.shutdown.complete"})
            return
        body = (await receive())["body"]
        headers = dict(scope["headers"])
        name = operation_of(scope["method"], scope["path"], headers, body)
        operation = self.operations.get(name)
        status, answer = 404, b"{}"
        if operation is not None:
            status = operation.status
            answer = await self.run(name, operation, READERS[name](headers, scope["path"], body, self.merchants))
        head = [JSON, (b"content-length", b"%d" % len(answer))]
        await send({"type": "http.response.start", "status": status, "headers": head})
        await send({"type": "http.response.body", "body": answer})

    async def run(self, name: str, operation: Operation, known: dict[str, Any]) -> bytes:
        """Make the call."""
        facts = Facts(known)
        values = [place(facts) for place in operation.places]
        async with self.room:
            borrowed = self.idle.pop()
            try:
                rows = await borrowed.fetch(operation.sql, values)
            finally:
                self.idle.append(borrowed)
        if not rows:
            raise ValueError(f"{name} found nothing")
        return operation.response(facts)

    async def open(self, connections: int) -> None:
        """Open connections."""
        self.idle = [Borrowed(await db.connect(self.dsn)) for _ in range(connections)]

    async def close(self) -> None:
        """Close them."""
        for borrowed in self.idle:
            await borrowed.raw.close()


def main() -> None:
    """Serve in so many processes, which share one socket as those of the product do."""
    dsn, port, file, processes = sys.argv[1:]
    setup = pickle.loads(Path(file).read_bytes())  # noqa: S301 - our own file
    listener = socket.create_server(("127.0.0.1", int(port)), backlog=2048)
    for _ in range(int(processes) - 1):
        if not os.fork():
            break
    application = OneTrip(dsn, setup)
    config = uvicorn.Config(application, log_config=None, access_log=False, server_header=False, proxy_headers=False)
    uvicorn.Server(config).run([listener])


if __name__ == "__main__":
    main()
