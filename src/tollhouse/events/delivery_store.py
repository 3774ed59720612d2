"""SQL of the delivery engine. Every end of an attempt is fenced by the lease it was made under.

The worker says these on connections that plan by index alone (`BY_INDEX`): a plan made while the tables were empty must
not read them from end to end when a million rows wait. For the same reason rows of the tables that fill and empty are
found by `= ANY` or in a LATERAL that locks, and never by a join whose order the planner may turn round: while vacuum has
last seen them empty, it takes reading all of them for cheaper than looking each up.
"""

# Which destinations have something due in a lane, from a cursor on: one step of the index for each, however much waits.
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
# The oldest few of each destination, as many as its turn allows, with what is sent: what delivery, destination and secret
# are now decides. All of the event is null where it was dropped with its month.
CLAIM = """
    WITH due AS MATERIALIZED (
        SELECT few.event_id
        FROM unnest($1::smallint[], $2::bigint[], $3::int[]) AS turn (lane, key, room)
        CROSS JOIN LATERAL (
            SELECT d.event_id FROM webhook_deliveries d
            WHERE d.lane = turn.lane AND d.destination_key = turn.key AND d.lease_until IS NULL AND d.run_at <= now()
            ORDER BY d.run_at LIMIT turn.room FOR UPDATE SKIP LOCKED
        ) AS few
    ), mine AS (
        UPDATE webhook_deliveries d
        SET lease_token = $4, lease_until = now() + $5::interval,
            sending = CASE WHEN d.automatic_at <= now() THEN d.trigger ELSE 'manual' END
        WHERE d.event_id = ANY (ARRAY(SELECT event_id FROM due))
        RETURNING d.event_id, d.merchant_id, d.mode, d.lane, d.destination_key, d.held, d.sending, d.tries, d.lost
    )
    SELECT mine.*, now() AS started_at, e.id, e.type, e.body, e.attempts, e.destination_url, e.destination_source,
           n.url AS saved_url, n.delivery_disabled_at IS NOT NULL AS disabled, s.version, s.key_id, s.nonce, s.ciphertext
    FROM mine
    LEFT JOIN webhook_events e ON e.id = mine.event_id
    LEFT JOIN webhook_environments n ON n.merchant_id = mine.merchant_id AND n.mode = mine.mode
    LEFT JOIN LATERAL (
        SELECT * FROM webhook_secrets k
        WHERE k.merchant_id = mine.merchant_id AND k.mode = mine.mode AND k.state = 'active' LIMIT 1
    ) AS s ON true
"""
# Takes rows of destinations that cannot be called now out of the way of those that can: a few hundred at a time.
SET_ASIDE = """
    WITH aside AS MATERIALIZED (
        SELECT few.event_id
        FROM unnest($1::bigint[]) AS turn (key)
        CROSS JOIN LATERAL (
            SELECT d.event_id FROM webhook_deliveries d
            WHERE d.lane = 0 AND d.destination_key = turn.key AND d.lease_until IS NULL
            ORDER BY d.run_at LIMIT 8 FOR UPDATE SKIP LOCKED
        ) AS few
    )
    UPDATE webhook_deliveries SET lane = 2 WHERE event_id = ANY (ARRAY(SELECT event_id FROM aside))
"""
# What its time has come for. A row that is here already stands for a redelivery, and takes the plan over.
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

