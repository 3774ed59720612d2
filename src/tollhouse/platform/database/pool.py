"""PostgreSQL: a thin pool of connections with pinned prepared statements.

Connections are reused last-in-first-out, without a round trip. So nothing may persist on them: no SET other than
SET LOCAL, no session locks, no LISTEN. A connection that is returned broken or inside a transaction is closed. For the
same reason the connections may be those of a pooler in transaction mode.

A server may stop responding without closing anything. Every statement has a deadline on the client, later than the
server's: when it passes, its connection and the idle ones are closed.
"""

import asyncio
import re
import socket
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TypeVar
from uuid import uuid4

import asyncpg
from asyncpg.connect_utils import SessionAttribute
from msgspec import Struct

from tollhouse.kernel import clock
from tollhouse.kernel.errors import TemporarilyUnavailable
from tollhouse.platform.database import server_store
from tollhouse.platform.database.batched_query import BatchedQuery
from tollhouse.platform.database.errors import STANDBY, UNREACHABLE, UNUSABLE, OutcomeUnknown, reason_of
from tollhouse.platform.database.partitions import Partitions, is_missing
from tollhouse.platform.database.transaction import STATEMENT_DEADLINE_S, DatabaseConnection, Row, Tx
from tollhouse.platform.log import metrics
from tollhouse.platform.semaphore import DeadlineSemaphore

T = TypeVar("T")
NAME = "tollhouse"
HOSTS = re.compile(r"(?P<before>[^:/?#]+://(?:[^/?#]*@)?)(?P<hosts>[^/?#]*)(?P<after>.*)", re.DOTALL)
SESSION_SETTINGS = {
    "jit": "off",
    "statement_timeout": "5000",
    "lock_timeout": "2000",
    "idle_in_transaction_session_timeout": "5000",
}
"""What each session begins with; times are in milliseconds. Through a pooler, the role has them."""
CONNECT_TIMEOUT_S = 5.0
ACQUIRE_TIMEOUT_S = 5.0
WATCH_EVERY_S = 0.25
WAITS = metrics.Durations("tollhouse_database_pool_wait_seconds", "Waits for a database connection while all were in use.")
TIMEOUTS = metrics.Counter("tollhouse_database_pool_timeouts", "Waits for a database connection that ended in a 503.")
KEEPALIVE = {"TCP_KEEPIDLE": 10, "TCP_KEEPALIVE": 10, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 3, "TCP_USER_TIMEOUT": 20_000}
"""Socket options by name, in seconds except the last: TCP drops a silent server after 30 seconds."""


class PoolUse(Struct, frozen=True):
    """The connections of a pool: the most there can be, those open and in use, and how many wait for one."""

    limit: int
    open: int
    in_use: int
    waiting: int


