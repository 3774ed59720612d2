-- transactional: false
-- The entries of statements that were imported before entries were posted, in batches. Each is posted as it is now: what was
-- assigned or dismissed since goes where it is.
CREATE OR REPLACE PROCEDURE bank_entries_post_all()
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_after uuid := '00000000-0000-0000-0000-000000000000';
    v_last uuid;
BEGIN
    LOOP
        SELECT id INTO v_last FROM (SELECT id FROM bank_entries WHERE id > v_after ORDER BY id LIMIT 1000) batch
        ORDER BY id DESC LIMIT 1;
        EXIT WHEN v_last IS NULL;
        PERFORM ledger_post(
            uuidv7(), 'live', 'bank_entry', 'bank_entry', e.id, 0, now(), array_agg('bank_entry'::text),
            array_agg(e.currency), array_agg(l.amount),
            array_agg(NULL::uuid), array_agg(CASE e.side WHEN 'credit' THEN 'bank:' || lower(s.iban) ELSE l.code END),
            array_agg(NULL::uuid), array_agg(CASE e.side WHEN 'credit' THEN l.code ELSE 'bank:' || lower(s.iban) END), '{}')
        FROM bank_entries e
        JOIN bank_statements s ON s.id = e.first_statement_id
        CROSS JOIN LATERAL (
            SELECT w.code, sum(p.amount_minor)::bigint AS amount
            FROM bank_entry_parts p
            CROSS JOIN LATERAL (SELECT CASE p.outcome WHEN 'unmatched' THEN 'unmatched:bank'
                                       WHEN 'dismissed' THEN 'equity:dismissed' ELSE 'rail:bank' END AS code) w
            WHERE p.entry_id = e.id GROUP BY w.code) l
        WHERE e.id > v_after AND e.id <= v_last
          AND NOT EXISTS (SELECT FROM ledger_transactions t
                          WHERE t.source_type = 'bank_entry' AND t.source_id = e.id AND t.kind = 'bank_entry' AND t.step = 0)
        GROUP BY e.id, s.iban;
        COMMIT;
        v_after := v_last;
    END LOOP;
END $$;
CALL bank_entries_post_all();
DROP PROCEDURE bank_entries_post_all();
-- The books of an account begin with what its newest statement closed with, less its entries: statements did not have to
-- follow each other. What the bank booked after that day is added.
DO $$
DECLARE
    v_account record;
    v_opening bigint;
BEGIN
    FOR v_account IN
        SELECT a.iban, a.currency, a.moved, n.id AS statement_id, coalesce(n.closed_on, a.last_on) AS last_on,
               coalesce(n.closing_minor, a.moved) AS closing_minor,
               coalesce((SELECT sum(CASE e.side WHEN 'credit' THEN e.amount_minor ELSE -e.amount_minor END)
                         FROM bank_entries e JOIN bank_statements s ON s.id = e.first_statement_id
                         WHERE s.iban = a.iban AND e.currency = a.currency AND e.booked_on > n.closed_on), 0)::bigint AS later
        FROM (SELECT s.iban, e.currency, max(e.booked_on) AS last_on,
                     sum(CASE e.side WHEN 'credit' THEN e.amount_minor ELSE -e.amount_minor END)::bigint AS moved
              FROM bank_entries e JOIN bank_statements s ON s.id = e.first_statement_id
              GROUP BY s.iban, e.currency) a
        LEFT JOIN LATERAL (
            SELECT s.id, s.closing_minor, coalesce(s.closing_on, s.last_on) AS closed_on FROM bank_statements s
            WHERE s.iban = a.iban AND coalesce(s.currency, a.currency) = a.currency AND s.closing_minor IS NOT NULL
              AND coalesce(s.closing_on, s.last_on) IS NOT NULL
            ORDER BY coalesce(s.closing_on, s.last_on) DESC, s.id DESC LIMIT 1) n ON true
        WHERE NOT EXISTS (SELECT FROM bank_accounts b WHERE (b.iban, b.currency) = (a.iban, a.currency))
    LOOP
        v_opening := v_account.closing_minor + v_account.later - v_account.moved;
        IF v_opening <> 0 THEN
            PERFORM ledger_post(
                uuidv7(), 'live', 'bank_opening', 'bank_statement', v_account.statement_id, 0, now(), '{bank_opening}',
                ARRAY[v_account.currency], ARRAY[abs(v_opening)],
                '{NULL}', ARRAY[CASE WHEN v_opening > 0 THEN 'bank:' || lower(v_account.iban) ELSE 'equity:bank_opening' END],
                '{NULL}', ARRAY[CASE WHEN v_opening > 0 THEN 'equity:bank_opening' ELSE 'bank:' || lower(v_account.iban) END],
                '{}');
        END IF;
        INSERT INTO bank_accounts (iban, currency, first_on, balance_minor, last_on)
        VALUES (v_account.iban, v_account.currency, v_account.last_on, v_account.closing_minor + v_account.later,
                v_account.last_on);
    END LOOP;
END $$;
