"""SQL of the invariant that payments on block chains show their own deposit addresses. Each row is a violation."""

from tollhouse.platform.invariants import Invariant

# An unmatched payment has the reference of the payment beside it, and an addition.
I31_ADDRESSES = """
    SELECT format('transaction %s shows the address %s; its deposit address is %s', t.id, t.instructions ->> 'address',
                  coalesce(d.address, 'missing')) AS line
    FROM transactions t
    LEFT JOIN deposit_addresses d ON d.attempt_id = t.id AND (d.rail, d.mode) = (t.rail, t.mode)
    WHERE t.id = ANY ($1::uuid[]) AND t.method_type = 'crypto' AND strpos(t.rail_reference, '/') = 0
      AND (d.address IS NULL OR (d.address, d.address) IS DISTINCT FROM (t.instructions ->> 'address', t.rail_reference))
"""

INVARIANTS: tuple[Invariant, ...] = (
    Invariant("I31", "a payment on a block chain shows its deposit address", I31_ADDRESSES, "payment"),
)
