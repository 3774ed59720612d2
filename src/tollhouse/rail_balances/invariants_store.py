"""SQL of the invariants of the operator's money on rails. Each row is a violation."""

from tollhouse.platform.invariants import Invariant

I32_BOOKED = """
    SELECT format('action %s put %s %s on a rail; the ledger has %s on %s', a.id, a.amount_minor, a.currency,
                  coalesce(l.moved, 0), coalesce(f.rail, 'none')) AS line
    FROM operator_actions a
    LEFT JOIN rail_floats f ON f.id = a.id
    LEFT JOIN LATERAL (
        SELECT sum(CASE r.id WHEN p.debit_account_id THEN p.amount ELSE -p.amount END) AS moved
        FROM ledger_transactions t
        JOIN ledger_postings p ON p.transaction_id = t.id AND p.currency = a.currency
        JOIN ledger_accounts r ON r.id IN (p.debit_account_id, p.credit_account_id) AND r.code = 'rail:' || f.rail
        WHERE (t.source_type, t.source_id, t.mode) = ('rail_float', a.id, f.mode)) l ON true
    WHERE a.id = ANY ($1::uuid[]) AND a.action = 'rail_float_changed'
      AND (a.currency, a.amount_minor, a.amount_minor) IS DISTINCT FROM (f.currency, f.amount_minor, l.moved)
"""
I32_BY_OPERATOR = """
    SELECT format('ledger transaction %s moves money of the operator by no action %s', t.id, t.source_id) AS line
    FROM ledger_transactions t
    WHERE t.id = ANY ($1::uuid[]) AND t.source_type = 'rail_float'
      AND NOT EXISTS (SELECT FROM operator_actions a WHERE (a.id, a.action) = (t.source_id, 'rail_float_changed'))
"""

INVARIANTS: tuple[Invariant, ...] = (
    Invariant("I32", "own money on a rail is in the ledger", I32_BOOKED, "operator_action"),
    Invariant("I32", "own money on a rail is booked by an operator", I32_BY_OPERATOR, "ledger"),
)
