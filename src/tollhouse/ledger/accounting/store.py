"""SQL of the daily totals of the ledger, their invariant, and its postings in the order of time. Only live mode is read."""

from datetime import date, datetime

from tollhouse.ledger.accounting.model import AccountTotal, DailyTotal, JournalPosition, JournalPosting
from tollhouse.platform.database.invariants import Invariant
from tollhouse.platform.database.pool import Pool, Tx

# An hour is added at a time, and at most up to 15 minutes ago: every transaction of that time has ended. Those that are
# dated back by more than five minutes add themselves. The row is locked until the transaction ends.
NEXT_HOUR = """
    SELECT added_until AS since, now() - interval '15 minutes' AS latest,
           greatest(added_until, coalesce((SELECT created_at FROM ledger_transactions ORDER BY id LIMIT 1), now()))
               + interval '1 hour' AS until
    FROM ledger_daily_totals_state FOR UPDATE SKIP LOCKED
"""
ADD = """
    INSERT INTO ledger_daily_totals AS t (mode, currency, day, type, debit_code, credit_code, amount_minor, postings)
    SELECT mode, currency, day, type, debit_code, credit_code, sum(amount), count(*)
    FROM ledger_daily_postings WHERE created_at >= $1 AND created_at < $2
    GROUP BY 1, 2, 3, 4, 5, 6 ORDER BY 1, 2, 3, 4, 5, 6
    ON CONFLICT (mode, currency, day, type, debit_code, credit_code)
        DO UPDATE SET amount_minor = t.amount_minor + excluded.amount_minor, postings = t.postings + excluded.postings
"""
ADVANCE = "UPDATE ledger_daily_totals_state SET added_until = $1"
ADDED_UNTIL = "SELECT added_until FROM ledger_daily_totals_state"
# $1 is `added_until` of the same snapshot, known when the statement is planned.
TOTALS = """
    WITH moved AS (
        SELECT currency, debit_code, credit_code, sum(amount) AS amount
        FROM (SELECT currency, debit_code, credit_code, amount_minor AS amount FROM ledger_daily_totals
              WHERE mode = 'live' AND ($2::date IS NULL OR day <= $2)
              UNION ALL
              SELECT currency, debit_code, credit_code, amount FROM ledger_daily_postings
              WHERE mode = 'live' AND created_at >= $1 AND ($2::date IS NULL OR day <= $2)) AS parts
        GROUP BY currency, debit_code, credit_code)
    SELECT currency, code, sum(debit)::text AS debit, sum(credit)::text AS credit
    FROM (SELECT currency, debit_code AS code, amount AS debit, 0 AS credit FROM moved
          UNION ALL SELECT currency, credit_code, 0, amount FROM moved) AS sides
    GROUP BY currency, code
"""
DAYS = """
    SELECT day, type, debit_code, credit_code, sum(amount)::text AS amount, sum(postings)::bigint AS postings
    FROM (SELECT day, type, debit_code, credit_code, amount_minor AS amount, postings FROM ledger_daily_totals
          WHERE mode = 'live' AND currency = $2 AND day BETWEEN $3 AND $4
          UNION ALL
          SELECT day, type, debit_code, credit_code, amount, 1 FROM ledger_daily_postings
          WHERE mode = 'live' AND currency = $2 AND created_at >= $1 AND day BETWEEN $3 AND $4) AS parts
    GROUP BY day, type, debit_code, credit_code ORDER BY day, type, debit_code, credit_code
"""
# Ids are in order of time, but for what was dated back.
FIRST = "SELECT created_at FROM ledger_transactions ORDER BY id LIMIT 1"
JOURNAL = """
    SELECT created_at, transaction_id, line, type, currency, amount, debit_code, debit_merchant_id, credit_code,
           credit_merchant_id, source_type, source_id
    FROM ledger_daily_postings
    WHERE mode = 'live' AND created_at >= $1 AND created_at < $4 AND (created_at, transaction_id, line) > ($1, $2, $3)
    ORDER BY created_at, transaction_id, line LIMIT $5
"""
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


async def add_next_hour(tx: Tx) -> bool:
    """Add the next hour to the daily totals. False if it is the last one, or another process adds it."""
    row = await tx.fetchrow(NEXT_HOUR)
    if row is None:
        return False
    until = min(row["until"], row["latest"])
    if until > row["since"]:
        await tx.fetch_custom_plan(ADD, row["since"], until)
        await tx.execute(ADVANCE, until)
    return until < row["latest"]


async def list_totals(tx: Tx, day: date | None) -> list[AccountTotal]:
    """Every account at the end of a day, or now. Call it in a snapshot."""
    rows = await tx.fetch_custom_plan(TOTALS, await tx.fetchval(ADDED_UNTIL), day)
    return [AccountTotal(row["currency"], row["code"], int(row["debit"]), int(row["credit"])) for row in rows]


async def list_days(tx: Tx, currency: str, first: date, last: date) -> list[DailyTotal]:
    """What was posted on each of these days, in order. Call it in a snapshot."""
    rows = await tx.fetch_custom_plan(DAYS, await tx.fetchval(ADDED_UNTIL), currency, first, last)
    return [
        DailyTotal(row["day"], row["type"], row["debit_code"], row["credit_code"], int(row["amount"]), row["postings"])
        for row in rows
    ]


async def first_posted_at(db: Pool) -> datetime | None:
    """The time of the first ledger transaction; None if there is none."""
    row = await db.fetchrow(FIRST)
    return None if row is None else row["created_at"]


async def list_postings(db: Pool, after: JournalPosition, until: datetime, limit: int) -> list[JournalPosting]:
    """Postings after a position and before a time, in order."""
    rows = await db.fetch_custom_plan(JOURNAL, after.at, after.transaction_id, after.line, until, limit)
    return [JournalPosting(*row.values()) for row in rows]
