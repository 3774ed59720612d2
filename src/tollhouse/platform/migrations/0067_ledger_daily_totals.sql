-- Totals of the ledger for each day (UTC), by which accounts were debited and credited: a trial balance reads the same few rows
-- for a million payments as for a thousand. Accounts of merchants are added up by code.
-- A job adds what was posted until `added_until`, 15 minutes ago. Later transactions are added by the reader.
CREATE TABLE ledger_daily_totals (
    mode text NOT NULL CHECK (mode IN ('live', 'test')),
    currency text NOT NULL,
    day date NOT NULL,
    type text NOT NULL,
    debit_code text NOT NULL,
    credit_code text NOT NULL,
    amount_minor numeric NOT NULL CHECK (amount_minor > 0),
    postings bigint NOT NULL CHECK (postings > 0),
    PRIMARY KEY (mode, currency, day, type, debit_code, credit_code)
);
CREATE TABLE ledger_daily_totals_state (
    the_only boolean PRIMARY KEY DEFAULT true CHECK (the_only),
    added_until timestamptz NOT NULL
);
INSERT INTO ledger_daily_totals_state (added_until) VALUES ('2000-01-01Z');

-- Postings with the day of their transaction and the codes of their accounts.
CREATE VIEW ledger_daily_postings AS
    SELECT p.transaction_id, p.line, t.created_at, (t.created_at AT TIME ZONE 'UTC')::date AS day, p.mode, p.currency, p.type,
           d.code AS debit_code, d.merchant_id AS debit_merchant_id, c.code AS credit_code,
           c.merchant_id AS credit_merchant_id, p.amount, t.source_type, t.source_id
    FROM ledger_transactions t
    JOIN ledger_postings p ON p.transaction_id = t.id
    JOIN ledger_accounts d ON d.id = p.debit_account_id
    JOIN ledger_accounts c ON c.id = p.credit_account_id;

-- A transaction of a time that was added before: one server's clock is more than five minutes behind, or the past is posted. Its
-- commit waits for the job, which holds the row of the state; otherwise the job, which waits for it, sees what it posted.
CREATE FUNCTION ledger_daily_totals_add_late() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_added_until timestamptz;
BEGIN
    SELECT added_until INTO STRICT v_added_until FROM ledger_daily_totals_state FOR SHARE;
    IF NEW.created_at < v_added_until THEN
        INSERT INTO ledger_daily_totals AS t
            (mode, currency, day, type, debit_code, credit_code, amount_minor, postings)
        SELECT mode, currency, day, type, debit_code, credit_code, sum(amount), count(*)
        FROM ledger_daily_postings WHERE transaction_id = NEW.id
        GROUP BY 1, 2, 3, 4, 5, 6 ORDER BY 1, 2, 3, 4, 5, 6
        ON CONFLICT (mode, currency, day, type, debit_code, credit_code)
            DO UPDATE SET amount_minor = t.amount_minor + excluded.amount_minor, postings = t.postings + excluded.postings;
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER daily_totals AFTER INSERT ON ledger_transactions DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (NEW.created_at < now() - interval '5 minutes') EXECUTE FUNCTION ledger_daily_totals_add_late();
