"""What this package registers: the job that drops days older than `TOLLHOUSE_REQUEST_LOG_DAYS`, which are not shown."""

from datetime import datetime, timedelta

from tollhouse.http.services import Services
from tollhouse.http.slice import HOURLY_S, Job, Slice
from tollhouse.kernel import clock
from tollhouse.platform.database import partitions


def kept_since(services: Services, now: datetime) -> datetime:
    """The time from which requests are shown."""
    return now - timedelta(days=services.settings.request_log_kept_days)


async def drop_days(services: Services) -> None:
    """Drop the days that ended before the retention time."""
    await partitions.drop_ended(services.db, "api_requests", kept_since(services, clock.now()))


SLICE = Slice(
    jobs=(Job(HOURLY_S, drop_days),),
)
