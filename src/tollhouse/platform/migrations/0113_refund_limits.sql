-- What the network takes for a refund is on its hold, and is the merchant's where something was credited.
ALTER TABLE refunds
    ADD COLUMN network_fee_minor bigint NOT NULL DEFAULT 0,
    ADD CONSTRAINT refunds_network_fee
        CHECK (network_fee_minor >= 0 AND (network_fee_minor = 0 OR unapplied_minor < amount_minor)) NOT VALID;

-- At most 20 refunds of a payment succeed or are pending, beside one of all that is left. Two at once meet at the payment's version.
CREATE FUNCTION refunds_refuse_too_many() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (SELECT count(*) FROM refunds WHERE transaction_id = NEW.transaction_id AND status <> 'failed') >= 20
       AND NEW.amount_minor IS DISTINCT FROM (
           SELECT received_minor - refunded_minor - returning_minor - charged_back_minor FROM transactions
           WHERE id = NEW.transaction_id) THEN
        RAISE EXCEPTION 'the payment % has 20 refunds', NEW.transaction_id
            USING ERRCODE = 'check_violation', TABLE = 'refunds', CONSTRAINT = 'refunds_limit';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER refunds_not_too_many BEFORE INSERT ON refunds FOR EACH ROW EXECUTE FUNCTION refunds_refuse_too_many();

-- A refund can wait for its share of the signer's fees.
ALTER TABLE chain_payouts
    DROP CONSTRAINT chain_payouts_waits_for_check,
    ADD CONSTRAINT chain_payouts_waits_for_check CHECK (waits_for IN ('float', 'gas_price', 'turn', 'share', 'operator'));

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
                     'unapplied_minor', r.unapplied_minor, 'network_fee_minor', r.network_fee_minor,
                     'hold_id', r.hold_id, 'status', r.status, 'reason', r.reason,
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
       l.version AS link_version, l.customer_email IS NOT NULL AS link_has_email,
       l.canceled_at AS link_canceled_at,
       CASE WHEN t.status IN ('pending', 'processing', 'expired')
            THEN (SELECT json_agg(json_build_object('transfer_ref', i.transfer_ref, 'amount_minor', i.amount_minor,
                                                    'first_seen_at', i.first_seen_at, 'block_at', i.block_at)
                                  ORDER BY i.first_seen_at, i.transfer_ref)
                  FROM incoming_transfers i
                  WHERE i.transaction_id = t.id AND i.status = 'seen' AND i.currency = t.currency) END AS incoming
FROM transactions t JOIN payment_links l ON (l.merchant_id, l.mode, l.id) = (t.merchant_id, t.mode, t.payment_link_id);
