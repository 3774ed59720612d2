"""Watching the product: requests to it in this process, with every statement of its connections heard."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import asyncpg
import msgspec
from asyncpg.prepared_stmt import PreparedStatement

from benchmarks.harness.trace import Seen
from tollhouse.instance import main
from tollhouse.kernel import clock
from tollhouse.platform.settings import config

HOST = "localhost:8000"
"""Of the default base URL: pages respond at their own host only."""
EXECUTE = "_PreparedStatement__bind_execute"

Heard = list[tuple[str, tuple[Any, ...]]]


class WrongAnswerError(Exception):
    """The product refused a request of the benchmark."""


class Watched:
    """An application in this process."""

    def __init__(self, application: Callable[[Any, Any, Any], Awaitable[None]]) -> None:
        self._application = application

    async def see(self, raw: str) -> Seen:
        """Send one request and hear its statements. The names of its values are added by the caller."""
        now = clock.now()
        with listening() as heard:
            status, body = await self.send(raw)
        if status >= 400:  # noqa: PLR2004 - an error
            raise WrongAnswerError(f"{raw.partition(chr(13))[0]} was answered {status}: {body.decode(errors='replace')}")
        return Seen(heard, now, status, msgspec.json.decode(body), {})

    async def send(self, raw: str) -> tuple[int, bytes]:
        """Status and body of the response to a request as it is on the wire."""
        head, _, body = raw.partition("\r\n\r\n")
        first, *lines = head.split("\r\n")
        method, path, _ = first.split(" ")
        headers = [(name.lower().encode(), value.encode()) for name, _, value in (line.partition(": ") for line in lines)]
        headers = [(name, HOST.encode() if name == b"host" else value) for name, value in headers]
        scope = {
            "type": "http", "http_version": "1.1", "scheme": "http", "method": method,
            "path": path, "raw_path": path.encode(), "query_string": b"",
            "headers": headers, "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 8000),
        }  # fmt: skip
        sent: list[Any] = []

        async def receive() -> Any:
            return {"type": "http.request", "body": body.encode(), "more_body": False}

        async def send(message: Any) -> None:
            sent.append(message)

        await self._application(scope, receive, send)
        return sent[0]["status"], b"".join(message.get("body", b"") for message in sent[1:])


@asynccontextmanager
async def watching(dsn: str, secret_keys: str) -> AsyncIterator[Watched]:
    """The product, built as a web process builds it."""
    services = main.create_services(config.load({"DATABASE_URL": dsn, "TOLLHOUSE_SECRET_KEYS": secret_keys}))
    try:
        yield Watched(main.build(services))
    finally:
        await services.db.close()


@contextmanager
def listening() -> Iterator[Heard]:
    """Every statement, prepared or not, that any connection of this event loop runs meanwhile."""
    heard: Heard = []
    loop = asyncio.get_running_loop()
    prepared, plain = getattr(PreparedStatement, EXECUTE), asyncpg.Connection.execute

    async def execute_prepared(self: Any, args: Any, *more: Any) -> Any:
        if asyncio.get_running_loop() is loop:
            heard.append((self.get_query(), tuple(args)))
        return await prepared(self, args, *more)

    async def execute_plain(self: Any, query: str, *args: Any, timeout: float | None = None) -> str:  # noqa: ASYNC109
        if asyncio.get_running_loop() is loop:
            heard.append((query, args))
        return await plain(self, query, *args, timeout=timeout)

    setattr(PreparedStatement, EXECUTE, execute_prepared)
    asyncpg.Connection.execute = execute_plain
    try:
        yield heard
    finally:
        setattr(PreparedStatement, EXECUTE, prepared)
        asyncpg.Connection.execute = plain
