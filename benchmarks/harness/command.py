"""The command: a database server of its own, the product, the floor and what else is installed, measured in turns."""

import argparse
import asyncio
import logging
import os
import pickle
import platform
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import asyncpg
import msgspec
import structlog
from msgspec import Struct

from benchmarks.harness import servers
from benchmarks.harness.fold import Call
from benchmarks.harness.load import CONNECTIONS, generator
from benchmarks.harness.onetrip import Setup
from benchmarks.harness.operations import Operation, learn
from benchmarks.harness.results import FLOOR, OURS, Findings, Row, markdown, text
from benchmarks.harness.rounds import Measurement, Party, Plan, WrongAnswersError, talk
from benchmarks.harness.trace import Trace
from benchmarks.harness.watch import watching
from benchmarks.money import operations as money
from benchmarks.oauth import operations as oauth
from benchmarks.peers.parties import peers
from tollhouse.instance.database import embedded
from tollhouse.platform.database.migrations import migrate

GROUPS = {"oauth": ("account", "key", "refresh", "exchange"), "money": ("link", "capture")}


class Options(Struct, frozen=True):
    """What was chosen on the command line. `kinds`: the operations to measure."""

    plan: Plan
    kinds: tuple[str, ...]
    processes: int
    peers: Path | None
    trace: bool


def main(group: str | None = None) -> int:
    """Run the command, for all operations or those of a group."""
    kinds = GROUPS[group] if group else tuple(kind for kinds in GROUPS.values() for kind in kinds)
    program = f"python -m benchmarks.{group}" if group else "python -m benchmarks"
    parser = argparse.ArgumentParser(prog=program, description=__doc__)
    parser.add_argument("--quick", action="store_true", help="two rounds of a second")
    parser.add_argument("--rounds", type=int, help="rounds of each operation")
    parser.add_argument("--seconds", type=int, help="length of a round")
    parser.add_argument("--processes", type=int, default=2, help="server processes of each party")
    parser.add_argument("--action", choices=kinds, action="append", help="this operation alone")
    parser.add_argument("--peers", type=Path, help="the folder of other servers to measure: docs/performance.md")
    parser.add_argument("--trace", action="store_true", help="print the statements of each operation, and measure nothing")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--markdown", action="store_true", help="print the tables of docs/performance.md")
    chosen = parser.parse_args()
    options = Options(
        Plan(chosen.rounds or (2 if chosen.quick else 7), chosen.seconds or (1 if chosen.quick else 3)),
        tuple(chosen.action or kinds),
        chosen.processes,
        chosen.peers,
        chosen.trace,
    )
    try:
        findings = asyncio.run(measure(options))
    except WrongAnswersError as problem:
        talk(str(problem))
        return 1
    if not chosen.trace:
        how = msgspec.json.encode(findings).decode() if chosen.json else (markdown if chosen.markdown else text)(findings)
        print(how)
    return 0


async def measure(options: Options) -> Findings:
    """Measure everything on a database server of our own."""
    async with AsyncExitStack() as last:
        folder = Path(last.enter_context(tempfile.TemporaryDirectory(prefix="tollhouse-bench-")))
        folder.chmod(0o711)
        database = embedded.start(folder / "data")
        last.callback(database.stop)
        dsn = database.cluster.dsn
        await migrate(dsn)
        connection = await last.enter_async_context(connected(dsn))
        structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
        learned = await learn_all(connection, dsn, options.kinds)
        if options.trace:
            for name, (trace, call) in learned.found.items():
                show(name, trace, call)
            return Findings([], "")
        file = folder / "setup"
        file.write_bytes(pickle.dumps(Setup({name: call for name, (_, call) in learned.found.items()}, learned.merchants)))
        parties = [
            Party(OURS, last.enter_context(servers.product(dsn, options.processes))),
            Party(FLOOR, last.enter_context(servers.onetrip(dsn, file, options.processes))),
        ]
        if options.peers is not None:
            parties += await last.enter_async_context(peers(options.peers, dsn, folder, options.processes))
        if generator() != "wrk":
            talk("wrk is not installed: the load comes from Python, which takes much processor time. Rates are too low.")
        assert database.pid is not None  # noqa: S101 - it runs
        measurement = Measurement(connection, database.pid, options.plan)
        rows: list[Row] = []
        for operation in learned.operations:
            rows += await measurement.measure(operation, parties, learned.found[operation.kind][0].trips)
        return Findings(rows, method(options, parties))


class Learned(Struct, frozen=True):
    """The operations to measure; the trace and the call of each kind; the merchants by API key."""

    operations: list[Operation]
    found: dict[str, tuple[Trace, Call]]
    merchants: dict[str, UUID]


async def learn_all(connection: "asyncpg.Connection[asyncpg.Record]", dsn: str, kinds: Sequence[str]) -> Learned:
    """Create the data, and learn each kind of operation from the product."""
    talk("creating the data")
    async with watching(dsn, servers.SECRET_KEYS) as watched:
        paying, merchants = await money.operations(connection, watched)
        chosen = [one for one in [*await oauth.operations(connection), *paying] if one.kind in kinds]
        found: dict[str, tuple[Trace, Call]] = {}
        for operation in chosen:
            if operation.kind not in found:
                trace, call = found[operation.kind] = await learn(connection, watched, operation, merchants)
                talk(f"{operation.name}: {trace.trips} round trips, {len(call.places)} values that differ by request")
    return Learned(chosen, found, merchants)


def show(name: str, trace: Trace, call: Call) -> None:
    """Print the statements of an operation, and what becomes of them."""
    print(f"== {name}: {trace.trips} round trips; {call.sql}")
    for said in trace.statements:
        print(
            f"\n{said.sql.strip()}\n    -- " + "; ".join(f"${place + 1} {value}" for place, value in enumerate(said.values))
        )
    print()


def method(options: Options, parties: Sequence[Party]) -> str:
    """How, when and on what it was measured."""
    plan, count = options.plan, os.cpu_count()
    machine = f"{platform.system()} {platform.machine()}, {count} processors, Python {platform.python_version()}"
    names = ", ".join(party.name for party in parties)
    return (
        f"{datetime.now(UTC):%Y-%m-%d}, {machine}. {plan.rounds} rounds of {plan.seconds} s each, taking turns; medians, "
        f"in brackets the smallest and the largest. {CONNECTIONS} connections from {LOADS[generator()]}, on the same "
        f"machine as the servers and PostgreSQL. Server processes of each: {options.processes}. Parties: {names}."
    )


LOADS = {"wrk": "wrk", "python": "**a generator in Python, as wrk is not installed: all rates are too low**"}


@asynccontextmanager
async def connected(dsn: str) -> "AsyncIterator[asyncpg.Connection[asyncpg.Record]]":
    """A connection of the harness."""
    connection = await asyncpg.connect(dsn)
    try:
        yield connection
    finally:
        await connection.close()


if __name__ == "__main__":
    sys.exit(main())
