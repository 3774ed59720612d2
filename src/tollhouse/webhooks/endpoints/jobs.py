"""The worker's jobs for bulk redeliveries."""

from datetime import timedelta

from tollhouse.http.services import Services
from tollhouse.kernel import clock
from tollhouse.platform.database.cleanup import delete_in_batches
from tollhouse.webhooks.endpoints import runs, runs_store

RUNS_RETAINED = timedelta(days=30)


async def run_redeliveries(services: Services) -> None:
    """Run the steps of all active redelivery runs."""
    while await services.transact(runs.run_step, clock.now()):
        pass


async def delete_old_runs(services: Services) -> None:
    """Delete runs that ended long ago."""
    await delete_in_batches(services.db, runs_store.DELETE_OLD, clock.now() - RUNS_RETAINED)
