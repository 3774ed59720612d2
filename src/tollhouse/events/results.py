"""How attempts ended, written down many at a time; each of them counts only while its own lease is ours.

A result waits a few milliseconds for others, and for the statement before it, so that a hundred cost one commit.
"""

import asyncio
from collections import deque
from contextlib import suppress

import asyncpg
from msgspec import Struct

from tollhouse.events import delivery_store
from tollhouse.events.letter import Claim, claim_of
from tollhouse.events.schedule import WORKER_LOST, following
from tollhouse.http.services import Services
from tollhouse.kernel.clock import seconds
from tollhouse.kernel.errors import TemporarilyUnavailable
from tollhouse.kernel.limits import DELIVERY_LEASE_S
from tollhouse.platform.db_faults import LOST
from tollhouse.platform.log import log
from tollhouse.platform.outbound import Outcome

GATHER_MS = 5
TOGETHER_MAX = 200
AFTER_FAULT_S = 1
LEASE = seconds(DELIVERY_LEASE_S)
DATABASE_FAULTS = (*LOST, asyncpg.PostgresError, TemporarilyUnavailable)
POISONED = (asyncpg.IntegrityConstraintViolationError, asyncpg.DataError)
"""The database will never take this."""


class Result(Struct, frozen=True):
    """An attempt that was made, the number it has, and how it ended."""

    claim: Claim
    attempt: int
    outcome: Outcome


class Results:
    """The results of a worker, on their way into the database. `add` never waits."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._waiting: deque[Result] = deque()
        self._some = asyncio.Event()
        self._closed = False

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, result: Result) -> None:
        """Have it written down soon."""
        self._waiting.append(result)
        self._some.set()

    def close(self) -> None:
        """Nothing more will come: `run` returns when all is written."""
        self._closed = True
        self._some.set()

    async def run(self) -> None:
        """Write down what comes, until closed. What the database cannot take now is tried again until it can."""
        while self._waiting or not self._closed:
            await self._some.wait()
            if len(self._waiting) < TOGETHER_MAX and not self._closed:
                await asyncio.sleep(GATHER_MS / 1000)
            batch = [self._waiting.popleft() for _ in range(min(len(self._waiting), TOGETHER_MAX))]
            if not self._waiting and not self._closed:
                self._some.clear()
            if batch and not await self._written(batch):
                self._waiting.extendleft(reversed(batch))
                self._some.set()
                await asyncio.sleep(AFTER_FAULT_S)

    async def _written(self, batch: list[Result]) -> bool:
        """Whether it is done with. Where the database refuses a batch, one of them alone is to blame, and is given up."""
        try:
            await write_down(self._services, batch)
        except POISONED as fault:
            if len(batch) > 1:
                return all([await self._written([result]) for result in batch])
            log.error("attempt cannot be written down", event_id=str(batch[0].claim.event_id), exc_info=fault)
        except DATABASE_FAULTS as fault:
            log.error("cannot write down attempts", error=type(fault).__name__, count=len(batch))
            return False
        return True


async def write_down(services: Services, results: list[Result]) -> None:
    """Record how attempts ended, and plan what follows, in one statement. What lost its lease changes the history alone."""
    results = sorted(results, key=lambda result: result.claim.event_id)  # as everybody, so that no two can lock crosswise
    rows = zip(*(_told(services, result) for result in results), strict=True)
    settled = {row["id"] for row in await services.db.fetch(delivery_store.SETTLE, *map(list, rows))}
    for result in results:
        outcome = result.outcome
        if result.claim.event_id in settled or outcome.error == WORKER_LOST:
            continue
        log.warning("lease lost", event_id=str(result.claim.event_id), attempt=result.attempt)
        status = "succeeded" if outcome.succeeded else "failed"
        await services.db.execute(
            delivery_store.LATE,
            result.claim.event_id,
            result.attempt,
            status,
            outcome.error,
            outcome.http_status,
            outcome.duration_ms,
        )


async def sweep(services: Services) -> None:
    """Take back the leases that ran out, and let go what is held although a secret has become active."""
    rows = await services.db.fetch(delivery_store.RAN_OUT, LEASE)
    lost = Outcome(WORKER_LOST, None, DELIVERY_LEASE_S * 1000)
    if rows:
        await write_down(services, [Result(claim_of(row, row["lease_token"]), row["attempts"] + 1, lost) for row in rows])
    await services.db.execute(delivery_store.FREE_LEFT_BEHIND)


async def give_back(services: Services, claims: list[Claim]) -> None:
    """Let somebody else make these attempts, which were not made."""
    for claim in claims:
        with suppress(*DATABASE_FAULTS):
            await services.db.execute(delivery_store.GIVE_BACK, claim.event_id, claim.token)


def _told(services: Services, result: Result) -> tuple[object, ...]:
    claim, outcome = result.claim, result.outcome
    plan = following(
        mode=claim.mode,
        trigger=claim.trigger,
        error=outcome.error,
        tries=claim.tries,
        lost=claim.lost,
        schedule=services.settings.webhook_retry_schedule,
        retry_after_s=outcome.retry_after_s,
    )
    return (
        claim.event_id,
        claim.token,
        result.attempt,
        claim.trigger,
        outcome.error,
        outcome.http_status,
        claim.started_at,
        outcome.duration_ms,
        plan.after,
        plan.tries,
        plan.lost,
        int(claim.trigger == "manual" and not plan.again),
    )
