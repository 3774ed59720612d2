"""A database connection that dies at a chosen step: at its n-th statement within a transaction, or before the commit."""

from collections.abc import Awaitable, Callable
from itertools import count
from typing import Any, TypeVar

import asyncpg

from tollhouse.platform.db import Pool, Row, Tx

T = TypeVar("T")


class KilledError(ConnectionError):
    """The process is gone, as far as the database can tell."""


class Fuse:
    """Burns down with each step."""

    def __init__(self) -> None:
        self.left: int | None = None

    def step(self, tx: Tx) -> None:
        """One step further; at the last one the line is cut."""
        if self.left is None:
            return
        self.left -= 1
        if self.left == 0:
            tx.raw.terminate()
            raise KilledError


class FusedTx(Tx):
    """A transaction whose statements burn the fuse."""

    def __init__(self, tx: Tx, fuse: Fuse) -> None:
        super().__init__(tx.raw)
        self._tx = tx
        self._fuse = fuse

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
    """A pool of such transactions; the commit is a step too."""

    def __init__(self, dsn: str) -> None:
        super().__init__(dsn, 2)
        self.fuse = Fuse()

    async def transact(self, action: Callable[[Tx], Awaitable[T]]) -> T:
        """As ever."""

        async def fused(tx: Tx) -> T:
            done = await action(FusedTx(tx, self.fuse))
            self.fuse.step(tx)
            return done

        return await super().transact(fused)


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
            assert await look() == before, f"something is left of a deed that was killed at step {step}"
            continue
        finally:
            pool.fuse.left = None
        assert await look() != before
        return step - 1, done
    raise AssertionError("unreachable")
