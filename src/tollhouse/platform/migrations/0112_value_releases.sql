-- All value that leaves a merchant passes one gate: what asks for it writes a row here, and no posting takes value from a merchant
-- without one. The rows are written by triggers, so that a running service of the version before passes the gate as well.
CREATE TABLE value_releases (
    source_type text NOT NULL
        CHECK (source_type IN ('withdrawal', 'refund', 'balance_payment', 'fulfillment', 'conversion', 'chargeback')),
    source_id uuid NOT NULL,
    merchant_id uuid NOT NULL REFERENCES merchants (id),  -- whom the value leaves: a balance payment has two
    mode text NOT NULL CHECK (mode IN ('live', 'test')),
    currency text NOT NULL,
    released_at timestamptz NOT NULL,  -- the first time
    PRIMARY KEY (source_id, source_type, merchant_id)
);
CREATE TRIGGER append_only BEFORE DELETE OR UPDATE ON value_releases FOR EACH ROW EXECUTE FUNCTION ledger_refuse_change();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON value_releases FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse_change();

-- The gate. `p_asked`: by the merchant, or by an application, a rule or a schedule in its name. A suspended merchant has nothing to ask.
CREATE FUNCTION value_let_leave(
    p_source_type text, p_source_id uuid, p_merchant uuid, p_mode text, p_currency text, p_asked boolean
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF p_asked THEN
        PERFORM FROM merchants WHERE id = p_merchant AND suspended_at IS NULL FOR SHARE;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'nothing of a suspended merchant leaves'
                USING ERRCODE = 'check_violation', CONSTRAINT = 'value_releases_suspended';
        END IF;
    END IF;
    INSERT INTO value_releases (source_type, source_id, merchant_id, mode, currency, released_at)
    VALUES (p_source_type, p_source_id, p_merchant, p_mode, p_currency, clock_timestamp()) ON CONFLICT DO NOTHING;
END $$;

CREATE FUNCTION outgoing_transfers_let_leave() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM value_let_leave(NEW.kind, NEW.id, NEW.merchant_id, NEW.mode, NEW.currency, true);
    RETURN NULL;
END $$;
CREATE TRIGGER let_leave AFTER UPDATE OF released_at ON outgoing_transfers FOR EACH ROW
    WHEN (OLD.released_at IS NULL AND NEW.released_at IS NOT NULL) EXECUTE FUNCTION outgoing_transfers_let_leave();

CREATE FUNCTION balance_payments_let_leave() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM value_let_leave('balance_payment', NEW.id, CASE TG_ARGV[0] WHEN 'payer' THEN NEW.merchant_id ELSE NEW.owner_id END,
                            NEW.mode, NEW.currency, true);
    RETURN NULL;
END $$;
CREATE TRIGGER let_leave_paid AFTER INSERT ON balance_payments FOR EACH ROW
    WHEN (NEW.captured_minor > 0) EXECUTE FUNCTION balance_payments_let_leave('payer');
CREATE TRIGGER let_leave_captured AFTER UPDATE OF captured_minor ON balance_payments FOR EACH ROW
    WHEN (NEW.captured_minor > OLD.captured_minor) EXECUTE FUNCTION balance_payments_let_leave('payer');
CREATE TRIGGER let_leave_refunded AFTER UPDATE OF refunded_minor ON balance_payments FOR EACH ROW
    WHEN (NEW.refunded_minor > OLD.refunded_minor) EXECUTE FUNCTION balance_payments_let_leave('owner');

-- Each request to a game server: it may be the one that is delivered.
CREATE FUNCTION fulfillments_let_leave() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM value_let_leave('fulfillment', NEW.id, NEW.merchant_id, NEW.mode, NEW.currency, true);
    RETURN NULL;
END $$;
CREATE TRIGGER let_leave AFTER UPDATE OF attempts ON fulfillments FOR EACH ROW
    WHEN (NEW.attempts > OLD.attempts) EXECUTE FUNCTION fulfillments_let_leave();

-- A conversion that belongs to a payment, its refund or its chargeback is part of it.
CREATE FUNCTION conversions_let_leave() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM value_let_leave('conversion', NEW.id, NEW.merchant_id, NEW.mode, NEW.from_currency, NEW.transaction_id IS NULL);
    RETURN NULL;
END $$;
CREATE TRIGGER let_leave AFTER INSERT ON conversions FOR EACH ROW EXECUTE FUNCTION conversions_let_leave();

CREATE FUNCTION chargebacks_let_leave() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM value_let_leave('chargeback', NEW.id, NEW.merchant_id, NEW.mode, NEW.currency, false);
    RETURN NULL;
END $$;
CREATE TRIGGER let_leave AFTER INSERT ON chargebacks FOR EACH ROW EXECUTE FUNCTION chargebacks_let_leave();

-- What has left, or may have, and is not posted yet.
INSERT INTO value_releases (source_type, source_id, merchant_id, mode, currency, released_at)
SELECT o.kind, o.id, o.merchant_id, o.mode, o.currency, o.released_at FROM outgoing_transfers o
WHERE o.released_at IS NOT NULL AND o.closed_at IS NULL
  AND (EXISTS (SELECT FROM withdrawals w WHERE w.id = o.id AND w.status = 'processing')
       OR EXISTS (SELECT FROM refunds r WHERE r.id = o.id AND r.status = 'pending'));
INSERT INTO value_releases (source_type, source_id, merchant_id, mode, currency, released_at)
SELECT 'fulfillment', f.id, f.merchant_id, f.mode, f.currency, f.processing_at FROM fulfillments f WHERE f.status = 'processing';

-- At the commit, since some write the posting before its cause. Fees of payments are withheld from what arrives, and an
-- adjustment is an operator's own action.
CREATE FUNCTION ledger_refuse_unreleased_value() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (
        SELECT FROM ledger_accounts d JOIN ledger_accounts c ON c.id = NEW.credit_account_id AND c.owner <> d.owner
        WHERE d.id = NEW.debit_account_id AND d.merchant_id IS NOT NULL AND NOT EXISTS (
            SELECT FROM ledger_transactions t
            JOIN value_releases r ON r.source_id = t.source_id AND r.source_type = t.source_type AND r.merchant_id = d.merchant_id
            WHERE t.id = NEW.transaction_id AND t.mode = NEW.mode AND (r.mode, r.currency) = (NEW.mode, NEW.currency))
    ) THEN
        RAISE EXCEPTION 'value does not leave a merchant past the gate'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'ledger_postings_value';
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER value_released AFTER INSERT ON ledger_postings DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (NEW.type NOT IN ('payment', 'payment_fee', 'adjustment')) EXECUTE FUNCTION ledger_refuse_unreleased_value();