# How attempts ended, and what follows: nothing more, the next attempt of the schedule after `wait` (null: it is over), or
# a redelivery at once. The row is taken out whole and written where it belongs, so that what was asked for while the call
# was under way is seen. `by_hand` is how many redeliveries this attempt was. Nothing follows where delivery is off.
SETTLE = """
    WITH told AS MATERIALIZED (
        SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::int[], $4::text[], $5::text[], $6::int[], $7::timestamptz[],
                             $8::int[], $9::interval[], $10::int[], $11::int[], $12::int[])
            AS t (event_id, token, attempt, sent, error, http_status, started_at, duration_ms, wait, tries, lost, by_hand)
    ), mine AS MATERIALIZED (
        SELECT t.event_id, t.attempt, t.sent, t.error, t.http_status, t.started_at, t.duration_ms,
               d.merchant_id, d.mode, d.destination_key, d.trigger, d.tries + t.tries AS tries, d.lost + t.lost AS lost,
               d.redeliveries - t.by_hand AS redeliveries,
               CASE t.sent WHEN 'manual' THEN d.automatic_at ELSE now() + t.wait END AS automatic_at
        FROM told t CROSS JOIN LATERAL (
            SELECT * FROM webhook_deliveries d WHERE d.event_id = t.event_id AND d.lease_token = t.token FOR UPDATE
        ) AS d
    ), gone AS (
        DELETE FROM webhook_deliveries WHERE event_id = ANY (ARRAY(SELECT event_id FROM mine)) RETURNING event_id
    ), next AS (
        SELECT mine.*, n.delivery_disabled_at IS NOT NULL AS disabled,
               n.delivery_disabled_at IS NULL AND (redeliveries > 0 OR automatic_at <= now()) AS again,
               n.delivery_disabled_at IS NULL AND redeliveries = 0 AND automatic_at > now() AS later
        FROM mine LEFT JOIN webhook_environments n ON n.merchant_id = mine.merchant_id AND n.mode = mine.mode
        WHERE (SELECT count(*) FROM gone) > 0  -- all of them, before any is written again
    ), history AS (
        INSERT INTO webhook_attempts (event_id, attempt, trigger, status, error, http_status, started_at, duration_ms)
        SELECT event_id, attempt, sent, CASE WHEN error IS NULL THEN 'succeeded' ELSE 'failed' END, error, http_status,
               started_at, duration_ms
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
    SELECT d.event_id, d.lease_token, d.mode, d.lane, d.destination_key, d.held, d.sending, d.tries, d.lost, e.attempts,
           d.lease_until - $1::interval AS started_at
    FROM webhook_deliveries d JOIN webhook_events e ON e.id = d.event_id
    WHERE d.lease_until < now() ORDER BY d.lease_until LIMIT 100
"""
# Steps from environment to environment, so that much that is held for one costs one step.
FREE_LEFT_BEHIND = """
    WITH RECURSIVE waiting (merchant_id, mode) AS (
        (SELECT merchant_id, mode FROM webhook_deliveries_later WHERE held ORDER BY merchant_id, mode LIMIT 1)
        UNION ALL
        SELECT more.merchant_id, more.mode
        FROM waiting w CROSS JOIN LATERAL (
            SELECT l.merchant_id, l.mode FROM webhook_deliveries_later l
            WHERE l.held AND (l.merchant_id, l.mode) > (w.merchant_id, w.mode)
            ORDER BY l.merchant_id, l.mode LIMIT 1
        ) AS more
    ), free AS (
        DELETE FROM webhook_deliveries_later l USING waiting w JOIN webhook_secrets s
            ON s.merchant_id = w.merchant_id AND s.mode = w.mode AND s.state = 'active'
        WHERE l.merchant_id = w.merchant_id AND l.mode = w.mode AND l.held
        RETURNING l.event_id, l.merchant_id, l.mode, l.destination_key, l.trigger, l.tries, l.lost
    ), ready AS (
        INSERT INTO webhook_deliveries
            (event_id, merchant_id, mode, destination_key, run_at, automatic_at, trigger, tries, lost)
        SELECT event_id, merchant_id, mode, destination_key, now(), now(), trigger, tries, lost FROM free
        ON CONFLICT (event_id) DO UPDATE SET automatic_at = excluded.automatic_at
    )
    UPDATE webhook_events e SET status = 'pending', next_attempt_at = now() FROM free WHERE e.id = free.event_id
"""
# What waits for an event that was dropped with its month.
FORGET = "DELETE FROM webhook_deliveries WHERE event_id = $1 AND lease_token = $2"
