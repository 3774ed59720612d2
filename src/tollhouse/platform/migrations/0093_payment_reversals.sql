-- Money that a rail reported as confirmed and then as gone: by a deep reorganisation, or a dispute at the provider.
ALTER TABLE chargebacks ADD UNIQUE (merchant_id, mode, id);
CREATE TABLE payment_reversals (
    id uuid NOT NULL,
    rail text NOT NULL,
    mode text NOT NULL CHECK (mode IN ('live', 'test')),
    external_ref text NOT NULL,  -- of the confirmed transfer
    reversal_ref text NOT NULL,  -- tells reversals of one transfer apart; of a dispute its id at the provider
    merchant_id uuid NOT NULL,
    transaction_id uuid NOT NULL,
    currency text NOT NULL,
    reason text NOT NULL,
    reported_minor bigint NOT NULL CHECK (reported_minor >= 0),  -- 0: all of the transfer
    status text NOT NULL CHECK (status IN ('expected', 'reversed', 'reinstated')),  -- expected: the transfer is not confirmed yet
    amount_minor bigint NOT NULL DEFAULT 0 CHECK (amount_minor >= 0),
    unapplied_minor bigint NOT NULL DEFAULT 0 CHECK (unapplied_minor >= 0),  -- of it, taken from what awaited a decision
    charged_back_minor bigint NOT NULL DEFAULT 0 CHECK (charged_back_minor >= 0),  -- taken from the merchant
    lost_minor bigint NOT NULL DEFAULT 0 CHECK (lost_minor >= 0),  -- had been given back before: an expense of the platform
    chargeback_id uuid,
    reported_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    FOREIGN KEY (merchant_id, mode, transaction_id) REFERENCES transactions (merchant_id, mode, id),
    FOREIGN KEY (merchant_id, mode, chargeback_id) REFERENCES chargebacks (merchant_id, mode, id),
    PRIMARY KEY (merchant_id, mode, id),
    UNIQUE (merchant_id, mode, rail, external_ref, reversal_ref),
    CHECK (amount_minor = unapplied_minor + charged_back_minor + lost_minor),
    CHECK ((chargeback_id IS NULL) = (charged_back_minor = 0)),
    CHECK (status <> 'expected' OR amount_minor = 0)
);
CREATE INDEX payment_reversals_of_transaction ON payment_reversals (transaction_id);
CREATE INDEX payment_reversals_by_id ON payment_reversals (id);
INSERT INTO state_transitions (record, from_status, to_status) VALUES
    ('payment_reversals', 'expected', 'reversed'),
    ('payment_reversals', 'expected', 'reinstated'),
    ('payment_reversals', 'reversed', 'reinstated'),
    ('transactions', 'refund_required', 'failed');  -- all that awaited a decision was reversed
CREATE TRIGGER payment_reversals_transition BEFORE UPDATE OF status ON payment_reversals FOR EACH ROW
    WHEN (OLD.status IS DISTINCT FROM NEW.status) EXECUTE FUNCTION state_transitions_enforce();
CREATE TRIGGER amounts_fixed BEFORE UPDATE ON payment_reversals FOR EACH ROW
    WHEN (OLD.status <> 'expected'
          AND (OLD.amount_minor <> NEW.amount_minor OR OLD.unapplied_minor <> NEW.unapplied_minor
               OR OLD.charged_back_minor <> NEW.charged_back_minor OR OLD.lost_minor <> NEW.lost_minor
               OR OLD.chargeback_id IS DISTINCT FROM NEW.chargeback_id))
    EXECUTE FUNCTION ledger_refuse_change();
CREATE TRIGGER never_deleted BEFORE DELETE ON payment_reversals FOR EACH ROW EXECUTE FUNCTION ledger_refuse_change();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON payment_reversals FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse_change();

-- Several transfers of one payment can be reversed, and a payment can be disputed more than once: one chargeback for each
-- of the provider's ids, and one for those without.
DROP INDEX chargebacks_one_standing;
CREATE UNIQUE INDEX chargebacks_one_standing ON chargebacks (merchant_id, transaction_id, coalesce(provider_reference, ''))
    WHERE status <> 'won';

-- A chargeback of a dropped block takes no response: the network decides.
ALTER TABLE chargebacks
    DROP CONSTRAINT chargebacks_response_check,
    ADD CONSTRAINT chargebacks_response_check CHECK (response IN ('needed', 'submitted', 'accepted', 'expired', 'none'));
CREATE OR REPLACE FUNCTION dispute_status(p_status text, p_response text, p_respond_by timestamptz, p_at timestamptz) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN p_status = 'won' THEN 'won'
                WHEN p_response IN ('accepted', 'expired') THEN p_response
                WHEN p_status = 'lost' THEN 'lost'
                WHEN p_response IN ('submitted', 'none') THEN 'under_review'
                WHEN p_respond_by <= p_at THEN 'expired'
                ELSE 'needs_response' END
$$;

-- A lost chargeback is won if its rail reported that the money is there again.
INSERT INTO state_transitions (record, from_status, to_status) VALUES
    ('chargebacks', 'lost', 'won');
