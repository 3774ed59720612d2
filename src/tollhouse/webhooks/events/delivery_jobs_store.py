"""SQL of the jobs: the delivery status, merchants whose events are not delivered, and the rows of dropped months."""

from datetime import datetime

from tollhouse.kernel.ids import MerchantId
from tollhouse.platform.database.pool import Pool

# Counts of the status stop at 1,001, so that the cost does not grow with the backlog.
# The oldest due delivery of each lane, queued or leased. Destinations are walked as the worker does: one step each.
LANES = """
    WITH RECURSIVE keys (lane, key) AS (
        SELECT lane::smallint, (SELECT d.destination_key FROM webhook_deliveries d
                                WHERE d.lane = lanes.lane AND d.lease_until IS NULL ORDER BY d.destination_key LIMIT 1)
        FROM generate_series(0, 2) AS lanes (lane)
        UNION ALL
        SELECT lane, (SELECT d.destination_key FROM webhook_deliveries d
                      WHERE d.lane = keys.lane AND d.lease_until IS NULL AND d.destination_key > keys.key
                      ORDER BY d.destination_key LIMIT 1)
        FROM keys WHERE keys.key IS NOT NULL
    ), due AS (
        SELECT keys.lane, (SELECT d.run_at FROM webhook_deliveries d
                           WHERE d.lane = keys.lane AND d.destination_key = keys.key AND d.lease_until IS NULL
                           ORDER BY d.run_at LIMIT 1) AS run_at
        FROM keys WHERE keys.key IS NOT NULL
        UNION ALL
        SELECT lane, run_at FROM webhook_deliveries WHERE lease_until IS NOT NULL
        UNION ALL
        SELECT 1, min(run_at) FROM webhook_deliveries_later WHERE NOT held AND run_at <= now()
    )
    SELECT lanes.lane, count(due.run_at) AS destinations,
           coalesce(ceil(extract(epoch FROM now() - min(due.run_at)) * 1000), 0)::bigint AS oldest_ms
    FROM generate_series(0, 2) AS lanes (lane) LEFT JOIN due ON due.lane = lanes.lane
    GROUP BY lanes.lane ORDER BY lanes.lane
"""
BACKLOG = """
    SELECT (SELECT count(*) FROM (SELECT FROM webhook_deliveries LIMIT 1001) AS counted) AS ready,
           (SELECT count(*) FROM (SELECT FROM webhook_deliveries_later WHERE NOT held LIMIT 1001) AS counted) AS later,
           (SELECT count(*) FROM (SELECT FROM webhook_deliveries_later WHERE held LIMIT 1001) AS counted) AS held
"""
# By the ids of recent events; attempts of older events are not counted.
RESULTS = """
    SELECT coalesce(error, 'succeeded') AS result, count(*) AS count
    FROM webhook_attempts WHERE event_id >= webhook_first_id(now() - $1::interval)
    GROUP BY 1 ORDER BY 2 DESC, 1
"""
# An event that is older than $1 is still retried, and none was delivered since. Events delivered since are rarely older
# than $2, so the index bounds what is read.
FAILING = """
    SELECT s.merchant_id
    FROM (SELECT DISTINCT merchant_id FROM webhook_event_statuses
          WHERE mode = 'live' AND status = 'retrying' AND created_at <= $1) s
    WHERE NOT EXISTS (SELECT FROM webhook_events e
                      WHERE e.merchant_id = s.merchant_id AND e.mode = 'live' AND e.created_at > $2 AND e.delivered_at > $1)
"""
OLDEST_PENDING = """
    SELECT least((SELECT event_id FROM webhook_deliveries ORDER BY event_id LIMIT 1),
                 (SELECT event_id FROM webhook_deliveries_later ORDER BY event_id LIMIT 1)) AS event_id
"""
# Digests of events whose partition was dropped.
DELETE_DIGESTS = """
    DELETE FROM row_digests WHERE kind = 'event' AND id IN (
        SELECT id FROM row_digests
        WHERE kind = 'event'
          AND id < webhook_first_id(date_trunc('month', $1::timestamptz AT TIME ZONE 'UTC') AT TIME ZONE 'UTC')
          AND to_regclass('webhook_events_' || to_char(to_timestamp(
              ('x' || left(replace(id::text, '-', ''), 12))::bit(48)::bigint / 1000.0) AT TIME ZONE 'UTC', 'YYYYMM')) IS NULL
        ORDER BY id LIMIT $2)
"""
# Statuses of events whose partition was dropped.
DELETE_STATUSES = """
    DELETE FROM webhook_event_statuses WHERE event_id IN (
        SELECT s.event_id FROM webhook_event_statuses s
        WHERE s.event_id < webhook_first_id($1) AND NOT EXISTS (SELECT FROM webhook_events e WHERE e.id = s.event_id)
        ORDER BY s.event_id LIMIT $2)
"""


async def list_failing(db: Pool, since: datetime, created_since: datetime) -> list[MerchantId]:
    """The merchants without a delivery since then, whose live events wait since before."""
    return [MerchantId(row["merchant_id"]) for row in await db.fetch(FAILING, since, created_since)]
