-- What rails have outside, beside the ledger, as the worker measured it; and money of the operator on rails.
CREATE TABLE rail_measurements (
    rail text NOT NULL,
    mode text NOT NULL CHECK (mode IN ('live', 'test')),
    next_at timestamptz NOT NULL,
    failure text,  -- why the last one failed; NULL if it did not
    PRIMARY KEY (rail, mode)
);

-- Amounts are in the smallest unit that rail and ledger have: 10^-decimals of the currency.
CREATE TABLE rail_balances (
    rail text NOT NULL,
    mode text NOT NULL CHECK (mode IN ('live', 'test')),
    currency text NOT NULL,
    measured_at timestamptz NOT NULL,
    decimals smallint NOT NULL CHECK (decimals BETWEEN 0 AND 36),
    outside_units numeric(78) NOT NULL,
    ledger_units numeric(78) NOT NULL,
    in_flight_units numeric(78) NOT NULL,
    difference_units numeric(78) NOT NULL,
    tolerance_units numeric(78) NOT NULL CHECK (tolerance_units >= 0),
    facts jsonb NOT NULL,  -- the places outside, what is in flight, and the block
    PRIMARY KEY (rail, mode, currency, measured_at),
    CONSTRAINT rail_balances_difference CHECK (difference_units = outside_units - ledger_units - in_flight_units)
);

-- Money that the operator put on a rail, or took from it.
CREATE TABLE rail_floats (
    id uuid PRIMARY KEY REFERENCES operator_actions,
    rail text NOT NULL,
    mode text NOT NULL CHECK (mode IN ('live', 'test')),
    currency text NOT NULL,
    amount_minor bigint NOT NULL CHECK (amount_minor <> 0),
    created_at timestamptz NOT NULL
);
CREATE INDEX rail_floats_of_rail ON rail_floats (rail, mode, currency);
CREATE TRIGGER never_changed BEFORE UPDATE OR DELETE ON rail_floats FOR EACH ROW EXECUTE FUNCTION ledger_refuse_change();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON rail_floats FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse_change();

-- As before, and `rail_float_changed`, which has an amount.
ALTER TABLE operator_actions
    DROP CONSTRAINT operator_actions_amount,
    ADD CONSTRAINT operator_actions_amount CHECK (
        CASE action
            WHEN 'position_limit_changed' THEN currency IS NOT NULL AND coalesce(amount_minor > 0, true)
            ELSE (currency IS NOT NULL AND amount_minor IS NOT NULL) = (action IN ('balance_adjusted', 'rail_float_changed'))
        END);
CREATE OR REPLACE FUNCTION operator_action_allowed(p_action text, p_of_merchant boolean, p_has_reason boolean) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
    SELECT CASE
        WHEN p_action = ANY (ARRAY['merchant_suspended', 'merchant_reactivated', 'merchant_exported', 'project_approval_given',
                                   'project_approved', 'withdrawal_approved', 'refund_approved', 'payout_approved',
                                   'application_suspended', 'application_reactivated'])
            THEN p_of_merchant
        WHEN p_action = ANY (ARRAY['project_rejected', 'balance_adjusted', 'withdrawal_rejected', 'refund_rejected',
                                   'payout_refused', 'payout_returned', 'second_factor_removed', 'merchant_erased'])
            THEN p_of_merchant AND p_has_reason
        WHEN p_action = ANY (ARRAY['operator_invited', 'operator_joined', 'operator_closed', 'statement_imported',
                                   'batch_exported', 'person_exported', 'person_erased'])
            THEN NOT p_of_merchant
        WHEN p_action = ANY (ARRAY['transfer_assigned', 'transfer_dismissed', 'transfer_matched', 'transfer_recorded_as_fee',
                                   'transfer_written_off', 'transfer_reopened', 'transfer_taken_back', 'payouts_paused',
                                   'payouts_resumed', 'position_limit_changed', 'rail_float_changed'])
            THEN NOT p_of_merchant AND p_has_reason
        ELSE false
    END
$$;

-- As before, and what the operator takes from a rail.
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
        ) AND NOT EXISTS (
            SELECT FROM ledger_transactions t JOIN rail_floats f ON f.id = t.source_id
            WHERE t.id = v_out.transaction_id AND t.mode = v_out.mode AND t.source_type = 'rail_float'
              AND v_out.type = 'rail_float'
              AND (f.mode, f.currency, 'rail:' || f.rail, -f.amount_minor)
                  = (v_out.mode, v_out.currency, v_out.code, v_out.amount)
        ) THEN
            RAISE EXCEPTION 'money does not leave by % without a released transfer', v_out.code
                USING ERRCODE = 'check_violation', CONSTRAINT = 'ledger_postings_outgoing';
        END IF;
    END LOOP;
    RETURN NULL;
END $$;
