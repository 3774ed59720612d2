"""Measure one worker and its floors on one database, in rounds that take turns; print a table.

The rate is from the commit of events to the last recorded result; the ratio is to the slower of two floors: the client
sending the same bytes with no database, and the queue with no network. The latency is from commit to arrival at a steady
fifty events a second. Data goes to standard output, talk to standard error. Exit 1 when an event was not delivered.
"""

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from pathlib import Path
from uuid import UUID

import aiohttp
import msgspec
from msgspec import Struct

from benchmarks.webhooks import processes
from benchmarks.webhooks.harness import Harness
from tollhouse.instance import main as root
from tollhouse.instance.database import embedded
from tollhouse.platform.database.migrations import migrate
from tollhouse.platform.settings import config
from tollhouse.webhooks.delivery.bulkheads import BULKHEADS, CallKind

EVENTS_PER_S = 50
WARM_UP = 200
Measure = Callable[[], Awaitable[float]]


class Row(Struct, frozen=True):
    """The rounds of one of the measured: the middle, the slowest, the quickest."""

    who: str
    per_s: float
    per_s_min: float
    per_s_max: float


class Findings(Struct, frozen=True):
    """What is printed. The ratio of a round is to the slower floor of that round."""

    rows: list[Row]
    ratio: float
    ratio_min: float
    ratio_max: float
    floor: str
    p50_ms: float
    p99_ms: float
    max_ms: float
    events: int


class UndeliveredError(Exception):
    """An event did not arrive, or not at once."""


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.webhooks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="three short rounds, under a minute")
    parser.add_argument("--rounds", type=int, help="rounds of each")
    parser.add_argument("--events", type=int, help="events of a round")
    parser.add_argument("--seconds", type=int, help="how long to measure the latency")
    parser.add_argument("--json", action="store_true", help="print JSON")
    chosen = parser.parse_args()
    rounds = chosen.rounds or (3 if chosen.quick else 7)
    events = chosen.events or (2_000 if chosen.quick else 12_000)
    seconds = chosen.seconds or (8 if chosen.quick else 40)
    try:
        found = asyncio.run(measure(rounds, events, seconds))
    except UndeliveredError as problem:
        talk(str(problem))
        return 1
    print(msgspec.json.encode(found).decode() if chosen.json else table(found))
    return 0


async def measure(rounds: int, events: int, seconds: int) -> Findings:
    """Everything, on a database of our own."""
    with tempfile.TemporaryDirectory(prefix="tollhouse-bench-") as name, ExitStack() as last:
        folder = Path(name)
        folder.chmod(0o711)
        database = embedded.start(folder / "data")
        last.callback(database.stop)
        dsn = database.cluster.dsn
        await migrate(dsn)
        environment = processes.settings(dsn, folder / "data")
        services = root.create_services(config.load(environment))
        port = last.enter_context(processes.receiver())
        harness = Harness(services, port)
        await harness.open()
        who: dict[str, Measure] = {
            "client": partial(client, environment, port, events),
            "queue": partial(delivered, harness, events, partial(processes.queue, environment)),
            "tollhouse": partial(delivered, harness, events, partial(processes.worker, environment)),
        }
        rates = await take_turns(rounds, who)
        latencies = await arrivals(harness, seconds, port, environment)
        await services.db.close()
        return findings(rates, latencies)


async def take_turns(rounds: int, who: dict[str, Measure]) -> dict[str, list[float]]:
    """All rounds; every other time the other way about."""
    rates: dict[str, list[float]] = {name: [] for name in who}
    for batch in range(rounds):
        for name in list(who)[:: 1 if batch % 2 == 0 else -1]:
            rates[name].append(await who[name]())
        talk(f"{batch + 1}/{rounds}: " + "  ".join(f"{name} {found[-1]:,.0f}/s" for name, found in rates.items()))
    return rates


async def client(environment: dict[str, str], port: int, events: int) -> float:
    """The client alone, as many calls at once as the worker makes."""
    return await asyncio.to_thread(processes.client_per_s, environment, port, BULKHEADS[CallKind.PROMPT].calls, events)


async def delivered(harness: Harness, events: int, worker: Callable[[], AbstractContextManager[None]]) -> float:
    """Events a second, from the commit of all of them until the last result is recorded."""
    await harness.forget()
    with worker():
        await harness.events(WARM_UP)
        await harness.all_sent()
        began = await harness.events(events)
        await harness.all_sent()
        seconds = (time.monotonic_ns() - began) / 1e9
    if left := await harness.undelivered():
        raise UndeliveredError(f"{left} events were not delivered at their first attempt")
    return events / seconds


async def arrivals(harness: Harness, seconds: int, port: int, environment: dict[str, str]) -> list[float]:
    """Milliseconds from commit to arrival, in order of length, at a steady rate."""
    committed: dict[UUID, int] = {}
    with processes.worker(environment):
        await harness.events(WARM_UP)
        await harness.all_sent()
        began = time.monotonic()
        for number in range(seconds * EVENTS_PER_S):
            await asyncio.sleep(max(0.0, began + number / EVENTS_PER_S - time.monotonic()))
            event_id, at = await harness.event(number)
            committed[event_id] = at
        await harness.all_sent()
    async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{port}/") as answer:
        arrived: dict[str, int] = await answer.json(content_type=None)
    if missing := sum(str(event_id) not in arrived for event_id in committed):
        raise UndeliveredError(f"{missing} events did not arrive")
    return sorted((arrived[str(event_id)] - at) / 1e6 for event_id, at in committed.items())


def findings(rates: dict[str, list[float]], latencies: list[float]) -> Findings:
    """The middles."""
    rows = [Row(name, statistics.median(found), min(found), max(found)) for name, found in rates.items()]
    floors = [min(pair) for pair in zip(rates["client"], rates["queue"], strict=True)]
    ratios = [rate / floor for rate, floor in zip(rates["tollhouse"], floors, strict=True)]
    slower = min(("client", "queue"), key=lambda name: statistics.median(rates[name]))
    return Findings(
        rows,
        statistics.median(ratios),
        min(ratios),
        max(ratios),
        slower,
        latencies[len(latencies) // 2],
        latencies[len(latencies) * 99 // 100],
        latencies[-1],
        len(latencies),
    )


def table(found: Findings) -> str:
    """Readable."""
    lines = [f"{'':<12} {'deliveries/s':>24}"]
    for row in found.rows:
        rate = f"{row.per_s:,.0f} [{row.per_s_min:,.0f}-{row.per_s_max:,.0f}]"
        lines.append(f"{row.who:<12} {rate:>24}")
    ratio = f"{found.ratio:.2f} [{found.ratio_min:.2f}-{found.ratio_max:.2f}]"
    latency = f"p50 {found.p50_ms:.1f} ms, p99 {found.p99_ms:.1f} ms, longest {found.max_ms:.1f} ms"
    lines.append(f"of the slower floor ({found.floor}): {ratio}")
    lines.append(f"commit to arrival at {EVENTS_PER_S}/s, {found.events:,} events: {latency}")
    return "\n".join(lines)


def talk(text: str) -> None:
    """Tell the person who waits."""
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
