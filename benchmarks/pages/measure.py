"""What a request costs: wall time, processor time of the web process and of the database, and buffers the database reads."""

import time
from pathlib import Path

import asyncpg
from msgspec import Struct
from tests.cast import INTEGRATION, Actor

from benchmarks.pages.endpoints import Endpoint

BUFFERS = """
    SELECT coalesce(sum(shared_blks_hit + shared_blks_read), 0)::bigint FROM pg_stat_statements
    WHERE query ~* '^\\s*(SELECT|WITH|\\()' AND query NOT LIKE '%pg_stat_%'
"""
BACKENDS = """
    SELECT pid FROM pg_stat_activity
    WHERE backend_type = 'client backend' AND datname = current_database() AND pid <> pg_backend_pid()
"""


class Cost(Struct, frozen=True):
    """Milliseconds of wall time, microseconds of processor time in the web process and the database, and buffers."""

    wall_ms: float
    web_us: float
    database_us: float
    buffers: int


class Meter:
    """Measures one request at a time, while nothing else is asked of the service."""

    def __init__(self, connection: "asyncpg.Connection[asyncpg.Record]", web_pid: int) -> None:
        self._connection = connection
        self._web_pid = web_pid

    async def cost(self, actor: Actor, endpoint: Endpoint, address: str) -> Cost:
        """Make the request, which succeeds, and return what it took."""
        pids = [row["pid"] for row in await self._connection.fetch(BACKENDS)]
        buffers = await self._connection.fetchval(BUFFERS)
        web_us, database_us = _processor_us([self._web_pid]), _processor_us(pids)
        begun = time.perf_counter()
        await request(actor, endpoint, address)
        wall_ms = (time.perf_counter() - begun) * 1000
        return Cost(
            wall_ms,
            _processor_us([self._web_pid]) - web_us,
            _processor_us(pids) - database_us,
            await self._connection.fetchval(BUFFERS) - buffers,
        )


async def request(actor: Actor, endpoint: Endpoint, address: str) -> bytes:
    """The body of the answer, which is 200. The API is asked with an API key, on a connection that is kept."""
    if endpoint.surface == "api":
        headers, address = {"X-API-Key": await actor.key()}, INTEGRATION + address
    else:
        headers = {"Accept": "text/html"}
    answer = await actor.send("GET", address, headers=headers)
    return answer.ok().raw


def _processor_us(pids: list[int]) -> float:
    """Microseconds on a processor of all threads of these processes. One that has ended counts nothing."""
    nanoseconds = 0
    for pid in pids:
        for thread in Path(f"/proc/{pid}/task").glob("*/schedstat"):
            nanoseconds += int(thread.read_text().split()[0])
    return nanoseconds / 1000
