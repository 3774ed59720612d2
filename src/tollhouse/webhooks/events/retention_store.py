"""SQL of dropping old events."""

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
