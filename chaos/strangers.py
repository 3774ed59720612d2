"""Hanging receivers get half of the traffic: healthy receivers get their events without added delay."""

import asyncio
from collections.abc import Sequence

from chaos import network_namespace
from chaos.figures import Figure, at_most, fact, percentile
from chaos.kills import destinations
from chaos.name_server import NameServer
from chaos.producer import Destination, Producer
from chaos.receivers import Receivers, hang, hosts
from chaos.testbed import Testbed
from tollhouse.http.services import Work
from tollhouse.kernel import clock
from tollhouse.webhooks import actions

HEALTHY, HUNDRED, THOUSAND = 50, 100, 1_000
EVENTS_PER_S = 50
"""For the healthy receivers, and as many for the hanging ones."""
ROUNDS, QUICK_ROUNDS = 4, 1
SECONDS, QUICK_SECONDS = 30.0, 10.0
WARM_UP_S = 3.0
CALM_AFTER_S = 12.0
"""Every call to a hanging receiver has ended by then."""
ARRIVE_WITHIN_S = 120.0
RATIO_MAX = 1.2
P99 = 0.99
SILENT_EVERY = 4
"""Every fourth of the 1,000 names gets no DNS answer."""


class Zone:
    """Answers that lead to healthy receivers, hanging receivers, or nowhere."""

    def __init__(self) -> None:
        hanging = {f"host-{n}.strangers.example": host for n, host in enumerate(hosts(30, THOUSAND))}
        self._silent = set(list(hanging)[::SILENT_EVERY])
        self._hosts = hanging | {f"host-{n}.receivers.example": host for n, host in enumerate(hosts(10, HEALTHY))}

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

    async def measure_delays_ms(self, hanging: list[Destination], seconds: float) -> list[float]:
        """The delays of one period beside these hanging receivers, which are removed at its end."""
        seen = len(self._receivers.arrivals)
        beside = asyncio.create_task(self._producer.produce(hanging, EVENTS_PER_S if hanging else 0, seconds))
        numbers = set(await self._producer.produce(self._healthy, EVENTS_PER_S, seconds))
        await beside
        self.missing_count += len(await self._receivers.wait_for(numbers, ARRIVE_WITHIN_S))
        if hanging:
            await self._end(hanging)
        arrived = {one.number: one.at for one in reversed(self._receivers.arrivals[seen:]) if one.number in numbers}
        return [max(0.0, at - self._producer.committed[number]) * 1000 for number, at in arrived.items()]

    async def _end(self, hanging: list[Destination]) -> None:
        services = self._testbed.services
        for env in {destination.env for destination in hanging}:
            await services.db.transact(lambda tx, env=env: actions.disable_delivery(Work(tx, services, clock.now()), env))
        await asyncio.sleep(CALM_AFTER_S)


async def run(*, quick: bool) -> list[Figure]:
    """Four rounds of 30 seconds alone, beside 100 hanging receivers, and beside 1,000 hanging names.

    Beside 100 receivers that answer, for comparison: that is what as many events cost where nobody hangs.
    """
    rounds, seconds = (QUICK_ROUNDS, QUICK_SECONDS) if quick else (ROUNDS, SECONDS)
    zone = Zone()
    async with (
        Testbed() as testbed,
        NameServer(zone.answer, *network_namespace.NAME_SERVER),
        Receivers(hosts(10, HEALTHY)) as receivers,
        Receivers(hosts(20, HUNDRED), hang) as hundred,
        Receivers(hosts(40, HUNDRED)) as answering,
        Receivers(hosts(30, THOUSAND), hang) as thousand,
    ):
        worker = testbed.start_worker()
        healthy = await destinations(testbed, zone.urls(".receivers.example", receivers.port))
        measured = HealthyReceivers(testbed, Producer(testbed), receivers, healthy)
        await measured.measure_delays_ms([], WARM_UP_S)
        scenes = ("alone", "beside a hundred that answer", "beside a hundred", "beside a thousand")
        delays: dict[str, list[float]] = {scene: [] for scene in scenes}
        for _ in range(rounds):
            delays["alone"] += await measured.measure_delays_ms([], seconds)
            others = await destinations(testbed, answering.urls, HUNDRED)
            delays["beside a hundred that answer"] += await measured.measure_delays_ms(others, seconds)
            hanging = await destinations(testbed, hundred.urls, HUNDRED)
            delays["beside a hundred"] += await measured.measure_delays_ms(hanging, seconds)
            hanging = await destinations(testbed, zone.urls(".strangers.example", thousand.port), 1)
            delays["beside a thousand"] += await measured.measure_delays_ms(hanging, seconds)
        p99 = {scene: percentile(found, P99) for scene, found in delays.items()}
        return [
            *(fact(f"p50 {scene}", percentile(found, 0.5), unit="ms") for scene, found in delays.items()),
            *(fact(f"p99 {scene}", found, unit="ms") for scene, found in p99.items()),
            at_most("p99 beside 100 hanging receivers / alone", p99["beside a hundred"] / p99["alone"], RATIO_MAX),
            at_most("p99 beside 1,000 hanging names / alone", p99["beside a thousand"] / p99["alone"], RATIO_MAX),
            at_most("healthy events that never came", measured.missing_count, 0),
            fact("memory of the worker", worker.memory_bytes() / (1 << 20), unit="MiB"),
        ]
