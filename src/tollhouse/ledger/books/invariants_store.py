"""SQL that finds violations of the ledger's invariants, one line of text each.

`$1` are the ids of the ledger transactions to check; statements without it check everything.
"""

from tollhouse.platform.database.invariants import Invariant

I1_LINES = """
    SELECT format('transaction %s has no postings', t.id) AS line FROM ledger_transactions t
    WHERE t.id = ANY ($1::uuid[]) AND NOT EXISTS (SELECT FROM ledger_postings p WHERE p.transaction_id = t.id)
"""
I1_ENTRIES = """
    SELECT format('transaction %s line %s moves account %s by %s, its entry says %s', transaction_id, line, account_id,
                  coalesce(t.delta, 0), coalesce(e.delta, 0)) AS line
    FROM (SELECT p.transaction_id, p.line, a.id AS account_id,
                 CASE WHEN s.side = a.normal_side THEN p.amount ELSE -p.amount END AS delta
          FROM ledger_postings p
          CROSS JOIN LATERAL (VALUES (p.debit_account_id, 'debit'), (p.credit_account_id, 'credit')) s (account_id, side)
          JOIN ledger_accounts a ON a.id = s.account_id AND a.guarded
          WHERE p.transaction_id = ANY ($1::uuid[])) t
    FULL JOIN (SELECT * FROM ledger_entries WHERE transaction_id = ANY ($1::uuid[])) e
        USING (transaction_id, line, account_id)
    WHERE t.delta IS DISTINCT FROM e.delta
"""
I1_ORPHANS = """
    SELECT format('%s %s is of transaction %s, which there is not', what, line, transaction_id) AS line
    FROM (SELECT 'line' AS what, line, transaction_id FROM ledger_postings
          UNION ALL SELECT 'entry', version, transaction_id FROM ledger_entries) x
    WHERE NOT EXISTS (SELECT FROM ledger_transactions t WHERE t.id = x.transaction_id)
"""
# What an account says it has, against the last of its entries: the accounts that these transactions touched.
I2_LAST = """
    SELECT format('account %s (%s %s %s of %s) has balance %s, version %s; its last entry is number %s and leaves %s', a.id,
                  a.mode, a.currency, a.code, a.merchant_id, a.balance, a.version, e.version, e.balance_after) AS line
    FROM (SELECT DISTINCT account_id FROM ledger_entries WHERE transaction_id = ANY ($1::uuid[])) touched
    JOIN ledger_accounts a ON a.id = touched.account_id
    CROSS JOIN LATERAL (SELECT version, balance_after FROM ledger_entries
                        WHERE account_id = a.id ORDER BY version DESC LIMIT 1) e
    WHERE (a.balance, a.version) <> (e.balance_after, e.version)
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
    SELECT format('entry %s of account %s does not follow the one before it', e.version, e.account_id) AS line
    FROM ledger_entries e
    LEFT JOIN ledger_entries b ON b.account_id = e.account_id AND b.version = e.version - 1
    WHERE e.transaction_id = ANY ($1::uuid[])
      AND (b.version IS NULL AND e.version <> 1 OR e.balance_after <> coalesce(b.balance_after, 0) + e.delta
           OR e.created_at < b.created_at)
"""
I3_FLOOR = """
    SELECT format('account %s (%s %s of %s) is at %s', id, mode, currency, merchant_id, balance) AS line
    FROM ledger_accounts WHERE guarded AND balance < 0
"""
I3_LIMIT = """
    SELECT format('%s %s of %s holds %s', mode, currency, merchant_id, sum(balance)) AS line
    FROM ledger_accounts WHERE guarded AND code <> 'debt'
    GROUP BY merchant_id, mode, currency HAVING sum(balance) > 9007199254740991
"""
# Guarded accounts by their balances, platform accounts by their postings: both must agree.
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
    WHERE p.transaction_id = ANY ($1::uuid[])
      AND ((t.mode, p.currency) <> (d.mode, d.currency) OR (t.mode, p.currency) <> (c.mode, c.currency))
