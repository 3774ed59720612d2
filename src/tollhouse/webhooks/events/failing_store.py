"""SQL of merchants whose webhook events are not delivered."""

from datetime import datetime

from tollhouse.kernel.ids import MerchantId
from tollhouse.platform.database.pool import Pool

# An event that is older than $1 is still retried, and none was delivered since. Events delivered since are rarely older
# than $2, so the index bounds what is read.
FAILING = """
    SELECT s.merchant_id
    FROM (SELECT DISTINCT merchant_id FROM webhook_event_statuses
          WHERE mode = 'live' AND status = 'retrying' AND created_at <= $1) s
    WHERE NOT EXISTS (SELECT FROM webhook_events e
                      WHERE e.merchant_id = s.merchant_id AND e.mode = 'live' AND e.created_at > $2 AND e.delivered_at > $1)
"""


async def list_failing(db: Pool, since: datetime, created_since: datetime) -> list[MerchantId]:
    """The merchants without a delivery since then, whose live events wait since before."""
    return [MerchantId(row["merchant_id"]) for row in await db.fetch(FAILING, since, created_since)]
