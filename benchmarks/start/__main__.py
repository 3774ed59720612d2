"""Start `tollhouse serve` with an embedded database in an empty folder, then again, and read its memory, idle and loaded.

Data goes to standard output, medians of the rounds. Exit 1 when a figure is over its goal.
"""

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from contextlib import AsyncExitStack
from pathlib import Path

from msgspec import Struct
from tests.cast import sign_up
from tests.processes import Serving
from tests.running import Service, settings_for

from benchmarks.start.load import CLIENTS, MERCHANTS, Responses, send_requests
from benchmarks.start.memory import Usage, usage
from tollhouse.instance.database import embedded

SETTLES_S = 5.0
SAMPLED_EVERY_S = 0.5
LOADED_S, QUICK_LOADED_S = 30.0, 5.0
COLD_S_MAX, RESTART_S_MAX, IDLE_MIB_MAX, LOADED_MIB_MAX = 4.0, 2.5, 180.0, 350.0


class Round(Struct, frozen=True):
    """Seconds until ready, on an empty folder and on one in use, their processor time, and the memory."""

    cold_s: float
    cold_processor_s: float
    restart_s: float
    restart_processor_s: float
    idle: Usage
    loaded: Usage
    responses: Responses


async def started(serving: Serving) -> tuple[float, float]:
    """Start it; the seconds until `/readyz` is ok, and the processor time of its processes until then."""
    begun = time.perf_counter()
    await serving.start()
    seconds = time.perf_counter() - begun
    return seconds, usage(serving.tree()).processor_s


async def highest_under_load(serving: Serving, seconds: float) -> tuple[Usage, Responses]:
    """The highest memory while clients send requests, and how many were answered."""
    service = Service(settings_for(embedded.locate(serving.data_dir).dsn, TOLLHOUSE_BASE_URL=serving.url))
    async with AsyncExitStack() as stack:
        actors = [await stack.enter_async_context(sign_up(service, f"m{n}", f"Merchant {n}")) for n in range(MERCHANTS)]
        loading = asyncio.create_task(send_requests(actors, seconds))
        highest = usage(serving.tree())
        while not loading.done():
            await asyncio.wait({loading}, timeout=SAMPLED_EVERY_S)
            highest = max(highest, usage(serving.tree()), key=lambda one: one.total_mib)
        return highest, loading.result()


async def measure(words: tuple[str, ...], loaded_s: float) -> Round:
    """One round, in a data folder of its own."""
    with tempfile.TemporaryDirectory(prefix="tollhouse-start-") as folder:
        Path(folder).chmod(0o711)
        serving = Serving(Path(folder), *words, TOLLHOUSE_RATE_LIMITS="off")
        cold_s, cold_processor_s = await started(serving)
        serving.stop()
        restart_s, restart_processor_s = await started(serving)
        try:
            await asyncio.sleep(SETTLES_S)
            idle = usage(serving.tree())
            loaded, responses = await highest_under_load(serving, loaded_s)
        finally:
            serving.stop()
    return Round(cold_s, cold_processor_s, restart_s, restart_processor_s, idle, loaded, responses)


def table(rounds: list[Round]) -> list[tuple[str, float, float, str]]:
    """Name, median, goal and unit of each figure."""
    return [
        ("cold start", statistics.median(one.cold_s for one in rounds), COLD_S_MAX, "s"),
        ("restart", statistics.median(one.restart_s for one in rounds), RESTART_S_MAX, "s"),
        ("idle memory", statistics.median(one.idle.total_mib for one in rounds), IDLE_MIB_MAX, "MiB"),
        ("memory under load", statistics.median(one.loaded.total_mib for one in rounds), LOADED_MIB_MAX, "MiB"),
    ]


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.start", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--workers", type=int, default=1, help="web processes")
    parser.add_argument("--quick", action="store_true", help="one round with a short load")
    chosen = parser.parse_args()
    words = ("serve", "--workers", str(chosen.workers))
    rounds: list[Round] = []
    for _ in range(1 if chosen.quick else chosen.rounds):
        one = asyncio.run(measure(words, QUICK_LOADED_S if chosen.quick else LOADED_S))
        rounds.append(one)
        print(
            f"cold {one.cold_s:.2f} s ({one.cold_processor_s:.2f} s of processor time), restart {one.restart_s:.2f} s "
            f"({one.restart_processor_s:.2f} s); {one.responses.count} responses to {CLIENTS} clients, "
            f"{one.responses.errors} of them errors",
            file=sys.stderr,
            flush=True,
        )
    for name, figure, goal, unit in table(rounds):
        print(f"{name:<20} {figure:8.2f} {unit:<4} goal {goal:g}{'' if figure <= goal else '  MISSED'}")
    print("\nMiB by process      idle   loaded")
    last = rounds[-1]
    for name in sorted({*last.idle.memory_mib, *last.loaded.memory_mib}):
        print(f"{name:<16} {last.idle.memory_mib.get(name, 0):7.1f}  {last.loaded.memory_mib.get(name, 0):7.1f}")
    return 1 if any(figure > goal for _, figure, goal, _ in table(rounds)) else 0


if __name__ == "__main__":
    sys.exit(main())
