"""What the worker does for webhooks beside delivering them: runs that send failed events again."""

from collections.abc import Awaitable, Callable
from datetime import timedelta

from tollhouse.http.services import Services
from tollhouse.identity.cleaning import forget
from tollhouse.kernel import clock
from tollhouse.webhooks import runs, runs_store

KEPT = timedelta(days=30)


async def send_failed_again(services: Services) -> None:
    """Work at the runs that were asked for, a step at a time, until there is none."""
    while await services.db.transact(lambda tx: runs.go_on(tx, services, clock.now())):
        pass


async def forget_runs(services: Services) -> None:
    """Runs that are over for long."""
    await forget(services.db, runs_store.FORGET, clock.now() - KEPT)


Job = Callable[[Services], Awaitable[None]]
JOBS: tuple[Job, ...] = (send_failed_again,)
"""What is done again and again."""
HOURLY: tuple[Job, ...] = (forget_runs,)
