"""The producer: records events at a steady rate through the product's own function, as a client that does not give up."""

import asyncio
import itertools
import random
import time
from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID

import asyncpg

from proving.bed import Bed
from tollhouse.events.record import NewEvent, record
from tollhouse.kernel import clock
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import TemporarilyUnavailable
from tollhouse.kernel.ids import new_id

AGAIN_AFTER_S = 0.5
"""On average: all who failed together must not come back together."""
UNSURE = (
    OSError,
    TimeoutError,
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    TemporarilyUnavailable,
)
"""The database was not there, or went before it said whether it had committed."""


class Destination(NamedTuple):
    """Whose events go where."""

    env: MerchantEnv
    url: str


class Producer:
    """Numbers events, and keeps when each was committed."""

    def __init__(self, bed: Bed) -> None:
        self._bed = bed
        self._numbers = itertools.count()
        self.committed: dict[int, float] = {}
        self.repeated = 0

    async def produce(self, destinations: Sequence[Destination], per_s: float, seconds: float) -> list[int]:
        """That many a second for so long, to all destinations in turn; the numbers, all committed by then.

        The rate is kept whatever happens: what cannot be recorded now is tried again beside what comes after it.
        """
        began = time.perf_counter()
        turns = itertools.cycle(destinations)
        recording: list[asyncio.Task[int]] = []
        async with asyncio.TaskGroup() as group:
            for n in range(round(per_s * seconds)):
                await asyncio.sleep(began + n / per_s - time.perf_counter())
                recording.append(group.create_task(self.record(next(turns))))
        return [one.result() for one in recording]

    async def record(self, destination: Destination) -> int:
        """Record one event until it is known to be committed; its number.

        An answer that was lost is found again by the event's own key: the same change is never told twice.
        """
        number, source_id, unsure = next(self._numbers), new_id(), False
        while True:
            try:
                await self._record(destination, number, source_id)
            except asyncpg.UniqueViolationError:
                if not unsure:
                    raise
                break
            except UNSURE:
                unsure = True
                self.repeated += 1
                await asyncio.sleep(random.uniform(0, 2 * AGAIN_AFTER_S))
            else:
                break
        self.committed[number] = time.perf_counter()
        return number

    async def _record(self, destination: Destination, number: int, source_id: UUID) -> None:
        facts = {"number": number, "note": "a payment of the proving ground, with some words so that it has a usual length"}
        event = NewEvent("payment.succeeded", "transaction", source_id, 1, facts, destination_url=destination.url)
        services = self._bed.services
        await services.db.transact(lambda tx: record(tx, destination.env, event, services=services, now=clock.now()))
