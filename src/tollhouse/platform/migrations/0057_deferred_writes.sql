-- Writes of the money path as functions, so that one statement can run several of them. Those that verify what the caller
-- read raise a serialization failure if it has changed since.

-- Whether the link has the customer's address, and its version.
DROP VIEW whole_transactions;
CREATE VIEW whole_transactions AS
SELECT t.*, l.status AS link_status, l.expires_at AS link_expires_at, l.project_id, l.external_id, l.metadata, l.webhook_url,
       coalesce((SELECT c.ahead FROM test_clocks c WHERE c.merchant_id = t.merchant_id AND c.mode = t.mode), '0') AS ahead,
       coalesce((SELECT json_agg(json_build_object('status', s.status, 'at', s.at, 'detail', s.detail) ORDER BY s.version)
                 FROM transaction_steps s WHERE s.transaction_id = t.id), '[]') AS timeline,
       coalesce((SELECT json_agg(json_build_object(
                     'id', r.id, 'transaction_id', r.transaction_id, 'currency', r.currency, 'amount_minor', r.amount_minor,
                     'unapplied_minor', r.unapplied_minor, 'hold_id', r.hold_id, 'status', r.status, 'reason', r.reason,
                     'receiver', r.receiver, 'review', o.review, 'failure_code', r.failure_code,
                     'provider_reference', r.provider_reference, 'external_id', r.external_id, 'metadata', r.metadata,
                     'version', r.version, 'created_at', r.created_at, 'updated_at', r.updated_at)
                     ORDER BY r.created_at DESC, r.id DESC)
                 FROM refunds r JOIN outgoing_transfers o ON o.id = r.id WHERE r.transaction_id = t.id), '[]') AS refunds,
       (SELECT json_build_object('id', d.id, 'amount_minor', d.amount_minor, 'fee_minor', d.fee_minor, 'reason', d.reason,
                                 'status', d.status, 'opened_at', d.opened_at, 'closed_at', d.closed_at)
        FROM chargebacks d WHERE d.transaction_id = t.id ORDER BY d.opened_at DESC, d.id DESC LIMIT 1) AS chargeback,
       coalesce(l.payments_count >= l.max_payments, false) AS link_is_paid,
       l.version AS link_version, l.customer_email IS NOT NULL AS link_has_email
FROM transactions t JOIN payment_links l ON (l.merchant_id, l.mode, l.id) = (t.merchant_id, t.mode, t.payment_link_id);