"""
I5_OWNERS = """
    SELECT format('entry %s is of %s %s %s of %s, its account %s of %s %s %s of %s', e.id, e.mode, e.currency, e.account,
                  e.merchant_id, a.id, a.mode, a.currency, a.code, a.merchant_id) AS line
    FROM ledger_entries e JOIN ledger_accounts a ON a.id = e.account_id
    WHERE e.transaction_id = ANY ($1::uuid[])
      AND (e.merchant_id, e.mode, e.currency, e.account) IS DISTINCT FROM (a.merchant_id, a.mode, a.currency, a.code)
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
# A report is made of differences of running totals. So its lines add up, over any interval and over two that meet, when
# four things hold: it all began with nothing, no entry is older than its transaction, running totals are sums of entries,
# and what moves between a merchant's own accounts moves no total.
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
    WHERE t.id = ANY ($1::uuid[]) AND e.created_at < t.created_at
"""
# Of each series and quarter hour.
I12_TOTALS = """
    SELECT format('%s %s %s %s of %s from %s: %s in %s rows, the running total says %s in %s', mode, currency, measure, type,
                  merchant_id, starts_at, coalesce(e.amount, 0), coalesce(e.count, 0), coalesce(k.amount, 0),
                  coalesce(k.count, 0)) AS line
    FROM running_sums AS e
    FULL JOIN (
          SELECT s.merchant_id, s.mode, s.measure, s.currency, s.type, s.raised, s.method_id, s.project_id, r.starts_at,
                 r.amount - lag(r.amount, 1, 0) OVER series AS amount,
                 r.count - lag(r.count, 1, 0::bigint) OVER series AS count
          FROM running_series s
          JOIN (SELECT id AS series_id, starts_at, amount, count FROM running_series
                UNION ALL SELECT series_id, starts_at, amount, count FROM running_totals) AS r ON r.series_id = s.id
          WINDOW series AS (PARTITION BY s.id ORDER BY r.starts_at)) AS k
        USING (merchant_id, mode, measure, currency, type, raised, method_id, project_id, starts_at)
    WHERE (coalesce(e.amount, 0), coalesce(e.count, 0)) <> (coalesce(k.amount, 0), coalesce(k.count, 0))
"""
I12_LAST = """
    SELECT format('%s %s of %s: the balances make %s, the running totals %s', e.mode, e.currency, e.merchant_id, a.total,
                  s.total) AS line
    FROM (SELECT DISTINCT merchant_id, mode, currency FROM ledger_entries WHERE transaction_id = ANY ($1::uuid[])) e
    CROSS JOIN LATERAL (SELECT sum(CASE code WHEN 'debt' THEN -balance ELSE balance END) AS total FROM ledger_accounts
                        WHERE owner = e.merchant_id AND mode = e.mode AND currency = e.currency) a
    CROSS JOIN LATERAL (SELECT coalesce(sum(amount), 0) AS total FROM running_series
                        WHERE merchant_id = e.merchant_id AND mode = e.mode AND currency = e.currency
                          AND measure = 'entries') s
    WHERE a.total <> s.total
"""
I12_INNER = """
    SELECT format('transaction %s: %s moved the total of %s by %s', transaction_id, type, merchant_id, sum(moved)) AS line
    FROM (SELECT transaction_id, type, merchant_id, currency, CASE account WHEN 'debt' THEN -delta ELSE delta END AS moved
          FROM ledger_entries
          WHERE transaction_id = ANY ($1::uuid[]) AND type IN ('hold', 'release', 'settlement')) x
    GROUP BY transaction_id, type, merchant_id, currency HAVING sum(moved) <> 0
"""
I12_COUNTS = """
    SELECT format('transaction %s: %s entries of %s for %s', transaction_id, count(*), type, merchant_id) AS line
    FROM ledger_entries
    WHERE transaction_id = ANY ($1::uuid[]) AND account = 'available' AND type NOT IN ('hold', 'release', 'settlement')
    GROUP BY transaction_id, type, merchant_id, currency, delta > 0 HAVING count(*) > 1
"""
I13_ONCE = """
    SELECT format('%s %s posted %s step %s twice', t.source_type, t.source_id, t.kind, t.step) AS line
    FROM ledger_transactions t
    JOIN ledger_transactions o
        ON (o.source_type, o.source_id, o.kind, o.step) = (t.source_type, t.source_id, t.kind, t.step) AND o.id <> t.id
    WHERE t.id = ANY ($1::uuid[])
