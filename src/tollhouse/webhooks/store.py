EVENTS = """
    SELECT id, type, mode, created_at, destination_url, destination_source, status, attempts, next_attempt_at,
           delivered_at, body
    FROM webhook_events WHERE merchant_id = $1 AND mode = $2 ORDER BY created_at DESC, id DESC LIMIT $3 OFFSET $4
"""
EVENT = """
    SELECT id, type, mode, created_at, destination_url, destination_source, status, attempts, next_attempt_at,
           delivered_at, body
    FROM webhook_events WHERE merchant_id = $1 AND mode = $2 AND id = $3
"""
HISTORY = """
    SELECT a.attempt, a.status, a.error, a.started_at, a.http_status, a.duration_ms, a.trigger
    FROM webhook_attempts a JOIN webhook_events e ON e.id = a.event_id
    WHERE e.merchant_id = $1 AND e.mode = $2 AND e.id = $3 ORDER BY a.attempt
"""

# An event has one row here: a redelivery joins the row that waits, or is noted on the one that is on its way.
# The row is locked before the event, as everywhere, so that no two can wait for each other.
REDELIVER = """
    INSERT INTO webhook_deliveries AS d (event_id, merchant_id, mode, destination_key, redeliveries, run_at)
    VALUES ($3, $1, $2, $4, 1, now())
    ON CONFLICT (event_id) DO UPDATE SET redeliveries = d.redeliveries + 1, held = false, run_at = now()
"""
EXPECT_REDELIVERY = """
    UPDATE webhook_events
    SET next_attempt_at = now(), status = CASE WHEN status IN ('skipped', 'canceled', 'held') THEN 'pending' ELSE status END
    WHERE merchant_id = $1 AND mode = $2 AND id = $3
"""

# What is on its way ends by itself; the worker asks again whether delivery is on before each attempt and each retry.
CANCEL_WAITING = """
    WITH gone AS (
        DELETE FROM webhook_deliveries WHERE merchant_id = $1 AND mode = $2 AND lease_until IS NULL RETURNING event_id
    )
    UPDATE webhook_events e
    SET next_attempt_at = NULL,
        status = CASE WHEN e.status IN ('pending', 'retrying', 'held') THEN 'canceled' ELSE e.status END
    FROM gone WHERE e.id = gone.event_id AND e.merchant_id = $1 AND e.mode = $2
"""
TESTS_SINCE = """
    SELECT count(*) AS count, min(created_at) AS oldest FROM webhook_events
    WHERE merchant_id = $1 AND mode = $2 AND destination_source = 'test' AND created_at > $3
"""
