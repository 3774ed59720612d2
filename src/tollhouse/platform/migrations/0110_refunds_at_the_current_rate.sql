-- The limits of positions are for every conversion. A payment's was excepted; what a limit refuses waits for the merchant.
CREATE OR REPLACE FUNCTION conversion_positions_follow() RETURNS trigger LANGUAGE plpgsql
    SET plan_cache_mode = 'force_generic_plan' AS $$
DECLARE
    v record;
    v_position numeric;
    v_limit bigint;
BEGIN
    FOR v IN
        SELECT m.currency, m.change
        FROM (VALUES (NEW.from_currency, NEW.from_amount_minor::numeric - NEW.fee_minor),
                     (NEW.to_currency, -NEW.to_amount_minor::numeric)) AS m (currency, change)
        ORDER BY m.currency
    LOOP
        INSERT INTO conversion_positions AS p (currency, position_minor) VALUES (v.currency, v.change)
        ON CONFLICT (currency) DO UPDATE SET position_minor = p.position_minor + excluded.position_minor
        RETURNING p.position_minor, p.limit_minor INTO v_position, v_limit;
        IF abs(v_position) > v_limit AND abs(v_position) > abs(v_position - v.change) THEN
            RAISE EXCEPTION 'the position in % would exceed its limit', v.currency
                USING ERRCODE = 'check_violation', TABLE = 'conversion_positions', CONSTRAINT = 'conversion_positions_limit';
        END IF;
    END LOOP;
    RETURN NULL;
END $$;

ALTER TABLE transactions
    DROP CONSTRAINT transactions_refund_required_reason_check,
    ADD CONSTRAINT transactions_refund_required_reason_check
        CHECK (refund_required_reason IN ('underpaid', 'late', 'duplicate', 'after_cancel', 'wrong_asset', 'balance_limit',
                                          'position_limit')) NOT VALID;

-- A refund shows by which conversion its money was bought.
CREATE FUNCTION refund_exchange(r refunds) RETURNS json LANGUAGE sql STABLE AS $$
    SELECT json_build_object('from_currency', c.from_currency, 'from_amount_minor', c.from_amount_minor,
                             'to_currency', c.to_currency, 'to_amount_minor', c.to_amount_minor,
                             'rate', trim_scale(c.rate)::text, 'rate_as_of', c.rate_as_of, 'fee_minor', c.fee_minor)
    FROM conversions c
    WHERE c.transaction_id = r.transaction_id AND c.reversal_id = r.id AND c.to_currency = r.currency LIMIT 1
$$;
CREATE OR REPLACE VIEW whole_transactions AS
SELECT t.id, t.merchant_id, t.mode, t.payment_link_id, t.method_id, t.method_type, t.rail, t.rail_reference, t.instructions,
       t.currency, t.amount_minor, t.received_minor, t.credited_minor, t.unapplied_minor, t.fee_minor,
       t.refunded_minor, t.returning_minor, t.returning_unapplied_minor, t.charged_back_minor, t.confirmations,
       t.required_confirmations, t.status, t.failure_code, t.refund_required_reason, t.late, t.version, t.created_at,
       t.updated_at, t.succeeded_at, t.payer_language, t.price_currency, t.price_minor, t.rate, t.rate_as_of,
       t.rate_source, t.rate_margin_bps, t.rate_expires_at, t.settlement, t.quantity,
       l.status AS link_status, l.expires_at AS link_expires_at, l.project_id, l.external_id, l.metadata, l.webhook_url,
       coalesce((SELECT c.ahead FROM test_clocks c WHERE c.merchant_id = t.merchant_id AND c.mode = t.mode), '0') AS ahead,
       coalesce((SELECT json_agg(json_build_object('status', s.status, 'at', s.at, 'detail', s.detail) ORDER BY s.version)
                 FROM transaction_steps s WHERE s.transaction_id = t.id), '[]') AS timeline,
       coalesce((SELECT json_agg(json_build_object(
                     'id', r.id, 'transaction_id', r.transaction_id, 'currency', r.currency, 'amount_minor', r.amount_minor,
                     'unapplied_minor', r.unapplied_minor, 'hold_id', r.hold_id, 'status', r.status, 'reason', r.reason,
                     'receiver', r.receiver, 'review', o.review, 'failure_code', r.failure_code,
                     'provider_reference', r.provider_reference, 'external_id', r.external_id, 'metadata', r.metadata,
                     'version', r.version, 'created_at', r.created_at, 'updated_at', r.updated_at,
                     'exchange', refund_exchange(r))
                     ORDER BY r.created_at DESC, r.id DESC)
                 FROM refunds r JOIN outgoing_transfers o ON o.id = r.id WHERE r.transaction_id = t.id), '[]') AS refunds,
       (SELECT json_build_object('id', d.id, 'amount_minor', d.amount_minor, 'fee_minor', d.fee_minor, 'reason', d.reason,
                                 'status', d.status, 'opened_at', d.opened_at, 'closed_at', d.closed_at)
        FROM chargebacks d WHERE d.transaction_id = t.id ORDER BY d.opened_at DESC, d.id DESC LIMIT 1) AS chargeback,
       coalesce(l.payments_count >= l.max_payments, false) AS link_is_paid,
       l.version AS link_version, l.customer_email IS NOT NULL AS link_has_email
FROM transactions t JOIN payment_links l ON (l.merchant_id, l.mode, l.id) = (t.merchant_id, t.mode, t.payment_link_id);
