"""SQL of the invariants of payments: each statement returns violations as one text column `line`.

`$1` are the ids of the rows to check: payments, links, refunds, chargebacks or ledger transactions.
"""

from tollhouse.platform.database.invariants import Invariant

I7_RECEIVED = """
    SELECT format('transaction %s received %s, its rail confirmed %s and reversed %s of what was not applied', t.id,
                  t.received_minor, coalesce(o.confirmed, 0), coalesce(v.unapplied, 0)) AS line
    FROM transactions t
    CROSS JOIN LATERAL (SELECT sum(amount_minor) AS confirmed FROM rail_observations
                        WHERE transaction_id = t.id AND outcome = 'confirmed') o
    CROSS JOIN LATERAL (SELECT sum(unapplied_minor) AS unapplied FROM payment_reversals
                        WHERE transaction_id = t.id AND status = 'reversed') v
    WHERE t.id = ANY ($1::uuid[]) AND t.received_minor <> coalesce(o.confirmed, 0) - coalesce(v.unapplied, 0)
"""
I7_CREDITED = """
    SELECT format('transaction %s credited %s for a fee of %s, the ledger says %s and %s', t.id,
                  t.credited_minor, t.fee_minor, coalesce(e.credited, 0), coalesce(e.fee, 0)) AS line
    FROM transactions t
    CROSS JOIN LATERAL (SELECT sum(e.delta) FILTER (WHERE e.type = 'payment') AS credited,
                               -sum(e.delta) FILTER (WHERE e.type = 'payment_fee') AS fee
                        FROM ledger_entries e JOIN ledger_transactions l ON l.id = e.transaction_id AND l.mode = e.mode
                        WHERE l.source_type = 'transaction' AND l.source_id = t.id AND e.account = 'available') e
    WHERE t.id = ANY ($1::uuid[]) AND (t.credited_minor, t.fee_minor) <> (coalesce(e.credited, 0), coalesce(e.fee, 0))
"""
I7_GIVEN_BACK = """
    SELECT format('transaction %s gave back %s, is giving back %s, lost %s; its refunds and chargebacks say %s, %s, %s',
                  t.id, t.refunded_minor, t.returning_minor, t.charged_back_minor,
                  coalesce(r.refunded, 0), coalesce(r.returning, 0), coalesce(c.taken, 0)) AS line
    FROM transactions t
    CROSS JOIN LATERAL (
               SELECT sum(amount_minor) FILTER (WHERE status = 'succeeded') AS refunded,
                      sum(amount_minor) FILTER (WHERE status = 'pending') AS returning,
                      sum(unapplied_minor) FILTER (WHERE status = 'succeeded') AS from_unapplied,
                      sum(unapplied_minor) FILTER (WHERE status = 'pending') AS returning_unapplied
               FROM refunds WHERE transaction_id = t.id) r
    CROSS JOIN LATERAL (SELECT sum(amount_minor) AS taken FROM chargebacks WHERE transaction_id = t.id AND status <> 'won') c
    WHERE t.id = ANY ($1::uuid[])
      AND (t.refunded_minor, t.returning_minor, t.returning_unapplied_minor, t.charged_back_minor,
           t.received_minor - t.credited_minor - t.unapplied_minor)
       <> (coalesce(r.refunded, 0), coalesce(r.returning, 0), coalesce(r.returning_unapplied, 0), coalesce(c.taken, 0),
           coalesce(r.from_unapplied, 0))
"""
# Taken from the available balance first; the rest is debt, in an entry of its own.
I7_DISPUTED = """
    SELECT format('chargeback %s took %s for a fee of %s, the ledger says %s and %s', c.id, c.amount_minor, c.fee_minor,
                  coalesce(e.taken, 0), coalesce(e.fee, 0)) AS line
    FROM chargebacks c
    CROSS JOIN LATERAL (
               SELECT sum(m.taken) FILTER (WHERE e.type = 'chargeback') AS taken,
                      sum(m.taken) FILTER (WHERE e.type = 'chargeback_fee') AS fee
               FROM ledger_entries e JOIN ledger_transactions l ON l.id = e.transaction_id AND l.mode = e.mode
               CROSS JOIN LATERAL (SELECT CASE e.account WHEN 'debt' THEN e.delta ELSE -e.delta END AS taken) m
               WHERE l.source_type = 'chargeback' AND l.source_id = c.id AND e.account IN ('available', 'debt')) e
    WHERE c.id = ANY ($1::uuid[]) AND (c.amount_minor, c.fee_minor) <> (coalesce(e.taken, 0), coalesce(e.fee, 0))
"""
# What a reversal took from unapplied money and from the platform is posted with it, what it took from the merchant with its
# chargeback; of a reinstated one, what was lost is posted back.
I7_REVERSED = """
    SELECT format('reversal %s took %s, lost %s and charged back %s, the ledger says %s, recovered %s, its chargeback %s',
                  v.id, v.unapplied_minor, v.lost_minor, v.charged_back_minor, coalesce(e.taken, 0),
                  coalesce(e.recovered, 0), coalesce(c.amount_minor, 0)) AS line
    FROM payment_reversals v LEFT JOIN chargebacks c ON c.id = v.chargeback_id
    CROSS JOIN LATERAL (
               SELECT sum(p.amount) FILTER (WHERE p.type = 'payment_reversal') AS taken,
                      sum(p.amount) FILTER (WHERE p.type = 'payment_reinstatement' AND a.code LIKE 'expense:%') AS recovered
               FROM ledger_transactions l JOIN ledger_postings p ON p.transaction_id = l.id AND p.mode = l.mode
               JOIN ledger_accounts a ON a.id = p.credit_account_id
               WHERE l.source_type = 'payment_reversal' AND l.source_id = v.id) e
    WHERE v.transaction_id = ANY ($1::uuid[])
      AND ((v.unapplied_minor + v.lost_minor, v.charged_back_minor) <> (coalesce(e.taken, 0), coalesce(c.amount_minor, 0))
           OR coalesce(e.recovered, 0) <> CASE v.status WHEN 'reinstated' THEN v.lost_minor ELSE 0 END
           OR v.status = 'reinstated' AND c.status IN ('open', 'lost'))
"""
I7_COUNTED = """
    SELECT format('link %s counts %s payments, %s were credited', l.id, l.payments_count, coalesce(t.credited, 0)) AS line
    FROM payment_links l
    CROSS JOIN LATERAL (SELECT count(*) FILTER (WHERE credited_minor > 0) AS credited FROM transactions
                        WHERE payment_link_id = l.id) t
    WHERE l.id = ANY ($1::uuid[]) AND l.payments_count <> least(coalesce(t.credited, 0), l.max_payments)
"""
# A link counts what its payment was credited first, not an excess that is accepted later: its share of the price, if it was
# paid in another currency.
I7_PAID = """
    SELECT format('link %s was paid %s, its payments were credited %s', l.id, l.amount_paid_minor, coalesce(t.credited, 0))
               AS line
    FROM payment_links l
    CROSS JOIN LATERAL (
        SELECT sum(coalesce(div(first.credited::numeric * t.price_minor, t.amount_minor), first.credited)) AS credited
        FROM transactions t
        CROSS JOIN LATERAL (SELECT sum(e.delta) AS credited
                            FROM ledger_transactions p JOIN ledger_entries e ON e.transaction_id = p.id AND e.mode = p.mode
                            WHERE p.source_type = 'transaction' AND p.source_id = t.id
                              AND e.account = 'available' AND e.type = 'payment'
                            GROUP BY p.step ORDER BY p.step LIMIT 1) first
        WHERE t.payment_link_id = l.id
    ) t
    WHERE l.id = ANY ($1::uuid[]) AND l.amount_paid_minor <> coalesce(t.credited, 0)
"""
# What is credited at the fixed rate yields its share of the price. Late money has the current one.
I30_FIXED = """
    SELECT format('payment %s: %s %s were converted to %s %s, its price is %s %s for %s', t.id, c.from_amount_minor,
                  c.from_currency, c.to_amount_minor, c.to_currency, t.price_minor, t.price_currency, t.amount_minor) AS line
    FROM transactions t JOIN conversions c ON c.transaction_id = t.id AND c.reversal_id IS NULL
    WHERE t.id = ANY ($1::uuid[])
      AND ((c.from_currency, c.to_currency, c.mode, c.merchant_id)
           IS DISTINCT FROM (t.currency, t.price_currency, t.mode, t.merchant_id)
           OR ((c.rate, c.rate_as_of) = (t.rate, t.rate_as_of)
               AND c.to_amount_minor <> div(c.from_amount_minor::numeric * t.price_minor, t.amount_minor)))
"""
# A merchant that keeps the money has no conversions; of the others, none converts more than was credited.
I30_CONVERTED = """
    SELECT format('payment %s (%s) credited %s for a fee of %s, %s were converted', t.id, t.settlement, t.credited_minor,
                  t.fee_minor, c.converted) AS line
    FROM transactions t
    CROSS JOIN LATERAL (SELECT coalesce(sum(from_amount_minor), 0) AS converted FROM conversions
                        WHERE transaction_id = t.id AND reversal_id IS NULL) c
    WHERE t.id = ANY ($1::uuid[])
      AND c.converted > CASE WHEN t.settlement = 'convert' THEN t.credited_minor - t.fee_minor ELSE 0 END
"""
# What a refund gives back was converted back before.
I30_REFUNDED = """
    SELECT format('refund %s is %s and needs %s %s, %s were converted back', r.id, r.status,
                  r.amount_minor - r.unapplied_minor + r.network_fee_minor, r.currency, coalesce(c.converted, 0)) AS line
    FROM refunds r JOIN transactions t ON t.id = r.transaction_id
    CROSS JOIN LATERAL (SELECT sum(to_amount_minor) AS converted FROM conversions
                        WHERE transaction_id = t.id AND reversal_id = r.id AND to_currency = r.currency) c
    WHERE r.id = ANY ($1::uuid[]) AND t.settlement = 'convert' AND r.hold_id IS NOT NULL
      AND EXISTS (SELECT FROM conversions WHERE transaction_id = t.id AND reversal_id IS NULL AND created_at <= r.created_at)
      AND coalesce(c.converted, 0) <> r.amount_minor - r.unapplied_minor + r.network_fee_minor
"""
I7_HELD = """
    SELECT format('refund %s is %s and holds %s', r.id, r.status, h.amount - h.captured - h.released) AS line
    FROM refunds r JOIN ledger_holds h ON h.id = r.hold_id
    WHERE r.id = ANY ($1::uuid[])
      AND ((r.status = 'pending') <> (h.status = 'active')
           OR h.amount <> r.amount_minor - r.unapplied_minor + r.network_fee_minor)
"""
I14_STATES = """
    SELECT format('transaction %s is %s, but has %s events %s', t.id, t.status, count(w.source_id), want.type) AS line
    FROM transactions t
    JOIN (VALUES ('succeeded', 'payment.succeeded'), ('failed', 'payment.failed'), ('chargeback', 'payment.chargeback'),
                 ('refund_required', 'payment.refund_required'), ('partially_refunded', 'payment.refunded'),
                 ('refunded', 'payment.refunded')) AS want (status, type) ON want.status = t.status
    LEFT JOIN webhook_event_keys w ON w.source_type = 'transaction' AND w.source_id = t.id AND w.type = want.type
    WHERE t.id = ANY ($1::uuid[])
    GROUP BY t.id, t.status, want.type HAVING count(w.source_id) = 0
"""
# The rail's own reports against the ledger's balance of the rail.
I15_RAILS = """
    SELECT format('%s %s %s: the books say %s, the rail %s', mode, rail, currency, sum(booked), sum(reported)) AS line
    FROM (SELECT p.mode, p.currency, substr(a.code, 6) AS rail,
                 CASE a.id WHEN p.debit_account_id THEN p.amount ELSE -p.amount END AS booked, 0 AS reported
          FROM ledger_postings p JOIN ledger_transactions l ON l.id = p.transaction_id AND l.mode = p.mode
          JOIN ledger_accounts a ON a.id IN (p.debit_account_id, p.credit_account_id) AND a.code LIKE 'rail:%'
          WHERE l.source_type IN ('transaction', 'refund', 'chargeback', 'payment_reversal')
          UNION ALL
          SELECT mode, currency, rail, 0, amount_minor FROM rail_observations WHERE outcome = 'confirmed'
          UNION ALL
          SELECT mode, currency, rail, 0, -amount_minor FROM refunds WHERE status = 'succeeded'
          UNION ALL
          SELECT c.mode, c.currency, t.rail, 0, -c.amount_minor
          FROM chargebacks c JOIN transactions t ON t.id = c.transaction_id
          WHERE c.status <> 'won'
          UNION ALL
          SELECT mode, currency, rail, 0, -unapplied_minor - lost_minor
          FROM payment_reversals WHERE status = 'reversed') books
    GROUP BY mode, currency, rail HAVING sum(booked) <> sum(reported)
"""
I15_UNAPPLIED = """
    SELECT format('%s %s %s: the books keep %s apart, the payments %s', mode, rail, currency, sum(booked), sum(kept)) AS line
    FROM (SELECT p.mode, p.currency, substr(a.code, 11) AS rail,
                 CASE a.id WHEN p.credit_account_id THEN p.amount ELSE -p.amount END AS booked, 0 AS kept
          FROM ledger_postings p
          JOIN ledger_accounts a ON a.id IN (p.debit_account_id, p.credit_account_id) AND a.code LIKE 'unapplied:%'
          UNION ALL
          SELECT mode, currency, rail, 0, unapplied_minor FROM transactions) books
    GROUP BY mode, currency, rail HAVING sum(booked) <> sum(kept)
"""

