"""Deleting expired rows in batches."""

from datetime import datetime

from tollhouse.platform.database.pool import Pool

BATCH = 1_000
"""Rows of one DELETE, so that its locks are short."""


async def delete_in_batches(db: Pool, statement: str, until: datetime) -> int:
    """Run a DELETE (`$1` is `until`, `$2` the batch size) until nothing is left to delete; the number of rows."""
    total = last = await db.execute(statement, until, BATCH)
    while last == BATCH:
        last = await db.execute(statement, until, BATCH)
        total += last
    return total
