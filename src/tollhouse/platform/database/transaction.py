"""Connections and transactions.

An action locks, reads and writes in a plain unit of work. What follows is how `Tx.transact` runs it in few round trips.

It runs the action optimistically first: BEGIN is sent before the first statement that may lock or write, and writes whose
results are not needed are deferred. An action that only reads and defers is one statement that commits by itself. What it
has read without a lock, and what it has assumed of its writes, is verified by the deferred ones. A conflict runs the action
again, each statement at once and with every lock. So no action asks which run it is in: `write`, `try_write`, `write_rows`,
`read_to_change` and `fetch_bound` do the right thing in both.

A connection is borrowed for the first statement of the action's own, not for those that are read together with others.
"""

import asyncio
import math
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from typing import Any, Protocol, TypeVar

import asyncpg
from asyncpg.prepared_stmt import PreparedStatement

from tollhouse.kernel.errors import TemporarilyUnavailable
from tollhouse.platform.database.deferred_store import DeferredWrite, combine
from tollhouse.platform.database.errors import CONFLICTS, CONNECTION_LOST, OutcomeUnknown

Row = asyncpg.Record
T = TypeVar("T")
RETRIES = 3
STATEMENT_DEADLINE_S = 7.0
"""Longer than the server's own limit, after which the connection stays usable."""
DEFERRED_MAX = 25
"""More are not kept back: a statement is prepared for each sequence of writes, and has 1,664 columns at most."""
UNREPEATED = (*CONNECTION_LOST, TemporarilyUnavailable)
"""Errors after which there is no usable connection, or it must not be used: `OutcomeUnknown` is one of them."""


class ConflictError(Exception):
    """An optimistic run failed. Nothing was written; the action runs again, without deferring."""


class DatabaseConnection:
    """A connection to the database. Statements are prepared once on it, and have a deadline.

    Without `names_statements` they have no names, and are parsed and planned at each execution, in the same round trip.
    """

    def __init__(
        self,
        raw: "asyncpg.Connection[asyncpg.Record]",
        statement_timeout_s: float = STATEMENT_DEADLINE_S,
        *,
        names_statements: bool = True,
    ) -> None:
        self.raw = raw
        self.names_statements = names_statements
        self.deadline = math.inf
        """The deadline of the current statement, by the clock of the event loop."""
        self._statement_timeout_s = statement_timeout_s
        self._time = asyncio.get_running_loop().time
        self._prepared: dict[str, PreparedStatement[asyncpg.Record]] = {}

    async def query(
        self, run: Callable[..., Awaitable[T]], sql: str, args: Sequence[object], *, custom_plan: bool = False
    ) -> T:
        """Run a statement by this method of a prepared one. `custom_plan`: planned for these values."""
        self.deadline = self._time() + self._statement_timeout_s
        try:
            if custom_plan:
                statement = await self.raw.prepare(sql, name="")
            else:
                statement = self._prepared.get(sql) or await self._prepare(sql)
            return await run(statement, *args)
        finally:
            self.deadline = math.inf

    async def send(self, sql: str) -> None:
        """Run statements without arguments, unprepared."""
        self.deadline = self._time() + self._statement_timeout_s
        try:
            await self.raw.execute(sql)
        finally:
            self.deadline = math.inf

    async def _prepare(self, sql: str) -> "PreparedStatement[asyncpg.Record]":
        # Named, because the driver plans unnamed statements at every call if its own cache is off.
        name = f"s{len(self._prepared)}" if self.names_statements else ""
        statement = self._prepared[sql] = await self.raw.prepare(sql, name=name)
        return statement


class Lender(Protocol):
    """What lends connections: the pool."""

    async def acquire(self) -> DatabaseConnection:
        """Wait for a free connection. Raises `TemporarilyUnavailable`."""
        ...

    def take_back(self, connection: DatabaseConnection, error: BaseException | None) -> None:
        """Take a connection back, after this error."""
        ...

    async def fetchrow_in_batch(self, sql: str, keys: tuple[object, ...], *args: object) -> Row | None:
        """The row of these keys, read together with those of other keys."""
        ...


