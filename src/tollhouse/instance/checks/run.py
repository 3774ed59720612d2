"""The check: all rows, or new rows and a part of the old ones. Each batch runs in its own snapshot."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from uuid import UUID

import asyncpg
from msgspec import Struct
from msgspec.structs import replace

from tollhouse.instance.checks import schema_store, store
from tollhouse.instance.slices import INVARIANTS
from tollhouse.kernel import clock
from tollhouse.platform.database import digests_store, migrations
from tollhouse.platform.database.errors import CONNECTION_LOST
from tollhouse.platform.database.invariants import IDS_AT_ONCE, LINES_MAX, Invariant, find_violations
from tollhouse.platform.database.pool import DatabaseConnection, Tx, connect

SMALL = 50_000
"""With fewer rows than this, every check is a full one."""
AGAIN_ROWS = 20_000
"""The number of old rows that a partial check verifies again."""
BATCH_WITHIN_S, COSTLY_WITHIN_S, RELEASE_WITHIN_S = 300, 3_600, 5
"""The time limits of a batch and of a costly statement, after which the check fails, and of releasing its lock."""
SETTINGS = {
    "statement_timeout": f"{COSTLY_WITHIN_S}s",
    "idle_in_transaction_session_timeout": "0",
    "lock_timeout": f"{COSTLY_WITHIN_S}s",
    "plan_cache_mode": "force_generic_plan",  # by indexes, however many ids there are
    "work_mem": "64MB",
}
KINDS = tuple(digests_store.TABLES)
UNFINISHED = (*CONNECTION_LOST, TimeoutError, asyncpg.PostgresError)


class Report(Struct, frozen=True):
    """The result of a check: a line for each breach, and the number of verified rows."""

    full: bool
    broken: list[str]
    rows: int


class Scope(Struct, frozen=True):
    """The rows to check: all if `full` or if there are fewer than `small`, else the new ones and `again_rows` old ones."""

    full: bool = False
    small: int = SMALL
    again_rows: int = AGAIN_ROWS


class CheckUnfinishedError(Exception):
    """The check could not finish, so it is unknown whether the invariants hold."""


Progress = Callable[[str, int, int], None]
"""The current part, the rows done, and the total."""


def silent(_part: str, _done: int, _all: int) -> None:
    """Ignore the progress."""


async def check(dsn: str, scope: Scope, *, wait: bool = True, progress: Progress = silent) -> Report | None:
    """Run a check, one at a time: `wait` for a running one, or return None if one is running.

    Remembers how far it came where nothing is broken. Raises `CheckUnfinishedError`.
    """
    try:
        async with _connection(dsn) as locking:
            async with asyncio.timeout(COSTLY_WITHIN_S):
                await locking.begin()
                if not await store.lock(locking, wait=wait):
                    return None
            try:
                async with _connection(dsn) as tx:
                    return await verify(tx, scope, progress)
            finally:
                with suppress(*UNFINISHED):  # at once, and not when the server notices that the connection is closed
                    async with asyncio.timeout(RELEASE_WITHIN_S):
                        await locking.roll_back()
    except UNFINISHED as error:
        raise CheckUnfinishedError(f"{type(error).__name__}: {error}".rstrip(": ")) from error


async def verify(tx: Tx, scope: Scope, progress: Progress = silent) -> Report:
    """Run a check on this connection. The caller holds the lock: see `check`."""
    return await _Check(tx, scope, progress).run()


@asynccontextmanager
async def _connection(dsn: str) -> AsyncGenerator[Tx]:
    raw = await connect(dsn, settings=SETTINGS)
    try:
        yield Tx(DatabaseConnection(raw))
    finally:
        raw.terminate()


class _Check:
    def __init__(self, tx: Tx, scope: Scope, progress: Progress) -> None:
        self.tx = tx
        self.scope = scope
        self.progress = progress
        self.broken: list[str] = []
        self.rows = 0

    async def run(self) -> Report:
        """Check all rows, or the new ones."""
        if await store.migration(self.tx) != migrations.ours()[-1].number:
            raise CheckUnfinishedError(
                "The database has a different schema version than this program. Run `tollhouse migrate`."
            )
        at = await store.here(self.tx, self.scope.small)
        state = await store.state(self.tx, at)
        began = clock.now()
        full = self.scope.full or state is None or at.rows < self.scope.small
        await self._look_at_schema()
        if full or state is None:
            await self._look_at(invariant for invariant in INVARIANTS if invariant.kind is None)
            await self._look_at_everything()
            state = store.State(at.snapshot, began, None, began)
        else:
            await self._look_at(invariant for invariant in INVARIANTS if invariant.kind is None and not invariant.costly)
            await self._look_at_new(state.verified)
            again = await self._look_again(state.again)
            state = replace(state, verified=at.snapshot, verified_at=began, again=again)
        self.broken = list(dict.fromkeys(self.broken))  # a row may have been checked as new and as old
        if not self.broken:
            await store.keep_state(self.tx, at, state)
        if len(self.broken) > LINES_MAX:
            self.broken = [*self.broken[:LINES_MAX], "and more"]
        return Report(full, self.broken, self.rows)

    async def _look_at_schema(self) -> None:
        async with self._snapshot():
            self.broken += [
                f"I22 the schema matches the migrations: {difference}" for difference in await schema_store.damage(self.tx)
            ]

    async def _look_at(self, invariants: Iterable[Invariant]) -> None:
        chosen = list(invariants)
        for done, invariant in enumerate(chosen):
            self.progress(invariant.meaning, done, len(chosen))
            async with self._snapshot(COSTLY_WITHIN_S):
                self.broken += await find_violations(self.tx, invariant)

    async def _look_at_everything(self) -> None:
        """Check every row of every kind, in order of id."""
        counts = await store.counts(self.tx)
        for kind in KINDS:
            last, done = digests_store.BEFORE_ALL, 0
            self.progress(kind, 0, counts.get(kind, 0))
            while True:
                ids = await self._page(kind, last, IDS_AT_ONCE)
                done += len(ids)
                self.progress(kind, done, max(done, counts.get(kind, 0)))
                if len(ids) < IDS_AT_ONCE or self._enough:
                    break
                last = ids[-1]

    async def _look_at_new(self, since: str) -> None:
        """Check rows that the snapshot `since` did not see, and the rows whose money they moved."""
        after: str | None = None
        while True:
            async with self._snapshot():
                new, after = await store.new_rows(self.tx, since, after, IDS_AT_ONCE)
                ids: defaultdict[str, set[UUID]] = defaultdict(set)
                for row in new:
                    ids[row.kind].add(row.id)
                for some in _batches(ids["ledger"]):
                    for kind, row_id in await store.touched(self.tx, some):
                        ids[kind].add(row_id)
                for kind, found in ids.items():
                    for some in _batches(found):
                        await self._look_at_rows(kind, some)
            self.progress("new", self.rows, self.rows)
            if after is None or self._enough:
                return

    async def _look_again(self, begin: tuple[str, UUID] | None) -> tuple[str, UUID] | None:
        """Check some old rows from where the last check stopped. Returns where the next begins; None is the first row."""
        kind, last = begin or (KINDS[0], digests_store.BEFORE_ALL)
        left = self.scope.again_rows
        while left > 0:
            limit = min(left, IDS_AT_ONCE)
            ids = await self._page(kind, last, limit)
            left -= len(ids)
            last = ids[-1] if ids else last
            self.progress("again", self.scope.again_rows - left, self.scope.again_rows)
            if len(ids) < limit:
                if kind == KINDS[-1]:
                    return None
                kind, last = KINDS[KINDS.index(kind) + 1], digests_store.BEFORE_ALL
        return kind, last

    async def _page(self, kind: str, after: UUID, limit: int) -> list[UUID]:
        async with self._snapshot():
            ids = await digests_store.page(self.tx, kind, after, limit)
            await self._look_at_rows(kind, ids)
        return ids

    async def _look_at_rows(self, kind: str, ids: Sequence[UUID]) -> None:
        if not ids:
            return
        self.rows += len(ids)
        changed = await digests_store.changes(self.tx, kind, ids)
        self.broken += [f"I21 immutable rows are unchanged: {line}" for line in changed[:LINES_MAX]]
        for invariant in INVARIANTS:
            if invariant.kind == kind:
                self.broken += await find_violations(self.tx, invariant, ids)

    @property
    def _enough(self) -> bool:
        return len(self.broken) > LINES_MAX

    @asynccontextmanager
    async def _snapshot(self, within_s: float = BATCH_WITHIN_S) -> AsyncGenerator[None]:
        """A snapshot for one batch. A longer one would keep VACUUM from cleaning up."""
        async with asyncio.timeout(within_s), self.tx.raw.transaction(isolation="repeatable_read", readonly=True):
            yield


def _batches(ids: Iterable[UUID]) -> Iterator[list[UUID]]:
    ordered = sorted(ids)
    return (ordered[at : at + IDS_AT_ONCE] for at in range(0, len(ordered), IDS_AT_ONCE))
