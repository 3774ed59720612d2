"""Every SQL statement about failed attempts. Only failures are written, so that whoever is right waits for nobody."""

from datetime import datetime, timedelta

from tollhouse.platform.db import Pool, Tx

# The moments of the last failures, exactly: who had ten fifteen minutes ago may fail again when the first of them is old.
# The condition keeps the array as short as the limit, and lets one of many failures at once be the last that counts.
COUNT = """
    INSERT INTO failed_attempts AS f (name_hash, failed_at, forget_at)
    VALUES ($1, ARRAY[$2::timestamptz], $2::timestamptz + $3::interval)
    ON CONFLICT (name_hash) DO UPDATE SET
        failed_at = array_append(
            ARRAY(SELECT moment FROM unnest(f.failed_at) moment WHERE moment > $2::timestamptz - $3::interval), $2),
        forget_at = greatest(f.forget_at, excluded.forget_at)
    WHERE (SELECT count(*) FROM unnest(f.failed_at) moment WHERE moment > $2::timestamptz - $3::interval) < $4
"""
FIRST_OF_TOO_MANY = """
    SELECT min(moment) FROM failed_attempts f, unnest(f.failed_at) moment
    WHERE f.name_hash = $1 AND moment > $2::timestamptz - $3::interval
    HAVING count(*) >= $4
"""


async def count(db: Pool | Tx, name_hash: bytes, now: datetime, span: timedelta, most: int) -> bool:
    """Count one failure; False when there were as many as may be within `span` already."""
    return await db.execute(COUNT, name_hash, now, span, most) == 1


async def first_of_too_many(db: Pool | Tx, name_hash: bytes, now: datetime, span: timedelta, most: int) -> datetime | None:
    """When the oldest of as many failures as may be was; None while there are fewer."""
    row = await db.fetchrow(FIRST_OF_TOO_MANY, name_hash, now, span, most)
    return row[0] if row else None
