"""Partitions are created ahead: at the start, hourly, and whenever the clock passes the existing ones."""

import asyncio
from collections.abc import Awaitable
from datetime import datetime, timedelta
from typing import Any, Protocol

import asyncpg
from msgspec import Struct

from tollhouse.kernel import clock
from tollhouse.platform.database import server_store as store
from tollhouse.platform.log.events import log

MARGIN = timedelta(hours=1)
"""A row may belong to a later partition: an access token to that of its expiry."""
RETRY_AFTER = timedelta(seconds=5)
NO_PARTITION = "no partition of relation"


class Database(Protocol):
    """A pool or a transaction."""

    def fetchrow(self, query: str, /, *args: Any) -> Awaitable[asyncpg.Record | None]:
        """The first row."""
        ...


class EndedPartitions(Struct, frozen=True):
    """How many partitions of a table ended, about how many rows they have, and their size with indexes."""

    partitions: int
    rows: int
    bytes: int


class Partitions:
    """The period for which this process knows that every partitioned table has a partition."""

    def __init__(self) -> None:
        self._from: datetime | None = None
        self._until: datetime | None = None
        self._failed_at: datetime | None = None
        self._making = asyncio.Lock()

    def cover(self, now: datetime) -> bool:
        """Whether rows that are written now have a partition."""
        return self._from is not None and self._until is not None and self._from <= now < self._until - MARGIN

    def reset(self) -> None:
        """Discard that knowledge: the next use of the database creates missing partitions."""
        self._from = self._until = self._failed_at = None

    async def make_missing(self, tx: Database) -> None:
        """Create missing partitions on this connection, outside a transaction. A failure is logged."""
        async with self._making:
            now = clock.now()
            if self.cover(now) or (self._failed_at is not None and abs(now - self._failed_at) < RETRY_AFTER):
                return
            try:
                row = await tx.fetchrow(store.MAKE_PARTITIONS, now)
            except asyncpg.PostgresError as error:
                self._failed_at = now
                log.error("partitions_not_made", reason=type(error).__name__)
                return
            if row is not None:
                self._from, self._until, self._failed_at = row["covered_from"], row["covered_until"], None


def is_missing(error: BaseException | None) -> bool:
    """Whether a row had no partition."""
    return isinstance(error, asyncpg.CheckViolationError) and str(error).startswith(NO_PARTITION)


async def create_missing(db: Database) -> None:
    """Create missing partitions. Called at the start and hourly, by any process."""
    await db.fetchrow(store.MAKE_PARTITIONS, clock.now())


async def list_ended(db: Database, table: str, ended_by: datetime) -> EndedPartitions:
    """What `drop_ended` would drop."""
    row = await db.fetchrow(store.ENDED_PARTITIONS, table, ended_by)
    if row is None:
        raise AssertionError("a count has a row")
    return EndedPartitions(*row)


async def drop_ended(db: Database, table: str, ended_by: datetime) -> int:
    """Drop the partitions of `table` that ended by then; their number. None while others use or drop them."""
    try:
        row = await db.fetchrow(store.DROP_PARTITIONS, table, ended_by)
    except asyncpg.LockNotAvailableError:
        log.info("partitions_not_dropped", table=table)
        return 0
    return 0 if row is None else int(row[0])
