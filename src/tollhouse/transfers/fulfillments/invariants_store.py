"""Every SQL statement that looks for what must never be true of fulfillments: offending rows, as a line of text."""

from tollhouse.platform.database.invariants import Invariant

I17_HELD = """
    SELECT format('fulfillment %s is %s of %s with %s delivered; its hold is %s of %s with %s captured', f.id, f.status,
                  f.cost_minor, f.delivered_quantity, h.status, h.amount, h.captured) AS line
    FROM fulfillments f JOIN ledger_holds h ON h.id = f.hold_id
    WHERE f.id = ANY ($1::uuid[]) AND (
          (f.status IN ('pending', 'processing')) <> (h.status = 'active')
       OR (h.source_type, h.source_id) <> ('fulfillment', f.id)
       OR (h.merchant_id, h.mode, h.currency, h.amount, h.captured)
          <> (f.merchant_id, f.mode, f.currency, f.cost_minor, f.unit_price_minor * f.delivered_quantity))
"""
I17_UNCLAIMED = """
    SELECT format('hold %s is of fulfillment %s, which does not know of it', h.id, h.source_id) AS line
    FROM ledger_holds h
    WHERE h.id = ANY ($1::uuid[]) AND h.source_type = 'fulfillment'
      AND NOT EXISTS (SELECT FROM fulfillments f WHERE f.hold_id = h.id)
"""
I17_BOOKED = """
    SELECT format('fulfillment %s: %s delivered at %s, of it %s for the game; the ledger says %s and %s', f.id,
                  f.delivered_quantity, f.unit_price_minor, f.unit_wholesale_minor, coalesce(b.game, 0),
                  coalesce(b.margin, 0)) AS line
    FROM fulfillments f
    CROSS JOIN LATERAL (
               SELECT sum(p.amount) FILTER (WHERE a.code LIKE 'payable:%') AS game,
                      sum(p.amount) FILTER (WHERE a.code = 'income:fulfillment_margin') AS margin
               FROM ledger_transactions l JOIN ledger_postings p ON p.transaction_id = l.id
               JOIN ledger_accounts a ON a.id = p.credit_account_id
               WHERE l.source_type = 'fulfillment' AND l.source_id = f.id AND p.type = 'fulfillment') b
    WHERE f.id = ANY ($1::uuid[]) AND (f.unit_wholesale_minor * f.delivered_quantity,
           (f.unit_price_minor - f.unit_wholesale_minor) * f.delivered_quantity)
       <> (coalesce(b.game, 0), coalesce(b.margin, 0))
"""

INVARIANTS: tuple[Invariant, ...] = (
    Invariant("I17", "the cost of a fulfillment is held until it ends", I17_HELD, "fulfillment"),
    Invariant("I17", "every hold has a fulfillment", I17_UNCLAIMED, "hold"),
    Invariant("I17", "delivered amounts are in the ledger", I17_BOOKED, "fulfillment"),
)
