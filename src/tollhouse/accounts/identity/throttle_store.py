"""Every SQL statement about failed attempts. Only failures are written: successful attempts take no lock."""

from datetime import datetime, timedelta

from tollhouse.platform.database.pool import Pool, Tx

# The exact times of the last failures form a sliding window.
# The WHERE clause bounds the array by the limit and decides races at the limit.
COUNT = """
    INSERT INTO failed_attempts AS f (name_hash, failed_at, forget_at)
    VALUES ($1, ARRAY[$2::timestamptz], $2::timestamptz + $3::interval)
    ON CONFLICT (name_hash) DO UPDATE SET
        failed_at = array_append(
            ARRAY(SELECT moment FROM unnest(f.failed_at) moment WHERE moment > $2::timestamptz - $3::interval), $2),
        forget_at = greatest(f.forget_at, excluded.forget_at)
    WHERE (SELECT count(*) FROM unnest(f.failed_at) moment WHERE moment > $2::timestamptz - $3::interval) < $4
"""
OLDEST_AT_LIMIT = """
    SELECT min(moment) FROM failed_attempts f, unnest(f.failed_at) moment
    WHERE f.name_hash = $1 AND moment > $2::timestamptz - $3::interval
    HAVING count(*) >= $4
"""


async def count(db: Pool | Tx, name_hash: bytes, now: datetime, span: timedelta, limit: int) -> bool:
    """Count a failure; False if the limit within `span` is reached."""
    return await db.execute(COUNT, name_hash, now, span, limit) == 1


async def oldest_at_limit(db: Pool | Tx, name_hash: bytes, now: datetime, span: timedelta, limit: int) -> datetime | None:
    """The time of the oldest failure within `span`; None below the limit."""
    row = await db.fetchrow(OLDEST_AT_LIMIT, name_hash, now, span, limit)
    return row[0] if row else None
