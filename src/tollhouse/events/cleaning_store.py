"""SQL of the months of events: making the coming ones, and dropping those that have been kept long enough."""

from datetime import datetime

from tollhouse.platform.db import Pool
from tollhouse.platform.partitions_store import drop_past

MAKE_PARTITIONS = "SELECT webhook_make_partitions($1)"

# A month is past when its last moment is; its name says which it is. It stays while anything of it is still to be sent.
# Attempts go before their events. One that was detached before its table could be dropped is found as well. CONCURRENTLY
# never holds up a reader or writer of the others; if it had to give up half-way, FINALIZE ends it.
PAST_MONTHS = """
    WITH month AS (
        SELECT c.relname, i.inhrelid, i.inhdetachpending, left(c.relname, -7) AS parent,
               to_timestamp(right(c.relname, 6) || '+00', 'YYYYMMTZH') AS begins
        FROM pg_class c LEFT JOIN pg_inherits i ON i.inhrelid = c.oid
        WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace
          AND c.relname ~ '^webhook_(events|attempts)_[0-9]{6}$'
    ), past AS (
        SELECT *, webhook_first_id(((begins AT TIME ZONE 'UTC') + interval '1 month') AT TIME ZONE 'UTC') AS ends_before
        FROM month
        WHERE ((begins AT TIME ZONE 'UTC') + interval '1 month') AT TIME ZONE 'UTC' <= $1
    )
    SELECT CASE WHEN inhrelid IS NOT NULL THEN
               format('ALTER TABLE %I DETACH PARTITION %I %s', parent, relname,
                      CASE WHEN inhdetachpending THEN 'FINALIZE' ELSE 'CONCURRENTLY' END) END AS detach,
           format('DROP TABLE %I', relname) AS drop
    FROM past
    WHERE NOT EXISTS (SELECT FROM webhook_deliveries WHERE event_id < ends_before)
      AND NOT EXISTS (SELECT FROM webhook_deliveries_later WHERE event_id < ends_before)
    ORDER BY inhdetachpending DESC NULLS LAST, begins, parent
"""


async def drop_months(db: Pool, ended_by: datetime) -> int:
    """Drop the months of events and attempts that were over by then; how many. None while another worker is at it."""
    return await drop_past(db, "webhook_events", PAST_MONTHS, ended_by)
