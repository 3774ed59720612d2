"""Every SQL statement that looks for what must never be true of fulfillments: offending rows, as a line of text."""

from tollhouse.platform.invariants import Invariant

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
# Of each series and quarter hour.
I17_TOTALS = """
    SELECT format('%s %s %s %s of %s from %s: %s fulfillments make %s, the running total says %s of %s', mode, measure,
                  product_id, type, merchant_id, starts_at, coalesce(f.count, 0), coalesce(f.amount, 0),
                  coalesce(k.count, 0), coalesce(k.amount, 0)) AS line
    FROM (SELECT merchant_id, mode, measure, m.currency, type, product_id,
                 coalesce(project_id, '00000000-0000-0000-0000-000000000000') AS project_id,
                 quarter_hour(created_at) AS starts_at, sum(amount) AS amount, count(*) AS count
          FROM fulfillments
          CROSS JOIN LATERAL (
              VALUES ('fulfilled', currency, status, unit_price_minor * delivered_quantity),
                     ('delivered', '', status || ' ' || delivery_seconds(created_at, completed_at), delivered_quantity))
              AS m (measure, currency, type, amount)
          WHERE status NOT IN ('pending', 'processing') AND (measure = 'fulfilled' OR completed_at IS NOT NULL)
          GROUP BY 1, 2, 3, 4, 5, 6, 7, 8) AS f
    FULL JOIN (
          SELECT s.merchant_id, s.mode, s.measure, s.currency, s.type, s.method_id AS product_id, s.project_id, r.starts_at,
                 r.amount - lag(r.amount, 1, 0) OVER series AS amount,
                 r.count - lag(r.count, 1, 0::bigint) OVER series AS count
          FROM running_series s
          JOIN (SELECT id AS series_id, starts_at, amount, count FROM running_series
                UNION ALL SELECT series_id, starts_at, amount, count FROM running_totals) AS r ON r.series_id = s.id
          WHERE s.measure IN ('fulfilled', 'delivered')
          WINDOW series AS (PARTITION BY s.id ORDER BY r.starts_at)) AS k
        USING (merchant_id, mode, measure, currency, type, product_id, project_id, starts_at)
    WHERE (coalesce(f.amount, 0), coalesce(f.count, 0)) <> (coalesce(k.amount, 0), coalesce(k.count, 0))
"""

INVARIANTS: tuple[Invariant, ...] = (
    Invariant("I17", "the cost of a fulfillment is held until it ends", I17_HELD, "fulfillment"),
    Invariant("I17", "every hold has a fulfillment", I17_UNCLAIMED, "hold"),
    Invariant("I17", "delivered amounts are in the ledger", I17_BOOKED, "fulfillment"),
    Invariant("I17", "running totals are the fulfillments that ended", I17_TOTALS, costly=True),
)
