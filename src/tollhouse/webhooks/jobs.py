"""What the worker does for webhooks beside delivering them: runs that send failed events again."""

from collections.abc import Awaitable, Callable
from datetime import timedelta

from tollhouse.callers.cleaning import forget
from tollhouse.kernel import clock
from tollhouse.web.house import House
from tollhouse.webhooks import runs, runs_store

KEPT = timedelta(days=30)


async def send_failed_again(house: House) -> None:
    """Work at the runs that were asked for, a step at a time, until there is none."""
    while await house.db.transact(lambda tx: runs.go_on(tx, house, clock.now())):
        pass


async def forget_runs(house: House) -> None:
    """Runs that are over for long."""
    await forget(house.db, runs_store.FORGET, clock.now() - KEPT)


Job = Callable[[House], Awaitable[None]]
JOBS: tuple[Job, ...] = (send_failed_again,)
"""What is done again and again."""
HOURLY: tuple[Job, ...] = (forget_runs,)
