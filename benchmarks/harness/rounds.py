"""Rounds: every operation is measured by every party in turns, on one machine and one database server."""

import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence

import asyncpg
from msgspec import Struct

from benchmarks.harness import processor
from benchmarks.harness.load import CONNECTIONS, Job, Load, load
from benchmarks.harness.operations import Operation
from benchmarks.harness.requests import Wire
from benchmarks.harness.results import FLOOR, Round, Row, row_of
from benchmarks.harness.servers import Server

WARM_UP_S = 1
ITEMS_PER_S = 3_000
"""Assumed until a round was measured."""
SPARE = 2.0
TRIES = 4


class Party(Struct, frozen=True):
    """One who is measured. `wires`, `items` and `keep` replace those of an operation, by name.

    `dsn`: its own database, if it has one.
    """

    name: str
    server: Server
    wires: Mapping[str, Wire] = {}
    items: Mapping[str, Callable[[int], Awaitable[list[str]]]] = {}
    operations: frozenset[str] | None = None
    keep: Mapping[str, Callable[[list[str]], None]] = {}
    dsn: str | None = None

    def can(self, operation: Operation) -> bool:
        """Whether it has this operation."""
        return self.operations is None or operation.name in self.operations


class Plan(Struct, frozen=True):
    """How long to measure."""

    rounds: int
    seconds: int


class WrongAnswersError(Exception):
    """A server refused what it had to grant, or did less than it was sent."""


class Measurement:
    """Measures on one database server."""

    def __init__(self, connection: "asyncpg.Connection[asyncpg.Record]", postmaster: int, plan: Plan) -> None:
        self._connection, self._postmaster, self._plan = connection, postmaster, plan
        self._per_s: dict[tuple[str, str], float] = {}

    async def measure(self, operation: Operation, parties: Sequence[Party], trips: int | None) -> list[Row]:
        """All rounds of an operation, taking turns; every other time the other way about."""
        able = [party for party in parties if party.can(operation)]
        await self._analyze(able)
        for party in able:
            await self._round(operation, party, WARM_UP_S)
        await self._analyze(able)
        rounds: dict[str, list[Round]] = {party.name: [] for party in able}
        for turn in range(self._plan.rounds):
            for party in able[:: 1 if turn % 2 == 0 else -1]:
                rounds[party.name].append(await self._round(operation, party, self._plan.seconds))
            shown = "  ".join(f"{name} {found[-1].per_s:,.0f}/s" for name, found in rounds.items())
            talk(f"{operation.name} {turn + 1}/{self._plan.rounds}: {shown}")
        return [
            row_of(
                operation.name, party.name, rounds[party.name], rounds[FLOOR], goal=operation.goal,
                trips=1 if party.name == FLOOR else None if party.operations is not None else trips,
            )
            for party in able
        ]  # fmt: skip

    async def _round(self, operation: Operation, party: Party, seconds: int) -> Round:
        """One round; again with more items where they did not last."""
        for _ in range(TRIES):
            key = (party.name, operation.name)
            count = int(self._per_s.get(key, ITEMS_PER_S) * seconds * SPARE)
            took, round_ = await self._try(operation, party, seconds, count)
            if not took.found.spent:
                self._per_s[key] = round_.per_s
                return round_
            self._per_s[key] = 2 * self._per_s.get(key, ITEMS_PER_S)
        raise WrongAnswersError(f"{party.name} used up the items of {operation.name}")

    async def _try(self, operation: Operation, party: Party, seconds: int, count: int) -> tuple[Load, Round]:
        create = party.items.get(operation.name)
        items = await (create(count) if create else operation.items(party.name, count))
        wire = party.wires.get(operation.name, operation.wire)
        counts = operation.done if party.operations is None else ""
        done = await self._done(counts)
        web, database = processor.server_s(party.server.pid), processor.database_s(self._postmaster)
        took = await load(Job(party.server.port, seconds, wire, items, operation.renews, operation.once))
        app_s = processor.between(web, processor.server_s(party.server.pid))
        database_s = processor.between(database, processor.database_s(self._postmaster))
        found = took.found
        if operation.renews:
            keep = party.keep.get(operation.name)
            keep(took.left) if keep else operation.keep(party.name, took.left)
        if found.spent:
            return took, _round_of(took, app_s, database_s)
        if found.failed or not found.requests:
            raise WrongAnswersError(f"{found.failed} wrong answers by {party.name} to {operation.name} {found.failure}")
        if operation.renews and len(took.left) < len(items) - 2 * CONNECTIONS:  # those on their way at the end are lost
            raise WrongAnswersError(f"{party.name} got {len(took.left)} new items for {len(items)} of {operation.name}")
        if counts and await self._done(counts) - done < found.requests:
            raise WrongAnswersError(f"{party.name} answered {found.requests} times to {operation.name}, and did less")
        return took, _round_of(took, app_s, database_s)

    async def _analyze(self, parties: Sequence[Party]) -> None:
        """Let the planner see how large the tables are, as it would after a minute by itself."""
        await self._connection.execute("VACUUM ANALYZE")
        for dsn in {party.dsn for party in parties if party.dsn is not None}:
            connection = await asyncpg.connect(dsn)
            await connection.execute("VACUUM ANALYZE")
            await connection.close()

    async def _done(self, sql: str) -> int:
        return int(await self._connection.fetchval(sql)) if sql else 0


def _round_of(took: Load, app_s: float, database_s: float) -> Round:
    found = took.found
    each = 1e6 / max(1, found.requests)
    there = processor.is_there()
    return Round(
        found.requests / found.seconds,
        found.p50_us / 1000,
        found.p99_us / 1000,
        app_s * each if there else None,
        database_s * each if there else None,
        took.used_s * each,
    )


def talk(text: str) -> None:
    """Tell the person who waits."""
    print(text, file=sys.stderr, flush=True)