CREATE OR REPLACE FUNCTION chargebacks_enforce() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.status <> NEW.status THEN
        PERFORM state_transitions_require('chargebacks', OLD.status, NEW.status);
    END IF;
    IF OLD.status = 'lost' AND NEW.status = 'won' AND NOT EXISTS (
        SELECT FROM payment_reversals v
        WHERE v.transaction_id = NEW.transaction_id AND v.chargeback_id = NEW.id AND v.status = 'reinstated'
    ) THEN
        RAISE EXCEPTION 'a lost chargeback is won only if its money is there again' USING ERRCODE = 'check_violation';
    END IF;
    IF OLD.response <> NEW.response THEN
        PERFORM state_transitions_require('chargeback_responses', OLD.response, NEW.response);
    END IF;
    IF (OLD.response, OLD.evidence) IS DISTINCT FROM (NEW.response, NEW.evidence) AND OLD.status <> 'open'
       OR OLD.evidence <> NEW.evidence AND OLD.response <> 'needed' THEN
        RAISE EXCEPTION 'the response to a chargeback is final' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;

-- As before, and what a rail reversed that was not credited to a merchant, or was given back before.
CREATE OR REPLACE FUNCTION ledger_refuse_unreleased() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    v_out record;
BEGIN
    FOR v_out IN
        SELECT n.transaction_id, n.mode, n.currency, n.type, a.code, sum(n.amount) AS amount
        FROM posted n JOIN ledger_accounts a ON a.id = n.credit_account_id AND NOT a.guarded AND a.code LIKE 'rail:%'
        GROUP BY n.transaction_id, n.mode, n.currency, n.type, a.code
    LOOP
        IF NOT EXISTS (
            SELECT FROM ledger_transactions t JOIN outgoing_transfers o ON o.id = t.source_id AND o.kind = t.source_type
            WHERE t.id = v_out.transaction_id AND t.mode = v_out.mode
              AND (o.mode, o.currency, 'rail:' || o.rail) = (v_out.mode, v_out.currency, v_out.code)
              AND o.released_at IS NOT NULL AND o.closed_at IS NULL
              AND ((v_out.type = o.kind AND v_out.amount = o.amount_minor)
                   OR (v_out.type = 'network_fee' AND o.kind = 'withdrawal'))
        ) AND NOT EXISTS (
            SELECT FROM ledger_transactions t JOIN chargebacks c ON c.id = t.source_id
            JOIN transactions p ON p.id = c.transaction_id
            WHERE t.id = v_out.transaction_id AND t.mode = v_out.mode AND t.source_type = 'chargeback'
              AND v_out.type = 'chargeback'
              AND (c.mode, c.currency, 'rail:' || p.rail) = (v_out.mode, v_out.currency, v_out.code)
              AND v_out.amount = c.amount_minor
        ) AND NOT EXISTS (
            SELECT FROM ledger_transactions t JOIN bank_entries e ON e.id = t.source_id
            WHERE t.id = v_out.transaction_id AND t.mode = v_out.mode AND t.source_type = 'bank_entry'
              AND v_out.type = 'bank_entry' AND v_out.code = 'rail:bank' AND e.side = 'credit'
              AND e.currency = v_out.currency AND v_out.amount <= e.amount_minor
        ) AND NOT EXISTS (
            SELECT FROM ledger_transactions t JOIN bank_entry_parts p ON p.id = t.source_id
            JOIN bank_entries e ON e.id = p.entry_id
            LEFT JOIN bank_payouts b ON b.id = p.payout_id
            WHERE t.id = v_out.transaction_id AND t.mode = v_out.mode AND t.source_type = 'bank_transfer'
              AND v_out.code = 'rail:bank' AND e.side = 'credit' AND e.currency = v_out.currency
              AND ((v_out.type = 'bank_assignment' AND v_out.amount = p.amount_minor)
                   OR (v_out.type = 'bank_return_fee' AND v_out.amount = b.amount_minor - p.amount_minor))
        ) AND NOT EXISTS (
            SELECT FROM ledger_transactions t JOIN operator_actions o ON o.id = t.source_id
            WHERE t.id = v_out.transaction_id AND t.mode = v_out.mode AND t.source_type = 'adjustment'
              AND v_out.type = 'adjustment' AND v_out.code = 'rail:bank' AND o.action = 'balance_adjusted'
              AND (o.mode, o.currency, o.amount_minor) = (v_out.mode, v_out.currency, -v_out.amount)
        ) AND NOT EXISTS (
            SELECT FROM ledger_transactions t JOIN payment_reversals v ON v.id = t.source_id
            WHERE t.id = v_out.transaction_id AND t.mode = v_out.mode AND t.source_type = 'payment_reversal'
              AND v_out.type = 'payment_reversal'
              AND (v.mode, v.currency, 'rail:' || v.rail) = (v_out.mode, v_out.currency, v_out.code)
              AND v_out.amount = v.unapplied_minor + v.lost_minor
        ) AND NOT EXISTS (
            SELECT FROM ledger_transactions t JOIN chain_payouts p ON p.id = t.source_id
            WHERE t.id = v_out.transaction_id AND t.mode = v_out.mode AND t.source_type = 'chain_payout'
              AND v_out.type = 'network_fee' AND p.status IN ('completed', 'failed')
              AND (p.mode, p.fee_currency, 'rail:' || p.rail, p.fee_minor)
                  = (v_out.mode, v_out.currency, v_out.code, v_out.amount)
        ) THEN
            RAISE EXCEPTION 'money does not leave by % without a released transfer', v_out.code
                USING ERRCODE = 'check_violation', CONSTRAINT = 'ledger_postings_outgoing';
        END IF;
    END LOOP;
    RETURN NULL;
END $$;
