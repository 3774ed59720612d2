"""SQL that finds breaches of the events' invariants."""

LEFT_BEHIND = """
    SELECT count(*) AS count, min(e.id::text) AS example
    FROM webhook_events e
    WHERE e.status IN ('pending', 'retrying', 'held')
      AND NOT EXISTS (SELECT FROM webhook_deliveries d WHERE d.event_id = e.id)
      AND NOT EXISTS (SELECT FROM webhook_deliveries_later l WHERE l.event_id = e.id)
"""
NOT_OVER = """
    SELECT count(*) AS count, min(e.id::text) AS example
    FROM (SELECT event_id FROM webhook_deliveries WHERE automatic_at IS NOT NULL
          UNION ALL SELECT event_id FROM webhook_deliveries_later) d
    JOIN webhook_events e ON e.id = d.event_id
    WHERE e.status IN ('failed', 'skipped', 'canceled')
"""
HELD_APART = """
    SELECT count(*) AS count, min(e.id::text) AS example
    FROM (SELECT event_id, held FROM webhook_deliveries UNION ALL SELECT event_id, held FROM webhook_deliveries_later) d
    JOIN webhook_events e ON e.id = d.event_id
    WHERE d.held <> (e.status = 'held')
"""
PLANNED_TWICE = """
    SELECT count(*) AS count, min(d.event_id::text) AS example
    FROM webhook_deliveries d JOIN webhook_deliveries_later l ON l.event_id = d.event_id
"""
STRANGERS = """
    SELECT count(*) AS count, min(d.event_id::text) AS example
    FROM (SELECT event_id, merchant_id, mode FROM webhook_deliveries
          UNION ALL SELECT event_id, merchant_id, mode FROM webhook_deliveries_later) d
    LEFT JOIN webhook_events e ON e.id = d.event_id
    WHERE (d.merchant_id, d.mode) IS DISTINCT FROM (e.merchant_id, e.mode)
"""
UNKEYED = """
    SELECT count(*) AS count, min(e.id::text) AS example
    FROM webhook_events e
    WHERE NOT EXISTS (SELECT FROM webhook_event_keys k WHERE k.source_id = e.source_id AND k.source_type = e.source_type
                                                         AND k.type = e.type AND k.sequence = e.sequence)
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
    "events planned twice": PLANNED_TWICE,
    "deliveries of another merchant or mode than their event, or of none": STRANGERS,
    "events that could be told again": UNKEYED,
    "events whose attempts are not their history": MISCOUNTED,
    "delivered events that nobody took": NEVER_TAKEN,
}
