-- Links whose price the customer chooses: how many, at the price of one, or the amount within bounds. `amount_minor` stays the price
-- of one, or the amount that is suggested. An attempt keeps what was chosen. Existing rows are not read again: that would lock a
-- large table.
ALTER TABLE payment_links
    ADD COLUMN quantity_min int,
    ADD COLUMN quantity_max int,
    ADD COLUMN customer_amount_min bigint,
    ADD COLUMN customer_amount_max bigint,
    ADD COLUMN customer_amount_preset bigint;
ALTER TABLE payment_links ADD CONSTRAINT payment_links_quantity CHECK (
    num_nonnulls(quantity_min, quantity_max) = 0
    OR (num_nulls(quantity_min, quantity_max) = 0 AND 1 <= quantity_min AND quantity_min <= quantity_max
        AND quantity_max <= 10000 AND amount_minor::numeric * quantity_max <= 9007199254740991 AND line_items = '[]')) NOT VALID;
ALTER TABLE payment_links ADD CONSTRAINT payment_links_customer_amount CHECK (
    num_nonnulls(customer_amount_min, customer_amount_max, customer_amount_preset) = 0
    OR (num_nulls(customer_amount_min, customer_amount_max) = 0 AND 1 <= customer_amount_min
        AND customer_amount_max <= 9007199254740991 AND amount_minor = coalesce(customer_amount_preset, customer_amount_min)
        AND amount_minor BETWEEN customer_amount_min AND customer_amount_max
        AND quantity_max IS NULL AND line_items = '[]' AND tax_lines = '[]')) NOT VALID;
ALTER TABLE transactions ADD COLUMN quantity int;

-- An attempt is for the amount of its link, or for one that its customer may choose. Money that becomes a payment of its own is not.
CREATE FUNCTION transactions_follow_link() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    v_price bigint := coalesce(NEW.price_minor, NEW.amount_minor);
BEGIN
    IF NOT EXISTS (
        SELECT FROM payment_links l
        WHERE (l.id, l.merchant_id, l.mode) = (NEW.payment_link_id, NEW.merchant_id, NEW.mode)
          AND (NEW.quantity IS NULL) = (l.quantity_min IS NULL)
          AND CASE WHEN l.quantity_min IS NOT NULL
                   THEN NEW.quantity BETWEEN l.quantity_min AND l.quantity_max AND v_price = l.amount_minor * NEW.quantity
                   WHEN l.customer_amount_min IS NOT NULL
                   THEN v_price BETWEEN l.customer_amount_min AND l.customer_amount_max
                   ELSE v_price = l.amount_minor END
    ) THEN
        RAISE EXCEPTION 'payment % is not for an amount of its link', NEW.id
            USING ERRCODE = 'check_violation', TABLE = 'transactions', CONSTRAINT = 'transactions_follow_link';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER follow_link AFTER INSERT ON transactions FOR EACH ROW WHEN (NEW.status = 'pending')
    EXECUTE FUNCTION transactions_follow_link();

CREATE OR REPLACE FUNCTION row_digest(payment_links) RETURNS bytea LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN num_nonnulls($1.quantity_min, $1.customer_amount_min) = 0
        THEN sha256(record_send(ROW($1.id, $1.merchant_id, $1.mode, $1.token, $1.project_id, $1.amount_minor, $1.currency,
                                    $1.created_by_type, $1.created_by_client_id, $1.created_at)))
        ELSE sha256(record_send(ROW($1.id, $1.merchant_id, $1.mode, $1.token, $1.project_id, $1.amount_minor, $1.currency,
                                    $1.created_by_type, $1.created_by_client_id, $1.created_at, $1.quantity_min,
                                    $1.quantity_max, $1.customer_amount_min, $1.customer_amount_max,
                                    $1.customer_amount_preset)))
    END
$$;
CREATE OR REPLACE FUNCTION row_digest(transactions) RETURNS bytea LANGUAGE sql STABLE AS $$
    SELECT CASE
        WHEN $1.quantity IS NOT NULL
        THEN sha256(record_send(ROW($1.id, $1.merchant_id, $1.mode, $1.payment_link_id, $1.method_id, $1.rail,
                                    $1.rail_reference, $1.currency, $1.amount_minor, $1.created_at, $1.price_currency,
                                    $1.price_minor, $1.rate, $1.rate_as_of, $1.rate_source, $1.rate_margin_bps,
                                    $1.rate_expires_at, $1.settlement, $1.quantity)))
        WHEN $1.price_currency IS NULL
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
