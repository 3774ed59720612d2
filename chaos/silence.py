"""PostgreSQL stops responding under load: requests fail within a bound, the service recovers, nothing is lost."""

import asyncio
import os
import signal
import time
from pathlib import Path

from chaos.figures import Figure, at_least, at_most, fact
from chaos.kills import EVENTS_PER_S, RECEIVERS, WORKERS, destinations
from chaos.producer import UNCERTAIN_ERRORS, Producer
from chaos.receivers import Receivers, hosts
from chaos.testbed import COUNT_EVENTS, Testbed
from tollhouse.platform.database.pool import ACQUIRE_TIMEOUT_S, CONNECT_TIMEOUT_S, STATEMENT_DEADLINE_S

SILENT_S = 20.0
"""Longer than every timeout, so that each connection runs into one."""
RUNNING_S = 20.0
SILENCES, QUICK_SILENCES = 5, 1
QUERY_EVERY_S = 0.5
REFUSED_WITHIN_S = ACQUIRE_TIMEOUT_S + CONNECT_TIMEOUT_S + STATEMENT_DEADLINE_S
RECOVERS_WITHIN_S = 10.0
ARRIVE_WITHIN_S = 180.0
PING = "SELECT 1"


async def run(*, quick: bool) -> list[Figure]:
    """Stop the server for 20 seconds, five times or once."""
    silences = QUICK_SILENCES if quick else SILENCES
    async with Testbed() as testbed, Receivers(hosts(10, RECEIVERS)) as receivers:
        workers = [testbed.start_worker() for _ in range(WORKERS)]
        producer, silence = Producer(testbed), Silence(testbed, receivers)
        targets = await destinations(testbed, receivers.urls)
        silencing = asyncio.create_task(silence.run(silences))
        numbers = await producer.produce(targets, EVENTS_PER_S, silences * (SILENT_S + RUNNING_S))
        await silencing
        missing = await receivers.wait_for(numbers, ARRIVE_WITHIN_S)
        waiting = await testbed.wait_until_delivered(ARRIVE_WITHIN_S)
        return [
            fact("events committed", len(numbers)),
            fact("silences", silences),
            fact("of each", SILENT_S, unit="s"),
            at_least("requests refused", len(silence.refused_after_s), 1),
            at_most("longest wait for a refusal", max(silence.refused_after_s, default=0.0), REFUSED_WITHIN_S, unit="s"),
            at_most("until requests are answered again", max(silence.answered_after_s), RECOVERS_WITHIN_S, unit="s"),
            at_most("until events arrive again", max(silence.delivered_after_s), RECOVERS_WITHIN_S, unit="s"),
            at_most("lost", len(missing), 0),
            at_most("recorded twice or not at all", abs(await testbed.count(COUNT_EVENTS) - len(numbers)), 0),
            at_most("still waiting", waiting, 0),
            at_most("workers that ended", sum(not worker.alive for worker in workers), 0),
            at_most("broken invariants", len(await testbed.broken()), 0),
        ]


class Silence:
    """Stops every process of the server with SIGSTOP, which closes no connection, and continues them."""

    def __init__(self, testbed: Testbed, receivers: Receivers) -> None:
        self._testbed = testbed
        self._receivers = receivers
        self.refused_after_s: list[float] = []
        self.answered_after_s: list[float] = []
        self.delivered_after_s: list[float] = []

    async def run(self, silences: int) -> None:
        """Alternate running and stopped periods."""
        for _ in range(silences):
            await asyncio.sleep(RUNNING_S / 2)
            self._signal(signal.SIGSTOP)
            await self._query_for(SILENT_S)
            self._signal(signal.SIGCONT)
            began, seen = time.perf_counter(), len(self._receivers.arrivals)
            self.answered_after_s.append(await self._seconds_until_answered(began))
            while len(self._receivers.arrivals) == seen and time.perf_counter() - began < ARRIVE_WITHIN_S:
                await asyncio.sleep(0.05)
            self.delivered_after_s.append(time.perf_counter() - began)
            await asyncio.sleep(RUNNING_S / 2)

    async def _query_for(self, seconds: float) -> None:
        """Send queries at intervals, without waiting for earlier ones."""
        until = time.perf_counter() + seconds
        async with asyncio.TaskGroup() as group:
            while time.perf_counter() < until:
                group.create_task(self._request())
                await asyncio.sleep(QUERY_EVERY_S)
            self._signal(signal.SIGCONT)  # queries that are still waiting do not count

    async def _request(self) -> None:
        began = time.perf_counter()
        try:
            await self._testbed.services.db.fetchrow(PING)
        except UNCERTAIN_ERRORS:
            self.refused_after_s.append(time.perf_counter() - began)

    async def _seconds_until_answered(self, began: float) -> float:
        while True:
            try:
                await self._testbed.services.db.fetchrow(PING)
            except UNCERTAIN_ERRORS:
                await asyncio.sleep(0.05)
            else:
                return time.perf_counter() - began

    def _signal(self, how: signal.Signals) -> None:
        first = self._testbed.database.pid or 0
        for folder in Path("/proc").iterdir():
            if folder.name.isdigit() and (int(folder.name) == first or _parent(folder) == first):
                os.kill(int(folder.name), how)


def _parent(folder: Path) -> int:
    try:
        return int((folder / "stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0
