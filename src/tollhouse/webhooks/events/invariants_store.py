"""SQL that finds violations of the events' invariants. `$1` are the ids of the events to check."""

from tollhouse.platform.database.invariants import Invariant

PENDING_WITHOUT_DELIVERY = """
    SELECT format('event %s', e.id) AS line
    FROM webhook_events e
    WHERE e.id = ANY ($1::uuid[]) AND e.status IN ('pending', 'retrying', 'held')
      AND NOT EXISTS (SELECT FROM webhook_deliveries d WHERE d.event_id = e.id)
      AND NOT EXISTS (SELECT FROM webhook_deliveries_later l WHERE l.event_id = e.id)
"""
ENDED_WITH_SCHEDULE = """
    SELECT format('event %s', e.id) AS line
    FROM webhook_events e
    WHERE e.id = ANY ($1::uuid[]) AND e.status IN ('failed', 'skipped', 'canceled')
      AND (EXISTS (SELECT FROM webhook_deliveries d WHERE d.event_id = e.id AND d.automatic_at IS NOT NULL)
           OR EXISTS (SELECT FROM webhook_deliveries_later l WHERE l.event_id = e.id))
"""
HELD_MISMATCH = """
    SELECT format('event %s', e.id) AS line
    FROM webhook_events e
    CROSS JOIN LATERAL (SELECT held FROM webhook_deliveries WHERE event_id = e.id
                        UNION ALL SELECT held FROM webhook_deliveries_later WHERE event_id = e.id) d
    WHERE e.id = ANY ($1::uuid[]) AND d.held <> (e.status = 'held')
"""
SCHEDULED_TWICE = """
    SELECT format('event %s', d.event_id) AS line
    FROM webhook_deliveries d JOIN webhook_deliveries_later l ON l.event_id = d.event_id
    WHERE d.event_id = ANY ($1::uuid[])
"""
FOREIGN_DELIVERIES = """
    SELECT format('event %s', d.event_id) AS line
    FROM (SELECT event_id, merchant_id, mode FROM webhook_deliveries
          UNION ALL SELECT event_id, merchant_id, mode FROM webhook_deliveries_later) d
    LEFT JOIN webhook_events e ON e.id = d.event_id
    WHERE (d.merchant_id, d.mode) IS DISTINCT FROM (e.merchant_id, e.mode)
"""
MISSING_KEY = """
    SELECT format('event %s', e.id) AS line
    FROM webhook_events e
    WHERE e.id = ANY ($1::uuid[])
      AND NOT EXISTS (SELECT FROM webhook_event_keys k WHERE k.source_id = e.source_id AND k.source_type = e.source_type
                                                         AND k.type = e.type AND k.sequence = e.sequence)
"""
ATTEMPT_COUNT = """
    SELECT format('event %s', e.id) AS line
    FROM webhook_events e
    CROSS JOIN LATERAL (SELECT count(*) AS made, max(attempt) AS last FROM webhook_attempts WHERE event_id = e.id) a
    WHERE e.id = ANY ($1::uuid[]) AND (e.attempts, e.attempts) <> (a.made, coalesce(a.last, 0))
"""
DELIVERED_WITHOUT_SUCCESS = """
    SELECT format('event %s', e.id) AS line
    FROM webhook_events e
    WHERE e.id = ANY ($1::uuid[]) AND e.status = 'delivered'
      AND NOT EXISTS (SELECT FROM webhook_attempts a WHERE a.event_id = e.id AND a.status = 'succeeded')
"""
STATUS_MISMATCH = """
    SELECT format('event %s', e.id) AS line
    FROM webhook_events e LEFT JOIN webhook_event_statuses s ON s.event_id = e.id
    WHERE e.id = ANY ($1::uuid[])
      AND (s.merchant_id, s.mode, s.status, s.created_at)
          IS DISTINCT FROM (CASE WHEN e.status IN ('retrying', 'failed', 'canceled', 'held')
                            THEN ROW(e.merchant_id, e.mode, e.status, e.created_at)
                            ELSE ROW(NULL::uuid, NULL::text, NULL::text, NULL::timestamptz) END)
"""
NOT_IN_PLACE = """
    SELECT format('event %s has the position %s', e.id, e.position) AS line
    FROM webhook_events e
    LEFT JOIN webhook_feeds f ON f.merchant_id = e.merchant_id AND f.mode = e.mode
    LEFT JOIN LATERAL (SELECT * FROM webhook_positions w WHERE w.number = f.number AND w.last_position >= e.position
                       ORDER BY w.last_position LIMIT 1) AS p ON true
    WHERE e.id = ANY ($1::uuid[]) AND (e.position IS NULL OR e.position > f.expired_position)
      AND CASE WHEN e.position IS NULL
               THEN e.type <> 'webhook.test' AND e.source_type <> 'connection'
                    AND NOT EXISTS (SELECT FROM webhook_unnumbered u WHERE u.event_id = e.id)
               ELSE p.event_ids[cardinality(p.event_ids) - (p.last_position - e.position)] IS DISTINCT FROM e.id END
"""
GAPS = """
    SELECT format('feed of %s (%s) at position %s', f.merchant_id, f.mode, p.last_position) AS line
    FROM webhook_feeds f
    LEFT JOIN LATERAL (
        SELECT w.last_position - cardinality(w.event_ids) AS first_before, w.last_position,
               lag(w.last_position) OVER (ORDER BY w.last_position) AS before,
               lead(w.last_position) OVER (ORDER BY w.last_position) AS next
        FROM webhook_positions w WHERE w.number = f.number) AS p ON true
    WHERE CASE WHEN p.last_position IS NULL THEN f.expired_position <> f.last_position
               ELSE coalesce(p.before <> p.first_before, p.first_before > f.expired_position)
                    OR (p.next IS NULL AND p.last_position <> f.last_position) END
"""
NUMBERED_TWICE = """
    SELECT format('event %s', event_id) AS line
    FROM (SELECT unnest(event_ids) AS event_id FROM webhook_positions
          UNION ALL SELECT event_id FROM webhook_unnumbered) AS placed
    GROUP BY event_id HAVING count(*) > 1
"""
# `$1` are the ids of ledger transactions.
BALANCE_NOTIFIED = """
    SELECT format('ledger transaction %s moved the %s %s balance of %s and has %s events', g.transaction_id, g.mode,
                  g.currency, g.merchant_id, notified.times) AS line
    FROM (SELECT e.transaction_id, e.merchant_id, e.mode, e.currency, array_agg(e.id) AS entry_ids
          FROM ledger_entries e JOIN ledger_transactions l ON l.id = e.transaction_id AND l.mode = e.mode
          WHERE l.id = ANY ($1::uuid[])
            AND l.source_type IN ('transaction', 'refund', 'chargeback', 'test_funding', 'adjustment', 'balance_payment',
                                  'fulfillment', 'withdrawal', 'conversion')
          GROUP BY e.transaction_id, e.merchant_id, e.mode, e.currency) g
    CROSS JOIN LATERAL (SELECT count(*) AS times FROM webhook_event_keys w
                        WHERE w.source_type = 'ledger_entry' AND w.source_id = ANY (g.entry_ids)
                          AND w.type = 'balance.updated') notified
    WHERE notified.times <> 1
"""

