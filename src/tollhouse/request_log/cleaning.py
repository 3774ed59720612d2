"""The request log is kept for some days, and then dropped by the day. What is older is not shown, dropped already or not."""

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

from tollhouse.http.services import Services
from tollhouse.kernel import clock
from tollhouse.platform import partitions


def kept_since(services: Services, now: datetime) -> datetime:
    """The oldest moment that is shown."""
    return now - timedelta(days=services.settings.request_log_kept_days)


async def drop_days(services: Services) -> None:
    """Drop the days that ended long enough ago."""
    await partitions.drop_past(services.db, "api_requests", kept_since(services, clock.now()))


JOBS: list[tuple[int, Callable[[Services], Awaitable[None]]]] = [
    (3600, drop_days),
]
"""Seconds between two runs, and what is done."""
