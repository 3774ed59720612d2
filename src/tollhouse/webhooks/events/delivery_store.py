"""SQL of the delivery worker. Every result is fenced by its lease.

The worker's connections plan by index only (`INDEX_PLANS`): a plan made while the tables were empty must not scan a million
rows later. For the same reason rows of the queue tables are found by `= ANY` or in a locking LATERAL, never by a join whose
order the planner may reverse, or for whose sake it would read a whole index in order.
"""

# Destinations with deliveries in a lane after a cursor: one index step each, whatever the backlog.
WALK = """
    WITH RECURSIVE keys (key, step) AS (
        (SELECT destination_key, 1 FROM webhook_deliveries
         WHERE lane = $1 AND lease_until IS NULL AND destination_key > $2 ORDER BY destination_key LIMIT 1)
        UNION ALL
        SELECT (SELECT d.destination_key FROM webhook_deliveries d
                WHERE d.lane = $1 AND d.lease_until IS NULL AND d.destination_key > keys.key
                ORDER BY d.destination_key LIMIT 1), step + 1
        FROM keys WHERE keys.key IS NOT NULL AND step < $3
    )
    SELECT key FROM keys WHERE key IS NOT NULL
"""
# Leases the oldest deliveries of each destination up to its batch's limit, once their event has its position, and reads what
# is sent: the current destination, secret and delivery setting. The event's columns are null if its month was dropped.
CLAIM = """
    WITH due AS MATERIALIZED (
        SELECT few.event_id
        FROM unnest($1::smallint[], $2::bigint[], $3::int[]) AS batch (lane, key, max_rows)
        CROSS JOIN LATERAL (
            SELECT d.event_id FROM webhook_deliveries d
            WHERE d.lane = batch.lane AND d.destination_key = batch.key AND d.lease_until IS NULL AND d.run_at <= now()
              AND (SELECT true FROM webhook_events e
                   WHERE e.id = d.event_id AND e.position IS NULL AND e.type <> 'webhook.test'
                     AND e.source_type <> 'connection') IS NULL
            ORDER BY d.run_at LIMIT batch.max_rows FOR UPDATE OF d SKIP LOCKED
        ) AS few
    ), mine AS (
        UPDATE webhook_deliveries d
        SET lease_token = $4, lease_until = now() + $5::interval,
            sending = CASE WHEN d.automatic_at <= now() THEN d.trigger ELSE 'manual' END
        WHERE d.event_id = ANY (ARRAY(SELECT event_id FROM due))
        RETURNING d.event_id, d.merchant_id, d.mode, d.lane, d.destination_key, d.held, d.sending, d.tries, d.lost
    )
    SELECT mine.*, now() AS started_at, e.id, e.type, e.position, e.body, e.attempts, e.request_id, e.destination_url,
           e.destination_source, n.url AS saved_url, n.delivery_disabled_at IS NOT NULL AS disabled, s.version, s.key_id,
           s.nonce, s.ciphertext, o.version AS previous_version, o.key_id AS previous_key_id, o.nonce AS previous_nonce,
           o.ciphertext AS previous_ciphertext
    FROM mine
    LEFT JOIN webhook_events e ON e.id = mine.event_id
    LEFT JOIN webhook_environments n ON n.merchant_id = mine.merchant_id AND n.mode = mine.mode
    LEFT JOIN LATERAL (
        SELECT * FROM webhook_secrets k
        WHERE k.merchant_id = mine.merchant_id AND k.mode = mine.mode AND k.state = 'active' LIMIT 1
    ) AS s ON true
    LEFT JOIN LATERAL (
        SELECT * FROM webhook_secrets k
        WHERE k.merchant_id = mine.merchant_id AND k.mode = mine.mode AND k.signs_until > now() LIMIT 1
    ) AS o ON true
"""
# Moves rows of destinations without a free slot out of the way of the others, a few of each at a time.
DEFER = """
    WITH deferred AS MATERIALIZED (
        SELECT few.event_id
        FROM unnest($1::bigint[]) AS batch (key)
        CROSS JOIN LATERAL (
            SELECT d.event_id FROM webhook_deliveries d
            WHERE d.lane = 0 AND d.destination_key = batch.key AND d.lease_until IS NULL
            ORDER BY d.run_at LIMIT 8 FOR UPDATE SKIP LOCKED
        ) AS few
    )
    UPDATE webhook_deliveries SET lane = 2 WHERE event_id = ANY (ARRAY(SELECT event_id FROM deferred))
"""
# Moves scheduled deliveries that are due. An existing row is a redelivery, and takes over the schedule.
PROMOTE = """
    WITH due AS MATERIALIZED (
        SELECT event_id FROM webhook_deliveries_later WHERE run_at <= now()
        ORDER BY run_at LIMIT $1 FOR UPDATE SKIP LOCKED
    ), moved AS (
        DELETE FROM webhook_deliveries_later l WHERE l.event_id = ANY (ARRAY(SELECT event_id FROM due))
        RETURNING l.event_id, l.merchant_id, l.mode, l.destination_key, l.run_at, l.trigger, l.held, l.tries, l.lost
    )
    INSERT INTO webhook_deliveries AS d
        (event_id, merchant_id, mode, destination_key, lane, run_at, automatic_at, trigger, held, tries, lost)
    SELECT event_id, merchant_id, mode, destination_key, 1, run_at, run_at, trigger, held, tries, lost FROM moved
    ON CONFLICT (event_id) DO UPDATE
    SET automatic_at = excluded.automatic_at, trigger = excluded.trigger, tries = excluded.tries, lost = excluded.lost
"""

