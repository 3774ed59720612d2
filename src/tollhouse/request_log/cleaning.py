"""The request log is kept for some days, and then dropped by the day. What is older is not shown, dropped already or not."""

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

from tollhouse.kernel import clock
from tollhouse.platform.db import Pool
from tollhouse.request_log import cleaning_store
from tollhouse.web.house import House


def kept_since(house: House, now: datetime) -> datetime:
    """The oldest moment that is shown."""
    return now - timedelta(days=house.settings.request_log_kept_days)


async def make_partitions(db: Pool) -> None:
    """Make the days to come. Called at start and hourly, by any process: of one that is missing nothing is written down."""
    await cleaning_store.make_days(db, clock.now())


async def drop_days(house: House) -> None:
    """Drop the days that ended long enough ago."""
    await cleaning_store.drop_days(house.db, kept_since(house, clock.now()))


JOBS: list[tuple[int, Callable[[House], Awaitable[None]]]] = [
    (3600, lambda house: make_partitions(house.db)),
    (3600, drop_days),
]
"""Seconds between two runs, and what is done."""
