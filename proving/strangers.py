"""Strangers hang, with half of the traffic: the healthy receivers get their events about as soon as if they were alone."""

import asyncio
from collections.abc import Sequence

from proving import sealed
from proving.bed import Bed
from proving.kills import destinations
from proving.names import NameServer
from proving.producing import Destination, Producer
from proving.receiving import Receivers, hangs, hosts
from proving.results import Figure, fact, must, percentile
from tollhouse.kernel import clock
from tollhouse.webhooks import actions

HEALTHY, HUNDRED, THOUSAND = 50, 100, 1_000
EVENTS_PER_S = 50
"""For the healthy ones, and as many for the strangers."""
ROUNDS, QUICK_ROUNDS = 4, 1
SECONDS, QUICK_SECONDS = 30.0, 10.0
WARM_UP_S = 3.0
CALM_AFTER_S = 12.0
"""By then every call to a stranger has ended."""
ARRIVE_WITHIN_S = 120.0
WORST = 1.2
P99 = 0.99
SILENT_EVERY = 4
"""Of the thousand names every fourth is one that no name server answers for."""


class Zone:
    """What the names lead to: receivers that are healthy, others that hang, or nowhere."""

    def __init__(self) -> None:
        strangers = {f"host-{n}.strangers.example": host for n, host in enumerate(hosts(30, THOUSAND))}
        self._silent = set(list(strangers)[::SILENT_EVERY])
        self._hosts = strangers | {f"host-{n}.receivers.example": host for n, host in enumerate(hosts(10, HEALTHY))}

    def answer(self, name: str) -> Sequence[str] | None:
        """Its address; None where nobody answers."""
        if name in self._silent:
            return None
        return [self._hosts[name]] if name in self._hosts else []

    def urls(self, domain: str, port: int) -> list[str]:
        """Where to send, by name."""
        return [f"http://{name}:{port}/hook" for name in self._hosts if name.endswith(domain)]


class Street:
    """The healthy receivers, and how long each of their events took from commit to arrival."""

    def __init__(self, bed: Bed, producer: Producer, receivers: Receivers, healthy: list[Destination]) -> None:
        self._bed, self._producer, self._receivers, self._healthy = bed, producer, receivers, healthy
        self.never_came = 0

    async def delays_ms(self, strangers: list[Destination], seconds: float) -> list[float]:
        """Of one stretch beside these strangers, who are gone again when it ends."""
        seen = len(self._receivers.arrivals)
        beside = asyncio.create_task(self._producer.produce(strangers, EVENTS_PER_S if strangers else 0, seconds))
        numbers = set(await self._producer.produce(self._healthy, EVENTS_PER_S, seconds))
        await beside
        self.never_came += len(await self._receivers.wait_for(numbers, ARRIVE_WITHIN_S))
        if strangers:
            await self._end(strangers)
        arrived = {one.number: one.at for one in reversed(self._receivers.arrivals[seen:]) if one.number in numbers}
        return [max(0.0, at - self._producer.committed[number]) * 1000 for number, at in arrived.items()]

    async def _end(self, strangers: list[Destination]) -> None:
        services = self._bed.services
        for env in {stranger.env for stranger in strangers}:
            await services.db.transact(lambda tx, env=env: actions.switch_off(tx, env, services, clock.now()))
        await asyncio.sleep(CALM_AFTER_S)


async def prove(*, quick: bool) -> list[Figure]:
    """Four rounds of half a minute alone, beside the hundred, and beside the thousand, in turns."""
    rounds, seconds = (QUICK_ROUNDS, QUICK_SECONDS) if quick else (ROUNDS, SECONDS)
    zone = Zone()
    async with (
        Bed() as bed,
        NameServer(zone.answer, *sealed.NAME_SERVER),
        Receivers(hosts(10, HEALTHY)) as receivers,
        Receivers(hosts(20, HUNDRED), hangs) as hundred,
        Receivers(hosts(30, THOUSAND), hangs) as thousand,
    ):
        worker = bed.start_worker()
        healthy = await destinations(bed, zone.urls(".receivers.example", receivers.port))
        street = Street(bed, Producer(bed), receivers, healthy)
        await street.delays_ms([], WARM_UP_S)
        delays: dict[str, list[float]] = {"alone": [], "beside a hundred": [], "beside a thousand": []}
        for _ in range(rounds):
            delays["alone"] += await street.delays_ms([], seconds)
            strangers = await destinations(bed, hundred.urls, HUNDRED)
            delays["beside a hundred"] += await street.delays_ms(strangers, seconds)
            strangers = await destinations(bed, zone.urls(".strangers.example", thousand.port), 1)
            delays["beside a thousand"] += await street.delays_ms(strangers, seconds)
        p99 = {scene: percentile(found, P99) for scene, found in delays.items()}
        return [
            *(fact(f"p50 {scene}", percentile(found, 0.5), unit="ms") for scene, found in delays.items()),
            *(fact(f"p99 {scene}", found, unit="ms") for scene, found in p99.items()),
            must("p99 beside 100 hanging receivers / alone", p99["beside a hundred"] / p99["alone"], WORST),
            must("p99 beside 1,000 hanging names / alone", p99["beside a thousand"] / p99["alone"], WORST),
            must("healthy events that never came", street.never_came, 0),
            fact("memory of the worker", worker.memory_bytes() / (1 << 20), unit="MiB"),
        ]
