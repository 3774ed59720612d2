"""SQL of recording events, and of letting go those that waited for a signing secret."""

# Every branch is decided here, in one statement: where to, whether at all, and whether a secret is there to sign with.
# An event that finds no secret is held; one whose transaction overlaps the activation is freed by the worker's sweep.
RECORD = """
    WITH found AS (
        SELECT n.delivery_disabled_at IS NOT NULL AS disabled,
               CASE WHEN $9::text IS NOT NULL THEN $11::text WHEN $12 AND $4 = ANY (n.event_types) THEN 'saved'
                    ELSE 'none' END AS source,
               n.url, n.destination_key
        FROM (VALUES (1)) AS always LEFT JOIN webhook_environments n ON n.merchant_id = $2 AND n.mode = $3
    ), route AS (
        SELECT source,
               CASE source WHEN 'saved' THEN url ELSE $9 END AS url,
               CASE source WHEN 'saved' THEN destination_key ELSE $10::bigint END AS destination_key,
               CASE WHEN source = 'none' OR disabled THEN 'skipped'
                    WHEN EXISTS (SELECT FROM webhook_secrets s
                                 WHERE s.merchant_id = $2 AND s.mode = $3 AND s.state = 'active') THEN 'pending'
                    ELSE 'held' END AS status
        FROM found
    ), event AS (
        INSERT INTO webhook_events (id, merchant_id, mode, type, source_type, source_id, sequence, body, destination_url,
                                    destination_source, status, next_attempt_at, created_at)
        SELECT $1, $2, $3, $4, $5, $6, $7, $8, url, source, status, CASE status WHEN 'pending' THEN now() END, $13
        FROM route
    )
    INSERT INTO webhook_deliveries (event_id, merchant_id, mode, destination_key, trigger, automatic_at, held, run_at)
    SELECT $1, $2, $3, destination_key, CASE source WHEN 'test' THEN 'test' ELSE 'automatic' END, now(), status = 'held',
           CASE status WHEN 'held' THEN now() + $14::interval ELSE now() END
    FROM route WHERE status IN ('pending', 'held')
"""

FREE_HELD = """
    WITH free AS (
        UPDATE webhook_deliveries SET held = false, run_at = now(), automatic_at = now()
        WHERE merchant_id = $1 AND mode = $2 AND held AND lease_until IS NULL RETURNING event_id
    )
    UPDATE webhook_events e SET status = 'pending', next_attempt_at = now()
    FROM free WHERE e.id = free.event_id AND e.merchant_id = $1 AND e.mode = $2
"""
