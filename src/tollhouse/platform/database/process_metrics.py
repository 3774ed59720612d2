"""The gauges of a process: how much of its database connections is in use."""

import asyncio
from collections.abc import Sequence

from tollhouse.platform.database.pool import Pool
from tollhouse.platform.log.metrics import INSTANCE, SAMPLE_EVERY_S, Gauge

LIMIT = Gauge("tollhouse_database_pool_limit", "The most database connections that a process opens.")
OPEN = Gauge("tollhouse_database_pool_open", "Open database connections of a process.")
IN_USE = Gauge("tollhouse_database_pool_in_use", "Database connections of a process that are in use.")
WAITING = Gauge("tollhouse_database_pool_waiting", "Tasks of a process that wait for a database connection.")


async def sample(pools: Sequence[Pool]) -> None:
    """Sample these pools every second until cancelled."""
    try:
        while True:
            uses = [pool.use for pool in pools]
            LIMIT.set(sum(use.limit for use in uses))
            OPEN.set(sum(use.open for use in uses))
            IN_USE.set(sum(use.in_use for use in uses))
            WAITING.set(sum(use.waiting for use in uses))
            INSTANCE.mark_sampled()
            await asyncio.sleep(SAMPLE_EVERY_S)
    finally:
        INSTANCE.mark_ended()
