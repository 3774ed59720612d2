-- What a network took for a payout, in its coin. It is an expense of the platform unless the merchant was charged for it.
ALTER TABLE chain_payouts
    ADD COLUMN fee_currency text,
    ADD COLUMN fee_minor bigint CHECK (fee_minor >= 0),
    ADD CONSTRAINT chain_payouts_fee CHECK ((fee_currency IS NULL) = (fee_minor IS NULL));

-- As before, and the network fee of a payout that has ended.
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
