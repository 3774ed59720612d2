"""SQL of the invariants of balances at card providers. Each row is a violation."""

from tollhouse.platform.database.invariants import Invariant

I33_POSTED = """
    SELECT format('balance transaction %s of %s took %s %s, the ledger has %s', b.external_id, b.rail,
                  e.taken, b.currency, coalesce(l.taken, 0)) AS line
    FROM provider_balance_transactions b
    CROSS JOIN LATERAL (
        SELECT b.fee_minor - CASE WHEN b.kind IN ('payout', 'fee') THEN b.amount_minor ELSE 0 END AS taken) e
    LEFT JOIN LATERAL (
        SELECT sum(CASE a.id WHEN p.credit_account_id THEN p.amount ELSE -p.amount END) AS taken
        FROM ledger_transactions t
        JOIN ledger_postings p ON p.transaction_id = t.id AND p.currency = b.currency
        JOIN ledger_accounts a ON a.id IN (p.debit_account_id, p.credit_account_id) AND a.code = 'rail:' || b.rail
        WHERE (t.source_type, t.source_id, t.mode) = ('balance_transaction', b.id, b.mode)) l ON true
    WHERE coalesce(l.taken, 0) <> CASE WHEN b.settled_at IS NULL THEN 0 ELSE e.taken END
"""
I33_KNOWN = """
    SELECT format('ledger transaction %s is of no balance transaction %s', t.id, t.source_id) AS line
    FROM ledger_transactions t
    WHERE t.id = ANY ($1::uuid[]) AND t.source_type = 'balance_transaction'
      AND NOT EXISTS (SELECT FROM provider_balance_transactions b WHERE (b.id, b.mode) = (t.source_id, t.mode))
"""

INVARIANTS: tuple[Invariant, ...] = (
    Invariant("I33", "fees and payouts of a provider are in the ledger once", I33_POSTED, costly=True),
    Invariant("I33", "what is posted of a provider is one of its balance transactions", I33_KNOWN, "ledger"),
)
