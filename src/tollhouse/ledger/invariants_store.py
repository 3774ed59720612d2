"""Every SQL statement that looks for what must never be in the ledger. Each returns the offending rows as a line of text."""

from tollhouse.platform.db import Tx

I1_LINES = """
    SELECT format('transaction %s has no lines', t.id) AS line FROM ledger_transactions t
    WHERE NOT EXISTS (SELECT FROM ledger_postings p WHERE p.transaction_id = t.id)
"""
I1_ENTRIES = """
    SELECT format('transaction %s line %s moves account %s by %s, its entry says %s', transaction_id, line, account_id,
                  coalesce(t.delta, 0), coalesce(e.delta, 0)) AS line
    FROM (SELECT p.transaction_id, p.line, a.id AS account_id,
                 CASE WHEN s.side = a.normal_side THEN p.amount ELSE -p.amount END AS delta
          FROM ledger_postings p
          CROSS JOIN LATERAL (VALUES (p.debit_account_id, 'debit'), (p.credit_account_id, 'credit')) s (account_id, side)
          JOIN ledger_accounts a ON a.id = s.account_id AND a.guarded) t
    FULL JOIN ledger_entries e USING (transaction_id, line, account_id)
    WHERE t.delta IS DISTINCT FROM e.delta
"""
I2_BALANCES = """
    SELECT format('account %s (%s %s %s of %s) has balance %s, version %s; its %s entries sum to %s, end at %s, number %s',
                  a.id, a.mode, a.currency, a.code, a.merchant_id, a.balance, a.version,
                  e.entries, e.total, e.last, e.top) AS line
    FROM ledger_accounts a
    LEFT JOIN (SELECT account_id, sum(delta) AS total, count(*) AS entries, max(version) AS top,
                      (array_agg(balance_after ORDER BY version DESC))[1] AS last
               FROM ledger_entries GROUP BY account_id) e ON e.account_id = a.id
    WHERE a.guarded AND (a.balance, a.version, a.balance, a.version)
          IS DISTINCT FROM (coalesce(e.total, 0), coalesce(e.top, 0), coalesce(e.last, 0), coalesce(e.entries, 0))
"""
I2_RUNNING = """
    SELECT format('entry %s of account %s does not follow the one before it', w.version, w.account_id) AS line
    FROM (SELECT account_id, version, delta, balance_after, created_at,
                 lag(version, 1, 0::bigint) OVER a AS version_before,
                 lag(balance_after, 1, 0::bigint) OVER a AS balance_before,
                 lag(created_at) OVER a AS before
          FROM ledger_entries WINDOW a AS (PARTITION BY account_id ORDER BY version)) w
    WHERE w.version <> w.version_before + 1 OR w.balance_after <> w.balance_before + w.delta OR w.created_at < w.before
"""
I3_FLOOR = """
    SELECT format('account %s (%s %s of %s) is at %s', id, mode, currency, merchant_id, balance) AS line
    FROM ledger_accounts WHERE guarded AND balance < 0
"""
# Guarded accounts by their rows, platform accounts by their postings: the two books are kept apart, and must agree.
I4_CONSERVATION = """
    SELECT format('%s %s: debit balances are %s, credit balances %s', mode, currency, debits, credits) AS line
    FROM (SELECT mode, currency, coalesce(sum(balance) FILTER (WHERE normal_side = 'debit'), 0) AS debits,
                 coalesce(sum(balance) FILTER (WHERE normal_side = 'credit'), 0) AS credits
          FROM (SELECT mode, currency, normal_side, balance FROM ledger_accounts WHERE guarded
                UNION ALL
                SELECT a.mode, a.currency, a.normal_side, CASE WHEN s.side = a.normal_side THEN p.amount ELSE -p.amount END
                FROM ledger_postings p
                CROSS JOIN LATERAL
                    (VALUES (p.debit_account_id, 'debit'), (p.credit_account_id, 'credit')) s (account_id, side)
                JOIN ledger_accounts a ON a.id = s.account_id AND NOT a.guarded) books
          GROUP BY mode, currency) sums
    WHERE debits <> credits
"""
I5_MEETING = """
    SELECT format('transaction %s line %s joins %s %s with %s %s', p.transaction_id, p.line,
                  d.mode, d.currency, c.mode, c.currency) AS line
    FROM ledger_postings p JOIN ledger_transactions t ON t.id = p.transaction_id
    JOIN ledger_accounts d ON d.id = p.debit_account_id JOIN ledger_accounts c ON c.id = p.credit_account_id
    WHERE (t.mode, p.currency) <> (d.mode, d.currency) OR (t.mode, p.currency) <> (c.mode, c.currency)
"""
I6_HOLDS = """
    SELECT format('%s %s of %s: %s is reserved, active holds hold %s', mode, currency, merchant_id, reserved, held) AS line
    FROM (SELECT merchant_id, mode, currency, sum(reserved) AS reserved, sum(held) AS held
          FROM (SELECT merchant_id, mode, currency, balance AS reserved, 0 AS held
                FROM ledger_accounts WHERE guarded AND code = 'reserved'
                UNION ALL SELECT merchant_id, mode, currency, 0, amount - captured - released
                FROM ledger_holds WHERE status = 'active') x
          GROUP BY merchant_id, mode, currency) sums
    WHERE reserved <> held
"""
I10_DEBT = """
    SELECT format('%s %s of %s: %s is available beside a debt of %s', a.mode, a.currency, a.merchant_id,
                  a.balance, d.balance) AS line
    FROM ledger_accounts a JOIN ledger_accounts d ON (d.owner, d.mode, d.currency) = (a.owner, a.mode, a.currency)
    WHERE a.guarded AND a.code = 'available' AND d.code = 'debt' AND a.balance > 0 AND d.balance > 0
"""
# A report's opening is what there is now, less everything since. So its lines add up, over any interval and over two that
# meet, when three things hold: it all began with nothing, no entry is older than its transaction, and what moves between a
# merchant's own accounts moves no total.
I12_BEGINNING = """
    SELECT format('%s %s of %s: the balances make %s, all entries %s', mode, currency, owner, sum(total), sum(moved)) AS line
    FROM (SELECT owner, mode, currency, CASE code WHEN 'debt' THEN -balance ELSE balance END AS total, 0 AS moved
          FROM ledger_accounts WHERE guarded
          UNION ALL
          SELECT merchant_id, mode, currency, 0, CASE account WHEN 'debt' THEN -delta ELSE delta END FROM ledger_entries) x
    GROUP BY owner, mode, currency HAVING sum(total) <> sum(moved)
"""
I12_TIMES = """
    SELECT format('entry %s is older than its transaction', e.id) AS line
    FROM ledger_entries e JOIN ledger_transactions t ON t.id = e.transaction_id AND t.mode = e.mode
    WHERE e.created_at < t.created_at
"""
I12_INNER = """
    SELECT format('transaction %s: %s moved the total of %s by %s', transaction_id, type, merchant_id, sum(moved)) AS line
    FROM (SELECT transaction_id, type, merchant_id, currency, CASE account WHEN 'debt' THEN -delta ELSE delta END AS moved
          FROM ledger_entries WHERE type IN ('hold', 'release', 'settlement')) x
    GROUP BY transaction_id, type, merchant_id, currency HAVING sum(moved) <> 0
"""
I12_COUNTS = """
    SELECT format('transaction %s: %s entries of %s for %s', transaction_id, count(*), type, merchant_id) AS line
    FROM ledger_entries WHERE account = 'available' AND type NOT IN ('hold', 'release', 'settlement')
    GROUP BY transaction_id, type, merchant_id, currency, delta > 0 HAVING count(*) > 1
"""
I13_ONCE = """
    SELECT format('%s %s posted %s step %s %s times', source_type, source_id, kind, step, count(*)) AS line
    FROM ledger_transactions GROUP BY source_type, source_id, kind, step HAVING count(*) > 1
"""

INVARIANTS: tuple[tuple[str, str, str], ...] = (
    ("I1", "every transaction has lines", I1_LINES),
    ("I1", "every line has its entries", I1_ENTRIES),
    ("I2", "a balance is the sum of its entries", I2_BALANCES),
    ("I2", "entries have no gaps", I2_RUNNING),
    ("I3", "no merchant's account is below zero", I3_FLOOR),
    ("I4", "debits equal credits", I4_CONSERVATION),
    ("I5", "currencies and environments never meet", I5_MEETING),
    ("I6", "what is reserved is held", I6_HOLDS),
    ("I10", "debt is repaid first", I10_DEBT),
    ("I12", "reports begin with nothing", I12_BEGINNING),
    ("I12", "reports leave no entry out", I12_TIMES),
    ("I12", "reports do not count what only changes its place", I12_INNER),
    ("I12", "reports count a transaction once", I12_COUNTS),
    ("I13", "a transition posts once", I13_ONCE),
)


async def offending(tx: Tx, statement: str) -> list[str]:
    """The lines that one of the statements above finds."""
    return [row["line"] for row in await tx.fetch(statement)]
