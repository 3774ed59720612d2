"""One look at the database, for the readiness probe."""

from tollhouse.kernel.errors import TemporarilyUnavailable
from tollhouse.platform.db import Pool
from tollhouse.platform.migrations import MigrationsDisagreeError, require_current


async def require_ready(db: Pool) -> None:
    """Raises what an unreachable database raises, and `TemporarilyUnavailable` where its schema is not this program's."""
    try:
        await require_current(db)
    except MigrationsDisagreeError as error:
        raise TemporarilyUnavailable(detail=str(error)) from None
