"""SQL of the days of the request log: making the coming ones, and dropping those that have been kept long enough."""

from datetime import datetime

from tollhouse.platform.db import Pool
from tollhouse.platform.partitions_store import drop_past

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


async def make_days(db: Pool, now: datetime) -> None:
    """Make today and the days to come."""
    async with db.transaction() as tx:
        await tx.execute(MAKE_PARTITIONS, now)


async def drop_days(db: Pool, ended_by: datetime) -> int:
    """Drop the days that were over by then; how many. None while another worker is at it."""
    return await drop_past(db, "api_requests", PAST_DAYS, ended_by)
