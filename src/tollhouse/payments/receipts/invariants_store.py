"""SQL of the invariants of receipts: each statement returns violations as one text column `line`."""

from tollhouse.platform.database.invariants import Invariant

I24_NUMBERS = """
    SELECT format('%s %s %s has %s receipts, the last number is %s', c.merchant_id, c.mode, c.year, count(r.number),
                  c.last_number) AS line
    FROM receipt_counters c LEFT JOIN receipts r ON (r.merchant_id, r.mode, r.year) = (c.merchant_id, c.mode, c.year)
    GROUP BY c.merchant_id, c.mode, c.year
    HAVING (count(r.number), coalesce(max(r.number), 0)) <> (c.last_number, c.last_number)
"""
I24_PAID = """
    SELECT format('receipt of transaction %s, which was never credited', t.id) AS line
    FROM receipts r JOIN transactions t ON t.id = r.transaction_id WHERE t.succeeded_at IS NULL
"""
INVARIANTS = (
    Invariant("I24", "the numbers of receipts have no gaps", I24_NUMBERS, costly=True),
    Invariant("I24", "every receipt is of a credited payment", I24_PAID, costly=True),
)
