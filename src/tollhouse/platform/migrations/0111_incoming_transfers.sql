-- When each transfer to a payment was seen first decides its rate and its deadline; what other transfers did does not.
CREATE TABLE incoming_transfers (
    rail text NOT NULL,
    mode text NOT NULL CHECK (mode IN ('live', 'test')),
    transfer_ref text NOT NULL,
    merchant_id uuid NOT NULL,
    transaction_id uuid NOT NULL,
    currency text NOT NULL,
    amount_minor bigint NOT NULL CHECK (amount_minor >= 0),
    -- By the clock of the merchant, as the expiries that it is compared with.
    first_seen_at timestamptz NOT NULL,
    block_at timestamptz,
    status text NOT NULL CHECK (status IN ('seen', 'vanished', 'confirmed')),
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (merchant_id, mode, rail, transfer_ref),
    FOREIGN KEY (merchant_id, mode, transaction_id) REFERENCES transactions (merchant_id, mode, id) DEFERRABLE INITIALLY DEFERRED
);
CREATE INDEX incoming_transfers_on_their_way ON incoming_transfers (transaction_id) WHERE status = 'seen';
CREATE INDEX incoming_transfers_without_block ON incoming_transfers (rail, mode, first_seen_at)
    WHERE status = 'seen' AND block_at IS NULL;
INSERT INTO state_transitions (record, from_status, to_status) VALUES
    ('incoming_transfers', 'seen', 'vanished'),
    ('incoming_transfers', 'seen', 'confirmed'),
    ('incoming_transfers', 'vanished', 'seen'),
    ('incoming_transfers', 'vanished', 'confirmed'),
    ('transactions', 'processing', 'expired');
CREATE TRIGGER incoming_transfers_transition BEFORE UPDATE OF status ON incoming_transfers FOR EACH ROW
    WHEN (OLD.status IS DISTINCT FROM NEW.status) EXECUTE FUNCTION state_transitions_enforce();
CREATE TRIGGER never_another BEFORE UPDATE ON incoming_transfers FOR EACH ROW
    WHEN (OLD.rail <> NEW.rail OR OLD.mode <> NEW.mode OR OLD.transfer_ref <> NEW.transfer_ref
          OR OLD.merchant_id <> NEW.merchant_id OR OLD.transaction_id <> NEW.transaction_id OR OLD.currency <> NEW.currency
          OR OLD.first_seen_at <> NEW.first_seen_at)
    EXECUTE FUNCTION ledger_refuse_change();
CREATE TRIGGER never_deleted BEFORE DELETE ON incoming_transfers FOR EACH ROW EXECUTE FUNCTION ledger_refuse_change();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON incoming_transfers FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse_change();

CREATE FUNCTION incoming_transfers_end(p_merchant uuid, p_mode text, p_rail text, p_ref text, p_status text, p_at timestamptz)
    RETURNS void
    LANGUAGE sql
    AS $$
    UPDATE incoming_transfers SET status = p_status, updated_at = p_at
    WHERE merchant_id = p_merchant AND mode = p_mode AND rail = p_rail AND transfer_ref = p_ref AND status <> 'confirmed'
$$;

-- Those that are on their way now. Rails that name a block or a version in a report put it behind @ or /.
INSERT INTO incoming_transfers (rail, mode, transfer_ref, merchant_id, transaction_id, currency, amount_minor, first_seen_at,
                                block_at, status, updated_at)
SELECT o.rail, o.mode, split_part(split_part(o.external_ref, '@', 1), '/', 1) AS transfer_ref, o.merchant_id,
       o.transaction_id, o.currency, max(o.amount_minor), min(o.at + coalesce(c.ahead, '0')),
       min(o.at + coalesce(c.ahead, '0')) FILTER (WHERE o.confirmations > 0), 'seen', max(o.at)
FROM transactions t
JOIN rail_observations o ON o.transaction_id = t.id AND o.outcome = 'seen'
LEFT JOIN test_clocks c ON (c.merchant_id, c.mode) = (t.merchant_id, t.mode)
WHERE t.status = 'processing' AND NOT EXISTS (
    SELECT FROM rail_observations g
    WHERE (g.rail, g.mode) = (o.rail, o.mode) AND g.outcome IN ('confirmed', 'vanished')
      AND g.external_ref IN (o.external_ref, split_part(split_part(o.external_ref, '@', 1), '/', 1)))
GROUP BY o.rail, o.mode, transfer_ref, o.merchant_id, o.transaction_id, o.currency
ON CONFLICT DO NOTHING;

-- The moment that decided; NULL for what was confirmed before.
ALTER TABLE rail_observations ADD COLUMN seen_at timestamptz;

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
       l.version AS link_version, l.customer_email IS NOT NULL AS link_has_email,
       l.canceled_at AS link_canceled_at,
       CASE WHEN t.status IN ('pending', 'processing', 'expired')
            THEN (SELECT json_agg(json_build_object('transfer_ref', i.transfer_ref, 'amount_minor', i.amount_minor,
                                                    'first_seen_at', i.first_seen_at, 'block_at', i.block_at)
                                  ORDER BY i.first_seen_at, i.transfer_ref)
                  FROM incoming_transfers i
                  WHERE i.transaction_id = t.id AND i.status = 'seen' AND i.currency = t.currency) END AS incoming
FROM transactions t JOIN payment_links l ON (l.merchant_id, l.mode, l.id) = (t.merchant_id, t.mode, t.payment_link_id);

-- Money that came too late for its fixed rate is converted at that rate only while it is the current one.
CREATE FUNCTION conversions_at_fixed_rate() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_payment transactions%ROWTYPE;
BEGIN
    SELECT * INTO v_payment FROM transactions t
    WHERE t.id = NEW.transaction_id AND (t.rate, t.rate_as_of) = (NEW.rate, NEW.rate_as_of);
    IF FOUND AND (
        SELECT coalesce(sum(o.amount_minor), 0) FROM rail_observations o
        WHERE o.transaction_id = NEW.transaction_id AND o.outcome = 'confirmed' AND o.currency = v_payment.currency
          AND (o.seen_at IS NULL OR o.seen_at < v_payment.rate_expires_at)
    ) < (
        SELECT sum(c.from_amount_minor) FROM conversions c
        WHERE c.transaction_id = NEW.transaction_id AND c.reversal_id IS NULL
          AND (c.rate, c.rate_as_of) = (NEW.rate, NEW.rate_as_of)
    ) AND EXISTS (
        SELECT FROM unnest(ARRAY[NEW.from_currency, NEW.to_currency]) AS paid (currency)
        WHERE (SELECT p.per_euro FROM conversion_prices p WHERE p.currency = paid.currency AND p.at <= NEW.created_at
               ORDER BY p.at DESC, p.id DESC LIMIT 1)
           <> (SELECT p.per_euro FROM conversion_prices p WHERE p.currency = paid.currency AND p.at <= v_payment.created_at
               ORDER BY p.at DESC, p.id DESC LIMIT 1)
    ) THEN
        RAISE EXCEPTION 'payment % received less in time than was converted at its fixed rate', NEW.transaction_id
            USING ERRCODE = 'check_violation', TABLE = 'conversions', CONSTRAINT = 'conversions_at_fixed_rate';
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER conversions_at_fixed_rate AFTER INSERT ON conversions DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (NEW.mode = 'live' AND NEW.transaction_id IS NOT NULL AND NEW.reversal_id IS NULL)
    EXECUTE FUNCTION conversions_at_fixed_rate();
