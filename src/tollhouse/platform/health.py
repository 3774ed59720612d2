"""The database check of the readiness probe."""

from tollhouse.kernel.errors import TemporarilyUnavailable
from tollhouse.platform.db import Pool
from tollhouse.platform.migrations import MigrationsDisagreeError, require_current


async def require_ready(db: Pool) -> None:
    """Raises connection errors, and `TemporarilyUnavailable` if the schema is not that of this version."""
    try:
        await require_current(db)
    except MigrationsDisagreeError as error:
        raise TemporarilyUnavailable(detail=str(error)) from None
