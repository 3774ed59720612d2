"""Dropping partitions whose time is over: by one worker at a time, in the way of nobody who uses the others."""

from datetime import datetime

from tollhouse.platform.db import Pool

ALONE = "SELECT pg_try_advisory_xact_lock(hashtextextended($1::text || ' are dropped', 0))"
# The SET is sent as a simple query, which closes the cursor of the SELECT: left open, its snapshot is what DETACH would
# wait for.
IDLE = "SET LOCAL idle_in_transaction_session_timeout = '60s'"


async def drop_past(db: Pool, what: str, past: str, ended_by: datetime) -> int:
    """Drop the partitions of `what` that were over by then; how many. None while another worker is at it.

    `past` is the statement that finds them: the moment is its `$1`, and each row tells how to `detach` a partition (None
    where that is done already, as when a worker died before its `drop`), and how to `drop` it. These run outside any
    transaction, as they must; a second connection, which may idle for a minute, holds the lock meanwhile.
    """
    async with db.transaction() as watchman, db.connection() as connection:
        alone = await watchman.fetchval(ALONE, what)
        await watchman.raw.execute(IDLE)
        found = await connection.fetch(past, ended_by) if alone else []
        for partition in found:
            if partition["detach"] is not None:
                await connection.raw.execute(partition["detach"])
            await connection.raw.execute(partition["drop"])
    return len(found)
