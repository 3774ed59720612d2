"""SQL of the days of the request log: making the coming ones, and dropping those that have been kept long enough."""

from datetime import datetime

from tollhouse.platform.db import Pool

MAKE_PARTITIONS = "SELECT api_requests_make_partitions($1)"

# A day's name says when it begins. One that was detached before its table could be dropped is found as well. CONCURRENTLY
# never holds up a reader or writer of the others; if it had to give up half-way, FINALIZE ends it.
PAST_DAYS = """
    SELECT CASE WHEN i.inhrelid IS NOT NULL THEN
               format('ALTER TABLE api_requests DETACH PARTITION %I %s', c.relname,
                      CASE WHEN i.inhdetachpending THEN 'FINALIZE' ELSE 'CONCURRENTLY' END) END AS detach,
           format('DROP TABLE %I', c.relname) AS drop
    FROM pg_class c LEFT JOIN pg_inherits i ON i.inhrelid = c.oid
    WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace
      AND c.relname ~ '^api_requests_[0-9]{8}$'
      AND to_timestamp(right(c.relname, 8) || '+00', 'YYYYMMDDTZH') + interval '1 day' <= $1
    ORDER BY i.inhdetachpending DESC NULLS LAST, c.relname
"""
# One worker at a time: this lock is held by a second connection, which may idle for a minute meanwhile. The SET is sent as
# a simple query, which closes the cursor of the SELECT: left open, its snapshot is what DETACH would wait for.
ALONE = "SELECT pg_try_advisory_xact_lock(hashtextextended('api_requests are dropped', 0))"
IDLE = "SET LOCAL idle_in_transaction_session_timeout = '60s'"


async def make_days(db: Pool, now: datetime) -> None:
    """Make today and the days to come."""
    async with db.transaction() as tx:
        await tx.execute(MAKE_PARTITIONS, now)


async def drop_days(db: Pool, ended_by: datetime) -> int:
    """Drop the days that were over by then; how many. None while another worker is at it.

    The statements run outside any transaction, as they must; a second connection keeps other workers away meanwhile.
    """
    async with db.transaction() as watchman, db.connection() as connection:
        alone = await watchman.fetchval(ALONE)
        await watchman.raw.execute(IDLE)
        past = await connection.fetch(PAST_DAYS, ended_by) if alone else []
        for day in past:
            if day["detach"] is not None:
                await connection.raw.execute(day["detach"])
            await connection.raw.execute(day["drop"])
    return len(past)
