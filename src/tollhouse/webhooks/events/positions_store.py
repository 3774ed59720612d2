"""SQL of positions: numbering the events that wait for one, and what retention deletes."""

from datetime import datetime

from tollhouse.platform.database.cleanup import BATCH
from tollhouse.platform.database.pool import Pool, Tx

NUMBERED_MAX = 5_000
"""Events that one statement numbers."""

NUMBER = "SELECT webhook_events_number($1) AS numbered"
# The positions of dropped months, and the few of later events among them.
EXPIRE = """
    UPDATE webhook_feeds f SET expired_position = gone.last_position
    FROM (SELECT number, max(last_position) AS last_position FROM webhook_positions
          WHERE webhook_first_id(date_trunc('month', $1::timestamptz AT TIME ZONE 'UTC') AT TIME ZONE 'UTC')
                > ANY (event_ids)
          GROUP BY number) gone
    WHERE f.number = gone.number AND f.expired_position < gone.last_position
"""
DELETE_EXPIRED = """
    DELETE FROM webhook_positions WHERE ctid = ANY (ARRAY(
        SELECT p.ctid FROM webhook_feeds f JOIN webhook_positions p
            ON p.number = f.number AND p.last_position <= f.expired_position
        WHERE f.expired_position > 0 LIMIT $1))
"""


async def number_waiting(db: Pool | Tx) -> None:
    """Give the longest waiting events of all merchants their positions."""
    await db.fetchrow(NUMBER, NUMBERED_MAX)


async def expire(db: Pool, ended_by: datetime) -> None:
    """Delete the positions of the months that ended by then. The feeds remember how far."""
    await db.execute(EXPIRE, ended_by)
    while await db.execute(DELETE_EXPIRED, BATCH) == BATCH:
        pass
