"""The delivery worker: claims due deliveries, sends them outside any transaction, and records the results.

A claim is a lease of `DELIVERY_LEASE_S`, three times the deadline of a call. An attempt that is not recorded within its
lease becomes `worker_lost`, and another worker retries it. So every event is sent at least once.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress

import msgspec

from tollhouse.http.services import Services
from tollhouse.kernel.ids import new_id
from tollhouse.platform.database import wakeups
from tollhouse.platform.database.errors import reason_of
from tollhouse.platform.database.pool import Pool, Row
from tollhouse.platform.encryption import DecryptionError
from tollhouse.platform.log.events import log
from tollhouse.platform.outgoing.outbound import Outbound, Outcome
from tollhouse.webhooks.delivery import signed_request
from tollhouse.webhooks.delivery.attempt_metrics import WAKEUPS
from tollhouse.webhooks.delivery.bulkheads import Allocation, Call, CallKind, ClaimBatch, DestinationHealth, Lane, Slots
from tollhouse.webhooks.delivery.response_excerpts import BYTES_READ
from tollhouse.webhooks.delivery.results import DATABASE_ERRORS, LEASE, AttemptResult, ResultWriter, release_claims
from tollhouse.webhooks.delivery.signed_request import Claim, claim_from_row
from tollhouse.webhooks.events import delivery_store, positions_store

POLL_EVERY_S = 0.02
POLL_EVERY_IDLE_S = 0.1
IDLE_AFTER_S = 5.0
COALESCE_S = 0.002
SMALL_CLAIM = 16
"""After a claim of fewer rows the worker waits `COALESCE_S`, so that calls that end meanwhile are replaced together."""
PROMOTE_EVERY_S = 0.1
SWEEP_EVERY_S = 1.0
OBSERVE_EVERY_MS = 100
STOP_WITHIN_S = 12.0
AFTER_ERROR_S = 1.0
UNWRITTEN_MAX = 500
WALK_MAX = 200
WALK_EVERY_S = 0.05
"""While prompt destinations of the last walk have more rows and no commit wakes; otherwise every poll walks."""
DEFER_ABOVE = 50
PROMOTE_MAX = 1_000
FIRST_KEY = -1
CONNECTIONS = 4
INDEX_PLANS = {"enable_seqscan": "off", "enable_bitmapscan": "off", "enable_hashjoin": "off", "enable_mergejoin": "off"}
"""Plans by index only: right for a few rows of tables of any size, also when planned while the tables were empty.

