"""The checks of the readiness probe."""

from tollhouse.kernel.errors import TemporarilyUnavailable
from tollhouse.platform.database.migrations import MigrationsDisagreeError, require_applied
from tollhouse.platform.database.pool import Pool
from tollhouse.platform.server.draining import DRAINING


async def require_ready(db: Pool) -> None:
    """Raises connection errors, and `TemporarilyUnavailable` if the process stops or the schema is not that of this version.

    A newer schema is accepted: migrations work beside the version before them, and an upgrade applies them first.
    """
    if DRAINING.has_begun:
        raise TemporarilyUnavailable(detail="the process is stopping")
    try:
        await require_applied(db)
    except MigrationsDisagreeError as error:
        raise TemporarilyUnavailable(detail=str(error)) from None
