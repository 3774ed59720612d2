"""Hostile receivers: each call ends in time, and the worker's memory stays flat."""

import asyncio
import itertools
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from chaos.figures import Figure, at_most, fact
from chaos.hostile_responses import BEFORE_TLS, QUICK_KINDS, SLOW_KINDS
from chaos.producer import Destination, Producer
from chaos.receivers import Receivers, hosts
from chaos.testbed import Testbed, Worker

CALLS, QUICK_CALLS = 10_000, 1_000
SLOW_EVERY = 25
"""One call in 25 goes to a receiver that occupies it until the timeout of ten seconds."""
CALLS_PER_S = 100
HOSTS = 10
"""Hosts per kind, so that the worker's limit applies and not the destination's."""
CALL_S_MAX = 10.5
SEEN_WITHIN_S = 1.0
"""After the last result. A dripping receiver notices a closed connection only on its next write."""
GROWTH_MIB_MAX = 20.0
WARM_AFTER = 0.2
"""The part of the calls that counts as warm-up."""
ENDED_WITHIN_S = 1_800.0
POLL_EVERY_S = 0.5
MIB = 1 << 20

LONGEST_ATTEMPT = "SELECT coalesce(max(duration_ms), 0) FROM webhook_attempts"
COUNT_ATTEMPTS = "SELECT count(*) FROM webhook_attempts"
RESULTS = (
    "SELECT coalesce(error, 'succeeded') AS result, count(*) AS attempts FROM webhook_attempts GROUP BY 1 ORDER BY 2 DESC"
)


class Memory:
    """The worker's memory after warm-up and at its peak."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self.warm = self.most = 0.0

    async def watch(self, testbed: Testbed, warm_after: float) -> None:
        """Poll the memory; `warm_after` is a number of calls."""
        while True:
            held = self._worker.memory_bytes() / MIB
            self.most = max(self.most, held)
            if not self.warm and await testbed.count(COUNT_ATTEMPTS) >= warm_after:
                self.warm = held
            await asyncio.sleep(POLL_EVERY_S)


async def run(*, quick: bool) -> list[Figure]:
    """Make 10,000 calls from one worker, or 1,000."""
    calls = QUICK_CALLS if quick else CALLS
    async with Testbed() as testbed, receivers_by_kind() as (receivers, quick_urls, slow_urls):
        worker = testbed.start_worker()
        memory = Memory(worker)
        watching = asyncio.create_task(memory.watch(testbed, calls * WARM_AFTER))
        env = await testbed.merchant("test")
        quick_turns, slow_turns = itertools.cycle(quick_urls), itertools.cycle(slow_urls)
        turns = [next(quick_turns if n % SLOW_EVERY else slow_turns) for n in range(calls)]
        await Producer(testbed).produce([Destination(env, url) for url in turns], CALLS_PER_S, calls / CALLS_PER_S)
        waiting = await testbed.wait_until_delivered(ENDED_WITHIN_S)
        still_there = sum([await receiver.wait_until_closed(SEEN_WITHIN_S) for receiver in receivers.values()])
        watching.cancel()
        end = worker.memory_bytes() / MIB
        ended = {row["result"]: row["attempts"] for row in await testbed.services.db.fetch(RESULTS)}
        return [
            fact("calls", sum(ended.values())),
            *(fact(f"ended as {result}", attempts) for result, attempts in ended.items()),
            at_most("longest call", await testbed.count(LONGEST_ATTEMPT) / 1000, CALL_S_MAX, unit="s"),
            *(
                at_most(f"longest connection to {kind}", one.longest_s, CALL_S_MAX, unit="s")
                for kind, one in receivers.items()
            ),
            at_most("events that did not end", waiting, 0),
            at_most("connections that did not end", still_there, 0),
            fact("memory of the worker when warm", memory.warm, unit="MiB"),
            fact("at most", memory.most, unit="MiB"),
            at_most("growth from warm to the end", end - memory.warm, GROWTH_MIB_MAX, unit="MiB"),
            at_most("workers that ended", int(not worker.alive), 0),
        ]


@asynccontextmanager
async def receivers_by_kind() -> AsyncIterator[tuple[dict[str, Receivers], list[str], list[str]]]:
    """All receivers by kind; the URLs of the quick kinds and those of the slow kinds, interleaved."""
    async with AsyncExitStack() as doors:
        found = {
            kind: await doors.enter_async_context(Receivers(hosts(40 + n, HOSTS), behavior))
            for n, (kind, behavior) in enumerate((QUICK_KINDS | SLOW_KINDS).items())
        }
        yield (
            found,
            in_turns([found[kind].urls for kind in QUICK_KINDS]),
            in_turns([_urls(found, kind) for kind in SLOW_KINDS]),
        )


def in_turns(kinds: list[list[str]]) -> list[str]:
    """Interleave the lists: the first of each, then the second of each, and so on."""
    return [url for turn in zip(*kinds, strict=True) for url in turn]


def _urls(found: dict[str, Receivers], kind: str) -> list[str]:
    scheme = "https:" if kind == BEFORE_TLS else "http:"
    return [url.replace("http:", scheme) for url in found[kind].urls]
