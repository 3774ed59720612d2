"""Rows that are asked for by key at the same time are read by one statement.

A busy process spends more time around a short query than in it. Nothing waits for others to come: a batch is what has
gathered in one turn of the event loop, or while the batches before it were read. Each row is read after it was asked for.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextvars import Context

import asyncpg

Fetch = Callable[..., Awaitable[Sequence[asyncpg.Record]]]
Keys = tuple[object, ...]
BATCHES_MAX = 2
"""How many are read at the same time. More would be smaller."""
KEYS_MAX = 100


class BatchedQuery:
    """A query that `batched_store.for_many` made."""

    def __init__(self, fetch: Fetch, sql: str) -> None:
        self._fetch = fetch
        self._sql = sql
        self._waiting: list[tuple[Keys, asyncio.Future[asyncpg.Record | None]]] = []
        self._args: tuple[object, ...] = ()
        self._reading: set[asyncio.Task[None]] = set()
        self._begins = False
        self._context = Context()
        """Not that of the request which happens to be the first."""

    async def fetchrow(self, keys: Keys, *args: object) -> asyncpg.Record | None:
        """The row of these keys, or None. All of a batch get the `args` of the last one."""
        loop = asyncio.get_running_loop()
        found: asyncio.Future[asyncpg.Record | None] = loop.create_future()
        self._waiting.append((keys, found))
        self._args = args
        if not self._begins and len(self._reading) < BATCHES_MAX:
            self._begins = True
            loop.call_soon(self._begin, context=self._context)
        return await found

    def _begin(self) -> None:
        self._begins = False
        batch, self._waiting = self._waiting[:KEYS_MAX], self._waiting[KEYS_MAX:]
        reading = asyncio.get_running_loop().create_task(self._read(batch, self._args))
        self._reading.add(reading)
        reading.add_done_callback(self._end)

    def _end(self, ended: "asyncio.Task[None]") -> None:
        self._reading.discard(ended)
        if self._waiting and not self._begins:
            self._begin()

    async def _read(
        self, batch: list[tuple[Keys, "asyncio.Future[asyncpg.Record | None]"]], args: tuple[object, ...]
    ) -> None:
        try:
            columns = zip(*(keys for keys, _ in batch), strict=True)
            rows = {row["position"]: row for row in await self._fetch(self._sql, *map(list, columns), *args)}
        except asyncio.CancelledError:
            for _, found in batch:
                found.cancel()
            raise
        except Exception as error:  # noqa: BLE001 - it is the error of all who wait
            for _, found in batch:
                if not found.done():
                    found.set_exception(error)
            return
        for position, (_, found) in enumerate(batch, start=1):
            if not found.done():
                found.set_result(rows.get(position))
