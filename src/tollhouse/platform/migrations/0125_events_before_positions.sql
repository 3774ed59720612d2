-- transactional: false
-- Numbers the events from before positions, oldest first, some thousand at a time. Newer ones wait in the queue meanwhile.
DO $$
DECLARE
    v_until uuid := (SELECT id FROM webhook_events ORDER BY id DESC LIMIT 1);
    v_last uuid := '00000000-0000-0000-0000-000000000000';
    v_ids uuid[];
BEGIN
    LOOP
        PERFORM pg_advisory_xact_lock(hashtext('webhook_events_number'));
        v_ids := ARRAY(SELECT id FROM webhook_events WHERE id > v_last AND id <= v_until ORDER BY id LIMIT 5000);
        EXIT WHEN v_ids = '{}';
        INSERT INTO webhook_unnumbered (nth, event_id, merchant_id, mode)
        SELECT row_number() OVER (ORDER BY e.id) - 5001, e.id, e.merchant_id, e.mode
        FROM webhook_events e
        WHERE e.id = ANY (v_ids) AND e.position IS NULL AND e.type <> 'webhook.test'
          AND NOT EXISTS (SELECT FROM webhook_unnumbered u WHERE u.event_id = e.id);
        IF FOUND THEN
            PERFORM webhook_events_number((SELECT count(*)::int FROM webhook_unnumbered WHERE nth < 0));
        END IF;
        v_last := v_ids[cardinality(v_ids)];
        COMMIT;
    END LOOP;
END $$;
