"""Events and their history are kept for so many days, and then dropped by the month.

That a change was told stays known for ever, so that it is never told again, and what is still to be sent keeps its month.
"""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from uuid import UUID

from tollhouse.events import cleaning_store
from tollhouse.http.services import Services
from tollhouse.identity.cleaning import forget
from tollhouse.kernel import clock
from tollhouse.platform import partitions
from tollhouse.platform.db import Pool


async def drop_months(services: Services) -> None:
    """Drop the months that ended long enough ago; none where events are kept for ever."""
    if days := services.settings.webhook_events_kept_days:
        await drop_ended(services.db, clock.now() - timedelta(days=days))


async def drop_ended(db: Pool, ended_by: datetime) -> int:
    """Drop the partitions of attempts and events that were over by then, unless some are to be sent; how many."""
    row = await db.fetchrow(cleaning_store.OLDEST_PENDING)
    if row is not None and row["event_id"] is not None:
        ended_by = min(ended_by, _born_at(row["event_id"]))
    dropped = sum([await partitions.drop_past(db, table, ended_by) for table in ("webhook_attempts", "webhook_events")])
    await forget(db, cleaning_store.FORGET_DIGESTS, ended_by)
    return dropped


def _born_at(event_id: UUID) -> datetime:
    """The time in a UUID version 7."""
    return datetime.fromtimestamp((event_id.int >> 80) / 1000, UTC)


JOBS: list[tuple[int, Callable[[Services], Awaitable[None]]]] = [(6 * 3600, drop_months)]
"""Seconds between two runs, and what is done."""
