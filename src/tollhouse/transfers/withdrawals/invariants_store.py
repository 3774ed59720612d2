"""Every SQL statement that looks for what must never be true of withdrawals: each returns offending rows as text."""

from tollhouse.platform.database.invariants import Invariant

I8_HELD = """
    SELECT format('withdrawal %s is %s with a debit of %s; its hold of %s has %s captured, %s released', w.id, w.status,
                  w.debit_minor, h.amount, h.captured, h.released) AS line
    FROM withdrawals w JOIN ledger_holds h ON h.id = w.hold_id
    WHERE w.id = ANY ($1::uuid[]) AND (
          (h.source_type, h.source_id, h.merchant_id, h.mode, h.currency, h.amount)
          IS DISTINCT FROM ('withdrawal', w.id, w.merchant_id, w.mode, w.currency, w.debit_minor)
       OR h.captured <> CASE WHEN w.completed_at IS NULL THEN 0 ELSE w.debit_minor END
       OR h.released
          <> CASE WHEN w.completed_at IS NULL AND w.status IN ('failed', 'canceled') THEN w.debit_minor ELSE 0 END)
"""
I8_ORPHANS = """
    SELECT format('hold %s is for a withdrawal %s that there is not', h.id, h.source_id) AS line
    FROM ledger_holds h LEFT JOIN withdrawals w ON w.hold_id = h.id
    WHERE h.id = ANY ($1::uuid[]) AND h.source_type = 'withdrawal' AND w.id IS NULL
"""
I8_DAYS = """
    SELECT format('%s %s of %s counts %s on %s, its transfers sum to %s', mode, method_id, merchant_id, sum(counted), day,
                  sum(asked)) AS line
    FROM (SELECT merchant_id, mode, method_id, day, amount_minor AS counted, 0 AS asked FROM withdrawal_days
          UNION ALL
          SELECT merchant_id, mode, method_id, limit_day, 0, counted_minor FROM outgoing_transfers
          WHERE method_id IS NOT NULL AND closed_at IS NULL) x
    GROUP BY merchant_id, mode, method_id, day HAVING sum(counted) <> sum(asked)
"""
I14_STATES = """
    SELECT format('withdrawal %s is %s and has %s events of type %s', w.id, w.status, count(e.source_id), want.type) AS line
    FROM withdrawals w
    JOIN LATERAL (VALUES ('withdrawal.processing', w.processing_at IS NOT NULL),
                         ('withdrawal.completed', w.completed_at IS NOT NULL),
                         ('withdrawal.failed', w.status = 'failed')) AS want (type, due) ON true
    LEFT JOIN webhook_event_keys e ON e.source_type = 'withdrawal' AND e.source_id = w.id AND e.type = want.type
    WHERE w.id = ANY ($1::uuid[])
    GROUP BY w.id, w.status, want.type, want.due HAVING count(e.source_id) <> CASE WHEN want.due THEN 1 ELSE 0 END
"""
# What went out by a rail, by what our books say and by what became of each withdrawal.
I15_RAILS = """
    SELECT format('%s %s %s: the books say %s went out, the withdrawals %s', mode, rail, currency, sum(booked),
                  sum(sent)) AS line
    FROM (SELECT p.mode, p.currency, substr(a.code, 6) AS rail,
                 CASE a.id WHEN p.credit_account_id THEN p.amount ELSE -p.amount END AS booked, 0 AS sent
          FROM ledger_postings p JOIN ledger_transactions l ON l.id = p.transaction_id AND l.mode = p.mode
          JOIN ledger_accounts a ON a.id IN (p.debit_account_id, p.credit_account_id) AND a.code LIKE 'rail:%'
          WHERE l.source_type = 'withdrawal'
          UNION ALL
          SELECT mode, currency, rail, 0,
                 network_paid_minor + CASE status WHEN 'completed' THEN receive_minor ELSE 0 END
          FROM withdrawals WHERE completed_at IS NOT NULL) books
    GROUP BY mode, currency, rail HAVING sum(booked) <> sum(sent)
"""

INVARIANTS: tuple[Invariant, ...] = (
    Invariant("I8", "the amount of a withdrawal is held until it ends", I8_HELD, "withdrawal"),
    Invariant("I8", "every withdrawal hold has a withdrawal", I8_ORPHANS, "hold"),
    Invariant("I8", "daily totals equal the day's transfers", I8_DAYS, costly=True),
    Invariant("I14", "every status change of a withdrawal has an event", I14_STATES, "withdrawal"),
    Invariant("I15", "the ledger agrees with the rails", I15_RAILS, costly=True),
)
