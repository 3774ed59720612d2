"""The request log is kept for some days, and then dropped by the day. What is older is not shown, dropped already or not."""

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

from tollhouse.kernel import clock
from tollhouse.platform import partitions
from tollhouse.web.house import House


def kept_since(house: House, now: datetime) -> datetime:
    """The oldest moment that is shown."""
    return now - timedelta(days=house.settings.request_log_kept_days)


async def drop_days(house: House) -> None:
    """Drop the days that ended long enough ago."""
    await partitions.drop_past(house.db, "api_requests", kept_since(house, clock.now()))


JOBS: list[tuple[int, Callable[[House], Awaitable[None]]]] = [
    (3600, drop_days),
]
"""Seconds between two runs, and what is done."""