"""
# Who posts what, from where to where. Whatever is not in this table was not posted by this program.
I20_CHART = """
    SELECT format('transaction %s line %s of source %s moves a %s from %s to %s', p.transaction_id, p.line, t.source_type,
                  p.type, d.code, c.code) AS line
    FROM ledger_transactions t JOIN ledger_postings p ON p.transaction_id = t.id
    JOIN ledger_accounts d ON d.id = p.debit_account_id JOIN ledger_accounts c ON c.id = p.credit_account_id
    WHERE t.id = ANY ($1::uuid[])
      AND (t.source_type, p.type, split_part(d.code, ':', 1), split_part(c.code, ':', 1)) NOT IN (VALUES
          ('transaction', 'payment', 'rail', 'available'), ('transaction', 'payment', 'rail', 'unapplied'),
          ('transaction', 'payment', 'unapplied', 'available'), ('transaction', 'payment_fee', 'available', 'income'),
          ('transaction', 'settlement', 'available', 'debt'),
          ('refund', 'hold', 'available', 'reserved'), ('refund', 'release', 'reserved', 'available'),
          ('refund', 'refund', 'reserved', 'rail'), ('refund', 'refund', 'unapplied', 'rail'),
          ('refund', 'refund_reversal', 'rail', 'available'), ('refund', 'refund_reversal', 'rail', 'unapplied'),
          ('refund', 'settlement', 'available', 'debt'),
          ('chargeback', 'chargeback', 'available', 'rail'), ('chargeback', 'chargeback', 'debt', 'rail'),
          ('chargeback', 'chargeback_fee', 'available', 'income'), ('chargeback', 'chargeback_fee', 'debt', 'income'),
          ('chargeback', 'chargeback_reversal', 'rail', 'available'), ('chargeback', 'settlement', 'available', 'debt'),
          ('payment_reversal', 'payment_reversal', 'unapplied', 'rail'),
          ('payment_reversal', 'payment_reversal', 'expense', 'rail'),
          ('payment_reversal', 'payment_reinstatement', 'rail', 'unapplied'),
          ('payment_reversal', 'payment_reinstatement', 'rail', 'expense'),
          ('refund', 'network_fee', 'reserved', 'expense'),
          ('withdrawal', 'hold', 'available', 'reserved'), ('withdrawal', 'release', 'reserved', 'available'),
          ('withdrawal', 'withdrawal', 'reserved', 'rail'), ('withdrawal', 'withdrawal_fee', 'reserved', 'income'),
          ('withdrawal', 'network_fee', 'reserved', 'rail'), ('withdrawal', 'network_fee', 'reserved', 'expense'),
          ('withdrawal', 'network_fee', 'expense', 'rail'), ('withdrawal', 'withdrawal_return', 'rail', 'available'),
          ('withdrawal', 'settlement', 'available', 'debt'),
          ('balance_payment', 'hold', 'available', 'reserved'), ('balance_payment', 'release', 'reserved', 'available'),
          ('balance_payment', 'balance_payment_out', 'available', 'available'),
          ('balance_payment', 'balance_payment_out', 'reserved', 'available'),
          ('balance_payment', 'balance_payment_refund', 'available', 'available'),
          ('balance_payment', 'settlement', 'available', 'debt'),
          ('conversion', 'conversion_out', 'available', 'fx'), ('conversion', 'conversion_in', 'fx', 'available'),
          ('conversion', 'conversion_fee', 'available', 'income'), ('conversion', 'settlement', 'available', 'debt'),
          ('fulfillment', 'hold', 'available', 'reserved'), ('fulfillment', 'release', 'reserved', 'available'),
          ('fulfillment', 'fulfillment', 'reserved', 'payable'), ('fulfillment', 'fulfillment', 'reserved', 'income'),
          ('fulfillment', 'settlement', 'available', 'debt'),
          ('adjustment', 'adjustment', 'equity', 'available'), ('adjustment', 'adjustment', 'available', 'equity'),
          ('adjustment', 'adjustment', 'available', 'rail'), ('adjustment', 'adjustment', 'debt', 'rail'),
          ('adjustment', 'settlement', 'available', 'debt'),
          ('bank_entry', 'bank_entry', 'bank', 'rail'), ('bank_entry', 'bank_entry', 'rail', 'bank'),
          ('bank_entry', 'bank_entry', 'bank', 'unmatched'), ('bank_entry', 'bank_entry', 'unmatched', 'bank'),
          ('bank_entry', 'bank_entry', 'bank', 'equity'), ('bank_entry', 'bank_entry', 'equity', 'bank'),
          ('bank_statement', 'bank_opening', 'bank', 'equity'), ('bank_statement', 'bank_opening', 'equity', 'bank'),
          ('bank_transfer', 'bank_assignment', 'unmatched', 'rail'),
          ('bank_transfer', 'bank_assignment', 'rail', 'unmatched'),
          ('bank_transfer', 'bank_assignment', 'unmatched', 'transit'),
          ('bank_transfer', 'bank_reopening', 'transit', 'unmatched'),
          ('bank_transfer', 'bank_dismissal', 'unmatched', 'equity'),
          ('bank_transfer', 'bank_dismissal', 'equity', 'unmatched'),
          ('bank_transfer', 'bank_fee', 'unmatched', 'expense'), ('bank_transfer', 'bank_fee', 'expense', 'unmatched'),
          ('bank_transfer', 'bank_return_fee', 'expense', 'rail'),
          ('bank_transfer', 'bank_write_off', 'unmatched', 'expense'),
          ('bank_transfer', 'bank_write_off', 'expense', 'unmatched'),
          ('bank_transfer', 'bank_reopening', 'expense', 'unmatched'),
          ('bank_transfer', 'bank_reopening', 'unmatched', 'expense'),
          ('bank_transfer', 'bank_reopening', 'equity', 'unmatched'),
          ('bank_transfer', 'bank_reopening', 'unmatched', 'equity'),
          ('chain_payout', 'network_fee', 'expense', 'rail'),
          ('balance_transaction', 'provider_fee', 'expense', 'rail'),
          ('balance_transaction', 'provider_fee', 'rail', 'expense'),
          ('balance_transaction', 'provider_payout', 'transit', 'rail'),
          ('balance_transaction', 'provider_payout', 'rail', 'transit'),
          ('bitcoin_batch', 'network_fee', 'expense', 'rail'),
          ('rail_float', 'rail_float', 'rail', 'equity'), ('rail_float', 'rail_float', 'equity', 'rail'),
          ('test_funding', 'test_funding', 'equity', 'available'), ('test_funding', 'settlement', 'available', 'debt'))