class Pool:
    """A pool of at most `connections`, with `name` as application name. The first statement opens the first connection.

    `partitions` creates missing partitions before a statement needs them. `statement_timeout_s` overrides the default.
    `pooled`: `dsn` is that of a pooler in transaction mode, which takes neither `settings` nor time limits. `only_reads`: a
    standby serves as well.
    """

    def __init__(
        self,
        dsn: str,
        connections: int = 10,
        name: str = NAME,
        *,
        settings: Mapping[str, str] | None = None,
        partitions: Partitions | None = None,
        statement_timeout_s: float | None = None,
        pooled: bool = False,
        only_reads: bool = False,
    ) -> None:
        self.name = name
        self.partitions = partitions
        self._urls = single_host_urls(dsn)
        self._pooled, self._only_reads = pooled, only_reads
        self._settings = {**_statement_limit(statement_timeout_s), **(settings or {})}
        self._answers_within_s = statement_timeout_s or STATEMENT_DEADLINE_S
        self._idle: list[DatabaseConnection] = []
        self._borrowed: set[DatabaseConnection] = set()
        self._slots = DeadlineSemaphore(connections)
        self._watching: asyncio.TimerHandle | None = None
        self._closed = False
        self._batched: dict[str, BatchedQuery] = {}

    def connection(self) -> "PooledConnection":
        """A connection outside any transaction: each statement commits by itself."""
        return PooledConnection(self)

    def transaction(self) -> "PooledTransaction":
        """A READ COMMITTED transaction: committed when the block ends, rolled back when it raises."""
        return PooledTransaction(self)

    async def fetchrow(self, sql: str, *args: object) -> Row | None:
        """Run one statement; the first row, or None."""
        async with self.connection() as tx:
            return await tx.fetchrow(sql, *args)

    async def read_row(self, sql: str, *args: object) -> Row | None:
        """Run one statement that only reads; the first row, or None."""
        return await self.fetchrow(sql, *args)

    async def fetch(self, sql: str, *args: object) -> list[Row]:
        """Run one statement; all rows."""
        async with self.connection() as tx:
            return await tx.fetch(sql, *args)

    async def read(self, sql: str, *args: object) -> list[Row]:
        """Run one statement that only reads; all rows."""
        return await self.fetch(sql, *args)

    async def fetchrow_in_batch(self, sql: str, keys: tuple[object, ...], *args: object) -> Row | None:
        """The row of these keys, or None, read together with those of other keys: see `BatchedQuery`."""
        query = self._batched.get(sql)
        if query is None:
            query = self._batched[sql] = BatchedQuery(self.fetch, sql)
        return await query.fetchrow(keys, *args)

    async def fetch_custom_plan(self, sql: str, *args: object) -> list[Row]:
        """Run one statement, planned for these values: see `Tx.fetch_custom_plan`."""
        async with self.connection() as tx:
            return await tx.fetch_custom_plan(sql, *args)

    async def execute(self, sql: str, *args: object) -> int:
        """Run one statement; the number of rows written."""
        async with self.connection() as tx:
            return await tx.execute(sql, *args)

    async def transact(self, action: Callable[[Tx], Awaitable[T]]) -> T:
        """Run `action` in a transaction: see `Tx.transact`."""
        tx = Tx(None, self)
        try:
            response = await self._transact(tx, action)
        except BaseException as error:
            tx.release(error)
            raise
        tx.release()
        return response

    async def _transact(self, tx: Tx, action: Callable[[Tx], Awaitable[T]]) -> T:
        try:
            return await tx.transact(action)
        except asyncpg.CheckViolationError as error:
            if self.partitions is None or not is_missing(error):
                raise
            self.partitions.reset()
            await self.partitions.make_missing(tx)
            return await tx.transact(action)

    @property
    def use(self) -> PoolUse:
        """How much of it is in use."""
        return PoolUse(self._slots.limit, len(self._idle) + len(self._borrowed), len(self._borrowed), self._slots.waiting)

    async def close(self) -> None:
        """Close idle connections; the others are closed when they are returned."""
        self._closed = True
        while self._idle:
            raw = self._idle.pop().raw
            try:
                await raw.close(timeout=CONNECT_TIMEOUT_S)
            except UNREACHABLE:
                raw.terminate()

    async def acquire(self) -> DatabaseConnection:
        """Wait for a free connection, which must be returned. Raises `TemporarilyUnavailable`."""
        if not self._slots.try_acquire():
            await self._wait_for_slot()
        try:
            connection = self._pop_idle() or await self._dial()
        except BaseException as error:
            self._slots.release()
            if isinstance(error, UNREACHABLE):
                raise TemporarilyUnavailable(detail=f"cannot reach the database: {reason_of(error)}") from error
            raise
        self._borrowed.add(connection)
        if self._watching is None:
            self._watch()
        if self.partitions is not None and not self.partitions.cover(clock.now()):
            try:
                await self.partitions.make_missing(Tx(connection))
            except BaseException as error:
                self.take_back(connection, error)
                raise
        return connection

    def take_back(self, connection: DatabaseConnection, error: BaseException | None) -> None:
        """Return a connection to the pool; close it after a connection error or inside a transaction."""
        raw = connection.raw
        self._borrowed.discard(connection)
        if isinstance(error, (*UNUSABLE, OutcomeUnknown)):
            raw.terminate()
        if isinstance(error, STANDBY):
            self._drop_idle()
        if self.partitions is not None and is_missing(error):
            self.partitions.reset()
        if not raw.is_closed():
            if self._closed or raw.is_in_transaction():
                raw.terminate()
            else:
                self._idle.append(connection)
        self._slots.release()

    async def _wait_for_slot(self) -> None:
        started_ns = time.monotonic_ns()
        try:
            await self._slots.acquire(ACQUIRE_TIMEOUT_S)
        except TimeoutError:
            TIMEOUTS.add()
            raise TemporarilyUnavailable(detail="every database connection is in use") from None
        finally:
            WAITS.observe((time.monotonic_ns() - started_ns) // 1000)

    def _pop_idle(self) -> DatabaseConnection | None:
        while self._idle:
            connection = self._idle.pop()
            if not connection.raw.is_closed():
                return connection
        return None

    async def _dial(self) -> DatabaseConnection:
        if not self._pooled:
            startup = {**_startup(self.name), **SESSION_SETTINGS, **self._settings}
            raw = await connect_to_one(self._urls, CONNECT_TIMEOUT_S, startup, to_any=self._only_reads)
            return DatabaseConnection(raw, self._answers_within_s)
        async with asyncio.timeout(CONNECT_TIMEOUT_S):
            raw = await connect_to_one(self._urls, CONNECT_TIMEOUT_S, _startup(self.name), to_any=True)
            try:
                names_statements = await _keeps_named_statements(raw)
            except BaseException:
                raw.terminate()
                raise
        return DatabaseConnection(raw, self._answers_within_s, names_statements=names_statements)

    def _watch(self) -> None:
        """Close connections whose statement exceeded its deadline; repeat while any is in use."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        for connection in [borrowed for borrowed in self._borrowed if borrowed.deadline < now]:
            connection.raw.terminate()
            self._drop_idle()
        self._watching = loop.call_later(WATCH_EVERY_S, self._watch) if self._borrowed else None

    def _drop_idle(self) -> None:
        """Close idle connections, as they belong to the same server and each would fail a request."""
        while self._idle:
            self._idle.pop().raw.terminate()


class PooledConnection:
    """A connection for the length of a block. A plain class for speed: most requests use it."""

    __slots__ = ("_pool", "_tx")

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def __aenter__(self) -> Tx:
        self._tx = Tx(await self._pool.acquire(), self._pool)
        return self._tx

    async def __aexit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        self._tx.release(error)


class PooledTransaction(PooledConnection):
    """A transaction for the length of a block."""

    __slots__ = ()

    async def __aenter__(self) -> Tx:
        tx = await super().__aenter__()
        try:
            await tx.begin()
        except BaseException as error:
            tx.release(error)
            raise
        return tx

    async def __aexit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        try:
            await (self._tx.commit() if error is None else self._tx.roll_back())
        except BaseException as later:
            self._tx.release(later)
            raise
        self._tx.release(error)


async def connect(
    dsn: str, *, timeout_s: float = CONNECT_TIMEOUT_S, name: str = NAME, settings: Mapping[str, str] | None = None
) -> "asyncpg.Connection[asyncpg.Record]":
    """Connect with time limits as startup parameters. Never to a standby; of several hosts, to the primary."""
    return await connect_to_one(single_host_urls(dsn), timeout_s, {**_startup(name), **SESSION_SETTINGS, **(settings or {})})


@asynccontextmanager
async def connected(dsn: str, *, settings: Mapping[str, str] | None = None) -> AsyncGenerator[Tx]:
    """Statements on a connection of their own, which is closed at the end of the block. See `connect`."""
    raw = await connect(dsn, settings=settings)
    try:
        yield Tx(DatabaseConnection(raw))
    finally:
        await raw.close()


async def connect_to_one(
    urls: list[str], timeout_s: float, startup: Mapping[str, str], *, to_any: bool = False
) -> "asyncpg.Connection[asyncpg.Record]":
    """Connect to the first of these hosts that is the primary, or `to_any`, such as a pooler; move it to the front.

    Each has an equal part of the time: a machine that is silently gone must not take all of it.
    """
    for number, url in enumerate(urls, start=1):
        anything = to_any or "target_session_attrs" in url
        try:
            raw = await asyncpg.connect(
                url,
                timeout=timeout_s / len(urls),
                statement_cache_size=0,
                target_session_attrs=None if anything else SessionAttribute.read_write,
                server_settings=dict(startup),
            )
        except UNREACHABLE:
            if number == len(urls):
                raise
        else:
            _keep_alive(raw)
            urls.remove(url)
            urls.insert(0, url)
            return raw
    raise AssertionError("there is no host")


async def _keeps_named_statements(raw: "asyncpg.Connection[asyncpg.Record]") -> bool:
    """Whether the pooler prepares named statements on every server connection. It then gives them names of its own there."""
    name = f"probe_{uuid4().hex}"
    async with raw.transaction():
        statement = await raw.prepare(server_store.HAS_STATEMENT, name=name)
        is_ours = bool(await statement.fetchval(name))
        if is_ours:
            await raw.execute(f"DEALLOCATE {name}")
    return not is_ours


def single_host_urls(url: str) -> list[str]:
    """The URL of each host of `postgresql://user@db1,db2:5433/tollhouse`, in their order. One of them is the primary.

    `urllib` refuses a list of hosts with an IPv6 address, in some versions of Python.
    """
    parts = HOSTS.fullmatch(url)
    if parts is None:
        return [url]
    return [f"{parts['before']}{host}{parts['after']}" for host in parts["hosts"].split(",")]


def _startup(name: str) -> dict[str, str]:
    """What a pooler accepts too."""
    return {"application_name": name, "timezone": "UTC"}


def _keep_alive(raw: "asyncpg.Connection[asyncpg.Record]") -> None:
    """Let the kernel detect a lost peer. Only for TCP, and with the options of this platform."""
    transport: asyncio.Transport = getattr(raw, "_transport")  # noqa: B009 - the driver has no name for it
    wire = transport.get_extra_info("socket")
    if wire is None or wire.family not in {socket.AF_INET, socket.AF_INET6}:
        return
    with socket.fromfd(wire.fileno(), wire.family, socket.SOCK_STREAM) as same:
        same.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for option, value in KEEPALIVE.items():
            if hasattr(socket, option):
                same.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)


def _statement_limit(statement_timeout_s: float | None) -> dict[str, str]:
    """The server's statement timeout for another limit than the default."""
    return {} if statement_timeout_s is None else {"statement_timeout": str(round(statement_timeout_s * 1000))}
