"""Records the results of attempts in batches; a result counts only while its lease is valid.

A result waits `GATHER_MS` for others and for the previous statement, so that a hundred results cost one commit.
"""

import asyncio
import random
from collections import deque
from contextlib import suppress
from datetime import timedelta

import asyncpg
import msgspec
from msgspec import Struct

from tollhouse.http.services import Services
from tollhouse.kernel.clock import seconds
from tollhouse.kernel.errors import TemporarilyUnavailable
from tollhouse.kernel.ids import Mode
from tollhouse.kernel.limits import DELIVERY_LEASE_S
from tollhouse.platform.database.errors import CONNECTION_LOST, reason_of
from tollhouse.platform.log.events import log
from tollhouse.platform.outgoing.outbound import Outcome
from tollhouse.webhooks.delivery.attempt_metrics import count_attempt
from tollhouse.webhooks.delivery.response_excerpts import excerpt
from tollhouse.webhooks.delivery.signed_request import Claim, Trigger, claim_from_row
from tollhouse.webhooks.events import delivery_store

GATHER_MS = 5
BATCH_MAX = 200
AFTER_ERROR_S = 1
LEASE = seconds(DELIVERY_LEASE_S)
DATABASE_ERRORS = (*CONNECTION_LOST, asyncpg.PostgresError, TemporarilyUnavailable)
PERMANENT_ERRORS = (asyncpg.IntegrityConstraintViolationError, asyncpg.DataError)
"""Errors that a retry of the same statement would raise again."""

WORKER_LOST = "worker_lost"
FREE_LOSSES = 2
"""Lost workers of an event that use up no attempt. Later ones do, so that an event cannot keep killing workers."""
JITTER = 0.2
SPREAD = random.SystemRandom()
"""Not the shared generator, which others may have seeded."""


class AttemptResult(Struct, frozen=True):
    """An attempt, its number, and its outcome."""

    claim: Claim
    attempt: int
    outcome: Outcome


