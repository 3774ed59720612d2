"""A database connection that dies at a chosen step: at its n-th statement within a transaction, or before the commit."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from itertools import count
from typing import Any, TypeVar

import asyncpg
import msgspec

from tests.cast import Actor
from tests.running import Service
from tollhouse.http.services import Services
from tollhouse.platform.database.pool import Pool, Row, Tx

T = TypeVar("T")
SESSION = "SELECT 1 FROM pg_stat_activity WHERE pid = $1"


class KilledError(ConnectionError):
    """The process is gone, as far as the database can tell."""


class Fuse:
    """Burns down with each step."""

    def __init__(self) -> None:
        self.left: int | None = None
        self.session: int | None = None

    def step(self, tx: Tx) -> None:
        """One step further; at the last one the line is cut."""
        if self.left is None:
            return
        self.left -= 1
        if self.left == 0:
            if tx.connection is not None:
                self.session = tx.connection.raw.get_server_pid()
                tx.connection.raw.terminate()
            raise KilledError


class FusedTx(Tx):
    """A transaction whose statements burn the fuse. `defers`: as the product does; otherwise they run one by one."""

    def __init__(self, tx: Tx, fuse: Fuse, *, defers: bool) -> None:
        super().__init__(tx.connection)
        self._tx = tx
        self._fuse = fuse
        self.is_optimistic = defers and tx.is_optimistic

    async def read_row(self, sql: str, *args: object) -> Row | None:
        """As ever."""
        self._fuse.step(self._tx)
        return await self._tx.read_row(sql, *args)

    async def read(self, sql: str, *args: object) -> list[Row]:
        """As ever."""
        self._fuse.step(self._tx)
        return await self._tx.read(sql, *args)

    async def read_row_in_batch(self, sql: str, keys: tuple[object, ...], *args: object) -> Row | None:
        """As ever."""
        self._fuse.step(self._tx)
        return await self._tx.read_row_in_batch(sql, keys, *args)

    async def write(self, sql: str, *args: object, first: bool = False, verifies: bool = False) -> None:
        """As ever; what is deferred is no step yet."""
        if self.is_optimistic:
            await self._tx.write(sql, *args, first=first, verifies=verifies)
        else:
            await self.execute(sql, *args)

    async def fetchrow(self, sql: str, *args: object) -> Row | None:
        """As ever."""
        self._fuse.step(self._tx)
        return await self._tx.fetchrow(sql, *args)

    async def fetch(self, sql: str, *args: object) -> list[Row]:
        """As ever."""
        self._fuse.step(self._tx)
        return await self._tx.fetch(sql, *args)

    async def fetchval(self, sql: str, *args: object) -> Any:
        """As ever."""
        self._fuse.step(self._tx)
        return await self._tx.fetchval(sql, *args)

    async def execute(self, sql: str, *args: object) -> int:
        """As ever."""
        self._fuse.step(self._tx)
        return await self._tx.execute(sql, *args)


class FusedPool(Pool):
    """A pool of such transactions; the commit, or the statement of all deferred writes, is a step too."""

    def __init__(self, dsn: str, *, defers: bool = False) -> None:
        super().__init__(dsn, 2)
        self.fuse = Fuse()
        self.defers = defers

    async def transact(self, action: Callable[[Tx], Awaitable[T]]) -> T:
        """As ever."""

        async def fused(tx: Tx) -> T:
            done = await action(FusedTx(tx, self.fuse, defers=self.defers))
            self.fuse.step(tx)
            return done

        return await super().transact(fused)

    async def until_cut(self) -> None:
        """Wait until the server has noticed that the line was cut: until then it holds the locks of the transaction."""
        async with asyncio.timeout(60):
            while self.fuse.session is not None and await self.fetchrow(SESSION, self.fuse.session):
                await asyncio.sleep(0.002)


@asynccontextmanager
async def fused_services(service: Service, *, defers: bool = False) -> AsyncIterator[Services]:
    """Services whose connections can be cut."""
    services = service.create_services()
    pool = FusedPool(service.dsn, defers=defers)
    yield msgspec.structs.replace(services, db=pool)
    await pool.close()
    await services.db.close()


async def every_row(actor: Actor, tables: Iterable[str]) -> list[Any]:
    """All there is in these tables, as texts."""
    each = " UNION ALL ".join(f"SELECT '{table}', x::text FROM {table} x" for table in tables)  # noqa: S608
    return [tuple(row) for row in await actor.sql(f"{each} ORDER BY 1, 2")]


async def kill_everywhere(
    pool: FusedPool, action: Callable[[], Awaitable[Any]], look: Callable[[], Awaitable[Any]]
) -> tuple[int, Any]:
    """Do a deed, killed at its first step, then at its second, and so on: nothing may have changed each time.

    At last it is done; how many steps there were, and what it returned.
    """
    before = await look()
    for step in count(1):
        pool.fuse.left = step
        try:
            done = await action()
        except (KilledError, asyncpg.InterfaceError):  # the driver says the second where it meets the cut line first
            await pool.until_cut()
            assert await look() == before, f"something is left of a deed that was killed at step {step}"
            continue
        finally:
            pool.fuse.left = None
        assert await look() != before
        return step - 1, done
    raise AssertionError("unreachable")