A bitmap has all rows of a destination before the oldest are known.
"""


def engine_services(services: Services) -> Services:
    """The services, with a pool of connections for the worker alone."""
    dsn = services.settings.database_url or ""
    return msgspec.structs.replace(
        services, db=Pool(dsn, CONNECTIONS, services.db.name, settings=INDEX_PLANS, partitions=services.db.partitions)
    )


class DeliveryWorker:
    """Delivers what is due until `stop` is called, within the limits of `bulkheads`."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._calls: dict[asyncio.Task[None], tuple[Claim, Call]] = {}
        self._health = DestinationHealth()
        self._results = ResultWriter(services)
        self._walk_from = dict.fromkeys(Lane, FIRST_KEY)
        self._last_claimed = dict.fromkeys(Lane, FIRST_KEY)
        self._known_due: list[int] = []
        self._retries_are_prompt = False
        self._promote_at = self._walk_at = self._idle_since = time.monotonic()
        self._poll_every_s, self._poll_every_idle_s, self._walk_every_s = POLL_EVERY_S, POLL_EVERY_IDLE_S, WALK_EVERY_S
        self._observed_ms = 0
        self._stopping = asyncio.Event()
        self._poll = asyncio.Event()

    async def run(self) -> None:
        """Deliver until stopped; then wait for the calls under way, and release the claims that do not end in time.

        Raises the error that ended the result writer, if any.
        """
        async with Outbound(self._services.settings) as prompt, Outbound(self._services.settings) as others:
            writing = asyncio.create_task(self._results.run())
            writing.add_done_callback(lambda _: self.stop())  # without the writer, nothing may be sent
            try:
                with wakeups.listen(self._services.settings.data_dir, self._wake):
                    while not self._stopping.is_set():
                        await self._poll_once(prompt, others)
            finally:
                await self._finish(writing)

    def stop(self) -> None:
        """Claim nothing more. `run` returns within `STOP_WITHIN_S`."""
        self._stopping.set()
        self._poll.set()

    async def _poll_once(self, prompt: Outbound, others: Outbound) -> None:
        """Start the calls that are due, then wait until an event is recorded, a call ends or the poll interval is over."""
        self._poll.clear()
        self._observe_slow_calls()
        try:
            started, more = await self._start(prompt, others)
        except DATABASE_ERRORS as error:
            log.error("delivery_claim_failed", error=type(error).__name__, reason=reason_of(error))
            await self._wait(AFTER_ERROR_S)
            return
        if started:
            self._idle_since = time.monotonic()
        if more:
            return
        if started < SMALL_CLAIM:
            await asyncio.sleep(COALESCE_S)
        is_idle = time.monotonic() - self._idle_since > IDLE_AFTER_S
        await self._wait(self._poll_every_idle_s if is_idle else self._poll_every_s)

    def _wake(self) -> None:
        """Look for an event that was just recorded: at every destination, whatever is known to be due."""
        self._walk_at = time.monotonic()
        WAKEUPS.add()
        self._poll.set()

    async def _wait(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._poll.wait()

    def _observe_slow_calls(self) -> None:
        """Mark destinations as slow while the call is still under way."""
        now_ms = _now_ms()
        if now_ms < self._observed_ms + OBSERVE_EVERY_MS:
            return
        self._observed_ms = now_ms
        for _, call in self._calls.values():
            if call.kind_at(now_ms) is not call.kind:
                self._health.observe(call.key, now_ms - call.started_ms, delivered=False)

    async def _start(self, prompt: Outbound, others: Outbound) -> tuple[int, bool]:
        """Claim and start calls. Returns how many, and whether more are due that have a free slot."""
        if len(self._results) > UNWRITTEN_MAX:
            return 0, False
        slots = Slots((call for _, call in self._calls.values()), self._health, _now_ms())
        batches: list[ClaimBatch] = []
        full = more = False
        await positions_store.number_waiting(self._services.db)  # only numbered events are claimed
        lanes = await self._due_lanes()
        self._retries_are_prompt = self._retries_are_prompt and len(lanes) == 1
        for lane in lanes:
            if slots.any_free(lane):
                allocation, whole = await self._allocate(lane, slots)
                batches += allocation.batches
                full, more = full or allocation.full, more or not whole
        if not batches or self._stopping.is_set():
            return 0, more
        token = new_id()
        rows = await self._services.db.fetch(
            delivery_store.CLAIM,
            [batch.lane for batch in batches],
            [batch.key for batch in batches],
            [batch.limit for batch in batches],
            token,
            LEASE,
        )
        self._drop_exhausted(batches, rows)
        kinds = {(batch.lane, batch.key): batch.kind for batch in batches}
        now_ms = _now_ms()
        for row in rows:
            claim, kind = claim_from_row(row, token), kinds[row["lane"], row["destination_key"]]
            task = asyncio.create_task(self._deliver(prompt if kind is CallKind.PROMPT else others, claim, row))
            self._calls[task] = claim, Call(claim.destination_key, kind, now_ms)
            task.add_done_callback(self._ended)
        return len(rows), more or (full and bool(rows))

    def _drop_exhausted(self, batches: list[ClaimBatch], claimed_rows: list[Row]) -> None:
        """Keep only prompt destinations that filled their batch: they can be claimed again without a walk."""
        claimed = Counter((row["lane"], row["destination_key"]) for row in claimed_rows)
        self._drop_known(
            batch.key
            for batch in batches
            if batch.lane is Lane.FIRST
            and (batch.kind is not CallKind.PROMPT or claimed[batch.lane, batch.key] < batch.limit)
        )

    def _drop_known(self, keys: Iterable[int]) -> None:
        dropped = frozenset(keys)
        self._known_due = [key for key in self._known_due if key not in dropped]

    async def _due_lanes(self) -> Sequence[Lane]:
        """The lane of first attempts; every `PROMOTE_EVERY_S` all lanes, after due retries were promoted.

        All lanes at every poll while the last walk found prompt destinations among the retries.
        """
        now = time.monotonic()
        if now < self._promote_at:
            return tuple(Lane) if self._retries_are_prompt else (Lane.FIRST,)
        while await self._services.db.execute(delivery_store.PROMOTE, PROMOTE_MAX) == PROMOTE_MAX:
            pass
        self._promote_at = now + PROMOTE_EVERY_S
        return tuple(Lane)

    async def _allocate(self, lane: Lane, slots: Slots) -> tuple[Allocation, bool]:
        """Allocate slots to the due destinations of a lane, round robin. Returns also whether the lane's end was reached."""
        if lane is Lane.FIRST and self._known_due and time.monotonic() < self._walk_at:
            keys, whole = self._known_due, True
        else:
            keys, whole = await self._walk(lane)
        if lane is not Lane.FIRST:
            self._retries_are_prompt = self._retries_are_prompt or self._health.any_prompt(lane, keys)
        last = self._last_claimed[lane]
        keys = [key for key in keys if key > last] + [key for key in keys if key <= last]
        allocation = slots.allocate(lane, keys)
        if allocation.batches:
            self._last_claimed[lane] = allocation.batches[-1].key
        if lane is Lane.FIRST:
            self._drop_known(allocation.deferred)
            if len(allocation.deferred) > DEFER_ABOVE:
                await self._services.db.execute(delivery_store.DEFER, allocation.deferred)
        return allocation, whole

    async def _walk(self, lane: Lane) -> tuple[list[int], bool]:
        """Destinations with due deliveries, and whether the lane's end was reached."""
        rows = await self._services.db.fetch(delivery_store.WALK, lane, self._walk_from[lane], WALK_MAX)
        keys: list[int] = [row["key"] for row in rows]
        whole = len(keys) < WALK_MAX
        self._walk_from[lane] = FIRST_KEY if whole else keys[-1]
        if lane is Lane.FIRST:
            self._known_due, self._walk_at = keys, time.monotonic() + self._walk_every_s
        return keys, whole

    async def _deliver(self, outbound: Outbound, claim: Claim, row: Row) -> None:
        """Make one attempt and hand over its result."""
        if row["id"] is None:
            log.error("delivery_event_missing", event_id=str(claim.event_id))
            await self._services.db.execute(delivery_store.DELETE, claim.event_id, claim.token)
            return
        deprecated_webhooks = self._services.settings.deprecated_webhooks
        url = signed_request.destination_url(claim, row, deprecated_webhooks=deprecated_webhooks)
        if url is None:
            await self._services.db.execute(delivery_store.CANCEL, claim.event_id, claim.token)
            return
        attempt: int = row["attempts"] + 1
        try:
            request = signed_request.sign(self._services.keys, claim, row, url)
        except (DecryptionError, ValueError) as error:
            log.error(
                "webhook_signing_failed",
                event_id=str(claim.event_id),
                request_id=claim.request_id,
                error=type(error).__name__,
            )
            outcome = Outcome("signing_secret_missing", None, 0)
        else:
            outcome = await outbound.post(request.url, request.body, request.headers, kept_bytes=BYTES_READ)
            self._health.observe(claim.destination_key, outcome.duration_ms, delivered=outcome.succeeded)
        if outcome.error is not None:
            log.info(
                "attempt_failed",
                event_id=str(claim.event_id),
                request_id=claim.request_id,
                attempt=attempt,
                mode=claim.mode,
                error=outcome.error,
            )
        self._results.add(AttemptResult(claim, attempt, outcome))

    def _ended(self, task: "asyncio.Task[None]") -> None:
        del self._calls[task]
        self._poll.set()
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("attempt_crashed", exc_info=error)

    async def _finish(self, writing: "asyncio.Task[None]") -> None:
        until = time.monotonic() + STOP_WITHIN_S
        if self._calls:
            await asyncio.wait(self._calls, timeout=STOP_WITHIN_S)
        left = dict(self._calls)
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        self._results.close()
        await asyncio.wait({writing}, timeout=max(1.0, until - time.monotonic()))
        writing.cancel()
        await release_claims(self._services, [claim for claim, _ in left.values()])
        if writing.done() and not writing.cancelled():
            await writing


def _now_ms() -> int:
    return time.monotonic_ns() // 1_000_000
