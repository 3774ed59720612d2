-- A payment in another currency than its link: the price in the link's currency, and the rate that was fixed for it. `amount_minor`
-- stays the amount to pay, in the currency that is paid: it is judged, refunded and charged back in that currency. `settlement` says
-- whether credited money is converted to the currency of the price, or kept. A transfer beside such a payment that becomes a payment of
-- its own may be worth less than a minor unit of the price. Existing rows are not read again: that would lock a large table.
ALTER TABLE transactions
    ADD COLUMN price_currency text,
    ADD COLUMN price_minor bigint,
    ADD COLUMN rate numeric(38, 18),
    ADD COLUMN rate_as_of timestamptz,
    ADD COLUMN rate_source text,
    ADD COLUMN rate_margin_bps int,
    ADD COLUMN rate_expires_at timestamptz,
    ADD COLUMN settlement text;
ALTER TABLE transactions ADD CONSTRAINT transactions_price CHECK (
    num_nonnulls(price_currency, price_minor, rate, rate_as_of, rate_source, rate_margin_bps, rate_expires_at, settlement) = 0
    OR (num_nulls(price_currency, price_minor, rate, rate_as_of, rate_source, rate_margin_bps, rate_expires_at, settlement) = 0
        AND price_currency ~ '^[A-Z0-9]{2,12}$' AND price_currency <> currency AND price_minor >= 0 AND rate > 0
        AND rate_source ~ '^[a-z]{1,16}$' AND rate_margin_bps BETWEEN 0 AND 5000 AND settlement IN ('convert', 'keep'))
) NOT VALID;
CREATE OR REPLACE FUNCTION row_digest(transactions) RETURNS bytea LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN $1.price_currency IS NULL
        THEN sha256(record_send(ROW($1.id, $1.merchant_id, $1.mode, $1.payment_link_id, $1.method_id, $1.rail,
                                    $1.rail_reference, $1.currency, $1.amount_minor, $1.created_at)))
        ELSE sha256(record_send(ROW($1.id, $1.merchant_id, $1.mode, $1.payment_link_id, $1.method_id, $1.rail,
                                    $1.rail_reference, $1.currency, $1.amount_minor, $1.created_at, $1.price_currency,
                                    $1.price_minor, $1.rate, $1.rate_as_of, $1.rate_source, $1.rate_margin_bps,
                                    $1.rate_expires_at, $1.settlement)))
    END
$$;

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

-- A conversion of what was credited for a payment, at the rate that was fixed for it; or back, for a refund of it.
ALTER TABLE conversions ADD COLUMN transaction_id uuid, ADD COLUMN reversal_id uuid;
ALTER TABLE conversions ADD CONSTRAINT conversions_of_payment CHECK (
    (reversal_id IS NULL OR transaction_id IS NOT NULL)
    AND (transaction_id IS NULL OR (quote_id IS NULL AND rule_id IS NULL))) NOT VALID;
CREATE OR REPLACE FUNCTION row_digest(conversions) RETURNS bytea LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN $1.transaction_id IS NULL
        THEN sha256(record_send(ROW($1.id, $1.merchant_id, $1.mode, $1.from_currency, $1.to_currency, $1.rate,
                                    $1.from_amount_minor, $1.fee_minor, $1.to_amount_minor, $1.quote_id, $1.rule_id,
                                    $1.rule_step, $1.created_at)))
        ELSE sha256(record_send(ROW($1.id, $1.merchant_id, $1.mode, $1.from_currency, $1.to_currency, $1.rate,
                                    $1.from_amount_minor, $1.fee_minor, $1.to_amount_minor, $1.transaction_id, $1.reversal_id,
                                    $1.created_at)))
    END
$$;

-- A limit refuses new conversions, but never money that was received for a payment, nor its refund.
CREATE OR REPLACE FUNCTION conversion_positions_follow() RETURNS trigger
    LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan
    AS $$
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
        IF NEW.transaction_id IS NULL AND abs(v_position) > v_limit AND abs(v_position) > abs(v_position - v.change) THEN
            RAISE EXCEPTION 'the position in % would exceed its limit', v.currency
                USING ERRCODE = 'check_violation', TABLE = 'conversion_positions', CONSTRAINT = 'conversion_positions_limit';
        END IF;
    END LOOP;
    RETURN NULL;
END $$;

-- Who a price comes from: an operator, or a source that the worker reads.
ALTER TABLE conversion_prices ADD COLUMN source text NOT NULL DEFAULT 'operator' CHECK (source IN ('operator', 'feed'));

-- In which currencies beside that of a link customers can pay, and what happens with such money.
ALTER TABLE merchant_settings
    ADD COLUMN additional_currencies text[] NOT NULL DEFAULT '{}',
    ADD COLUMN settlement text NOT NULL DEFAULT 'convert' CHECK (settlement IN ('convert', 'keep'));
