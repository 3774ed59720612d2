-- The bank account is in the books: every entry of a statement is posted, and statements follow each other without a gap.

CREATE OR REPLACE FUNCTION ledger_normal_side(p_merchants boolean, p_code text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    AS $$
BEGIN
    RETURN CASE
        WHEN p_merchants THEN
            CASE WHEN p_code IN ('available', 'pending', 'reserved') THEN 'credit' WHEN p_code = 'debt' THEN 'debit' END
        WHEN p_code = 'fx' OR p_code ~ '^(unapplied|unmatched|income|payable|equity):[a-z0-9_]+$' THEN 'credit'
        WHEN p_code ~ '^(rail|bank|expense):[a-z0-9_]+$' THEN 'debit'
    END;
END $$;

-- As before, and what statements show: an incoming transfer clears what is in transit, a returned payout can lack a fee that the
-- banks kept, and an operator can charge a merchant for what the bank took back.
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
        ) THEN
            RAISE EXCEPTION 'money does not leave by % without a released transfer', v_out.code
                USING ERRCODE = 'check_violation', CONSTRAINT = 'ledger_postings_outgoing';
        END IF;
    END LOOP;
    RETURN NULL;
END $$;
-- Where the statements of an account have got to. Its row is locked while a statement is taken up or completed.
CREATE TABLE bank_accounts (
    iban text NOT NULL,
    currency text NOT NULL,
    first_opening_minor bigint,  -- the balance before all entries; NULL: unknown, because statements did not have to follow
    first_on date NOT NULL,  -- the first day of the books
    balance_minor bigint NOT NULL,  -- in the ledger, without the entries of the statement that is being imported
    last_on date NOT NULL,  -- the day of this balance
    last_statement_id uuid REFERENCES bank_statements,
    importing_id uuid REFERENCES bank_statements,  -- all its entries are posted when it is NULL again
    next_balance_minor bigint,  -- the balance then
    PRIMARY KEY (iban, currency),
    CONSTRAINT bank_accounts_importing CHECK ((importing_id IS NULL) = (next_balance_minor IS NULL))
);
CREATE TRIGGER never_deleted BEFORE DELETE ON bank_accounts FOR EACH ROW EXECUTE FUNCTION ledger_refuse_change();

-- How many decisions on a transfer are in the ledger.
ALTER TABLE bank_entry_parts ADD COLUMN decisions int NOT NULL DEFAULT 0;

CREATE FUNCTION bank_entries_require_posting() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM ledger_transactions t
                   WHERE t.source_type = 'bank_entry' AND t.source_id = NEW.id AND t.kind = 'bank_entry' AND t.step = 0) THEN
        RAISE EXCEPTION 'an entry of a statement is posted'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'bank_entries_posted';
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER posted AFTER INSERT ON bank_entries DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION bank_entries_require_posting();

CREATE FUNCTION bank_entry_parts_require_posting() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.decisions <= OLD.decisions
       OR NOT EXISTS (SELECT FROM ledger_transactions t
                      WHERE t.source_type = 'bank_transfer' AND t.source_id = NEW.id AND t.step = NEW.decisions) THEN
        RAISE EXCEPTION 'a decision on a transfer is posted'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'bank_entry_parts_posted';
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER posted AFTER UPDATE OF outcome ON bank_entry_parts DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (OLD.outcome IS DISTINCT FROM NEW.outcome) EXECUTE FUNCTION bank_entry_parts_require_posting();
