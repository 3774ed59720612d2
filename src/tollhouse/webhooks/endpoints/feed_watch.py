"""Waiting for positions: one statement at a time looks for all waiting requests of a process. None holds a connection."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import TypeVar, cast
from uuid import UUID
from weakref import WeakKeyDictionary

from tollhouse.http.request import Request
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.limits import FEED_READERS_MAX, FEED_READERS_PER_CREDENTIAL_MAX
from tollhouse.platform.database.errors import reason_of
from tollhouse.platform.database.pool import Pool
from tollhouse.platform.log.events import log
from tollhouse.webhooks.delivery.results import DATABASE_ERRORS
from tollhouse.webhooks.endpoints import feed_store
from tollhouse.webhooks.endpoints.feed_model import TooManyReaders

T = TypeVar("T")
LOOK_EVERY_MS = 50
AFTER_ERROR_MS = 1_000
READS_AT_ONCE = 2
"""Reads of requests that waited; equal ones are one. So they leave the connections to others."""


class FeedWatch:
    """The requests of a process that wait for positions."""

    def __init__(self, db: Pool) -> None:
        self._db = db
        self._waiting: dict[MerchantEnv, dict[asyncio.Future[None], int]] = {}
        self._readers = Counter[UUID | None]()
        self._places = 0
        self._looking: asyncio.Task[None] | None = None
        self._reads: dict[object, asyncio.Task[object]] = {}
        self._slots = asyncio.Semaphore(READS_AT_ONCE)

    def take_place(self, credential: UUID | None) -> None:
        """Take a place among the waiting requests. Raises `TooManyReaders`."""
        if self._readers[credential] >= FEED_READERS_PER_CREDENTIAL_MAX or self._places >= FEED_READERS_MAX:
            raise TooManyReaders
        self._readers[credential] += 1
        self._places += 1

    def leave_place(self, credential: UUID | None) -> None:
        """Leave it to another one."""
        self._places -= 1
        self._readers[credential] -= 1
        if not self._readers[credential]:
            del self._readers[credential]

    async def wait(self, request: Request, env: MerchantEnv, after: int, most_ms: int) -> bool:
        """Wait for a later position until the time is over or the service stops. Whether there is one.

        Raises `ClientDisconnect`.
        """
        grown: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(env, {})[grown] = after
        if self._looking is None:
            self._looking = asyncio.create_task(self._look())
        try:
            await request.wait(grown, most_ms)
            return grown.done()
        finally:
            del self._waiting[env][grown]
            if not self._waiting[env]:
                del self._waiting[env]

    async def read(self, key: object, read: Callable[[], Awaitable[T]]) -> T:
        """What `read` returns, once for all who ask with this key meanwhile."""
        reading = self._reads.get(key)
        if reading is None:
            reading = self._reads[key] = asyncio.create_task(self._read(read))
            reading.add_done_callback(lambda _: self._reads.pop(key))
        return cast("T", await asyncio.shield(reading))

    async def _read(self, read: Callable[[], Awaitable[object]]) -> object:
        async with self._slots:
            return await read()

    async def _look(self) -> None:
        try:
            while self._waiting:  # noqa: ASYNC110 - a look is a statement
                await asyncio.sleep(await self._look_once() / 1000)
        finally:
            self._looking = None

    async def _look_once(self) -> int:
        """Wake who waited for what is there. Returns after how many milliseconds to look again."""
        first = [(env, min(afters.values())) for env, afters in self._waiting.items()]
        try:
            rows = await feed_store.list_grown(self._db, first)
        except DATABASE_ERRORS as error:
            log.warning("feed_look_failed", error=type(error).__name__, reason=reason_of(error))
            return AFTER_ERROR_MS
        for row in rows:
            env = MerchantEnv(row["merchant_id"], row["mode"])
            for grown, after in self._waiting.get(env, {}).items():
                if after < row["last_position"] and not grown.done():
                    grown.set_result(None)
        return LOOK_EVERY_MS


_WATCHES: WeakKeyDictionary[Pool, FeedWatch] = WeakKeyDictionary()


def watch_of(db: Pool) -> FeedWatch:
    """That of this process for a database."""
    found = _WATCHES.get(db)
    if found is None:
        found = _WATCHES[db] = FeedWatch(db)
    return found
