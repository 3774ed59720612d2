"""SQL of the invariant that no money leaves without a released transfer. Each row is a violation."""

from tollhouse.platform.database.invariants import Invariant

# From merchants or customers by a rail. What the bank's statements clear afterwards left before.
I23_OUT = """
    SELECT format('transaction %s pays %s %s by %s, and no released transfer stands behind it', l.id, sum(p.amount),
                  p.currency, a.code) AS line
    FROM ledger_transactions l JOIN ledger_postings p ON p.transaction_id = l.id AND p.mode = l.mode
    JOIN ledger_accounts a ON a.id = p.credit_account_id AND NOT a.guarded AND a.code LIKE 'rail:%'
    WHERE l.id = ANY ($1::uuid[]) AND l.source_type NOT IN ('bank_entry', 'bank_transfer')
      AND NOT (l.source_type = 'adjustment' AND EXISTS (SELECT FROM operator_actions o WHERE o.id = l.source_id))
      AND NOT (l.source_type = 'chargeback' AND EXISTS (SELECT FROM chargebacks c WHERE c.id = l.source_id))
      AND NOT (l.source_type = 'payment_reversal' AND EXISTS (SELECT FROM payment_reversals v WHERE v.id = l.source_id))
      AND NOT (l.source_type = 'rail_float' AND EXISTS (
          SELECT FROM rail_floats f WHERE f.id = l.source_id AND (f.mode, f.currency, 'rail:' || f.rail)
                                                                = (p.mode, p.currency, a.code)))
      AND NOT (l.source_type = 'chain_payout' AND EXISTS (
          SELECT FROM chain_payouts n WHERE n.id = l.source_id AND n.status IN ('completed', 'failed')
            AND (n.mode, n.fee_currency, 'rail:' || n.rail) = (p.mode, p.currency, a.code)))
      AND NOT (l.source_type = 'balance_transaction' AND EXISTS (
          SELECT FROM provider_balance_transactions b WHERE b.id = l.source_id AND b.settled_at IS NOT NULL
            AND (b.mode, b.currency, 'rail:' || b.rail) = (p.mode, p.currency, a.code)))
      AND NOT (l.source_type = 'bitcoin_batch' AND EXISTS (
          SELECT FROM bitcoin_batches b WHERE b.id = l.source_id AND b.status = 'confirmed'
            AND (b.mode, 'BTC', 'rail:' || b.rail) = (p.mode, p.currency, a.code)))
      AND NOT EXISTS (
          SELECT FROM outgoing_transfers o
          WHERE o.id = l.source_id AND o.kind = l.source_type AND o.released_at IS NOT NULL
            AND o.review IN ('not_required', 'approved', 'before_reviews')
            AND (o.mode, o.currency, 'rail:' || o.rail) = (p.mode, p.currency, a.code))
    GROUP BY l.id, p.currency, a.code
"""
I23_SAME = """
    SELECT format('transfer %s of %s %s to %s is not what its %s asks for', o.id, o.amount_minor, o.currency, o.receiver,
                  o.kind) AS line
    FROM outgoing_transfers o
    LEFT JOIN refunds r ON o.kind = 'refund' AND r.id = o.id
    LEFT JOIN withdrawals w ON o.kind = 'withdrawal' AND w.id = o.id
    WHERE o.id = ANY ($1::uuid[])
      AND ((o.merchant_id, o.mode, o.currency, o.amount_minor)
           IS DISTINCT FROM (coalesce(r.merchant_id, w.merchant_id), coalesce(r.mode, w.mode),
                             coalesce(r.currency, w.currency), coalesce(r.amount_minor, w.receive_minor))
           OR (o.closed_at IS NOT NULL) <> (coalesce(r.status, w.status) IN ('failed', 'canceled')))
"""

INVARIANTS: tuple[Invariant, ...] = (
    Invariant("I23", "every outgoing amount has a released transfer", I23_OUT, "ledger"),
    Invariant("I23", "a transfer matches its withdrawal or refund", I23_SAME, "outgoing_transfer"),
)
