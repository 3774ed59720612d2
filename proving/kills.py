"""Workers are killed one after another, at random, under load: every event arrives, and only calls in flight are doubled."""

import asyncio
import random
import time
from collections import Counter
from collections.abc import Sequence
from functools import partial

from proving.bed import COUNT_EVENTS, Bed, Worker
from proving.producing import Destination, Producer
from proving.receiving import Receivers, hosts, slowly
from proving.results import Figure, at_least, fact, must

RECEIVERS = 50
MERCHANTS = 10
WORKERS = 3
EVENTS_PER_S = 100
KILL_EVERY_S = 2.0
SECONDS, QUICK_SECONDS = 300.0, 20.0
ANSWER_WITHIN_S = 0.1
ARRIVE_WITHIN_S = 180.0
"""An event may lose three workers, and then waits for its schedule."""
LOOK_EVERY_S = 0.1
DUST_SETTLES_S = 0.3
"""What a killed process had sent still arrives, and a statement that it had begun still commits."""

ATTEMPTS_MADE = """
    SELECT event_id::text, count(*) AS made FROM webhook_attempts
    WHERE event_id = ANY($1::uuid[]) AND error IS DISTINCT FROM 'worker_lost' GROUP BY event_id
"""
COUNT_DELIVERED = "SELECT count(*) FROM webhook_events WHERE status = 'delivered'"


async def prove(*, quick: bool) -> list[Figure]:
    """Kill for five minutes, or twenty seconds."""
    seconds = QUICK_SECONDS if quick else SECONDS
    answers_soon = slowly(partial(random.uniform, 0, ANSWER_WITHIN_S))
    async with Bed() as bed, Receivers(hosts(10, RECEIVERS), answers_soon) as receivers:
        for _ in range(WORKERS):
            bed.start_worker()
        producer, killer = Producer(bed), Killer(bed, receivers)
        killing = asyncio.create_task(killer.kill(seconds))
        numbers = await producer.produce(await destinations(bed, receivers.urls), EVENTS_PER_S, seconds)
        await killing
        missing = await receivers.wait_for(numbers, ARRIVE_WITHIN_S)
        waiting = await bed.settle_down(ARRIVE_WITHIN_S)
        told = Counter(arrival.event_id for arrival in receivers.arrivals)
        doubles = told - Counter(set(told))
        return [
            fact("events committed", len(numbers)),
            fact("arrivals", len(receivers.arrivals)),
            fact("kills", killer.kills),
            at_least("kills that hit calls in flight", killer.hits, 1),
            must("lost", len(missing), 0),
            must("recorded twice or not at all", abs(await bed.count(COUNT_EVENTS) - len(numbers)), 0),
            must("not known to be delivered", len(numbers) - await bed.count(COUNT_DELIVERED), 0),
            must("still waiting", waiting, 0),
            must("doubles", doubles.total(), killer.in_flight.total()),
            must("doubles that were not in flight at a kill", (doubles - killer.in_flight).total(), 0),
            must("broken invariants", len(await bed.broken()), 0),
        ]


async def destinations(bed: Bed, urls: Sequence[str], merchants: int = MERCHANTS) -> list[Destination]:
    """The addresses, shared among so many new merchants."""
    envs = [await bed.merchant() for _ in range(merchants)]
    return [Destination(envs[n % merchants], url) for n, url in enumerate(urls)]


class Killer:
    """Kills a random worker now and then, and counts what it had in flight: sent, and not known to be recorded."""

    def __init__(self, bed: Bed, receivers: Receivers) -> None:
        self._bed = bed
        self._receivers = receivers
        self.kills = 0
        self.hits = 0
        self.in_flight: Counter[str] = Counter()

    async def kill(self, seconds: float) -> None:
        """One every two seconds for so long; another one is started at once."""
        began = time.perf_counter()
        for turn in range(1, int(seconds / KILL_EVERY_S)):
            await asyncio.sleep(began + turn * KILL_EVERY_S - time.perf_counter())
            victim = random.choice(await self._at_work())
            self._bed.kill_worker(victim)
            self._bed.start_worker()
            self.kills += 1
            await asyncio.sleep(DUST_SETTLES_S)
            await self._count(victim)

    async def _at_work(self) -> list[Worker]:
        """Those that have sent something: to kill one that still starts would prove nothing."""
        while True:
            senders = {arrival.sender for arrival in self._receivers.arrivals}
            if found := [worker for worker in self._bed.workers if worker.sender in senders]:
                return found
            await asyncio.sleep(LOOK_EVERY_S)

    async def _count(self, victim: Worker) -> None:
        arrived = Counter(arrival.event_id for arrival in self._receivers.arrivals)
        sent = {arrival.event_id for arrival in self._receivers.arrivals if arrival.sender == victim.sender}
        made = {row["event_id"]: row["made"] for row in await self._bed.services.db.fetch(ATTEMPTS_MADE, list(sent))}
        lost = [event_id for event_id in sent if arrived[event_id] > made.get(event_id, 0)]
        self.in_flight.update(lost)
        self.hits += bool(lost)
