"""PostgreSQL is killed and restarted under load: nothing is lost, and the delivery rate stays the same."""

import asyncio
import random
import signal
import time
from functools import partial

from chaos.figures import Figure, at_least, at_most, fact
from chaos.kills import ANSWER_WITHIN_S, EVENTS_PER_S, RECEIVERS, WORKERS, destinations
from chaos.producer import Destination, Producer
from chaos.receivers import Receivers, hosts, respond_slowly
from chaos.testbed import COUNT_EVENTS, Testbed

OUTAGE_EVERY_S, QUICK_OUTAGE_EVERY_S = 30.0, 20.0
SECONDS, QUICK_SECONDS = 300.0, 40.0
WARM_UP_S = 3.0
RATE_RATIO_MIN = 0.98
ARRIVE_WITHIN_S = 180.0
SIGNALS = (signal.SIGKILL, signal.SIGQUIT)
"""SIGKILL ends the postmaster alone, SIGQUIT all processes at once; used in turn."""


class Outages:
    """Restarts the database at intervals."""

    def __init__(self, testbed: Testbed) -> None:
        self._testbed = testbed
        self.down_s: list[float] = []

    async def run(self, every_s: float, seconds: float) -> None:
        """Restart the database in the middle of each interval."""
        began = time.perf_counter()
        for turn in range(int(seconds / every_s)):
            await asyncio.sleep(began + (turn + 0.5) * every_s - time.perf_counter())
            self.down_s.append(await self._testbed.restart_database(SIGNALS[turn % len(SIGNALS)]))


async def run(*, quick: bool) -> list[Figure]:
    """An undisturbed period and one with outages, five minutes each, or 40 seconds."""
    seconds = QUICK_SECONDS if quick else SECONDS
    answers_soon = respond_slowly(partial(random.uniform, 0, ANSWER_WITHIN_S))
    async with Testbed() as testbed, Receivers(hosts(10, RECEIVERS), answers_soon) as receivers:
        workers = [testbed.start_worker() for _ in range(WORKERS)]
        producer, outages = Producer(testbed), Outages(testbed)
        targets = await destinations(testbed, receivers.urls)
        await receivers.wait_for(await producer.produce(targets, EVENTS_PER_S, WARM_UP_S), ARRIVE_WITHIN_S)
        baseline_per_s = await completed_per_s(producer, receivers, targets, seconds)
        restarting = asyncio.create_task(outages.run(QUICK_OUTAGE_EVERY_S if quick else OUTAGE_EVERY_S, seconds))
        outage_per_s = await completed_per_s(producer, receivers, targets, seconds)
        await restarting
        missing = await receivers.wait_for(producer.committed, ARRIVE_WITHIN_S)
        waiting = await testbed.wait_until_delivered(ARRIVE_WITHIN_S)
        events = len(producer.committed)
        return [
            fact("events committed", events),
            fact("arrivals", len(receivers.arrivals)),
            fact("outages", len(outages.down_s)),
            fact("away in all", sum(outages.down_s), unit="s"),
            fact("delivered undisturbed", baseline_per_s, unit="a second"),
            fact("delivered under outages", outage_per_s, unit="a second"),
            at_least("part of the undisturbed rate", outage_per_s / baseline_per_s, RATE_RATIO_MIN),
            at_most("lost", len(missing), 0),
            at_most("recorded twice or not at all", abs(await testbed.count(COUNT_EVENTS) - events), 0),
            at_most("still waiting", waiting, 0),
            at_most("workers that ended", sum(not worker.alive for worker in workers), 0),
            at_most("broken invariants", len(await testbed.broken()), 0),
        ]


async def completed_per_s(producer: Producer, receivers: Receivers, targets: list[Destination], seconds: float) -> float:
    """The rate of distinct events of this period that arrived before its end."""
    began = time.perf_counter()
    first, seen = len(producer.committed), len(receivers.arrivals)
    await producer.produce(targets, EVENTS_PER_S, seconds)
    arrived = {arrival.number for arrival in receivers.arrivals[seen:] if arrival.number >= first}
    return len(arrived) / (time.perf_counter() - began)
