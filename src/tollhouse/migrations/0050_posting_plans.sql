-- Posting: its statements are planned once per connection, because planning them for each list of postings takes as long as
-- running them. Accounts are only made if one is missing.
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
    v_owing record;
BEGIN
    IF coalesce(cardinality(p_types), 0) = 0 THEN
        RAISE EXCEPTION 'a transaction has at least one line' USING ERRCODE = 'check_violation';
    END IF;
    INSERT INTO ledger_transactions (id, mode, kind, source_type, source_id, step, created_at)
    VALUES (p_id, p_mode, p_kind, p_source_type, p_source_id, p_step, p_at);
    SELECT array_agg(ledger_account_id(l.debit_merchant, p_mode, l.currency, l.debit_code) ORDER BY l.line),
           array_agg(ledger_account_id(l.credit_merchant, p_mode, l.currency, l.credit_code) ORDER BY l.line)
    INTO v_debits, v_credits
    FROM unnest(p_currencies, p_debit_merchants, p_debit_codes, p_credit_merchants, p_credit_codes)
         WITH ORDINALITY AS l (currency, debit_merchant, debit_code, credit_merchant, credit_code, line);
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
        SELECT array_agg(ledger_account_id(l.debit_merchant, p_mode, l.currency, l.debit_code) ORDER BY l.line),
               array_agg(ledger_account_id(l.credit_merchant, p_mode, l.currency, l.credit_code) ORDER BY l.line)
        INTO v_debits, v_credits
        FROM unnest(p_currencies, p_debit_merchants, p_debit_codes, p_credit_merchants, p_credit_codes)
             WITH ORDINALITY AS l (currency, debit_merchant, debit_code, credit_merchant, credit_code, line);
    END IF;
    PERFORM FROM ledger_accounts a
    WHERE a.id = ANY (v_debits || v_credits) AND a.guarded
    ORDER BY a.id FOR NO KEY UPDATE;
    -- Looked for only now: a debt is made and repaid under the lock of the available balance beside it.
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
    INSERT INTO ledger_postings (transaction_id, line, type, mode, currency, debit_account_id, credit_account_id, amount)
    SELECT p_id, l.line, l.type, p_mode, l.currency, l.debit_id, l.credit_id, l.amount
    FROM unnest(p_types, p_currencies, p_amounts, v_debits, v_credits)
         WITH ORDINALITY AS l (type, currency, amount, debit_id, credit_id, line);
    RETURN QUERY
    WITH touches AS (
        SELECT a.id AS account_id, a.merchant_id, a.currency, a.code, a.balance, a.version, l.line, s.side,
               -- What is paid out of one merchant's balance is paid in to another's: one line, an entry of another type each.
               CASE WHEN l.type = 'balance_payment_out' AND s.side = 'credit' THEN 'balance_payment_in'
                    ELSE l.type END AS type,
               greatest(p_at, a.updated_at) AS at,
               CASE WHEN s.side = a.normal_side THEN l.amount ELSE -l.amount END AS delta
        FROM unnest(p_types, p_amounts, v_debits, v_credits)
             WITH ORDINALITY AS l (type, amount, debit_id, credit_id, line)
        CROSS JOIN LATERAL (VALUES (l.debit_id, 'debit'), (l.credit_id, 'credit')) s (account_id, side)
        JOIN ledger_accounts a ON a.id = s.account_id AND a.guarded
    ), running AS (
        SELECT t.*, row_number() OVER w AS nth, sum(t.delta) OVER w AS so_far,
               row_number() OVER (ORDER BY t.line, t.side) AS any_nth
        FROM touches t WINDOW w AS (PARTITION BY t.account_id ORDER BY t.line, t.side)
    ), moved AS (
        UPDATE ledger_accounts a SET balance = a.balance + n.delta, version = a.version + n.touches, updated_at = n.at
        FROM (SELECT t.account_id, t.at, sum(t.delta) AS delta, count(*) AS touches
              FROM touches t GROUP BY t.account_id, t.at) n
        WHERE a.id = n.account_id
    ), written AS (
        INSERT INTO ledger_entries (account_id, version, id, merchant_id, mode, currency, account, type, transaction_id,
                                    line, delta, balance_after, created_at)
        SELECT r.account_id, r.version + r.nth, p_entry_ids[r.any_nth], r.merchant_id, p_mode, r.currency, r.code, r.type,
               p_id, r.line, r.delta, r.balance + r.so_far, r.at
        FROM running r ORDER BY r.any_nth
        RETURNING *
    )
    SELECT * FROM written;
END $$;
