"""PostgreSQL is killed and started again, under load: nothing is lost, and as much is delivered as on a quiet day."""

import asyncio
import random
import signal
import time
from functools import partial

from proving.bed import COUNT_EVENTS, Bed
from proving.kills import ANSWER_WITHIN_S, EVENTS_PER_S, RECEIVERS, WORKERS, destinations
from proving.producing import Destination, Producer
from proving.receiving import Receivers, hosts, slowly
from proving.results import Figure, at_least, fact, must

STRIKE_EVERY_S, QUICK_STRIKE_EVERY_S = 30.0, 20.0
SECONDS, QUICK_SECONDS = 300.0, 40.0
WARM_UP_S = 3.0
LEAST_PART = 0.98
ARRIVE_WITHIN_S = 180.0
BLOWS = (signal.SIGKILL, signal.SIGQUIT)
"""The first process dies without a word, or all stop at once; in turns."""


class Strikes:
    """Strikes the database now and then."""

    def __init__(self, bed: Bed) -> None:
        self._bed = bed
        self.away_s: list[float] = []

    async def strike(self, every_s: float, seconds: float) -> None:
        """In the middle of every so many seconds."""
        began = time.perf_counter()
        for turn in range(int(seconds / every_s)):
            await asyncio.sleep(began + (turn + 0.5) * every_s - time.perf_counter())
            self.away_s.append(await self._bed.strike_database(BLOWS[turn % len(BLOWS)]))


async def prove(*, quick: bool) -> list[Figure]:
    """A quiet stretch and a stormy one, five minutes each, or forty seconds."""
    seconds = QUICK_SECONDS if quick else SECONDS
    answers_soon = slowly(partial(random.uniform, 0, ANSWER_WITHIN_S))
    async with Bed() as bed, Receivers(hosts(10, RECEIVERS), answers_soon) as receivers:
        workers = [bed.start_worker() for _ in range(WORKERS)]
        producer, strikes = Producer(bed), Strikes(bed)
        where = await destinations(bed, receivers.urls)
        await receivers.wait_for(await producer.produce(where, EVENTS_PER_S, WARM_UP_S), ARRIVE_WITHIN_S)
        quiet_per_s = await completed_per_s(producer, receivers, where, seconds)
        striking = asyncio.create_task(strikes.strike(QUICK_STRIKE_EVERY_S if quick else STRIKE_EVERY_S, seconds))
        stormy_per_s = await completed_per_s(producer, receivers, where, seconds)
        await striking
        missing = await receivers.wait_for(producer.committed, ARRIVE_WITHIN_S)
        waiting = await bed.settle_down(ARRIVE_WITHIN_S)
        events = len(producer.committed)
        return [
            fact("events committed", events),
            fact("arrivals", len(receivers.arrivals)),
            fact("outages", len(strikes.away_s)),
            fact("away in all", sum(strikes.away_s), unit="s"),
            fact("delivered undisturbed", quiet_per_s, unit="a second"),
            fact("delivered under outages", stormy_per_s, unit="a second"),
            at_least("part of the undisturbed rate", stormy_per_s / quiet_per_s, LEAST_PART),
            must("lost", len(missing), 0),
            must("recorded twice or not at all", abs(await bed.count(COUNT_EVENTS) - events), 0),
            must("still waiting", waiting, 0),
            must("workers that ended", sum(not worker.alive for worker in workers), 0),
            must("broken invariants", len(await bed.broken()), 0),
        ]


async def completed_per_s(producer: Producer, receivers: Receivers, where: list[Destination], seconds: float) -> float:
    """How many different events of this stretch arrived a second, until it ended."""
    began = time.perf_counter()
    first, seen = len(producer.committed), len(receivers.arrivals)
    await producer.produce(where, EVENTS_PER_S, seconds)
    arrived = {arrival.number for arrival in receivers.arrivals[seen:] if arrival.number >= first}
    return len(arrived) / (time.perf_counter() - began)
