"""SQL that finds breaches of the events' invariants."""

LEFT_BEHIND = """
    SELECT count(*) AS count, min(e.id::text) AS example
    FROM webhook_events e LEFT JOIN webhook_deliveries d ON d.event_id = e.id
    WHERE e.status IN ('pending', 'retrying', 'held') AND d.event_id IS NULL
"""
NOT_OVER = """
    SELECT count(*) AS count, min(e.id::text) AS example
    FROM webhook_deliveries d JOIN webhook_events e ON e.id = d.event_id
    WHERE e.status IN ('failed', 'skipped', 'canceled') AND d.automatic_at IS NOT NULL
"""
HELD_APART = """
    SELECT count(*) AS count, min(e.id::text) AS example
    FROM webhook_deliveries d JOIN webhook_events e ON e.id = d.event_id
    WHERE d.held <> (e.status = 'held')
"""
STRANGERS = """
    SELECT count(*) AS count, min(e.id::text) AS example
    FROM webhook_deliveries d JOIN webhook_events e ON e.id = d.event_id
    WHERE (d.merchant_id, d.mode) <> (e.merchant_id, e.mode)
"""
MISCOUNTED = """
    SELECT count(*) AS count, min(e.id::text) AS example
    FROM webhook_events e
    LEFT JOIN (SELECT event_id, count(*) AS made, max(attempt) AS last FROM webhook_attempts GROUP BY event_id) a
           ON a.event_id = e.id
    WHERE (e.attempts, e.attempts) <> (coalesce(a.made, 0), coalesce(a.last, 0))
"""
NEVER_TAKEN = """
    SELECT count(*) AS count, min(e.id::text) AS example
    FROM webhook_events e
    WHERE e.status = 'delivered'
      AND NOT EXISTS (SELECT FROM webhook_attempts a WHERE a.event_id = e.id AND a.status = 'succeeded')
"""

RULES = {
    "waiting events without a delivery": LEFT_BEHIND,
    "ended events with a schedule": NOT_OVER,
    "deliveries held apart from their event": HELD_APART,
    "deliveries of another merchant or mode than their event": STRANGERS,
    "events whose attempts are not their history": MISCOUNTED,
    "delivered events that nobody took": NEVER_TAKEN,
}
