"""What this package registers: the job that deletes idempotency keys older than 30 days."""

from datetime import timedelta

from tollhouse.accounts.idempotency import store
from tollhouse.http.services import Services
from tollhouse.http.slice import HOURLY_S, Job, Slice
from tollhouse.kernel import clock
from tollhouse.kernel.limits import IDEMPOTENCY_KEPT_S
from tollhouse.platform.database.cleanup import delete_in_batches

RETENTION = timedelta(seconds=IDEMPOTENCY_KEPT_S)


async def delete_old_keys(services: Services) -> None:
    """Delete keys older than 30 days."""
    await delete_in_batches(services.db, store.DELETE_OLD, clock.now() - RETENTION)


SLICE = Slice(jobs=(Job(HOURLY_S, delete_old_keys),))
