"""Measure the product and its floors in one run, on one database, in rounds that take turns; print a table.

Data goes to standard output, talk to standard error. Exit 1 when an answer was not what it had to be.
"""

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from pathlib import Path

import asyncpg
import msgspec
from msgspec import Struct

from benchmarks.oauth import seed, servers
from benchmarks.oauth.actions import ACTIONS, Action, job
from benchmarks.oauth.database import Pgbench
from benchmarks.oauth.results import Round, Row, round_of, row_of, table
from benchmarks.oauth.seed import Side
from benchmarks.oauth.servers import Server
from tollhouse.platform import embedded
from tollhouse.platform.migrations import migrate

CODES_PER_S = 8_000
WARM_UP_S = 0.5
Measure = Callable[[Action, float], Awaitable[Round]]


class Plan(Struct, frozen=True):
    """How long to measure."""

    rounds: int
    seconds: float
    actions: tuple[Action, ...]


class WrongAnswersError(Exception):
    """A server refused what it had to grant."""


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.oauth", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="two short rounds, under a minute")
    parser.add_argument("--rounds", type=int, help="rounds of each action")
    parser.add_argument("--seconds", type=float, help="length of a round")
    parser.add_argument("--action", choices=ACTIONS, help="this action alone")
    parser.add_argument("--json", action="store_true", help="print JSON")
    chosen = parser.parse_args()
    plan = Plan(
        chosen.rounds or (2 if chosen.quick else 9),
        chosen.seconds or (1.5 if chosen.quick else 2),
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
    """Seed a database of our own, start both servers on it, and measure."""
    with tempfile.TemporaryDirectory(prefix="tollhouse-bench-") as name, ExitStack() as last:
        folder = Path(name)
        folder.chmod(0o711)
        database = embedded.start(folder / "data")
        last.callback(database.stop)
        dsn = database.cluster.dsn
        await migrate(dsn)
        connection = await asyncpg.connect(dsn)
        talk(f"seeding {seed.GRANTS} grants for each side")
        await seed.harness(connection)
        product = await seed.side(connection, seed.PRODUCT)
        bare = await seed.side(connection, seed.BARE)
        running = last.enter_context(servers.product(dsn)), last.enter_context(servers.bare(dsn))
        pgbench = Pgbench(database.cluster, connection, folder)
        who: dict[str, Measure] = {
            "tollhouse": by_http(connection, product, running[0]),
            "bare": by_http(connection, bare, running[1]),
            "pgbench": lambda action, seconds: pgbench.round(action, seconds / 2, int(seconds * CODES_PER_S)),
        }
        rows = [row for action in plan.actions for row in await measure_action(plan, action, who)]
        await connection.close()
        return rows


def by_http(connection: "asyncpg.Connection[asyncpg.Record]", side: Side, server: Server) -> Measure:
    """Measure a server by the load generator."""

    async def one(action: Action, seconds: float) -> Round:
        if action == "account":
            await seed.steady_use(connection, side)
        if action == "exchange":
            await seed.codes(connection, side, int(seconds * CODES_PER_S))
        before = server.cpu_s()
        load = await servers.load(job(action, side, server.port, seconds))
        after = server.cpu_s()
        if load.failed:
            raise WrongAnswersError(f"{load.failed} wrong answers, such as:\n{load.failure}")
        side.refresh_tokens = load.items or side.refresh_tokens
        responses = len(load.latencies_us)
        cpu_us = (after - before) / responses * 1e6 if before is not None and after is not None else None
        return round_of(responses / load.seconds, load.latencies_us, cpu_us)

    return one


async def measure_action(plan: Plan, action: Action, who: dict[str, Measure]) -> list[Row]:
    """All rounds of an action, taking turns; every other time the other way about."""
    rounds: dict[str, list[Round]] = {name: [] for name in who}
    for name in ("tollhouse", "bare"):
        await who[name](action, WARM_UP_S)
    for turn in range(plan.rounds):
        for name in list(who)[:: 1 if turn % 2 == 0 else -1]:
            rounds[name].append(await who[name](action, plan.seconds))
        shown = "  ".join(f"{name} {found[-1].per_s:,.0f}/s" for name, found in rounds.items())
        talk(f"{action} {turn + 1}/{plan.rounds}: {shown}")
    return [row_of(action, name, found, rounds["bare"]) for name, found in rounds.items()]


def talk(text: str) -> None:
    """Tell the person who waits."""
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
