-- Posting: its statements are planned once per connection, because planning them for each list of postings takes as long as
-- running them. Single rows and loops instead of joins, because starting a join of two rows takes longer than running it.
CREATE FUNCTION ledger_account_ids(p_mode text, p_currencies text[], p_merchants uuid[], p_codes text[]) RETURNS bigint[]
    LANGUAGE plpgsql STABLE
    AS $$
DECLARE
    v_ids bigint[] := '{}';
BEGIN
    FOR v_line IN 1..cardinality(p_codes) LOOP
        v_ids := array_append(v_ids, (
            SELECT a.id FROM ledger_accounts a
            WHERE a.owner = coalesce(p_merchants[v_line], '00000000-0000-0000-0000-000000000000')
              AND a.mode = p_mode AND a.currency = p_currencies[v_line] AND a.code = p_codes[v_line]));
    END LOOP;
    RETURN v_ids;
END $$;

CREATE OR REPLACE FUNCTION ledger_post(
    p_id uuid, p_mode text, p_kind text, p_source_type text, p_source_id uuid, p_step integer, p_at timestamptz,
    p_types text[], p_currencies text[], p_amounts bigint[], p_debit_merchants uuid[], p_debit_codes text[],
    p_credit_merchants uuid[], p_credit_codes text[], p_entry_ids uuid[]
) RETURNS SETOF ledger_entries
    LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan
    AS $$
DECLARE
    v_debits bigint[];
    v_credits bigint[];
    v_owes boolean := false;
    v_owing record;
    v_account ledger_accounts;
    v_accounts ledger_accounts[] := '{}';
    v_ids bigint[] := '{}';
    v_is_credit boolean;
    v_at integer;
    v_delta bigint;
    v_entries ledger_entries[] := '{}';