-- Locks the link of a payment, if both are what the caller read. A link that is locked by others is about to change.
CREATE FUNCTION transactions_require(
    p_merchant uuid, p_mode text, p_id uuid, p_version int, p_link_id uuid, p_link_version int
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM payment_links l
    WHERE l.merchant_id = p_merchant AND l.mode = p_mode AND l.id = p_link_id AND l.version = p_link_version
    FOR NO KEY UPDATE SKIP LOCKED;
    IF FOUND THEN
        PERFORM FROM transactions t
        WHERE t.merchant_id = p_merchant AND t.mode = p_mode AND t.id = p_id AND t.version = p_version;
    END IF;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'payment % has changed', p_id USING ERRCODE = 'serialization_failure';
    END IF;
END $$;

-- Writes the whole row of a payment, if the version is the one that was read, and the step of its timeline.
CREATE FUNCTION transactions_change(
    p_merchant uuid, p_mode text, p_id uuid, p_version int, p_status text, p_received bigint, p_credited bigint,
    p_unapplied bigint, p_fee bigint, p_refunded bigint, p_returning bigint, p_returning_unapplied bigint,
    p_charged_back bigint, p_confirmations int, p_required_confirmations int, p_failure_code text, p_reason text,
    p_late boolean, p_succeeded_at timestamptz, p_at timestamptz, p_detail text
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE transactions
    SET status = p_status, received_minor = p_received, credited_minor = p_credited, unapplied_minor = p_unapplied,
        fee_minor = p_fee, refunded_minor = p_refunded, returning_minor = p_returning,
        returning_unapplied_minor = p_returning_unapplied, charged_back_minor = p_charged_back,
        confirmations = p_confirmations, required_confirmations = p_required_confirmations, failure_code = p_failure_code,
        refund_required_reason = p_reason, late = p_late, succeeded_at = p_succeeded_at, updated_at = p_at,
        version = version + 1
    WHERE merchant_id = p_merchant AND mode = p_mode AND id = p_id AND version = p_version;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'payment % has changed', p_id USING ERRCODE = 'serialization_failure';
    END IF;
    INSERT INTO transaction_steps (transaction_id, version, status, detail, at)
    VALUES (p_id, p_version + 1, p_status, p_detail, p_at);
END $$;

-- Counts a payment of its link. A payment in time may come after the link has expired. One that is accepted later leaves the
-- link's status.
CREATE FUNCTION payment_links_count_payment(
    p_merchant uuid, p_mode text, p_id uuid, p_transaction_id uuid, p_amount bigint, p_at timestamptz, p_in_time boolean
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE payment_links
    SET payments_count = least(payments_count + 1, max_payments), amount_paid_minor = amount_paid_minor + p_amount,
        latest_transaction_id = p_transaction_id, updated_at = p_at, version = version + 1,
        status = CASE WHEN p_in_time AND status IN ('active', 'expired') AND payments_count + 1 = max_payments
                      THEN 'completed' ELSE status END,
        completed_at = CASE WHEN p_in_time AND status IN ('active', 'expired') AND payments_count + 1 = max_payments
                            THEN p_at ELSE completed_at END
    WHERE merchant_id = p_merchant AND mode = p_mode AND id = p_id;
END $$;

-- Records an event. Decides its destination, whether it is sent, and whether a secret can sign it. Without a secret it is
-- held; if its transaction overlaps the activation of one, the worker's sweep releases it.
CREATE FUNCTION webhook_events_record(
    p_id uuid, p_merchant uuid, p_mode text, p_type text, p_source_type text, p_source_id uuid, p_sequence bigint,
    p_body bytea, p_url text, p_destination_key bigint, p_source text, p_saved_applies boolean, p_at timestamptz,
    p_held_for interval
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
                                destination_source, status, next_attempt_at, created_at)
    VALUES (p_id, p_merchant, p_mode, p_type, p_source_type, p_source_id, p_sequence, p_body, v_url,
            v_source, v_status, CASE v_status WHEN 'pending' THEN now() END, p_at);
    IF v_status = 'pending' THEN
        INSERT INTO webhook_deliveries (event_id, merchant_id, mode, destination_key, run_at, automatic_at, trigger)
        VALUES (p_id, p_merchant, p_mode, v_destination_key, now(), now(), v_trigger);
    ELSIF v_status = 'held' THEN
        INSERT INTO webhook_deliveries_later (event_id, merchant_id, mode, destination_key, run_at, trigger, held)
        VALUES (p_id, p_merchant, p_mode, v_destination_key, now() + p_held_for, v_trigger, true);
    END IF;
END $$;

-- Records balance.updated for the entries that a ledger transaction has just written. What only the posting knows is
-- appended to the template of the body: the amounts of the balance, its version and time, and these of each entry. Times are in
-- milliseconds. More entries than the caller expects, because debt was repaid, are a serialization failure.
CREATE FUNCTION webhook_events_record_balance(
    p_id uuid, p_merchant uuid, p_mode text, p_currency text, p_transaction_id uuid, p_entry_ids uuid[], p_template bytea,
    p_url text, p_destination_key bigint, p_saved_applies boolean, p_at timestamptz, p_held_for interval
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
        p_saved_applies, p_at, p_held_for);
END $$;

-- Stores the response of a request with its key. The caller has found no response under the key: another request that holds
-- it now, or held it since, is a serialization failure.
CREATE FUNCTION idempotency_keys_store(
    p_merchant uuid, p_mode text, p_caller text, p_key_hash bytea, p_fingerprint bytea, p_status int, p_answer bytea,
    p_at timestamptz
) RETURNS void LANGUAGE plpgsql SET lock_timeout = '10ms' AS $$
BEGIN
    INSERT INTO idempotency_keys (merchant_id, mode, caller, key_hash, fingerprint, status, answer, created_at)
    VALUES (p_merchant, p_mode, p_caller, p_key_hash, p_fingerprint, p_status, p_answer, p_at);
EXCEPTION WHEN lock_not_available OR unique_violation THEN
    RAISE EXCEPTION 'the key is in use' USING ERRCODE = 'serialization_failure';
END $$;

-- Adds to the total of a day, by the test clock. A total above the limit is a serialization failure; a null limit is no limit.
CREATE FUNCTION withdrawal_days_add(
    p_merchant uuid, p_mode text, p_method_id text, p_day date, p_amount bigint, p_limit bigint
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO withdrawal_days AS d (merchant_id, mode, method_id, day, amount_minor)
    SELECT p_merchant, p_mode, p_method_id, p_day, p_amount WHERE p_limit IS NULL OR p_amount <= p_limit
    ON CONFLICT (merchant_id, mode, method_id, day) DO UPDATE SET amount_minor = d.amount_minor + excluded.amount_minor
    WHERE p_limit IS NULL OR d.amount_minor + excluded.amount_minor <= p_limit;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'the limit of the day is exceeded' USING ERRCODE = 'serialization_failure';
    END IF;
END $$;
