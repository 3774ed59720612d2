"""SQL that finds violations of the invariants of daily totals, one line of text each."""

from tollhouse.platform.database.invariants import Invariant

I27_TOTALS = """
    SELECT format('%s %s %s: %s from %s to %s is %s in %s postings, the daily total says %s in %s', day, mode, currency,
                  type, debit_code, credit_code, coalesce(p.amount, 0), coalesce(p.postings, 0),
                  coalesce(t.amount_minor, 0), coalesce(t.postings, 0)) AS line
    FROM (SELECT mode, currency, day, type, debit_code, credit_code, sum(amount) AS amount, count(*) AS postings
          FROM ledger_daily_postings WHERE created_at < (SELECT added_until FROM ledger_daily_totals_state)
          GROUP BY 1, 2, 3, 4, 5, 6) AS p
    FULL JOIN ledger_daily_totals t USING (mode, currency, day, type, debit_code, credit_code)
    WHERE (p.amount, p.postings) IS DISTINCT FROM (t.amount_minor, t.postings)
"""

INVARIANTS: tuple[Invariant, ...] = (
    Invariant("I27", "the daily totals are those of the postings", I27_TOTALS, costly=True),
)
