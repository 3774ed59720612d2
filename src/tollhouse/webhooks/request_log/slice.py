"""What this package registers: its operation, and the job that drops days older than `TOLLHOUSE_REQUEST_LOG_DAYS`."""

from tollhouse.http.services import Services
from tollhouse.http.slice import HOURLY_S, Job, Slice
from tollhouse.kernel import clock
from tollhouse.platform.database import partitions
from tollhouse.webhooks.request_log import api
from tollhouse.webhooks.request_log.retention import kept_since


async def drop_days(services: Services) -> None:
    """Drop the days that ended before the retention time."""
    await partitions.drop_ended(services.db, "api_requests", kept_since(services, clock.now()))


SLICE = Slice(
    operations=(*api.OPERATIONS,),
    jobs=(Job(HOURLY_S, drop_days),),
)
