-- The request that caused an event, by the ID that the service gave it. Null: a job caused it, or an earlier version recorded it.
ALTER TABLE webhook_events ADD COLUMN request_id uuid;

CREATE FUNCTION webhook_events_record(
    p_id uuid, p_merchant uuid, p_mode text, p_type text, p_source_type text, p_source_id uuid, p_sequence bigint,
    p_body bytea, p_url text, p_destination_key bigint, p_source text, p_saved_applies boolean, p_at timestamptz,
    p_held_for interval, p_request_id uuid
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_saved record;
    v_source text := p_source;
    v_url text := p_url;
    v_destination_key bigint := p_destination_key;
    v_trigger text := CASE p_source WHEN 'test' THEN 'test' ELSE 'automatic' END;
    v_status text := 'pending';
BEGIN
    SELECT n.delivery_disabled_at, n.url, n.destination_key, n.event_types INTO v_saved
    FROM webhook_environments n WHERE n.merchant_id = p_merchant AND n.mode = p_mode;
    IF p_url IS NULL THEN
        v_trigger := 'automatic';
        IF p_saved_applies AND p_type = ANY (v_saved.event_types) THEN
            v_source := 'saved';
            v_url := v_saved.url;
            v_destination_key := v_saved.destination_key;
        ELSE
            v_source := 'none';
        END IF;
    END IF;
    IF v_source = 'none' OR v_saved.delivery_disabled_at IS NOT NULL THEN
        v_status := 'skipped';
    ELSIF NOT EXISTS (SELECT FROM webhook_secrets s
                      WHERE s.merchant_id = p_merchant AND s.mode = p_mode AND s.state = 'active') THEN
        v_status := 'held';
    END IF;
    INSERT INTO webhook_event_keys (source_id, source_type, type, sequence)
    VALUES (p_source_id, p_source_type, p_type, p_sequence);
    INSERT INTO webhook_events (id, merchant_id, mode, type, source_type, source_id, sequence, body, destination_url,
                                destination_source, status, next_attempt_at, created_at, request_id)
    VALUES (p_id, p_merchant, p_mode, p_type, p_source_type, p_source_id, p_sequence, p_body, v_url,
            v_source, v_status, CASE v_status WHEN 'pending' THEN now() END, p_at, p_request_id);
    IF v_status = 'pending' THEN
        INSERT INTO webhook_deliveries (event_id, merchant_id, mode, destination_key, run_at, automatic_at, trigger)
        VALUES (p_id, p_merchant, p_mode, v_destination_key, now(), now(), v_trigger);
    ELSIF v_status = 'held' THEN
        INSERT INTO webhook_deliveries_later (event_id, merchant_id, mode, destination_key, run_at, trigger, held)
        VALUES (p_id, p_merchant, p_mode, v_destination_key, now() + p_held_for, v_trigger, true);
    END IF;
END $$;

CREATE FUNCTION webhook_events_record_balance(
    p_id uuid, p_merchant uuid, p_mode text, p_currency text, p_transaction_id uuid, p_entry_ids uuid[], p_template bytea,
    p_url text, p_destination_key bigint, p_saved_applies boolean, p_at timestamptz, p_held_for interval,
    p_request_id uuid
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_values bigint[];
    v_version bigint;
    v_entry record;
    v_entries int := 0;
BEGIN
    SELECT ARRAY[a.available, a.pending, a.reserved, a.debt, a.available + a.pending + a.reserved - a.debt,
                 h.withdrawals, h.balance_payments, h.refunds, h.fulfillments, a.version,
                 floor(extract(epoch FROM a.updated_at) * 1000)::bigint], a.version
    INTO v_values, v_version
    FROM (SELECT coalesce(max(balance) FILTER (WHERE code = 'available'), 0) AS available,
                 coalesce(max(balance) FILTER (WHERE code = 'pending'), 0) AS pending,
                 coalesce(max(balance) FILTER (WHERE code = 'reserved'), 0) AS reserved,
                 coalesce(max(balance) FILTER (WHERE code = 'debt'), 0) AS debt,
                 sum(version)::bigint AS version, max(updated_at) AS updated_at
          FROM ledger_accounts WHERE owner = p_merchant AND mode = p_mode AND currency = p_currency) a
    CROSS JOIN (SELECT coalesce(sum(left_over) FILTER (WHERE source_type = 'withdrawal'), 0)::bigint AS withdrawals,
                       coalesce(sum(left_over) FILTER (WHERE source_type = 'balance_payment'), 0)::bigint
                           AS balance_payments,
                       coalesce(sum(left_over) FILTER (WHERE source_type = 'refund'), 0)::bigint AS refunds,
                       coalesce(sum(left_over) FILTER (WHERE source_type = 'fulfillment'), 0)::bigint AS fulfillments
                FROM (SELECT source_type, amount - captured - released AS left_over FROM ledger_holds
                      WHERE merchant_id = p_merchant AND mode = p_mode AND currency = p_currency
                        AND status = 'active') held) h;
    FOR v_entry IN
        SELECT e.balance_after, e.version, floor(extract(epoch FROM e.created_at) * 1000)::bigint AS created_ms
        FROM ledger_entries e
        WHERE e.transaction_id = p_transaction_id AND e.merchant_id = p_merchant AND e.currency = p_currency
        ORDER BY array_position(p_entry_ids, e.id)
    LOOP
        v_entries := v_entries + 1;
        v_values := v_values || ARRAY[v_entry.balance_after, v_entry.version, v_entry.created_ms];
    END LOOP;
    IF v_entries <> cardinality(p_entry_ids) THEN
        RAISE EXCEPTION 'ledger transaction % has other entries', p_transaction_id USING ERRCODE = 'serialization_failure';
    END IF;
    PERFORM webhook_events_record(
        p_id, p_merchant, p_mode, 'balance.updated', 'ledger_entry', p_entry_ids[1], v_version,
        p_template || convert_to(' ' || array_to_string(v_values, ' '), 'UTF8'), p_url, p_destination_key, 'request',
        p_saved_applies, p_at, p_held_for, p_request_id);
END $$;

-- Processes of the version before call these until they are restarted.
CREATE OR REPLACE FUNCTION webhook_events_record(
    p_id uuid, p_merchant uuid, p_mode text, p_type text, p_source_type text, p_source_id uuid, p_sequence bigint,
    p_body bytea, p_url text, p_destination_key bigint, p_source text, p_saved_applies boolean, p_at timestamptz,
    p_held_for interval
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM webhook_events_record(
        p_id, p_merchant, p_mode, p_type, p_source_type, p_source_id, p_sequence, p_body, p_url, p_destination_key,
        p_source, p_saved_applies, p_at, p_held_for, NULL);
END $$;
CREATE OR REPLACE FUNCTION webhook_events_record_balance(
    p_id uuid, p_merchant uuid, p_mode text, p_currency text, p_transaction_id uuid, p_entry_ids uuid[], p_template bytea,
    p_url text, p_destination_key bigint, p_saved_applies boolean, p_at timestamptz, p_held_for interval
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM webhook_events_record_balance(
        p_id, p_merchant, p_mode, p_currency, p_transaction_id, p_entry_ids, p_template, p_url, p_destination_key,
        p_saved_applies, p_at, p_held_for, NULL);
END $$;
