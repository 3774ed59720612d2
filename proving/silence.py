"""PostgreSQL is stopped without a word, under load: refusals within a bound, recovery by itself, nothing lost."""

import asyncio
import os
import signal
import time
from pathlib import Path

from proving.bed import COUNT_EVENTS, Bed
from proving.kills import EVENTS_PER_S, RECEIVERS, WORKERS, destinations
from proving.producing import UNSURE, Producer
from proving.receiving import Receivers, hosts
from proving.results import Figure, at_least, fact, must
from tollhouse.platform.db import ANSWERS_WITHIN_S, CONNECTS_WITHIN_S, LENDS_WITHIN_S

SILENT_S = 20.0
"""Longer than every deadline: each connection is found out."""
SPEAKING_S = 20.0
SILENCES, QUICK_SILENCES = 5, 1
ASK_EVERY_S = 0.5
REFUSED_WITHIN_S = LENDS_WITHIN_S + CONNECTS_WITHIN_S + ANSWERS_WITHIN_S
RECOVERS_WITHIN_S = 10.0
ARRIVE_WITHIN_S = 180.0
ASK = "SELECT 1"


async def prove(*, quick: bool) -> list[Figure]:
    """Twenty seconds of silence five times, or once."""
    silences = QUICK_SILENCES if quick else SILENCES
    async with Bed() as bed, Receivers(hosts(10, RECEIVERS)) as receivers:
        workers = [bed.start_worker() for _ in range(WORKERS)]
        producer, silence = Producer(bed), Silence(bed, receivers)
        where = await destinations(bed, receivers.urls)
        silencing = asyncio.create_task(silence.run(silences))
        numbers = await producer.produce(where, EVENTS_PER_S, silences * (SILENT_S + SPEAKING_S))
        await silencing
        missing = await receivers.wait_for(numbers, ARRIVE_WITHIN_S)
        waiting = await bed.settle_down(ARRIVE_WITHIN_S)
        return [
            fact("events committed", len(numbers)),
            fact("silences", silences),
            fact("of each", SILENT_S, unit="s"),
            at_least("requests refused", len(silence.refused_after_s), 1),
            must("longest wait for a refusal", max(silence.refused_after_s, default=0.0), REFUSED_WITHIN_S, unit="s"),
            must("until requests are answered again", max(silence.answered_after_s), RECOVERS_WITHIN_S, unit="s"),
            must("until events arrive again", max(silence.delivered_after_s), RECOVERS_WITHIN_S, unit="s"),
            must("lost", len(missing), 0),
            must("recorded twice or not at all", abs(await bed.count(COUNT_EVENTS) - len(numbers)), 0),
            must("still waiting", waiting, 0),
            must("workers that ended", sum(not worker.alive for worker in workers), 0),
            must("broken invariants", len(await bed.broken()), 0),
        ]


class Silence:
    """Stops every process of the server, as nothing on a network would tell, and lets them go on."""

    def __init__(self, bed: Bed, receivers: Receivers) -> None:
        self._bed = bed
        self._receivers = receivers
        self.refused_after_s: list[float] = []
        self.answered_after_s: list[float] = []
        self.delivered_after_s: list[float] = []

    async def run(self, silences: int) -> None:
        """Speech, then silence, so many times; then speech."""
        for _ in range(silences):
            await asyncio.sleep(SPEAKING_S / 2)
            self._signal(signal.SIGSTOP)
            await self._ask_for(SILENT_S)
            self._signal(signal.SIGCONT)
            began, seen = time.perf_counter(), len(self._receivers.arrivals)
            self.answered_after_s.append(await self._until_answered(began))
            while len(self._receivers.arrivals) == seen and time.perf_counter() - began < ARRIVE_WITHIN_S:
                await asyncio.sleep(0.05)
            self.delivered_after_s.append(time.perf_counter() - began)
            await asyncio.sleep(SPEAKING_S / 2)

    async def _ask_for(self, seconds: float) -> None:
        """Ask now and then, however long the answers take."""
        until = time.perf_counter() + seconds
        async with asyncio.TaskGroup() as group:
            while time.perf_counter() < until:
                group.create_task(self._ask())
                await asyncio.sleep(ASK_EVERY_S)
            self._signal(signal.SIGCONT)  # those that still wait are not a figure of this silence

    async def _ask(self) -> None:
        began = time.perf_counter()
        try:
            await self._bed.services.db.fetchrow(ASK)
        except UNSURE:
            self.refused_after_s.append(time.perf_counter() - began)

    async def _until_answered(self, began: float) -> float:
        while True:
            try:
                await self._bed.services.db.fetchrow(ASK)
            except UNSURE:
                await asyncio.sleep(0.05)
            else:
                return time.perf_counter() - began

    def _signal(self, how: signal.Signals) -> None:
        first = self._bed.database.pid or 0
        for folder in Path("/proc").iterdir():
            if folder.name.isdigit() and (int(folder.name) == first or _parent(folder) == first):
                os.kill(int(folder.name), how)


def _parent(folder: Path) -> int:
    try:
        return int((folder / "stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0
