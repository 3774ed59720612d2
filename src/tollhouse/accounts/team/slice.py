"""What this package registers: see `http.slice`."""

from datetime import timedelta

from tollhouse.accounts.team import api, store
from tollhouse.http.services import Services
from tollhouse.http.slice import HOURLY_S, Job, Slice
from tollhouse.kernel import clock
from tollhouse.kernel.limits import INVITATIONS_KEPT_S
from tollhouse.platform.database.cleanup import delete_in_batches

RETENTION = timedelta(seconds=INVITATIONS_KEPT_S)


async def delete_old_invitations(services: Services) -> None:
    """Delete invitations that ended 30 days ago."""
    await delete_in_batches(services.db, store.DELETE_OLD, clock.now() - RETENTION)


SLICE = Slice(operations=(*api.DASHBOARD_OPERATIONS,), jobs=(Job(HOURLY_S, delete_old_invitations),))