class ResultWriter:
    """Writes the results of a worker to the database. `add` never waits."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._queue: deque[AttemptResult] = deque()
        self._has_results = asyncio.Event()
        self._closed = False

    def __len__(self) -> int:
        return len(self._queue)

    def add(self, result: AttemptResult) -> None:
        """Queue a result."""
        self._queue.append(result)
        self._has_results.set()

    def close(self) -> None:
        """Accept no more results: `run` returns when all are written."""
        self._closed = True
        self._has_results.set()

    async def run(self) -> None:
        """Write queued results until closed, retrying while the database is unavailable."""
        while self._queue or not self._closed:
            await self._has_results.wait()
            if len(self._queue) < BATCH_MAX and not self._closed:
                await asyncio.sleep(GATHER_MS / 1000)
            batch = [self._queue.popleft() for _ in range(min(len(self._queue), BATCH_MAX))]
            if not self._queue and not self._closed:
                self._has_results.clear()
            if batch and not await self._write(batch):
                self._queue.extendleft(reversed(batch))
                self._has_results.set()
                await asyncio.sleep(AFTER_ERROR_S)

    async def _write(self, batch: list[AttemptResult]) -> bool:
        """Write a batch; False if it must be retried. A result with a permanent error is dropped alone."""
        try:
            await record_results(self._services, batch)
        except PERMANENT_ERRORS as error:
            if len(batch) > 1:
                return all([await self._write([result]) for result in batch])
            claim = batch[0].claim
            log.error("attempt_dropped", event_id=str(claim.event_id), request_id=claim.request_id, exc_info=error)
        except DATABASE_ERRORS as error:
            log.error("attempts_write_failed", error=type(error).__name__, reason=reason_of(error), count=len(batch))
            return False
        return True


async def record_results(services: Services, results: list[AttemptResult]) -> None:
    """Record attempts and schedule what follows, in one statement. A result whose lease is lost only updates the history."""
    results = sorted(results, key=lambda result: result.claim.event_id)  # one lock order everywhere, against deadlocks
    rows = zip(*(_columns(services, result) for result in results), strict=True)
    settled = {row["id"] for row in await services.db.fetch(delivery_store.SETTLE, *map(list, rows))}
    for result in results:
        outcome = result.outcome
        is_settled = result.claim.event_id in settled
        if is_settled or outcome.error != WORKER_LOST:
            count_attempt(result.claim, outcome)
        if is_settled or outcome.error == WORKER_LOST:
            continue
        log.warning(
            "lease_lost", event_id=str(result.claim.event_id), request_id=result.claim.request_id, attempt=result.attempt
        )
        status = "succeeded" if outcome.succeeded else "failed"
        await services.db.execute(
            delivery_store.UPDATE_LOST_ATTEMPT,
            result.claim.event_id,
            result.attempt,
            status,
            outcome.error,
            outcome.http_status,
            outcome.duration_ms,
            *_response(outcome),
        )


async def sweep(services: Services) -> None:
    """Record expired leases as `worker_lost`, and release events held without need because a secret is active."""
    rows = await services.db.fetch(delivery_store.EXPIRED_LEASES, LEASE)
    lost = Outcome(WORKER_LOST, None, DELIVERY_LEASE_S * 1000)
    if rows:
        await record_results(
            services,
            [AttemptResult(claim_from_row(row, row["lease_token"]), row["attempts"] + 1, lost) for row in rows],
        )
    await services.db.execute(delivery_store.RELEASE_ALL_HELD)


async def release_claims(services: Services, claims: list[Claim]) -> None:
    """End the leases of attempts that were not made."""
    for claim in claims:
        with suppress(*DATABASE_ERRORS):
            await services.db.execute(delivery_store.RELEASE_LEASE, claim.event_id, claim.token)


def _columns(services: Services, result: AttemptResult) -> tuple[object, ...]:
    """The arguments of `SETTLE` for one result."""
    claim, outcome = result.claim, result.outcome
    following = next_attempt(
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
        following.delay,
        following.tries,
        following.lost,
        int(claim.trigger == "manual" and not following.keeps_redelivery),
        *_response(outcome),
    )


def _response(outcome: Outcome) -> tuple[str | None, str | None]:
    """What is stored of the response: its headers as JSON, and its text; None if there was none."""
    if outcome.http_status is None:
        return None, None
    kept = excerpt(outcome.headers, outcome.body)
    return msgspec.json.encode(kept.headers).decode(), kept.body


class NextAttempt(Struct, frozen=True):
    """`delay` is the wait before the next attempt; None ends the schedule. `tries` and `lost` are to be added."""

    delay: timedelta | None
    tries: int
    lost: int
    keeps_redelivery: bool = False


def next_attempt(
    *,
    mode: Mode,
    trigger: Trigger,
    error: str | None,
    tries: int,
    lost: int,
    schedule: tuple[float, ...],
    retry_after_s: float | None = None,
) -> NextAttempt:
    """What follows an attempt. `tries` and `lost` are the counts before it.

    A redelivery is never retried and leaves the schedule alone. Test mode has one attempt, live mode one and the schedule.
    `retry_after_s` is honoured between one and two times the delay.
    """
    was_lost = int(error == WORKER_LOST)
    if was_lost and lost < FREE_LOSSES:
        return NextAttempt(timedelta(0), 0, 1, keeps_redelivery=True)
    if trigger == "manual":
        return NextAttempt(None, 0, was_lost)
    if error is None or trigger == "test" or mode == "test" or tries >= len(schedule):
        return NextAttempt(None, 1, was_lost)
    delay_s = schedule[tries]
    wait_s = delay_s * SPREAD.uniform(1 - JITTER, 1 + JITTER)
    if retry_after_s is not None:
        wait_s = max(wait_s, min(retry_after_s, 2 * delay_s))
    return NextAttempt(timedelta(seconds=wait_s), 1, was_lost)
