"""Every SQL statement that looks for what must never be true of balance payments: offending rows as a line of text."""

from tollhouse.platform.database.invariants import Invariant

I16_HELD = """
    SELECT format('balance payment %s is %s of %s with %s captured; its hold is %s of %s with %s captured', p.id, p.status,
                  p.amount_minor, p.captured_minor, h.status, h.amount, h.captured) AS line
    FROM balance_payments p JOIN ledger_holds h ON h.id = p.hold_id
    WHERE p.id = ANY ($1::uuid[]) AND (
          (p.status = 'reserved') <> (h.status = 'active') OR (h.source_type, h.source_id) <> ('balance_payment', p.id)
       OR (h.merchant_id, h.mode, h.currency, h.amount, h.captured, h.released)
          <> (p.merchant_id, p.mode, p.currency, p.amount_minor, p.captured_minor, p.released_minor))
"""
I16_UNCLAIMED = """
    SELECT format('hold %s is of balance payment %s, which does not know of it', h.id, h.source_id) AS line
    FROM ledger_holds h
    WHERE h.id = ANY ($1::uuid[]) AND h.source_type = 'balance_payment'
      AND NOT EXISTS (SELECT FROM balance_payments p WHERE p.hold_id = h.id)
"""
I16_BOOKED = """
    SELECT format('balance payment %s: %s captured and %s refunded; the ledger gave the owner %s and %s back', p.id,
                  p.captured_minor, p.refunded_minor, coalesce(e.paid, 0), coalesce(e.refunded, 0)) AS line
    FROM balance_payments p
    CROSS JOIN LATERAL (
               SELECT sum(x.delta) FILTER (WHERE x.type = 'balance_payment_in') AS paid,
                      -sum(x.delta) FILTER (WHERE x.type = 'balance_payment_refund') AS refunded
               FROM ledger_transactions l JOIN ledger_entries x ON x.transaction_id = l.id AND x.mode = l.mode
               WHERE l.source_type = 'balance_payment' AND l.source_id = p.id AND x.account = 'available'
                 AND x.merchant_id = p.owner_id) e
    WHERE p.id = ANY ($1::uuid[]) AND (p.captured_minor, p.refunded_minor) <> (coalesce(e.paid, 0), coalesce(e.refunded, 0))
"""

INVARIANTS: tuple[Invariant, ...] = (
    Invariant("I16", "a reservation equals its hold", I16_HELD, "balance_payment"),
    Invariant("I16", "every hold has a balance payment", I16_UNCLAIMED, "hold"),
    Invariant("I16", "captured and refunded amounts are in the ledger", I16_BOOKED, "balance_payment"),
)
