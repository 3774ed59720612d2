"""SQL of the invariants of block chains: addresses of payments, and payouts in bitcoin. Each row is a violation."""

from tollhouse.platform.database.invariants import Invariant

# An unmatched payment has the reference of the payment beside it, and an addition.
I31_ADDRESSES = """
    SELECT format('transaction %s shows the address %s; its deposit address is %s', t.id, t.instructions ->> 'address',
                  coalesce(d.address, 'missing')) AS line
    FROM transactions t
    LEFT JOIN deposit_addresses d ON d.attempt_id = t.id AND (d.rail, d.mode) = (t.rail, t.mode)
    WHERE t.id = ANY ($1::uuid[]) AND t.method_type = 'crypto' AND strpos(t.rail_reference, '/') = 0
      AND (d.address IS NULL OR (d.address, d.address) IS DISTINCT FROM (t.instructions ->> 'address', t.rail_reference))
"""
# Each payout that is completed was paid by a transaction of its batch that is in a block, and by one only.
I34_CONFIRMED = """
    SELECT format('batch %s was completed, and its transaction %s is in no block', b.id, b.txid) AS line
    FROM bitcoin_batches b WHERE b.status = 'confirmed' AND b.confirmations = 0
"""
I34_PAID = """
    SELECT format('payout %s is %s with transaction %s, and is paid by %s final batches', p.id, p.status, p.txid,
                  count(b.id)) AS line
    FROM bitcoin_payouts p
    LEFT JOIN bitcoin_batch_payouts l ON l.payout_id = p.id
    LEFT JOIN bitcoin_batches b ON b.id = l.batch_id AND b.status = 'confirmed'
    GROUP BY p.id HAVING count(b.id) <> CASE p.status WHEN 'completed' THEN 1 ELSE 0 END
                         OR coalesce(bool_or(b.txid <> p.txid), false)
"""
I34_FEES = """
    SELECT format('batch %s paid a fee of %s; its payouts and the platform have %s', b.id, t.fee_minor,
                  b.expensed_fee_minor + n.shared_minor) AS line
    FROM bitcoin_batches b JOIN bitcoin_transactions t ON t.batch_id = b.id AND t.txid = b.txid
    CROSS JOIN LATERAL (SELECT coalesce(sum(p.fee_minor) FILTER (WHERE p.kind = 'withdrawal'), 0) AS shared_minor
                        FROM bitcoin_batch_payouts l JOIN bitcoin_payouts p ON p.id = l.payout_id
                        WHERE l.batch_id = b.id AND p.txid = b.txid) n
    WHERE b.status = 'confirmed' AND b.expensed_fee_minor + n.shared_minor <> t.fee_minor
"""

INVARIANTS: tuple[Invariant, ...] = (
    Invariant("I31", "a payment on a block chain shows its deposit address", I31_ADDRESSES, "payment"),
    Invariant("I34", "the transaction of a completed batch is in a block", I34_CONFIRMED),
    Invariant("I34", "a payout in bitcoin is paid once", I34_PAID, costly=True),
    Invariant("I34", "the fee of a batch is shared", I34_FEES, costly=True),
)
