"""Every SQL statement that looks for what must never be true of balance payments: offending rows as a line of text."""

from tollhouse.platform.db import Tx

I16_HELD = """
    SELECT format('balance payment %s is %s of %s with %s captured; its hold is %s of %s with %s captured', p.id, p.status,
                  p.amount_minor, p.captured_minor, h.status, h.amount, h.captured) AS line
    FROM balance_payments p JOIN ledger_holds h ON h.id = p.hold_id
    WHERE (p.status = 'reserved') <> (h.status = 'active') OR (h.source_type, h.source_id) <> ('balance_payment', p.id)
       OR (h.merchant_id, h.mode, h.currency, h.amount, h.captured, h.released)
          <> (p.merchant_id, p.mode, p.currency, p.amount_minor, p.captured_minor, p.released_minor)
"""
I16_UNCLAIMED = """
    SELECT format('hold %s is of balance payment %s, which does not know of it', h.id, h.source_id) AS line
    FROM ledger_holds h
    WHERE h.source_type = 'balance_payment' AND NOT EXISTS (SELECT FROM balance_payments p WHERE p.hold_id = h.id)
"""
I16_BOOKED = """
    SELECT format('balance payment %s: %s captured and %s refunded; the ledger gave the owner %s and %s back', p.id,
                  p.captured_minor, p.refunded_minor, coalesce(e.paid, 0), coalesce(e.refunded, 0)) AS line
    FROM balance_payments p
    LEFT JOIN (SELECT l.source_id, x.merchant_id, sum(x.delta) FILTER (WHERE x.type = 'balance_payment_in') AS paid,
                      -sum(x.delta) FILTER (WHERE x.type = 'balance_payment_refund') AS refunded
               FROM ledger_transactions l JOIN ledger_entries x ON x.transaction_id = l.id AND x.mode = l.mode
               WHERE l.source_type = 'balance_payment' AND x.account = 'available'
               GROUP BY l.source_id, x.merchant_id) e ON (e.source_id, e.merchant_id) = (p.id, p.owner_id)
    WHERE (p.captured_minor, p.refunded_minor) <> (coalesce(e.paid, 0), coalesce(e.refunded, 0))
"""

INVARIANTS: tuple[tuple[str, str, str], ...] = (
    ("I16", "a reservation is what its hold is", I16_HELD),
    ("I16", "a hold has its balance payment", I16_UNCLAIMED),
    ("I16", "what was captured and refunded is in the ledger", I16_BOOKED),
)


async def offending(tx: Tx, statement: str) -> list[str]:
    """The lines that one of the statements above finds."""
    return [row["line"] for row in await tx.fetch(statement)]