class Tx:
    """Statements inside or outside a transaction.

    Without a connection, the first statement borrows one from the lender. `release` returns it.
    """

    def __init__(self, connection: DatabaseConnection | None, lender: Lender | None = None) -> None:
        self.connection = connection
        self.on_release: Callable[[], None] | None = None
        """Called once, when the connection is returned without an error."""
        self.is_optimistic = False
        """Whether this run defers its writes. They verify what it has read without a lock."""
        self.retries_errors = False
        """Whether an error of this run is not final: the action runs again."""
        self.has_waited = False
        """Whether the optimistic run waited for a lock in vain."""
        self._begins_later = False
        """Whether BEGIN is still to be sent, before the first statement that may lock or write."""
        self._deferred: list[DeferredWrite] = []
        self._lender = lender

    @property
    def raw(self) -> "asyncpg.Connection[asyncpg.Record]":
        """The driver's connection, once there is one."""
        if self.connection is None:
            raise AssertionError("no connection was borrowed")
        return self.connection.raw

    def fetchrow(self, sql: str, *args: object) -> Coroutine[Any, Any, Row | None]:
        """The first row, or None."""
        return self._query(PreparedStatement.fetchrow, sql, args)

    def fetch(self, sql: str, *args: object) -> Coroutine[Any, Any, list[Row]]:
        """All rows."""
        return self._query(PreparedStatement.fetch, sql, args)

    def fetch_custom_plan(self, sql: str, *args: object) -> Coroutine[Any, Any, list[Row]]:
        """All rows of a statement that is planned for these values: for lists, most of whose filters are unset."""
        return self._query(PreparedStatement.fetch, sql, args, custom_plan=True)

    def fetchval(self, sql: str, *args: object) -> Coroutine[Any, Any, Any]:
        """The first column of the first row, or None."""
        return self._query(PreparedStatement.fetchval, sql, args)

    def execute(self, sql: str, *args: object) -> Coroutine[Any, Any, int]:
        """Run a statement; the number of rows written or returned."""
        return self._query(_execute, sql, args)

    def read_row(self, sql: str, *args: object) -> Coroutine[Any, Any, Row | None]:
        """The first row of a SELECT that neither locks nor writes, or None. It needs no BEGIN before it."""
        return self._query(PreparedStatement.fetchrow, sql, args, only_reads=True)

    def read(self, sql: str, *args: object) -> Coroutine[Any, Any, list[Row]]:
        """All rows of such a SELECT."""
        return self._query(PreparedStatement.fetch, sql, args, only_reads=True)

    async def read_row_in_batch(self, sql: str, keys: tuple[object, ...], *args: object) -> Row | None:
        """The row of these keys, by a SELECT that is made by `for_many`, or None.

        If no connection is needed yet, it is read together with those of other requests.
        """
        if self._lender is not None and self.connection is None and self._may_read_before_begin():
            return await self._lender.fetchrow_in_batch(sql, keys, *args)
        return await self.read_row(sql, *([key] for key in keys), *args)

    async def write(self, sql: str, *args: object, first: bool = False, verifies: bool = False) -> None:
        """Write something whose result is not needed: by an INSERT, or a SELECT of one function.

        An optimistic run defers it to the end of the transaction, or to the next statement. `first`: before the other
        deferred ones. `verifies`: it writes nothing that a statement could see.
        """
        if not self.is_optimistic:
            await self.execute(sql, *args)
            return
        self._deferred.insert(0 if first else len(self._deferred), DeferredWrite(sql, args, verifies))
        if len(self._deferred) == DEFERRED_MAX:
            await self._enter()

    async def try_write(self, sql: str, *args: object, strict: str) -> bool:
        """Whether a conditional write wrote a row. `strict` is the same write, and fails where `sql` writes nothing.

        An optimistic run writes by `strict` and returns True.
        """
        if not self.is_optimistic:
            return await self.execute(sql, *args) > 0
        await self.write(strict, *args)
        return True

    async def write_rows(self, sql: str, *args: object, read: Callable[[Row], T], expected: Sequence[T]) -> Sequence[T]:
        """What a SELECT of a function writes, as `read` reads its rows. An optimistic run returns what is `expected`."""
        if not self.is_optimistic:
            return [read(row) for row in await self.fetch(sql, *args)]
        await self.write(sql, *args)
        return expected

    async def read_to_change(self, sql: str, *key: object, lock: str, require: str, versions: Sequence[str]) -> Row | None:
        """The row of this key, which no other transaction changes between this read and the commit; None without one.

        `lock` locks it. An optimistic run reads it without, and lets `require` lock it, by its key and these columns, and
        refuse other `versions`.
        """
        if not self.is_optimistic:
            return None if await self.fetchrow(lock, *key) is None else await self.fetchrow(sql, *key)
        row = await self.read_row(sql, *key)
        if row is not None:
            await self.write(require, *key, *(row[name] for name in versions), verifies=True)
        return row

    async def fetch_bound(self, sql: str, *args: object) -> int | None:
        """A bound that a constraint enforces too. An optimistic run leaves it to the constraint, and returns None."""
        return None if self.is_optimistic else await self.fetchval(sql, *args)

    async def run(self, sql: str) -> None:
        """Run statements without arguments, unprepared."""
        if self._begins_later or self._deferred:
            await self._enter()
        await self._send(sql)

    async def begin(self) -> None:
        """Open a READ COMMITTED transaction."""
        await self._send("BEGIN")

    async def commit(self) -> None:
        """Commit the open transaction. Raises `OutcomeUnknown` if the connection is lost before the confirmation."""
        try:
            await self._send("COMMIT")
        except CONNECTION_LOST as error:
            raise OutcomeUnknown(detail=f"commit: {type(error).__name__}") from error

    async def roll_back(self) -> None:
        """Roll the open transaction back."""
        await self._send("ROLLBACK")

    @asynccontextmanager
    async def snapshot(self) -> AsyncGenerator[None]:
        """A read-only transaction with one snapshot for all statements."""
        await self.run("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        try:
            yield
        finally:
            await self.roll_back()

    async def transact(self, action: Callable[["Tx"], Awaitable[T]]) -> T:
        """Run `action` in a transaction, optimistically first.

        After a conflict it runs again with its statements one by one; up to three more times after a deadlock or
        serialization failure.
        """
        self.has_waited = False
        try:
            return await self._transact_once(action, optimistic=True)
        except (ConflictError, asyncpg.SerializationError, asyncpg.DeadlockDetectedError) as conflict:
            self.has_waited = isinstance(conflict.__cause__, asyncpg.LockNotAvailableError)
        for again in range(RETRIES, -1, -1):
            try:
                return await self._transact_once(action, optimistic=False)
            except (asyncpg.SerializationError, asyncpg.DeadlockDetectedError):
                if not again:
                    raise
        raise AssertionError("unreachable")

    async def _transact_once(self, action: Callable[["Tx"], Awaitable[T]], *, optimistic: bool) -> T:
        self.is_optimistic, self._begins_later = optimistic, True
        try:
            response = await action(self)
            if self._begins_later:
                await self._write_at_once()
                return response
            await self._write_deferred()
        except BaseException as error:
            self._deferred.clear()
            if not self._begins_later:
                await self.roll_back()
            if self.retries_errors and isinstance(error, Exception) and not isinstance(error, UNREPEATED):
                raise ConflictError from error
            raise
        finally:
            self.is_optimistic = self.retries_errors = self._begins_later = False
        await self.commit()
        return response

    def release(self, error: BaseException | None = None) -> None:
        """Return the connection to the lender, after this error."""
        connection, self.connection = self.connection, None
        if connection is not None and self._lender is not None:
            self._lender.take_back(connection, error)
        on_release, self.on_release = self.on_release, None
        if on_release is not None and error is None:
            on_release()

    async def _query(
        self,
        run: Callable[..., Awaitable[T]],
        sql: str,
        args: tuple[object, ...],
        *,
        custom_plan: bool = False,
        only_reads: bool = False,
    ) -> T:
        """Run a statement, after BEGIN and what was deferred if it needs them."""
        if (self._begins_later or self._deferred) and not (only_reads and self._may_read_before_begin()):
            await self._enter()
        connection = self.connection or await self._borrow()
        return await connection.query(run, sql, args, custom_plan=custom_plan)

    def _may_read_before_begin(self) -> bool:
        """Whether a SELECT needs no BEGIN: nothing was begun, and nothing deferred that it could see."""
        return self._begins_later and all(write.verifies for write in self._deferred)

    async def _send(self, sql: str) -> None:
        connection = self.connection or await self._borrow()
        await connection.send(sql)

    async def _borrow(self) -> DatabaseConnection:
        if self._lender is None:
            raise AssertionError("there is neither a connection nor a lender")
        self.connection = await self._lender.acquire()
        return self.connection

    async def _enter(self) -> None:
        """Begin if nothing was begun, and write what was deferred."""
        if self._begins_later:
            if self.connection is None:
                await self._borrow()
            self._begins_later = False
            await self.begin()
        await self._write_deferred()

    async def _write_deferred(self) -> None:
        """Write what was deferred. Raises `ConflictError`."""
        if not self._deferred:
            return
        sql, values = combine(self._deferred)
        self._deferred.clear()
        try:
            await self.fetchrow(sql, *values)
        except CONFLICTS as error:
            raise ConflictError from error

    async def _write_at_once(self) -> None:
        """Write what was deferred as one statement that commits by itself; raises what writing and `commit` raise."""
        if not self._deferred:
            return
        connection = self.connection or await self._borrow()
        if connection.raw.is_closed():
            raise asyncpg.ConnectionDoesNotExistError("the connection is closed")
        self._begins_later = False
        try:
            await self._write_deferred()
        except CONNECTION_LOST as error:
            raise OutcomeUnknown(detail=f"write: {type(error).__name__}") from error
        finally:
            self._begins_later = True


async def _execute(statement: "PreparedStatement[asyncpg.Record]", *args: object) -> int:
    await statement.fetch(*args)
    tag = (statement.get_statusmsg() or "").split()
    return int(tag[-1]) if tag and tag[-1].isdigit() else 0
