"""Hanging receivers get half of the traffic: the others get their events as soon as if nobody hung.

It is compared with the same traffic to receivers that all answer: compared with no traffic, it would say what twice as many
events cost.
"""

import asyncio
from collections.abc import Mapping, Sequence
from statistics import median

from chaos import network_namespace
from chaos.figures import Figure, at_most, fact, percentile
from chaos.kills import destinations
from chaos.name_server import NameServer
from chaos.producer import Destination, Producer
from chaos.receivers import Receivers, hang, hosts
from chaos.testbed import Testbed
from tollhouse.http.services import Work
from tollhouse.kernel import clock
from tollhouse.webhooks.endpoints import actions

HEALTHY, HUNDRED, THOUSAND = 50, 100, 1_000
EVENTS_PER_S = 50
"""For the healthy receivers, and as many for the hanging ones."""
ROUNDS, QUICK_ROUNDS = 5, 1
SECONDS, QUICK_SECONDS = 20.0, 10.0
WARM_UP_S = 3.0
CALM_AFTER_S = 12.0
"""Every call to a hanging receiver has ended by then."""
ARRIVE_WITHIN_S = 120.0
RATIO_MAX = 1.2
"""The 99th percentile where half of the receivers hang, of that where all of them answer."""
P99_MAX_MS = 20.0
P99 = 0.99
SILENT_EVERY = 4
"""Every fourth of the 1,000 names gets no DNS answer."""


class Zone:
    """Answers that lead to healthy receivers, others that answer or hang, or nowhere."""

    def __init__(self) -> None:
        hanging = {f"host-{n}.strangers.example": host for n, host in enumerate(hosts(30, THOUSAND))}
        self._silent = set(list(hanging)[::SILENT_EVERY])
        self._hosts = hanging | {f"host-{n}.receivers.example": host for n, host in enumerate(hosts(10, HEALTHY))}
        self._hosts |= {f"host-{n}.others.example": host for n, host in enumerate(hosts(40, THOUSAND))}

    def answer(self, name: str) -> Sequence[str] | None:
        """The address of a name; None sends no answer."""
        if name in self._silent:
            return None
        return [self._hosts[name]] if name in self._hosts else []

    def urls(self, domain: str, port: int) -> list[str]:
        """The webhook URLs of a domain."""
        return [f"http://{name}:{port}/hook" for name in self._hosts if name.endswith(domain)]


class HealthyReceivers:
    """The healthy receivers and the delays of their events from commit to arrival."""

    def __init__(self, testbed: Testbed, producer: Producer, receivers: Receivers, healthy: list[Destination]) -> None:
        self._testbed, self._producer, self._receivers, self._healthy = testbed, producer, receivers, healthy
        self.missing_count = 0

    async def measure_delays_ms(self, others: list[Destination], seconds: float) -> list[float]:
        """The delays of one period beside these receivers, which are removed at its end."""
        seen = len(self._receivers.arrivals)
        beside = asyncio.create_task(self._producer.produce(others, EVENTS_PER_S if others else 0, seconds))
        numbers = set(await self._producer.produce(self._healthy, EVENTS_PER_S, seconds))
        await beside
        self.missing_count += len(await self._receivers.wait_for(numbers, ARRIVE_WITHIN_S))
        if others:
            await self._end(others)
        arrived = {
            arrival.number: arrival.at for arrival in reversed(self._receivers.arrivals[seen:]) if arrival.number in numbers
        }
        return [max(0.0, at - self._producer.committed[number]) * 1000 for number, at in arrived.items()]

    async def _end(self, others: list[Destination]) -> None:
        services = self._testbed.services
        for env in {destination.env for destination in others}:
            await services.db.transact(lambda tx, env=env: actions.disable_delivery(Work(tx, services, clock.now()), env))
        await asyncio.sleep(CALM_AFTER_S)


async def run(*, quick: bool) -> list[Figure]:
    """Five rounds of 20 seconds: alone, beside 100 receivers and beside 1,000 names, which answer or hang.

    Figures are medians of the rounds, as one slow second of the disk would decide the 99th percentile of all of them.
    """
    rounds, seconds = (QUICK_ROUNDS, QUICK_SECONDS) if quick else (ROUNDS, SECONDS)
    zone = Zone()
    async with (
        Testbed() as testbed,
        NameServer(zone.answer, *network_namespace.NAME_SERVER),
        Receivers(hosts(10, HEALTHY)) as receivers,
        Receivers(hosts(20, HUNDRED), hang) as hanging,
        Receivers(hosts(30, THOUSAND), hang) as hanging_names,
        Receivers(hosts(40, THOUSAND)) as answering,
    ):
        worker = testbed.start_worker()
        healthy = await destinations(testbed, zone.urls(".receivers.example", receivers.port))
        measured = HealthyReceivers(testbed, Producer(testbed), receivers, healthy)
        await measured.measure_delays_ms([], WARM_UP_S)
        scenes: dict[str, tuple[list[str], int]] = {
            "alone": ([], HUNDRED),
            "beside 100 that answer": (answering.urls[:HUNDRED], HUNDRED),
            "beside 100 that hang": (hanging.urls, HUNDRED),
            "beside 1,000 names that answer": (zone.urls(".others.example", answering.port), 1),
            "beside 1,000 names that hang": (zone.urls(".strangers.example", hanging_names.port), 1),
        }
        delays: dict[str, list[list[float]]] = {scene: [] for scene in scenes}
        for _ in range(rounds):
            for scene, (urls, subscriptions) in scenes.items():
                others = await destinations(testbed, urls, subscriptions) if urls else []
                delays[scene].append(await measured.measure_delays_ms(others, seconds))
        return [
            *_figures(delays),
            at_most("healthy events that never came", measured.missing_count, 0),
            fact("memory of the worker", worker.memory_bytes() / (1 << 20), unit="MiB"),
        ]


def _figures(delays: Mapping[str, list[list[float]]]) -> list[Figure]:
    p50, p99 = (
        {scene: median(percentile(found, part) for found in rounds) for scene, rounds in delays.items()}
        for part in (0.5, P99)
    )
    ratios = {
        others: p99[f"beside {others} that hang"] / p99[f"beside {others} that answer"] for others in ("100", "1,000 names")
    }
    return [
        *(fact(f"p50 {scene}", found, unit="ms") for scene, found in p50.items()),
        *(at_most(f"p99 {scene}", found, P99_MAX_MS, unit="ms") for scene, found in p99.items()),
        *(at_most(f"p99 beside {others} that hang / that answer", ratio, RATIO_MAX) for others, ratio in ratios.items()),
    ]
