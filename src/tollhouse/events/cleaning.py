"""Events and their history are kept for so many days, and then dropped by the month.

That a change was told stays known for ever, so that it is never told again, and what is still to be sent keeps its month.
"""

from collections.abc import Awaitable, Callable
from datetime import timedelta

from tollhouse.events import cleaning_store
from tollhouse.kernel import clock
from tollhouse.platform.db import Pool
from tollhouse.web.house import House


async def make_partitions(db: Pool) -> None:
    """Make the months to come. Called at start and hourly, by any process: one that is missing would refuse every deed."""
    async with db.transaction() as tx:
        await tx.execute(cleaning_store.MAKE_PARTITIONS, clock.now())


async def drop_months(house: House) -> None:
    """Drop the months that ended long enough ago; none where events are kept for ever."""
    if days := house.settings.webhook_events_kept_days:
        await cleaning_store.drop_months(house.db, clock.now() - timedelta(days=days))


JOBS: list[tuple[int, Callable[[House], Awaitable[None]]]] = [
    (3600, lambda house: make_partitions(house.db)),
    (6 * 3600, drop_months),
]
"""Seconds between two runs, and what is done."""
