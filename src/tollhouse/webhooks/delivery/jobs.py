"""The jobs of webhooks: the delivery status in the log, emails about failing deliveries, and the retention of events.

The status is the age of the oldest undelivered event in each lane, the backlog, and recent results. Events and attempts
older than `TOLLHOUSE_WEBHOOK_EVENTS_KEPT_DAYS` are dropped a month's partition at a time. `webhook_event_keys` stays, so
that an old change is never recorded again. A month with pending deliveries stays as well.
"""

import time
from datetime import datetime, timedelta

from msgspec import Struct

from tollhouse.accounts.mail.notices import NoticeFacts
from tollhouse.accounts.notifications.notify import Occurrence, notify_members
from tollhouse.http.services import Services
from tollhouse.kernel import clock
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import created_at_of
from tollhouse.platform.database import partitions
from tollhouse.platform.database.cleanup import delete_in_batches
from tollhouse.platform.database.pool import Pool
from tollhouse.platform.log.events import log
from tollhouse.webhooks.delivery.bulkheads import Lane
from tollhouse.webhooks.events import delivery_jobs_store, delivery_store, positions_store

COUNT_MAX = 1_000
RESULTS_WINDOW = timedelta(minutes=5)
LOG_EVERY_S = 60
OVERDUE_MS = 60_000
"""A delivery overdue for longer is logged as a warning."""

FAILING_EVERY_S = 300
FAILING_FOR, READ_BACK = timedelta(hours=1), timedelta(days=1)

TABLES = ("webhook_attempts", "webhook_events")


class LaneStatus(Struct, frozen=True):
    """A lane: destinations with due deliveries, and for how long the oldest has been due."""

    lane: str
    destinations: int
    oldest_ms: int


class DeliveryStatus(Struct, frozen=True):
    """Counts stop at 1,001. `results` are of events of the last five minutes; `claim_ms` is how long a walk takes."""

    lanes: list[LaneStatus]
    ready: int
    later: int
    held: int
    claim_ms: int
    results: dict[str, int]


async def read_status(db: Pool) -> DeliveryStatus:
    """Read the current status."""
    lanes = await db.fetch(delivery_jobs_store.LANES)
    backlog = await db.fetchrow(delivery_jobs_store.BACKLOG)
    results = await db.fetch(delivery_jobs_store.RESULTS, RESULTS_WINDOW)
    started = time.monotonic()
    await db.fetch(delivery_store.WALK, Lane.FIRST, -1, COUNT_MAX)
    claim_ms = round((time.monotonic() - started) * 1000)
    if backlog is None:
        raise AssertionError("count returns one row")
    return DeliveryStatus(
        [LaneStatus(Lane(row["lane"]).name.lower(), row["destinations"], row["oldest_ms"]) for row in lanes],
        backlog["ready"],
        backlog["later"],
        backlog["held"],
        claim_ms,
        {row["result"]: row["count"] for row in results},
    )


async def log_status(services: Services) -> None:
    """Log the status; as a warning while a delivery is overdue."""
    current = await read_status(services.db)
    oldest_ms = max(lane.oldest_ms for lane in current.lanes)
    write = log.warning if oldest_ms > OVERDUE_MS else log.info
    lanes = ", ".join(f"{lane.lane} {lane.oldest_ms} ms" for lane in current.lanes)
    results = ", ".join(f"{name} {count}" for name, count in current.results.items())
    write(
        "deliveries_checked",
        count=current.ready,
        duration_ms=current.claim_ms,
        detail=f"oldest: {lanes}; attempts: {results or 'none'}",
    )


async def send_failing(services: Services) -> None:
    """Notify merchants whose events have not been delivered for an hour, at most once a day.

    Several workers that look at once notify once.
    """
    now = clock.now()
    for merchant_id in await delivery_jobs_store.list_failing(services.db, now - FAILING_FOR, now - READ_BACK):
        env = MerchantEnv(merchant_id, "live")
        failing = Occurrence(env, now.date(), NoticeFacts())
        await services.transact(lambda work, failing=failing: notify_members(work, "webhooks_failing", failing), now)


async def drop_expired_months(services: Services) -> None:
    """Drop the months that ended before the retention time; none if events are kept without limit."""
    if days := services.settings.webhook_events_kept_days:
        await drop_months_before(services.db, clock.now() - timedelta(days=days))


async def drop_months_before(db: Pool, ended_by: datetime) -> int:
    """Drop the partitions that ended by this time, unless they have pending deliveries. Returns how many."""
    ended_by = await without_pending(db, ended_by)
    if (await partitions.list_ended(db, "webhook_events", ended_by)).partitions:
        await positions_store.expire(db, ended_by)
    dropped = sum([await partitions.drop_ended(db, table, ended_by) for table in TABLES])
    await delete_in_batches(db, delivery_jobs_store.DELETE_DIGESTS, ended_by)
    await delete_in_batches(db, delivery_jobs_store.DELETE_STATUSES, ended_by)
    return dropped


async def without_pending(db: Pool, ended_by: datetime) -> datetime:
    """This time, or the time of the oldest pending delivery if that is earlier."""
    row = await db.fetchrow(delivery_jobs_store.OLDEST_PENDING)
    return ended_by if row is None or row["event_id"] is None else min(ended_by, created_at_of(row["event_id"]))
