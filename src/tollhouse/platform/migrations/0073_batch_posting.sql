-- Journal entries between accounts of the platform, many at a time: a statement of a bank has thousands.
-- `p_entries` has the number of its journal entry for each posting, from 1. No account of a merchant is touched, so there are
-- no balances to lock and no ledger entries to write.
CREATE FUNCTION ledger_post_platform(
    p_mode text, p_at timestamptz, p_ids uuid[], p_kinds text[], p_source_types text[], p_source_ids uuid[], p_steps integer[],
    p_entries integer[], p_lines integer[], p_types text[], p_currencies text[], p_amounts bigint[], p_debit_codes text[],
    p_credit_codes text[]
) RETURNS void
    LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan
    AS $$
DECLARE
    v_platform CONSTANT uuid := '00000000-0000-0000-0000-000000000000';
BEGIN
    IF cardinality(p_ids) <> (SELECT count(DISTINCT entry) FROM unnest(p_entries) AS e (entry)) THEN
        RAISE EXCEPTION 'a transaction has at least one line' USING ERRCODE = 'check_violation';
    END IF;
    INSERT INTO ledger_transactions (id, mode, kind, source_type, source_id, step, created_at)
    SELECT t.id, p_mode, t.kind, t.source_type, t.source_id, t.step, p_at
    FROM unnest(p_ids, p_kinds, p_source_types, p_source_ids, p_steps) AS t (id, kind, source_type, source_id, step);
    -- Made on first use, in one order: as in ledger_post.
    INSERT INTO ledger_accounts (mode, currency, code, normal_side, guarded)
    SELECT p_mode, w.currency, w.code, ledger_normal_side(false, w.code), false
    FROM (SELECT * FROM unnest(p_currencies, p_debit_codes) AS d (currency, code)
          UNION SELECT * FROM unnest(p_currencies, p_credit_codes) AS c (currency, code)) w
    WHERE NOT EXISTS (SELECT FROM ledger_accounts a
                      WHERE a.owner = v_platform AND a.mode = p_mode AND a.currency = w.currency AND a.code = w.code)
    ORDER BY w.currency, w.code
    ON CONFLICT DO NOTHING;
    INSERT INTO ledger_postings (transaction_id, line, type, mode, currency, debit_account_id, credit_account_id, amount)
    SELECT p_ids[l.entry], l.line, l.type, p_mode, l.currency, d.id, c.id, l.amount
    FROM unnest(p_entries, p_lines, p_types, p_currencies, p_amounts, p_debit_codes, p_credit_codes)
         AS l (entry, line, type, currency, amount, debit_code, credit_code)
    LEFT JOIN ledger_accounts d
        ON d.owner = v_platform AND d.mode = p_mode AND d.currency = l.currency AND d.code = l.debit_code
    LEFT JOIN ledger_accounts c
        ON c.owner = v_platform AND c.mode = p_mode AND c.currency = l.currency AND c.code = l.credit_code;
END $$;