"""

INVARIANTS: tuple[Invariant, ...] = (
    Invariant("I1", "every transaction has postings", I1_LINES, "ledger"),
    Invariant("I1", "every posting has its entries", I1_ENTRIES, "ledger"),
    Invariant("I1", "every posting and entry has its transaction", I1_ORPHANS, costly=True),
    Invariant("I2", "a balance is the sum of its entries", I2_BALANCES, costly=True),
    Invariant("I2", "a balance is what the last entry leaves", I2_LAST, "ledger"),
    Invariant("I2", "entries have no gaps", I2_RUNNING, "ledger"),
    Invariant("I3", "no merchant's account is below zero", I3_FLOOR),
    Invariant("I3", "no balance is above its limit", I3_LIMIT),
    Invariant("I4", "debits equal credits", I4_CONSERVATION, costly=True),
    Invariant("I5", "a transaction has one currency and one environment", I5_MEETING, "ledger"),
    Invariant("I5", "an entry belongs to the account's merchant", I5_OWNERS, "ledger"),
    Invariant("I6", "reserved balances equal open holds", I6_HOLDS),
    Invariant("I10", "debt is repaid first", I10_DEBT),
    Invariant("I12", "reports start at zero", I12_BEGINNING, costly=True),
    Invariant("I12", "reports include every entry", I12_TIMES, "ledger"),
    Invariant("I12", "running totals are the sums of what they add up", I12_TOTALS, costly=True),
    Invariant("I12", "running totals make the balance", I12_LAST, "ledger"),
    Invariant("I12", "reports ignore internal movements", I12_INNER, "ledger"),
    Invariant("I12", "reports count a transaction once", I12_COUNTS, "ledger"),
    Invariant("I13", "a transition posts once", I13_ONCE, "ledger"),
    Invariant("I20", "every posting is of a known kind", I20_CHART, "ledger"),
)