INVARIANTS: tuple[Invariant, ...] = (
    Invariant("I11", "pending events without a delivery", PENDING_WITHOUT_DELIVERY, "event"),
    Invariant("I11", "ended events with a schedule", ENDED_WITH_SCHEDULE, "event"),
    Invariant("I11", "deliveries held differently from their event", HELD_MISMATCH, "event"),
    Invariant("I11", "events scheduled twice", SCHEDULED_TWICE, "event"),
    Invariant("I11", "deliveries of another merchant or mode than their event, or of none", FOREIGN_DELIVERIES, costly=True),
    Invariant("I11", "events that could be recorded twice", MISSING_KEY, "event"),
    Invariant("I11", "events with a wrong count of attempts", ATTEMPT_COUNT, "event"),
    Invariant("I11", "delivered events without a successful attempt", DELIVERED_WITHOUT_SUCCESS, "event"),
    Invariant("I11", "events listed with another status than their own", STATUS_MISMATCH, "event"),
    Invariant("I11", "events that are neither at their position nor waiting for one", NOT_IN_PLACE, "event"),
    Invariant("I11", "positions with gaps", GAPS, costly=True),
    Invariant("I11", "events with two positions", NUMBERED_TWICE, costly=True),
    Invariant("I14", "every balance change has one event", BALANCE_NOTIFIED, "ledger"),
)
