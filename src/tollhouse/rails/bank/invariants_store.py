"""SQL of the invariants of bank entries and payouts: each returned row is a breach, as one line of text."""

from tollhouse.platform.database.invariants import Invariant

I15_WHOLE = """
    SELECT format('entry %s is of %s, its transfers add up to %s', e.id, e.amount_minor, coalesce(sum(p.amount_minor), 0))
               AS line
    FROM bank_entries e LEFT JOIN bank_entry_parts p ON p.entry_id = e.id
    WHERE e.id = ANY ($1::uuid[])
    GROUP BY e.id HAVING coalesce(sum(p.amount_minor), 0) <> e.amount_minor
"""
# Money is in the ledger exactly if a statement has shown it.
I15_SHOWN = """
    SELECT format('the bank showed %s %s for %s, the rail confirmed %s %s', p.amount_minor, p.currency,
                  coalesce(p.ref, o.external_ref), o.amount_minor, o.currency) AS line
    FROM (SELECT encode(e.identity, 'hex') || '/' || p.nth AS ref, p.amount_minor, e.currency
          FROM bank_entry_parts p JOIN bank_entries e ON e.id = p.entry_id WHERE p.outcome = 'payment') p
    FULL JOIN (SELECT * FROM rail_observations WHERE rail = 'bank' AND mode = 'live' AND outcome = 'confirmed') o
         ON o.external_ref = p.ref
    WHERE (p.amount_minor, p.currency) IS DISTINCT FROM (o.amount_minor, o.currency)
"""
I15_LEFT = """
    SELECT format('payout %s is %s, debited: %s; entries show it leave %s times and come back %s times', b.id, b.status,
                  b.debited_at IS NOT NULL, seen.gone, seen.back) AS line
    FROM bank_payouts b
    CROSS JOIN LATERAL (
        SELECT count(*) FILTER (WHERE p.outcome = 'payout') AS gone,
               count(*) FILTER (WHERE p.outcome = 'payout_return') AS back
        FROM bank_entry_parts p JOIN bank_entries e ON e.id = p.entry_id
        WHERE p.payout_id = b.id
           OR (p.outcome = 'payout' AND p.payout_id IS NULL AND b.status <> 'refused'
               AND lower(e.batch_reference) = replace(b.batch_id::text, '-', ''))
    ) seen
    WHERE b.id = ANY ($1::uuid[])
      AND (seen.gone <> CASE WHEN b.debited_at IS NULL THEN 0 ELSE 1 END
           OR seen.back <> CASE WHEN b.status = 'returned' THEN 1 ELSE 0 END)
"""
I15_CARRIED = """
    SELECT format('payout %s is %s, its %s is %s', b.id, b.status, b.kind, coalesce(r.status, w.status, 'nowhere')) AS line
    FROM bank_payouts b
    LEFT JOIN refunds r ON b.kind = 'refund' AND (r.merchant_id, r.mode, r.id) = (b.merchant_id, b.mode, b.id)
    LEFT JOIN withdrawals w ON b.kind = 'withdrawal' AND (w.merchant_id, w.mode, w.id) = (b.merchant_id, b.mode, b.id)
    JOIN (VALUES ('prepared', 'pending', 'processing'), ('exported', 'pending', 'processing'),
                 ('confirmed', 'succeeded', 'completed'), ('returned', 'failed', 'failed'), ('refused', 'failed', 'failed'))
         AS want (status, refund, withdrawal) ON want.status = b.status
    WHERE b.id = ANY ($1::uuid[])
      AND (coalesce(r.status, w.status) IS DISTINCT FROM CASE b.kind WHEN 'refund' THEN want.refund ELSE want.withdrawal END
           OR coalesce(r.amount_minor, w.receive_minor) <> b.amount_minor)
"""
I26_PAUSED = """
    SELECT format('%s paused payouts at %s, but there is no pause', a.operator, a.at) AS line
    FROM operator_actions a
    WHERE a.action = 'payouts_paused' AND NOT EXISTS (SELECT FROM payout_pauses p WHERE p.id = a.subject_id)
    UNION ALL
    SELECT format('the pause %s was begun by %s without an action', p.id, p.paused_by) FROM payout_pauses p
    WHERE p.cause = 'operator'
      AND NOT EXISTS (SELECT FROM operator_actions a WHERE a.action = 'payouts_paused' AND a.subject_id = p.id)
"""
I26_RESUMED = """
    SELECT format('the pause %s was ended by %s without an action', p.id, p.resumed_by) AS line FROM payout_pauses p
    WHERE p.resumed_at IS NOT NULL
      AND NOT EXISTS (SELECT FROM operator_actions a
                      WHERE a.action = 'payouts_resumed' AND a.at = p.resumed_at AND a.operator = p.resumed_by)
"""
# Times are those of the requests, and a request that began before a pause may commit after it: a minute more than any takes.
I26_EXPORTED = """
    SELECT format('batch %s was exported at %s, while payouts were paused', b.id, b.exported_at) AS line
    FROM payout_pauses p
    JOIN bank_batches b ON b.exported_at > p.paused_at + interval '1 minute'
         AND (p.resumed_at IS NULL OR b.exported_at < p.resumed_at - interval '1 minute')
"""
I15_POSTED = """
    SELECT format('entry %s of %s %s is %s in the ledger', e.id, e.amount_minor, e.side, coalesce(l.moved, 0)) AS line
    FROM bank_entries e
    JOIN bank_statements s ON s.id = e.first_statement_id
    LEFT JOIN ledger_transactions t
        ON (t.source_type, t.source_id, t.kind, t.step) = ('bank_entry', e.id, 'bank_entry', 0)
    LEFT JOIN LATERAL (
        SELECT sum(CASE a.id WHEN p.debit_account_id THEN p.amount ELSE -p.amount END) AS moved
        FROM ledger_postings p
        JOIN ledger_accounts a ON a.id IN (p.debit_account_id, p.credit_account_id) AND a.code = 'bank:' || lower(s.iban)
        WHERE p.transaction_id = t.id AND p.currency = e.currency) l ON true
    WHERE e.id = ANY ($1::uuid[])
      AND l.moved IS DISTINCT FROM CASE e.side WHEN 'credit' THEN e.amount_minor ELSE -e.amount_minor END
"""
# The entries of a statement that is being imported are added one by one.
I15_BALANCE = """
    SELECT format('%s %s: the ledger has %s, the statements say %s', currency, code, sum(booked), sum(stated)) AS line
    FROM (SELECT p.currency, a.code, CASE a.id WHEN p.debit_account_id THEN p.amount ELSE -p.amount END AS booked,
                 0 AS stated
          FROM ledger_accounts a JOIN ledger_postings p ON a.id IN (p.debit_account_id, p.credit_account_id)
          WHERE a.code LIKE 'bank:%'
          UNION ALL
          SELECT b.currency, 'bank:' || lower(b.iban), 0, b.balance_minor FROM bank_accounts b
          UNION ALL
          SELECT e.currency, 'bank:' || lower(b.iban), 0,
                 CASE e.side WHEN 'credit' THEN e.amount_minor ELSE -e.amount_minor END
          FROM bank_accounts b JOIN bank_entries e ON e.first_statement_id = b.importing_id) books
    GROUP BY currency, code HAVING sum(booked) <> sum(stated)
"""
I15_STATED = """
    SELECT format('%s %s: the balance is %s, statement %s closed with %s', b.iban, b.currency, b.balance_minor,
                  s.statement_id, s.closing_minor) AS line
    FROM bank_accounts b JOIN bank_statements s ON s.id = b.last_statement_id
    WHERE b.importing_id IS NULL AND s.closing_minor <> b.balance_minor
"""
# Money of statements is where the outcomes of their transfers say; what matched ones say is in transit is cleared by them.
I15_WHERE = """
    SELECT format('%s %s: the ledger has %s, the transfers make %s', currency, code, sum(booked), sum(shown)) AS line
    FROM (SELECT p.currency, a.code, CASE a.id WHEN p.credit_account_id THEN p.amount ELSE -p.amount END AS booked,
                 0 AS shown
          FROM ledger_accounts a
          JOIN ledger_postings p ON a.id IN (p.debit_account_id, p.credit_account_id)
          JOIN ledger_transactions t ON t.id = p.transaction_id AND t.mode = p.mode
          WHERE (a.code IN ('rail:bank', 'unmatched:bank', 'equity:dismissed', 'expense:bank_fee', 'expense:bank_difference')
                 OR a.code LIKE 'transit:%')
            AND t.source_type IN ('bank_entry', 'bank_transfer') AND p.type <> 'bank_return_fee'
          UNION ALL
          SELECT e.currency,
                 CASE p.outcome WHEN 'unmatched' THEN 'unmatched:bank' WHEN 'dismissed' THEN 'equity:dismissed'
                      WHEN 'fee' THEN 'expense:bank_fee' WHEN 'written_off' THEN 'expense:bank_difference'
                      WHEN 'provider_payout' THEN 'transit:' || b.rail
                      ELSE 'rail:bank' END,
                 0, CASE e.side WHEN 'credit' THEN p.amount_minor ELSE -p.amount_minor END
          FROM bank_entry_parts p JOIN bank_entries e ON e.id = p.entry_id
          LEFT JOIN provider_balance_transactions b ON b.id = p.provider_payout_id) books
    GROUP BY currency, code HAVING sum(booked) <> sum(shown)
"""
# What the banks kept of a payout on its way back.
I15_RETURNED = """
    SELECT format('payout %s of %s came back as %s, and the fee is %s', b.id, b.amount_minor, p.amount_minor, l.fee) AS line
    FROM bank_payouts b
    JOIN bank_entry_parts p ON p.payout_id = b.id AND p.outcome = 'payout_return'
    CROSS JOIN LATERAL (
        SELECT coalesce(sum(x.amount), 0) AS fee
        FROM ledger_transactions t JOIN ledger_postings x ON x.transaction_id = t.id AND x.type = 'bank_return_fee'
        WHERE t.source_type = 'bank_transfer' AND t.source_id = p.id) l
    WHERE b.id = ANY ($1::uuid[]) AND b.amount_minor - p.amount_minor <> l.fee
"""
# Operators charge merchants by adjustments for what the bank took back and no chargeback covers.
I15_TAKEN = """
    SELECT format('%s: %s was charged by adjustments, the bank took %s back', currency, sum(charged), sum(taken)) AS line
    FROM (SELECT p.currency, p.amount AS charged, 0 AS taken
          FROM ledger_accounts a JOIN ledger_postings p ON p.credit_account_id = a.id
          JOIN ledger_transactions t ON t.id = p.transaction_id AND t.mode = p.mode
          WHERE a.code = 'rail:bank' AND t.source_type = 'adjustment'
          UNION ALL
          SELECT e.currency, 0, p.amount_minor
          FROM bank_entry_parts p JOIN bank_entries e ON e.id = p.entry_id
          WHERE p.outcome = 'payment_return' AND p.decided_at IS NOT NULL) books
    GROUP BY currency HAVING sum(charged) <> sum(taken)
"""

INVARIANTS: tuple[Invariant, ...] = (
    Invariant("I15", "an entry is the sum of its transfers", I15_WHOLE, "bank_entry"),
    Invariant("I15", "an entry of a statement is posted", I15_POSTED, "bank_entry"),
    Invariant("I15", "the ledger has the balance of the bank account", I15_BALANCE, costly=True),
    Invariant("I15", "the balance is that of the newest statement", I15_STATED),
    Invariant("I15", "money of statements is where their transfers say", I15_WHERE, costly=True),
    Invariant("I15", "a returned payout is what came back and a fee", I15_RETURNED, "payout"),
    Invariant("I15", "merchants are charged for what the bank takes back", I15_TAKEN, costly=True),
    Invariant("I15", "the rail confirms what statements show", I15_SHOWN, costly=True),
    Invariant("I15", "a payout left when a statement shows it", I15_LEFT, "payout"),
    Invariant("I15", "a payout ends with its withdrawal or refund", I15_CARRIED, "payout"),
    Invariant("I26", "a pause of payouts begins and is kept", I26_PAUSED),
    Invariant("I26", "an operator ends each pause of payouts", I26_RESUMED),
    Invariant("I26", "nothing is exported while payouts are paused", I26_EXPORTED),
)