BEGIN
    IF coalesce(cardinality(p_types), 0) = 0 THEN
        RAISE EXCEPTION 'a transaction has at least one line' USING ERRCODE = 'check_violation';
    END IF;
    INSERT INTO ledger_transactions (id, mode, kind, source_type, source_id, step, created_at)
    VALUES (p_id, p_mode, p_kind, p_source_type, p_source_id, p_step, p_at);
    v_debits := ledger_account_ids(p_mode, p_currencies, p_debit_merchants, p_debit_codes);
    v_credits := ledger_account_ids(p_mode, p_currencies, p_credit_merchants, p_credit_codes);
    -- Accounts are made on first use. Two that make the same one: the second waits here for the first, and finds it below,
    -- because each statement sees what was committed before it. The order keeps two that make several from a deadlock.
    IF array_position(v_debits || v_credits, NULL) IS NOT NULL THEN
        INSERT INTO ledger_accounts (mode, currency, merchant_id, code, normal_side, guarded)
        SELECT p_mode, w.currency, w.merchant_id, w.code,
               ledger_normal_side(w.merchant_id IS NOT NULL, w.code), w.merchant_id IS NOT NULL
        FROM (SELECT * FROM unnest(p_currencies, p_debit_merchants, p_debit_codes) AS d (currency, merchant_id, code)
              UNION
              SELECT * FROM unnest(p_currencies, p_credit_merchants, p_credit_codes) AS c (currency, merchant_id, code)) w
        WHERE ledger_account_id(w.merchant_id, p_mode, w.currency, w.code) IS NULL
        ORDER BY w.merchant_id, w.currency, w.code
        ON CONFLICT DO NOTHING;
        v_debits := ledger_account_ids(p_mode, p_currencies, p_debit_merchants, p_debit_codes);
        v_credits := ledger_account_ids(p_mode, p_currencies, p_credit_merchants, p_credit_codes);
    END IF;
    PERFORM FROM ledger_accounts a
    WHERE a.id = ANY (v_debits || v_credits) AND a.guarded
    ORDER BY a.id FOR NO KEY UPDATE;
    -- Looked for only now: a debt is made and repaid under the lock of the available balance beside it.
    FOR v_line IN 1..cardinality(p_credit_codes) LOOP
        IF p_credit_codes[v_line] = 'available' THEN
            v_owes := v_owes OR EXISTS (
                SELECT FROM ledger_accounts d
                WHERE d.owner = p_credit_merchants[v_line] AND d.mode = p_mode AND d.currency = p_currencies[v_line]
                  AND d.code = 'debt' AND d.balance > 0);
        END IF;
    END LOOP;
    IF v_owes THEN
        FOR v_owing IN
            SELECT a.id AS available_id, d.id AS debt_id, a.currency,
                   least(d.balance, a.balance + (
                       SELECT sum(CASE a.id WHEN l.credit_id THEN l.amount WHEN l.debit_id THEN -l.amount ELSE 0 END)
                       FROM unnest(p_amounts, v_debits, v_credits) AS l (amount, debit_id, credit_id)))::bigint AS repaid
            FROM ledger_accounts a
            JOIN ledger_accounts d ON (d.owner, d.mode, d.currency, d.code) = (a.owner, a.mode, a.currency, 'debt')
            WHERE a.id = ANY (v_credits) AND a.guarded AND a.code = 'available' AND d.balance > 0
            ORDER BY d.id FOR NO KEY UPDATE OF d
        LOOP
            IF v_owing.repaid > 0 THEN
                p_types := p_types || 'settlement'::text;
                p_currencies := p_currencies || v_owing.currency;
                p_amounts := p_amounts || v_owing.repaid;
                v_debits := v_debits || v_owing.available_id;
                v_credits := v_credits || v_owing.debt_id;
            END IF;
        END LOOP;
    END IF;
    INSERT INTO ledger_postings (transaction_id, line, type, mode, currency, debit_account_id, credit_account_id, amount)
    SELECT p_id, l.line, l.type, p_mode, l.currency, l.debit_id, l.credit_id, l.amount
    FROM unnest(p_types, p_currencies, p_amounts, v_debits, v_credits)
         WITH ORDINALITY AS l (type, currency, amount, debit_id, credit_id, line);
    -- Read again: the accounts of debts are among them now. Each is written once, whatever it passes through in between.
    FOR v_account IN
        SELECT * FROM ledger_accounts a WHERE a.id = ANY (v_debits || v_credits) AND a.guarded
    LOOP
        v_account.updated_at := greatest(p_at, v_account.updated_at);
        v_ids := v_ids || v_account.id;
        v_accounts := v_accounts || v_account;
    END LOOP;
    FOR v_line IN 1..cardinality(p_types) LOOP
        FOREACH v_is_credit IN ARRAY ARRAY[true, false] LOOP
            v_at := array_position(v_ids, CASE WHEN v_is_credit THEN v_credits[v_line] ELSE v_debits[v_line] END);
            CONTINUE WHEN v_at IS NULL;
            v_account := v_accounts[v_at];
            v_delta := CASE WHEN v_is_credit = (v_account.normal_side = 'credit') THEN p_amounts[v_line]
                            ELSE -p_amounts[v_line] END;
            v_account.balance := v_account.balance + v_delta;
            v_account.version := v_account.version + 1;
            v_accounts[v_at] := v_account;
            v_entries := v_entries || ROW(
                v_account.id, v_account.version, p_entry_ids[cardinality(v_entries) + 1], v_account.merchant_id, p_mode,
                v_account.currency, v_account.code,
                -- What is paid out of one merchant's balance is paid in to another's: one line, an entry of another type each.
                CASE WHEN p_types[v_line] = 'balance_payment_out' AND v_is_credit THEN 'balance_payment_in'
                     ELSE p_types[v_line] END,
                p_id, v_line, v_delta, v_account.balance, v_account.updated_at)::ledger_entries;
        END LOOP;
    END LOOP;
    -- One statement: between two, what one account gives to another of the merchant would count in neither or both.
    UPDATE ledger_accounts a SET balance = n.balance, version = n.version, updated_at = n.updated_at
    FROM unnest(v_accounts) n
    WHERE a.id = n.id;
    RETURN QUERY INSERT INTO ledger_entries (account_id, version, id, merchant_id, mode, currency, account, type,
                                             transaction_id, line, delta, balance_after, created_at)
    SELECT e.account_id, e.version, e.id, e.merchant_id, e.mode, e.currency, e.account, e.type,
           e.transaction_id, e.line, e.delta, e.balance_after, e.created_at
    FROM unnest(v_entries) e
    RETURNING *;
END $$;

-- Functions of CHECK constraints: one in SQL is parsed anew for each row that is written.
CREATE OR REPLACE FUNCTION ledger_normal_side(p_merchants boolean, p_code text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    AS $$
BEGIN
    RETURN CASE
        WHEN p_merchants THEN
            CASE WHEN p_code IN ('available', 'pending', 'reserved') THEN 'credit' WHEN p_code = 'debt' THEN 'debit' END
        WHEN p_code = 'fx' OR p_code ~ '^(unapplied|income|payable|equity):[a-z0-9_]+$' THEN 'credit'
        WHEN p_code ~ '^(rail|expense):[a-z0-9_]+$' THEN 'debit'
    END;
END $$;

CREATE OR REPLACE FUNCTION tax_total(lines jsonb) RETURNS numeric
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
    AS $$
BEGIN
    RETURN (SELECT coalesce(sum((line ->> 'amount_minor')::numeric), 0) FROM jsonb_array_elements(lines) line);
END $$;
