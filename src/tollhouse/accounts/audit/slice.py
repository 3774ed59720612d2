"""What this package registers: the job that deletes audit events, which hold addresses of users, after some days."""

from datetime import timedelta

from tollhouse.accounts.audit import store
from tollhouse.http.services import Services
from tollhouse.http.slice import HOURLY_S, Job, Slice
from tollhouse.kernel import clock
from tollhouse.platform.database.cleanup import delete_in_batches


async def delete_old_events(services: Services) -> None:
    """Delete events older than `TOLLHOUSE_AUDIT_KEPT_DAYS`; 0 keeps them all."""
    if days := services.settings.audit_kept_days:
        await delete_in_batches(services.db, store.DELETE_EVENTS, clock.now() - timedelta(days=days))


SLICE = Slice(
    jobs=(Job(HOURLY_S, delete_old_events),),
)
