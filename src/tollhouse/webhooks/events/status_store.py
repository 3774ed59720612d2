"""SQL of the delivery status. Counts stop at 1,001, so that the cost does not grow with the backlog."""

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
