"""Receivers that want to keep or to fill a worker: each call is given up in time, and the worker's memory stays flat."""

import asyncio
import itertools
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from proving.bed import Bed, Worker
from proving.hostility import BEFORE_TLS, QUICK_KINDS, SLOW_KINDS
from proving.producing import Destination, Producer
from proving.receiving import Receivers, hosts
from proving.results import Figure, fact, must

CALLS, QUICK_CALLS = 10_000, 1_000
SLOW_EVERY = 25
"""Every so manieth call goes to somebody who would keep it for its whole ten seconds."""
CALLS_PER_S = 100
HOSTS = 10
"""Of each kind, so that the worker limits the calls and not the destination."""
MOST_S = 10.5
SEEN_WITHIN_S = 1.0
"""After the last result. A receiver that drips sees only when it writes once more that nobody listens."""
MOST_GROWTH_MIB = 20.0
WARM_AFTER = 0.2
"""Which part of the calls warms the worker up."""
ENDED_WITHIN_S = 1_800.0
LOOK_EVERY_S = 0.5
MIB = 1 << 20

LONGEST_ATTEMPT = "SELECT coalesce(max(duration_ms), 0) FROM webhook_attempts"
COUNT_ATTEMPTS = "SELECT count(*) FROM webhook_attempts"
RESULTS = (
    "SELECT coalesce(error, 'succeeded') AS told, count(*) AS attempts FROM webhook_attempts GROUP BY 1 ORDER BY 2 DESC"
)


class Memory:
    """What the worker holds, from when it is warm."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self.warm = self.most = 0.0

    async def watch(self, bed: Bed, warm_after: float) -> None:
        """Look again and again; `warm_after` is a number of calls."""
        while True:
            held = self._worker.memory_bytes() / MIB
            self.most = max(self.most, held)
            if not self.warm and await bed.count(COUNT_ATTEMPTS) >= warm_after:
                self.warm = held
            await asyncio.sleep(LOOK_EVERY_S)


async def prove(*, quick: bool) -> list[Figure]:
    """Ten thousand calls by one worker, or a thousand."""
    calls = QUICK_CALLS if quick else CALLS
    async with Bed() as bed, everybody() as (receivers, quick_urls, slow_urls):
        worker = bed.start_worker()
        memory = Memory(worker)
        watching = asyncio.create_task(memory.watch(bed, calls * WARM_AFTER))
        env = await bed.merchant("test")
        quick_turns, slow_turns = itertools.cycle(quick_urls), itertools.cycle(slow_urls)
        turns = [next(quick_turns if n % SLOW_EVERY else slow_turns) for n in range(calls)]
        await Producer(bed).produce([Destination(env, url) for url in turns], CALLS_PER_S, calls / CALLS_PER_S)
        waiting = await bed.settle_down(ENDED_WITHIN_S)
        still_there = sum([await one.are_left(SEEN_WITHIN_S) for one in receivers.values()])
        watching.cancel()
        end = worker.memory_bytes() / MIB
        ended = {row["told"]: row["attempts"] for row in await bed.services.db.fetch(RESULTS)}
        return [
            fact("calls", sum(ended.values())),
            *(fact(f"ended as {told}", attempts) for told, attempts in ended.items()),
            must("longest call", await bed.count(LONGEST_ATTEMPT) / 1000, MOST_S, unit="s"),
            *(must(f"longest visit to {kind}", one.longest_s, MOST_S, unit="s") for kind, one in receivers.items()),
            must("events that did not end", waiting, 0),
            must("visits that did not end", still_there, 0),
            fact("memory of the worker when warm", memory.warm, unit="MiB"),
            fact("at most", memory.most, unit="MiB"),
            must("growth from warm to the end", end - memory.warm, MOST_GROWTH_MIB, unit="MiB"),
            must("workers that ended", int(not worker.alive), 0),
        ]


@asynccontextmanager
async def everybody() -> AsyncIterator[tuple[dict[str, Receivers], list[str], list[str]]]:
    """All receivers by their kind; the addresses of the quick kinds, and those of the slow ones, in turns of the kinds."""
    async with AsyncExitStack() as doors:
        found = {
            kind: await doors.enter_async_context(Receivers(hosts(40 + n, HOSTS), manners))
            for n, (kind, manners) in enumerate((QUICK_KINDS | SLOW_KINDS).items())
        }
        yield (
            found,
            in_turns([found[kind].urls for kind in QUICK_KINDS]),
            in_turns([_urls(found, kind) for kind in SLOW_KINDS]),
        )


def in_turns(kinds: list[list[str]]) -> list[str]:
    """The first of each, then the second of each, and so on."""
    return [url for turn in zip(*kinds, strict=True) for url in turn]


def _urls(found: dict[str, Receivers], kind: str) -> list[str]:
    scheme = "https:" if kind == BEFORE_TLS else "http:"
    return [url.replace("http:", scheme) for url in found[kind].urls]
