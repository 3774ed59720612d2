"""SQL of the invariants of operators' actions: each returned row is a breach, as one line of text."""

from tollhouse.platform.database.invariants import Invariant

I20_ADJUSTED = """
    SELECT format('ledger transaction %s adjusts a balance by no action %s of an operator', t.id, t.source_id) AS line
    FROM ledger_transactions t
    LEFT JOIN operator_actions a ON (a.id, a.action, a.mode) = (t.source_id, 'balance_adjusted', t.mode)
    CROSS JOIN LATERAL (
        SELECT sum(CASE m.id WHEN p.credit_account_id THEN p.amount ELSE -p.amount END) AS moved,
               bool_and((m.merchant_id, p.currency) = (a.merchant_id, a.currency)) AS of_merchant
        FROM ledger_postings p
        JOIN ledger_accounts m ON m.id IN (p.debit_account_id, p.credit_account_id) AND m.guarded
        WHERE p.transaction_id = t.id AND p.type = 'adjustment') l
    WHERE t.id = ANY ($1::uuid[]) AND t.source_type = 'adjustment'
      AND (l.of_merchant IS NOT TRUE OR a.amount_minor IS DISTINCT FROM l.moved)
"""
I20_POSTED = """
    SELECT format('action %s adjusted a balance and is not in the ledger', a.id) AS line
    FROM operator_actions a
    WHERE a.id = ANY ($1::uuid[]) AND a.action = 'balance_adjusted'
      AND NOT EXISTS (SELECT FROM ledger_transactions t WHERE t.source_type = 'adjustment' AND t.source_id = a.id)
"""
I29_RECORDED = """
    SELECT format('action %s %s has no record with a hash of the address', a.id, a.action) AS line
    FROM operator_actions a
    WHERE a.id = ANY ($1::uuid[]) AND a.action IN ('person_exported', 'person_erased')
      AND NOT EXISTS (
          SELECT FROM data_subject_requests r
          WHERE r.id = a.subject_id AND r.kind = CASE a.action WHEN 'person_erased' THEN 'erasure' ELSE 'export' END)
"""

INVARIANTS: tuple[Invariant, ...] = (
    Invariant("I20", "every adjustment has an operator's action", I20_ADJUSTED, "ledger"),
    Invariant("I20", "operators' adjustments are in the ledger", I20_POSTED, "operator_action"),
    Invariant("I29", "exports and erasures of people are recorded", I29_RECORDED, "operator_action"),
)