INVARIANTS: tuple[Invariant, ...] = (
    Invariant("I7", "received amounts are what the rail confirmed", I7_RECEIVED, "payment"),
    Invariant("I7", "credited amounts are in the ledger", I7_CREDITED, "payment"),
    Invariant("I7", "returned amounts are in refunds and chargebacks", I7_GIVEN_BACK, "payment"),
    Invariant("I7", "disputed amounts are in the ledger", I7_DISPUTED, "chargeback"),
    Invariant("I7", "reversed amounts are in the ledger", I7_REVERSED, "payment"),
    Invariant("I7", "a link counts its payments", I7_COUNTED, "link"),
    Invariant("I7", "a link is paid by its payments", I7_PAID, "link"),
    Invariant("I30", "payments are converted at their rate", I30_FIXED, "payment"),
    Invariant("I30", "no more is converted than was credited", I30_CONVERTED, "payment"),
    Invariant("I30", "refunds of converted payments are converted back", I30_REFUNDED, "refund"),
    Invariant("I7", "a pending refund has its hold", I7_HELD, "refund"),
    Invariant("I14", "every status change of a payment has an event", I14_STATES, "payment"),
    Invariant("I15", "the ledger agrees with the rails", I15_RAILS, costly=True),
    Invariant("I15", "unapplied money belongs to payments", I15_UNAPPLIED, costly=True),
)
