"""Workers are killed at random under load: every event arrives, and only calls in flight are repeated."""

import asyncio
import random
import time
from collections import Counter
from collections.abc import Sequence
from functools import partial

from chaos.figures import Figure, at_least, at_most, fact
from chaos.producer import Destination, Producer
from chaos.receivers import Receivers, hosts, respond_slowly
from chaos.testbed import COUNT_EVENTS, Testbed, Worker

RECEIVERS = 50
MERCHANTS = 10
WORKERS = 3
EVENTS_PER_S = 100
KILL_EVERY_S = 2.0
SECONDS, QUICK_SECONDS = 300.0, 20.0
ANSWER_WITHIN_S = 0.1
ARRIVE_WITHIN_S = 180.0
"""An event that lost three workers waits for its retry schedule."""
POLL_EVERY_S = 0.1
SETTLE_S = 0.3
"""Requests and statements of a killed process may still arrive and commit."""

ATTEMPTS_MADE = """
    SELECT event_id::text, count(*) AS made FROM webhook_attempts
    WHERE event_id = ANY($1::uuid[]) AND error IS DISTINCT FROM 'worker_lost' GROUP BY event_id
"""
COUNT_DELIVERED = "SELECT count(*) FROM webhook_events WHERE status = 'delivered'"


async def run(*, quick: bool) -> list[Figure]:
    """Kill workers for five minutes, or 20 seconds."""
    seconds = QUICK_SECONDS if quick else SECONDS
    answers_soon = respond_slowly(partial(random.uniform, 0, ANSWER_WITHIN_S))
    async with Testbed() as testbed, Receivers(hosts(10, RECEIVERS), answers_soon) as receivers:
        for _ in range(WORKERS):
            testbed.start_worker()
        producer, killer = Producer(testbed), Killer(testbed, receivers)
        killing = asyncio.create_task(killer.kill(seconds))
        numbers = await producer.produce(await destinations(testbed, receivers.urls), EVENTS_PER_S, seconds)
        await killing
        missing = await receivers.wait_for(numbers, ARRIVE_WITHIN_S)
        waiting = await testbed.wait_until_delivered(ARRIVE_WITHIN_S)
        arrived = Counter(arrival.event_id for arrival in receivers.arrivals)
        doubles = arrived - Counter(set(arrived))
        return [
            fact("events committed", len(numbers)),
            fact("arrivals", len(receivers.arrivals)),
            fact("kills", killer.kills),
            at_least("kills that hit calls in flight", killer.hits, 1),
            at_most("lost", len(missing), 0),
            at_most("recorded twice or not at all", abs(await testbed.count(COUNT_EVENTS) - len(numbers)), 0),
            at_most("not known to be delivered", len(numbers) - await testbed.count(COUNT_DELIVERED), 0),
            at_most("still waiting", waiting, 0),
            at_most("doubles", doubles.total(), killer.in_flight.total()),
            at_most("doubles that were not in flight at a kill", (doubles - killer.in_flight).total(), 0),
            at_most("broken invariants", len(await testbed.broken()), 0),
        ]


async def destinations(testbed: Testbed, urls: Sequence[str], merchants: int = MERCHANTS) -> list[Destination]:
    """Distribute the URLs over this many new merchants."""
    envs = [await testbed.merchant() for _ in range(merchants)]
    return [Destination(envs[n % merchants], url) for n, url in enumerate(urls)]


class Killer:
    """Kills random workers and counts their calls in flight: sent, but without a recorded attempt."""

    def __init__(self, testbed: Testbed, receivers: Receivers) -> None:
        self._testbed = testbed
        self._receivers = receivers
        self.kills = 0
        self.hits = 0
        self.in_flight: Counter[str] = Counter()

    async def kill(self, seconds: float) -> None:
        """Kill a worker every two seconds and start another at once."""
        began = time.perf_counter()
        for turn in range(1, int(seconds / KILL_EVERY_S)):
            await asyncio.sleep(began + turn * KILL_EVERY_S - time.perf_counter())
            victim = random.choice(await self._busy_workers())
            self._testbed.kill_worker(victim)
            self._testbed.start_worker()
            self.kills += 1
            await asyncio.sleep(SETTLE_S)
            await self._count(victim)

    async def _busy_workers(self) -> list[Worker]:
        """Workers that have sent something; a worker that is starting has nothing in flight."""
        while True:
            senders = {arrival.sender for arrival in self._receivers.arrivals}
            if found := [worker for worker in self._testbed.workers if worker.sender in senders]:
                return found
            await asyncio.sleep(POLL_EVERY_S)

    async def _count(self, victim: Worker) -> None:
        arrived = Counter(arrival.event_id for arrival in self._receivers.arrivals)
        sent = {arrival.event_id for arrival in self._receivers.arrivals if arrival.sender == victim.sender}
        made = {row["event_id"]: row["made"] for row in await self._testbed.services.db.fetch(ATTEMPTS_MADE, list(sent))}
        lost = [event_id for event_id in sent if arrived[event_id] > made.get(event_id, 0)]
        self.in_flight.update(lost)
        self.hits += bool(lost)
