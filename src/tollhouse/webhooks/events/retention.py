"""Drops events and attempts older than `TOLLHOUSE_WEBHOOK_EVENTS_KEPT_DAYS`, a month's partition at a time.

`webhook_event_keys` stays, so that an old change is never recorded again. A month with pending deliveries stays as well.
"""

from datetime import datetime, timedelta

from tollhouse.http.services import Services
from tollhouse.kernel import clock
from tollhouse.kernel.ids import created_at_of
from tollhouse.platform.database import partitions
from tollhouse.platform.database.cleanup import delete_in_batches
from tollhouse.platform.database.pool import Pool
from tollhouse.webhooks.events import retention_store

TABLES = ("webhook_attempts", "webhook_events")


async def drop_expired_months(services: Services) -> None:
    """Drop the months that ended before the retention time; none if events are kept without limit."""
    if days := services.settings.webhook_events_kept_days:
        await drop_months_before(services.db, clock.now() - timedelta(days=days))


async def drop_months_before(db: Pool, ended_by: datetime) -> int:
    """Drop the partitions that ended by this time, unless they have pending deliveries. Returns how many."""
    ended_by = await without_pending(db, ended_by)
    dropped = sum([await partitions.drop_ended(db, table, ended_by) for table in TABLES])
    await delete_in_batches(db, retention_store.DELETE_DIGESTS, ended_by)
    await delete_in_batches(db, retention_store.DELETE_STATUSES, ended_by)
    return dropped


async def without_pending(db: Pool, ended_by: datetime) -> datetime:
    """This time, or the time of the oldest pending delivery if that is earlier."""
    row = await db.fetchrow(retention_store.OLDEST_PENDING)
    return ended_by if row is None or row["event_id"] is None else min(ended_by, created_at_of(row["event_id"]))
