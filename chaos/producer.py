"""The producer: records events at a steady rate with `webhooks.events.record`, and retries until each is committed."""

import asyncio
import itertools
import random
import time
from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID

import asyncpg

from chaos.testbed import Testbed
from tollhouse.kernel import clock
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import TemporarilyUnavailable
from tollhouse.kernel.ids import new_id
from tollhouse.webhooks.events.record import EventSource, record

RETRY_AFTER_S = 0.5
"""The mean of a random delay, so that retries spread out."""
UNCERTAIN_ERRORS = (
    OSError,
    TimeoutError,
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    TemporarilyUnavailable,
)
"""Errors after which the transaction may or may not have been committed."""


class Destination(NamedTuple):
    """A merchant's environment and the URL its events are sent to."""

    env: MerchantEnv
    url: str


class Producer:
    """Numbers events and stores when each was committed."""

    def __init__(self, testbed: Testbed) -> None:
        self._testbed = testbed
        self._numbers = itertools.count()
        self.committed: dict[int, float] = {}
        self.repeated = 0

    async def produce(self, destinations: Sequence[Destination], per_s: float, seconds: float) -> list[int]:
        """Record `per_s` events a second, to the destinations in turn. Returns their numbers once all are committed.

        The rate does not depend on failures: an event that failed is retried beside the following ones.
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
        """Record one event, retrying until it is committed. Returns its number.

        A commit whose result was lost is recognized by the unique violation of the retry.
        """
        number, source_id, is_uncertain = next(self._numbers), new_id(), False
        while True:
            try:
                await self._record(destination, number, source_id)
            except asyncpg.UniqueViolationError:
                if not is_uncertain:
                    raise
                break
            except UNCERTAIN_ERRORS:
                is_uncertain = True
                self.repeated += 1
                await asyncio.sleep(random.uniform(0, 2 * RETRY_AFTER_S))
            else:
                break
        self.committed[number] = time.perf_counter()
        return number

    async def _record(self, destination: Destination, number: int, source_id: UUID) -> None:
        facts = {"number": number, "note": "a payment of a chaos experiment, with some more words to reach a usual length"}
        source = EventSource("transaction", source_id, 1)
        await self._testbed.services.transact(
            lambda work: record(work, destination.env, "payment.succeeded", source, {"object": facts}, destination.url),
            clock.now(),
        )
