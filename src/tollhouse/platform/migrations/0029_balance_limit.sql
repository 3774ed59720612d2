-- What a merchant has in one currency and environment never exceeds 2^53 - 1 minor units, which every JSON parser reads exactly.
-- It is the sum of available, pending and reserved that is limited: money that is set aside has its place already, and comes back
-- to the available balance without a question. A balance that was above the limit before can still be spent.

-- Each increase is judged by the end state of its statement. Two that increase one merchant's balance at once both update the
-- available balance, hence wait for each other, and the second sees what the first has committed: every other account of a
-- merchant grows only out of the available one.
CREATE FUNCTION ledger_refuse_above_limit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (SELECT sum(a.balance) FROM ledger_accounts a
        WHERE a.owner = NEW.owner AND a.mode = NEW.mode AND a.currency = NEW.currency AND a.code <> 'debt') > 9007199254740991
    THEN
        RAISE EXCEPTION 'a merchant''s balance never exceeds 2^53 - 1 minor units: % % of %', NEW.mode, NEW.currency, NEW.owner
            USING ERRCODE = 'check_violation', TABLE = 'ledger_accounts', CONSTRAINT = 'ledger_accounts_limit';
    END IF;
    RETURN NULL;
END $$;

CREATE TRIGGER never_above_limit AFTER UPDATE OF balance ON ledger_accounts
    FOR EACH ROW WHEN (NEW.guarded AND NEW.code <> 'debt' AND NEW.balance > OLD.balance)
    EXECUTE FUNCTION ledger_refuse_above_limit();
CREATE TRIGGER never_begun_above_limit AFTER INSERT ON ledger_accounts
    FOR EACH ROW WHEN (NEW.guarded AND NEW.code <> 'debt' AND NEW.balance > 0)
    EXECUTE FUNCTION ledger_refuse_above_limit();

-- How much more a merchant's balance can hold, which nobody makes less until this transaction ends. What repays a debt takes no
-- room. Each statement sees what was committed before it, so that the sum is read after the wait for the lock.
CREATE FUNCTION ledger_room(p_merchant uuid, p_mode text, p_currency text) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO ledger_accounts (mode, currency, merchant_id, code, normal_side, guarded)
    SELECT p_mode, p_currency, p_merchant, 'available', ledger_normal_side(true, 'available'), true
    WHERE ledger_account_id(p_merchant, p_mode, p_currency, 'available') IS NULL
    ON CONFLICT DO NOTHING;

    PERFORM FROM ledger_accounts a
    WHERE a.owner = p_merchant AND a.mode = p_mode AND a.currency = p_currency AND a.code = 'available'
    FOR NO KEY UPDATE;

    RETURN (SELECT 9007199254740991 - sum(CASE a.code WHEN 'debt' THEN -a.balance ELSE a.balance END)
            FROM ledger_accounts a WHERE a.owner = p_merchant AND a.mode = p_mode AND a.currency = p_currency);
END $$;

-- Money that a customer sent and the merchant's balance cannot hold waits for a decision, as other money that cannot be applied.
ALTER TABLE transactions DROP CONSTRAINT transactions_refund_required_reason_check;
ALTER TABLE transactions ADD CONSTRAINT transactions_refund_required_reason_check CHECK (
    refund_required_reason IN ('underpaid', 'late', 'duplicate', 'after_cancel', 'wrong_asset', 'balance_limit'));
