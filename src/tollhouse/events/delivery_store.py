"""SQL of the delivery engine. Every end of an attempt is one statement, fenced by the lease it was made under."""

# Walks the destinations from a cursor on, a few due rows of each, so that the depth of one backlog costs nobody else.
# A destination that has calls under way gets only the room that is left. MATERIALIZED keeps the LIMIT from being run
# again for each row of the update.
CLAIM = """
    WITH RECURSIVE keys (key) AS (
        (SELECT destination_key FROM webhook_deliveries
         WHERE lease_until IS NULL AND destination_key > $7
           AND EXISTS (SELECT FROM webhook_deliveries WHERE lease_until IS NULL AND run_at <= now())
         ORDER BY destination_key LIMIT 1)
        UNION ALL
        SELECT (SELECT d.destination_key FROM webhook_deliveries d
                WHERE d.lease_until IS NULL AND d.destination_key > keys.key ORDER BY d.destination_key LIMIT 1)
        FROM keys WHERE keys.key IS NOT NULL
    ), due AS MATERIALIZED (
        SELECT few.event_id
        FROM keys CROSS JOIN LATERAL (
            SELECT d.event_id FROM webhook_deliveries d
            WHERE d.destination_key = keys.key AND d.lease_until IS NULL AND d.run_at <= now()
            ORDER BY d.run_at
            LIMIT greatest(0, $4::int - coalesce((SELECT busy.calls FROM unnest($5::bigint[], $6::int[]) AS busy (key, calls)
                                             WHERE busy.key = keys.key), 0))
            FOR UPDATE SKIP LOCKED
        ) AS few
        WHERE keys.key IS NOT NULL LIMIT $3
    )
    UPDATE webhook_deliveries d
    SET lease_token = $1, lease_until = now() + $2::interval,
        sending = CASE WHEN d.automatic_at <= now() THEN d.trigger ELSE 'manual' END
    FROM due WHERE d.event_id = due.event_id
    RETURNING d.event_id, d.mode, d.destination_key, d.held, d.sending, d.tries, d.lost, now() AS started_at
"""
# Read after the claim, by a snapshot of its own: what delivery, destination and secret are now decides.
LOAD = """
    SELECT e.id, e.merchant_id, e.mode, e.type, e.body, e.attempts, e.destination_url, e.destination_source,
           n.url AS saved_url, n.delivery_disabled_at IS NOT NULL AS disabled, s.version, s.key_id, s.nonce, s.ciphertext
    FROM webhook_events e
    LEFT JOIN webhook_environments n ON n.merchant_id = e.merchant_id AND n.mode = e.mode
    LEFT JOIN webhook_secrets s ON s.merchant_id = e.merchant_id AND s.mode = e.mode AND s.state = 'active'
    WHERE e.id = $1
"""

# Nothing more is to be sent: the schedule is over and no redelivery waits. $11 ends it although something was planned.
END = """
    WITH mine AS (
        DELETE FROM webhook_deliveries
        WHERE event_id = $1 AND lease_token = $2
          AND ($11 OR CASE $4 WHEN 'manual' THEN redeliveries = 1 AND automatic_at IS NULL ELSE redeliveries = 0 END)
        RETURNING event_id
    ), told AS (
        INSERT INTO webhook_attempts (event_id, attempt, trigger, status, error, http_status, started_at, duration_ms)
        SELECT event_id, $3, $4, $5, $6, $7, $8, $9 FROM mine
    )
    UPDATE webhook_events e
    SET attempts = $3, next_attempt_at = NULL,
        status = CASE WHEN $5 = 'succeeded' OR e.status = 'delivered' THEN 'delivered' ELSE $10 END,
        delivered_at = CASE $5 WHEN 'succeeded' THEN coalesce(e.delivered_at, now()) ELSE e.delivered_at END
    FROM mine WHERE e.id = mine.event_id
"""
# More is to be sent: a redelivery at once, or the next attempt of the schedule after $10 (null: the schedule is over).
# Does nothing where delivery has been switched off meanwhile.
GO_ON = """
    WITH mine AS (
        UPDATE webhook_deliveries d
        SET lease_token = NULL, lease_until = NULL, sending = NULL, held = false,
            tries = d.tries + $11, lost = d.lost + $12, redeliveries = d.redeliveries - $13,
            automatic_at = CASE $4 WHEN 'manual' THEN d.automatic_at ELSE now() + $10::interval END,
            run_at = CASE WHEN d.redeliveries > $13 THEN now()
                          WHEN $4 = 'manual' THEN d.automatic_at ELSE now() + $10::interval END
        WHERE d.event_id = $1 AND d.lease_token = $2
          AND NOT EXISTS (SELECT FROM webhook_environments n WHERE n.merchant_id = d.merchant_id AND n.mode = d.mode
                                                               AND n.delivery_disabled_at IS NOT NULL)
        RETURNING d.event_id, d.automatic_at, d.run_at
    ), told AS (
        INSERT INTO webhook_attempts (event_id, attempt, trigger, status, error, http_status, started_at, duration_ms)
        SELECT event_id, $3, $4, $5, $6, $7, $8, $9 FROM mine
    )
    UPDATE webhook_events e
    SET attempts = $3, next_attempt_at = mine.run_at,
        status = CASE WHEN $5 = 'succeeded' OR e.status = 'delivered' THEN 'delivered'
                      WHEN mine.automatic_at IS NOT NULL THEN 'retrying' ELSE 'failed' END,
        delivered_at = CASE $5 WHEN 'succeeded' THEN coalesce(e.delivered_at, now()) ELSE e.delivered_at END
    FROM mine WHERE e.id = mine.event_id
"""
# The lease was lost, the request was made all the same: the history learns how it ended, the state stays as it is.
LATE = """
    UPDATE webhook_attempts SET status = $3, error = $4, http_status = $5, duration_ms = $6
    WHERE event_id = $1 AND attempt = $2 AND error = 'worker_lost'
"""
CANCEL = """
    WITH mine AS (DELETE FROM webhook_deliveries WHERE event_id = $1 AND lease_token = $2 RETURNING event_id)
    UPDATE webhook_events e
    SET next_attempt_at = NULL,
        status = CASE WHEN e.status IN ('pending', 'retrying', 'held') THEN 'canceled' ELSE e.status END
    FROM mine WHERE e.id = mine.event_id
"""
GIVE_BACK = """
    UPDATE webhook_deliveries SET lease_token = NULL, lease_until = NULL, sending = NULL
    WHERE event_id = $1 AND lease_token = $2
"""
RAN_OUT = """
    SELECT d.event_id, d.lease_token, d.mode, d.destination_key, d.held, d.sending, d.tries, d.lost, e.attempts,
           d.lease_until - $1::interval AS started_at
    FROM webhook_deliveries d JOIN webhook_events e ON e.id = d.event_id
    WHERE d.lease_until < now() ORDER BY d.lease_until LIMIT 100
"""
FREE_LEFT_BEHIND = """
    WITH free AS (
        UPDATE webhook_deliveries d SET held = false, run_at = now(), automatic_at = now()
        WHERE d.held AND d.lease_until IS NULL
          AND EXISTS (SELECT FROM webhook_secrets s
                      WHERE s.merchant_id = d.merchant_id AND s.mode = d.mode AND s.state = 'active')
        RETURNING d.event_id
    )
    UPDATE webhook_events e SET status = 'pending', next_attempt_at = now() FROM free WHERE e.id = free.event_id
"""
