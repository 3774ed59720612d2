"""Measure the product and its floors in one run, on one database, in rounds that take turns; print a table.

Data goes to standard output, talk to standard error. Exit 1 when an answer was not what it had to be.
"""

import argparse
import asyncio
import base64
import sys
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import asyncpg
import msgspec
from msgspec import Struct

from benchmarks.money import seed, servers
from benchmarks.money.actions import ACTIONS, CROWDS, Action, Crowd, job, owners
from benchmarks.money.database import Pgbench
from benchmarks.money.seed import Shop
from benchmarks.money.watch import Watched, keep, watch
from benchmarks.oauth import servers as shared
from benchmarks.oauth.results import Round, Row, round_of, row_of, table
from benchmarks.oauth.seed import KEYS
from tollhouse.platform import embedded
from tollhouse.platform.migrations import migrate

NUMBERS_PER_S = {"tollhouse": 3_000, "bare": 4_500, "pgbench": 9_000}
"""More than anybody does in a second."""
WARM_UP_S = 0.5
SECRET_KEYS = ",".join(f"{name}:{base64.urlsafe_b64encode(key).decode().rstrip('=')}" for name, key in KEYS)
Measure = Callable[[Action, Crowd, float], Awaitable[Round]]


class Plan(Struct, frozen=True):
    """How long to measure."""

    rounds: int
    seconds: float
    actions: tuple[Action, ...]


class WrongAnswersError(Exception):
    """A server refused what it had to grant."""


class Numbers:
    """Numbers that no one has used."""

    def __init__(self) -> None:
        self._next = 0

    def take(self, wanted: int) -> range:
        """The next ones, beginning at a whole thousand, so that merchants take turns from the first on."""
        begin = self._next
        self._next += -(-wanted // seed.MERCHANTS) * seed.MERCHANTS
        return range(begin, begin + wanted)


class Market:
    """What all rounds share."""

    def __init__(self, connection: "asyncpg.Connection[Any]", shops: list[Shop], watched: Watched) -> None:
        self.connection, self.shops, self.watched, self.numbers = connection, shops, watched, Numbers()

    async def open(self, action: Action, crowd: Crowd, wanted: int) -> range:
        """Numbers for a round, with payments that wait where they are to be captured."""
        numbers = self.numbers.take(wanted)
        if action == "capture":
            merchants = [shop.merchant_id for shop in owners(self.shops, crowd)]
            await seed.payments(self.connection, self.watched.waiting, merchants, numbers)
        return numbers

    async def settle_down(self) -> None:
        """Let the planner see how large the tables are, as it would after a minute by itself: all plans are made anew."""
        await self.connection.execute("VACUUM ANALYZE")


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.money", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="two short rounds, under a minute")
    parser.add_argument("--rounds", type=int, help="rounds of each action")
    parser.add_argument("--seconds", type=float, help="length of a round")
    parser.add_argument("--action", choices=ACTIONS, help="this action alone")
    parser.add_argument("--json", action="store_true", help="print JSON")
    chosen = parser.parse_args()
    plan = Plan(
        chosen.rounds or (2 if chosen.quick else 7),
        chosen.seconds or (1 if chosen.quick else 1.5),
        (chosen.action,) if chosen.action else ACTIONS,
    )
    try:
        rows = asyncio.run(measure(plan))
    except WrongAnswersError as problem:
        talk(str(problem))
        return 1
    print(msgspec.json.encode(rows).decode() if chosen.json else table(rows))
    return 0


async def measure(plan: Plan) -> list[Row]:
    """Seed a database of our own, watch the product, start both servers, and measure."""
    with tempfile.TemporaryDirectory(prefix="tollhouse-bench-") as name, ExitStack() as last:
        folder = Path(name)
        folder.chmod(0o711)
        database = embedded.start(folder / "data")
        last.callback(database.stop)
        dsn = database.cluster.dsn
        await migrate(dsn)
        connection = await asyncpg.connect(dsn)
        shops = await seed.harness(connection)
        watched = await watch(connection, plan.actions, dsn, SECRET_KEYS, shops[0])
        keep(watched, folder)
        for action, trace in watched.traces.items():
            talk(f"{action}: {len(trace.statements)} statements")
        market = Market(connection, shops, watched)
        pgbench = Pgbench(dsn, folder)
        who: dict[str, Measure] = {
            "tollhouse": by_http(market, "tollhouse", last.enter_context(servers.product(dsn, SECRET_KEYS))),
            "bare": by_http(market, "bare", last.enter_context(servers.bare(dsn, folder))),
            "pgbench": by_pgbench(market, pgbench),
        }
        rows = [
            row
            for action in plan.actions
            for crowd in CROWDS
            for row in await measure_action(plan, market, action, crowd, who)
        ]
        await connection.close()
        return rows


def by_http(market: Market, name: str, port: int) -> Measure:
    """Measure a server by the load generator."""

    async def one(action: Action, crowd: Crowd, seconds: float) -> Round:
        numbers = await market.open(action, crowd, int(seconds * NUMBERS_PER_S[name]))
        load = await shared.load(job(action, owners(market.shops, crowd), numbers, port, seconds))
        if load.failed:
            raise WrongAnswersError(f"{load.failed} wrong answers of {name}, such as:\n{load.failure}")
        return round_of(len(load.latencies_us) / load.seconds, load.latencies_us)

    return one


def by_pgbench(market: Market, pgbench: Pgbench) -> Measure:
    """Measure the database alone."""

    async def one(action: Action, crowd: Crowd, seconds: float) -> Round:
        whole = max(1, round(seconds / 2))
        numbers = await market.open(action, crowd, whole * NUMBERS_PER_S["pgbench"])
        return await asyncio.to_thread(
            pgbench.round, market.watched.traces[action], len(owners(market.shops, crowd)), numbers, whole
        )

    return one


async def measure_action(plan: Plan, market: Market, action: Action, crowd: Crowd, who: dict[str, Measure]) -> list[Row]:
    """All rounds of an action, taking turns; every other time the other way about."""
    rounds: dict[str, list[Round]] = {name: [] for name in who}
    for name in ("tollhouse", "bare"):
        await who[name](action, crowd, WARM_UP_S)
    await market.settle_down()
    for turn in range(plan.rounds):
        for name in list(who)[:: 1 if turn % 2 == 0 else -1]:
            rounds[name].append(await who[name](action, crowd, plan.seconds))
        shown = "  ".join(f"{name} {found[-1].per_s:,.0f}/s" for name, found in rounds.items())
        talk(f"{action} {crowd} {turn + 1}/{plan.rounds}: {shown}")
    return [row_of(f"{action} {crowd}", name, found, rounds["bare"]) for name, found in rounds.items()]


def talk(text: str) -> None:
    """Tell the person who waits."""
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
