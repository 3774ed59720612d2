"""PostgreSQL: a thin pool of connections with pinned prepared statements, and the transaction.

A connection is lent last-in-first-out and given back without a round trip. So nothing may linger on it: no SET outside
SET LOCAL, no session locks, no LISTEN. A connection that comes back inside a transaction, or broken, is thrown away.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

import asyncpg
from asyncpg.prepared_stmt import PreparedStatement

from tollhouse.kernel.refusals import TemporarilyUnavailable

Row = asyncpg.Record
T = TypeVar("T")
NAME = "tollhouse"
RETRIES = 3
STATEMENT_TIMEOUT_MS = 5_000
IDLE_IN_TRANSACTION_MS = 5_000
LOCK_TIMEOUT_MS = 2_000
LOST = (
    OSError,
    asyncpg.PostgresConnectionError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    asyncpg.CannotConnectNowError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
)
"""The database is not there, or went while we talked to it."""
UNREACHABLE = (OSError, asyncpg.PostgresConnectionError, asyncpg.CannotConnectNowError, TimeoutError)
"""Connecting failed."""
SPOILED = (*LOST, asyncio.CancelledError, asyncpg.InvalidCachedStatementError)
"""What leaves a connection that nobody should get again."""


class Tx:
    """A connection, inside a transaction or not. Statements are prepared once and kept for its whole life."""

    def __init__(self, raw: "asyncpg.Connection[asyncpg.Record]") -> None:
        self.raw = raw
        self._prepared: dict[str, PreparedStatement[asyncpg.Record]] = {}

    async def fetchrow(self, sql: str, *args: object) -> Row | None:
        """The first row, or None."""
        return await (await self._statement(sql)).fetchrow(*args)

    async def fetch(self, sql: str, *args: object) -> list[Row]:
        """All rows."""
        return await (await self._statement(sql)).fetch(*args)

    async def fetchval(self, sql: str, *args: object) -> Any:
        """The first column of the first row, or None."""
        return await (await self._statement(sql)).fetchval(*args)

    async def execute(self, sql: str, *args: object) -> int:
        """Run a statement; how many rows it wrote or returned."""
        statement = await self._statement(sql)
        await statement.fetch(*args)
        words = (statement.get_statusmsg() or "").split()
        return int(words[-1]) if words and words[-1].isdigit() else 0

    async def begin(self) -> None:
        """Open a READ COMMITTED transaction."""
        await self.raw.execute("BEGIN")

    async def commit(self) -> None:
        """Commit the open transaction."""
        await self.raw.execute("COMMIT")

    async def roll_back(self) -> None:
        """Undo the open transaction."""
        await self.raw.execute("ROLLBACK")

    async def transact(self, deed: Callable[["Tx"], Awaitable[T]]) -> T:
        """Do `deed` in a transaction, again up to three times when it lost a deadlock or a serialization race."""
        for again in range(RETRIES, -1, -1):
            try:
                return await self._transact_once(deed)
            except (asyncpg.SerializationError, asyncpg.DeadlockDetectedError):
                if not again:
                    raise
        raise AssertionError("unreachable")

    async def _transact_once(self, deed: Callable[["Tx"], Awaitable[T]]) -> T:
        await self.begin()
        try:
            answer = await deed(self)
        except BaseException:
            await self.roll_back()
            raise
        await self.commit()
        return answer

    async def _statement(self, sql: str) -> "PreparedStatement[asyncpg.Record]":
        statement = self._prepared.get(sql)
        if statement is None:
            # Named, because with its own cache off the driver would plan an unnamed statement anew at every call.
            statement = self._prepared[sql] = await self.raw.prepare(sql, name=f"s{len(self._prepared)}")
        return statement


class Pool:
    """At most `connections` to one database, which calls us `name`. Making one dials nothing; the first statement does."""

    def __init__(
        self, dsn: str, connections: int = 10, name: str = NAME, *, settings: Mapping[str, str] | None = None
    ) -> None:
        self.name = name
        self._dsn = dsn
        self._settings = settings or {}
        self._idle: list[Tx] = []
        self._room = asyncio.Semaphore(connections)
        self._closed = False

    def connection(self) -> "Lent":
        """A connection outside any transaction: each statement is its own."""
        return Lent(self)

    def transaction(self) -> "InTransaction":
        """A READ COMMITTED transaction: committed when the block ends, rolled back when it raises."""
        return InTransaction(self)

    async def fetchrow(self, sql: str, *args: object) -> Row | None:
        """One statement on its own: the first row, or None."""
        async with self.connection() as tx:
            return await tx.fetchrow(sql, *args)

    async def fetch(self, sql: str, *args: object) -> list[Row]:
        """One statement on its own: all rows."""
        async with self.connection() as tx:
            return await tx.fetch(sql, *args)

    async def execute(self, sql: str, *args: object) -> int:
        """One statement on its own: how many rows it wrote."""
        async with self.connection() as tx:
            return await tx.execute(sql, *args)

    async def transact(self, deed: Callable[[Tx], Awaitable[T]]) -> T:
        """Do `deed` in a transaction of a connection of its own: see `Tx.transact`."""
        async with self.connection() as tx:
            return await tx.transact(deed)

    async def close(self) -> None:
        """Close what is idle; what is lent is closed when it comes back."""
        self._closed = True
        while self._idle:
            await self._idle.pop().raw.close()

    async def lend(self) -> Tx:
        """A connection, when one is free. What is lent must be given back."""
        await self._room.acquire()
        try:
            while self._idle:
                tx = self._idle.pop()
                if not tx.raw.is_closed():
                    return tx
            return Tx(await connect(self._dsn, name=self.name, settings=self._settings))
        except BaseException as fault:
            self._room.release()
            if isinstance(fault, UNREACHABLE):
                raise TemporarilyUnavailable(detail=f"cannot reach the database: {type(fault).__name__}") from fault
            raise

    def take_back(self, tx: Tx, fault: BaseException | None) -> None:
        """Keep a lent connection for the next, unless `fault` or what it is in the middle of spoiled it."""
        if isinstance(fault, SPOILED):
            tx.raw.terminate()
        if not tx.raw.is_closed():
            if self._closed or tx.raw.is_in_transaction():
                tx.raw.terminate()
            else:
                self._idle.append(tx)
        self._room.release()


class Lent:
    """A connection for the length of a block. A plain class: every request passes here, most of them twice."""

    __slots__ = ("_pool", "_tx")

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def __aenter__(self) -> Tx:
        self._tx = await self._pool.lend()
        return self._tx

    async def __aexit__(self, _kind: object, fault: BaseException | None, _trace: object) -> None:
        self._pool.take_back(self._tx, fault)


class InTransaction(Lent):
    """A connection for the length of a block, which is one transaction."""

    __slots__ = ()

    async def __aenter__(self) -> Tx:
        tx = await super().__aenter__()
        try:
            await tx.begin()
        except BaseException as fault:
            self._pool.take_back(tx, fault)
            raise
        return tx

    async def __aexit__(self, _kind: object, fault: BaseException | None, _trace: object) -> None:
        try:
            await (self._tx.commit() if fault is None else self._tx.roll_back())
        except BaseException as later:
            self._pool.take_back(self._tx, later)
            raise
        self._pool.take_back(self._tx, fault)


async def connect(
    dsn: str, *, timeout_s: float = 5, name: str = NAME, settings: Mapping[str, str] | None = None
) -> "asyncpg.Connection[asyncpg.Record]":
    """A bare connection with our time limits on it, as start-up parameters that a pooler passes on."""
    return await asyncpg.connect(
        dsn,
        timeout=timeout_s,
        statement_cache_size=0,
        server_settings={
            "application_name": name,
            "jit": "off",
            "timezone": "UTC",
            "statement_timeout": str(STATEMENT_TIMEOUT_MS),
            "lock_timeout": str(LOCK_TIMEOUT_MS),
            "idle_in_transaction_session_timeout": str(IDLE_IN_TRANSACTION_MS),
            **(settings or {}),
        },
    )
