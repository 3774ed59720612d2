"""One look at the database, for the readiness probe."""

from tollhouse.platform.db import Pool

REACH = "SELECT max(number) FROM schema_migrations"


async def reach(db: Pool) -> None:
    """Ask the database one thing. Raises what an unreachable or unmigrated database raises."""
    await db.fetchrow(REACH)
