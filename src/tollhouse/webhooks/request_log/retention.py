"""Drops days of the request log older than `TOLLHOUSE_REQUEST_LOG_DAYS`. Older requests are not shown either."""

from datetime import datetime, timedelta

from tollhouse.http.services import Services
from tollhouse.kernel import clock
from tollhouse.platform.database import partitions


def kept_since(services: Services, now: datetime) -> datetime:
    """The time from which requests are shown."""
    return now - timedelta(days=services.settings.request_log_kept_days)


async def drop_days(services: Services) -> None:
    """Drop the days that ended before the retention time."""
    await partitions.drop_ended(services.db, "api_requests", kept_since(services, clock.now()))
