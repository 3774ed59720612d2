"""What this package registers: the jobs that send daily emails and delete old notifications."""

from datetime import timedelta

from tollhouse.accounts.notifications import digests, store
from tollhouse.http.services import Services
from tollhouse.http.slice import HOURLY_S, Job, Slice
from tollhouse.kernel import clock
from tollhouse.kernel.limits import NOTIFICATIONS_KEPT_S
from tollhouse.platform.database.cleanup import delete_in_batches

DIGESTS_S = 60
RETENTION = timedelta(seconds=NOTIFICATIONS_KEPT_S)


async def delete_old(services: Services) -> None:
    """Delete notifications after their time."""
    await delete_in_batches(services.db, store.DELETE_OLD, clock.now() - RETENTION)


SLICE = Slice(jobs=(Job(DIGESTS_S, digests.send_due), Job(HOURLY_S, delete_old)))