# Records attempts and what follows: nothing, the next attempt of the schedule after `wait` (null: over), or a redelivery at
# once. The row is deleted and inserted again, so that redeliveries requested during the call are seen. `by_hand` is how many
# redeliveries this attempt was. Nothing follows while delivery is disabled.
SETTLE = """
    WITH result AS MATERIALIZED (
        SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::int[], $4::text[], $5::text[], $6::int[], $7::timestamptz[],
                             $8::int[], $9::interval[], $10::int[], $11::int[], $12::int[], $13::text[], $14::text[])
            AS t (event_id, token, attempt, sent, error, http_status, started_at, duration_ms, wait, tries, lost, by_hand,
                  response_headers, response_body)
    ), mine AS MATERIALIZED (
        SELECT t.event_id, t.attempt, t.sent, t.error, t.http_status, t.started_at, t.duration_ms,
               t.response_headers, t.response_body,
               d.merchant_id, d.mode, d.destination_key, d.trigger, d.tries + t.tries AS tries, d.lost + t.lost AS lost,
               d.redeliveries - t.by_hand AS redeliveries,
               CASE t.sent WHEN 'manual' THEN d.automatic_at ELSE now() + t.wait END AS automatic_at
        FROM result t CROSS JOIN LATERAL (
            SELECT * FROM webhook_deliveries d WHERE d.event_id = t.event_id AND d.lease_token = t.token FOR UPDATE
        ) AS d
    ), deleted AS (
        DELETE FROM webhook_deliveries WHERE event_id = ANY (ARRAY(SELECT event_id FROM mine)) RETURNING event_id
    ), next AS (
        SELECT mine.*, n.delivery_disabled_at IS NOT NULL AS disabled,
               n.delivery_disabled_at IS NULL AND (redeliveries > 0 OR automatic_at <= now()) AS again,
               n.delivery_disabled_at IS NULL AND redeliveries = 0 AND automatic_at > now() AS later
        FROM mine LEFT JOIN webhook_environments n ON n.merchant_id = mine.merchant_id AND n.mode = mine.mode
        WHERE (SELECT count(*) FROM deleted) > 0  -- delete all before inserting any
    ), history AS (
        INSERT INTO webhook_attempts (event_id, attempt, trigger, status, error, http_status, started_at, duration_ms,
                                      response_headers, response_body)
        SELECT event_id, attempt, sent, CASE WHEN error IS NULL THEN 'succeeded' ELSE 'failed' END, error, http_status,
               started_at, duration_ms, response_headers::jsonb, response_body
        FROM next
    ), goes_again AS (
        INSERT INTO webhook_deliveries
            (event_id, merchant_id, mode, destination_key, lane, run_at, automatic_at, trigger, redeliveries, tries, lost)
        SELECT event_id, merchant_id, mode, destination_key, 1, now(), automatic_at, trigger, redeliveries, tries, lost
        FROM next WHERE again
    ), goes_later AS (
        INSERT INTO webhook_deliveries_later
            (event_id, merchant_id, mode, destination_key, run_at, trigger, tries, lost)
        SELECT event_id, merchant_id, mode, destination_key, automatic_at, trigger, tries, lost FROM next WHERE later
    )
    UPDATE webhook_events e
    SET attempts = next.attempt,
        next_attempt_at = CASE WHEN again THEN now() WHEN later THEN next.automatic_at END,
        status = CASE WHEN next.error IS NULL OR e.status = 'delivered' THEN 'delivered'
                      WHEN next.automatic_at IS NULL AND (next.redeliveries = 0 OR NOT disabled) THEN 'failed'
                      WHEN disabled THEN 'canceled' ELSE 'retrying' END,
        delivered_at = CASE WHEN next.error IS NULL THEN coalesce(e.delivered_at, now()) ELSE e.delivered_at END
    FROM next WHERE e.id = next.event_id
    RETURNING e.id
"""
# A result after its lease was lost: the history is corrected, the state stays.
UPDATE_LOST_ATTEMPT = """
    UPDATE webhook_attempts SET status = $3, error = $4, http_status = $5, duration_ms = $6, response_headers = $7::jsonb,
        response_body = $8
    WHERE event_id = $1 AND attempt = $2 AND error = 'worker_lost'
"""
CANCEL = """
    WITH mine AS (DELETE FROM webhook_deliveries WHERE event_id = $1 AND lease_token = $2 RETURNING event_id)
    UPDATE webhook_events e
    SET next_attempt_at = NULL,
        status = CASE WHEN e.status IN ('pending', 'retrying', 'held') THEN 'canceled' ELSE e.status END
    FROM mine WHERE e.id = mine.event_id
"""
RELEASE_LEASE = """
    UPDATE webhook_deliveries SET lease_token = NULL, lease_until = NULL, sending = NULL
    WHERE event_id = $1 AND lease_token = $2
"""
EXPIRED_LEASES = """
    SELECT d.event_id, d.lease_token, d.mode, d.lane, d.destination_key, d.held, d.sending, d.tries, d.lost, e.attempts,
           e.request_id, d.lease_until - $1::interval AS started_at
    FROM webhook_deliveries d JOIN webhook_events e ON e.id = d.event_id
    WHERE d.lease_until < now() ORDER BY d.lease_until LIMIT 100
"""
# Steps from environment to environment: one index step each, however many events it holds.
RELEASE_ALL_HELD = """
    WITH RECURSIVE waiting (merchant_id, mode) AS (
        (SELECT merchant_id, mode FROM webhook_deliveries_later WHERE held ORDER BY merchant_id, mode LIMIT 1)
        UNION ALL
        SELECT more.merchant_id, more.mode
        FROM waiting w CROSS JOIN LATERAL (
            SELECT l.merchant_id, l.mode FROM webhook_deliveries_later l
            WHERE l.held AND (l.merchant_id, l.mode) > (w.merchant_id, w.mode)
            ORDER BY l.merchant_id, l.mode LIMIT 1
        ) AS more
    ), released AS (
        DELETE FROM webhook_deliveries_later l USING waiting w JOIN webhook_secrets s
            ON s.merchant_id = w.merchant_id AND s.mode = w.mode AND s.state = 'active'
        WHERE l.merchant_id = w.merchant_id AND l.mode = w.mode AND l.held
        RETURNING l.event_id, l.merchant_id, l.mode, l.destination_key, l.trigger, l.tries, l.lost
    ), ready AS (
        INSERT INTO webhook_deliveries
            (event_id, merchant_id, mode, destination_key, run_at, automatic_at, trigger, tries, lost)
        SELECT event_id, merchant_id, mode, destination_key, now(), now(), trigger, tries, lost FROM released
        ON CONFLICT (event_id) DO UPDATE SET automatic_at = excluded.automatic_at
    )
    UPDATE webhook_events e SET status = 'pending', next_attempt_at = now() FROM released WHERE e.id = released.event_id
"""
# The delivery of an event whose month was dropped.
DELETE = "DELETE FROM webhook_deliveries WHERE event_id = $1 AND lease_token = $2"
