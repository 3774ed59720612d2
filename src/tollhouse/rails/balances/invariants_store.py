"""SQL of the invariants of rails beside the ledger. Each row is a violation."""

from tollhouse.platform.database.invariants import Invariant

I32_BOOKED = """
    SELECT format('action %s put %s %s on a rail; the ledger has %s on %s', a.id, a.amount_minor, a.currency,
                  coalesce(l.moved, 0), coalesce(f.rail, 'none')) AS line
    FROM operator_actions a
    LEFT JOIN rail_floats f ON f.id = a.id
    LEFT JOIN LATERAL (
        SELECT sum(CASE r.id WHEN p.debit_account_id THEN p.amount ELSE -p.amount END) AS moved
        FROM ledger_transactions t
        JOIN ledger_postings p ON p.transaction_id = t.id AND p.currency = a.currency
        JOIN ledger_accounts r ON r.id IN (p.debit_account_id, p.credit_account_id) AND r.code = 'rail:' || f.rail
        WHERE (t.source_type, t.source_id, t.mode) = ('rail_float', a.id, f.mode)) l ON true
    WHERE a.id = ANY ($1::uuid[]) AND a.action = 'rail_float_changed'
      AND (a.currency, a.amount_minor, a.amount_minor) IS DISTINCT FROM (f.currency, f.amount_minor, l.moved)
"""
I32_BY_OPERATOR = """
    SELECT format('ledger transaction %s moves money of the operator by no action %s', t.id, t.source_id) AS line
    FROM ledger_transactions t
    WHERE t.id = ANY ($1::uuid[]) AND t.source_type = 'rail_float'
      AND NOT EXISTS (SELECT FROM operator_actions a WHERE (a.id, a.action) = (t.source_id, 'rail_float_changed'))
"""
# What is in the account of a network: its deposits that were credited and not reversed, less its payouts and fees, and the
# operator's money. The fee of a withdrawal of the coin is posted with the withdrawal. Networks have deposit addresses.
I32_ACCOUNT = """
    WITH networks AS (
        SELECT c.rail FROM rail_cursors c
        WHERE c.mode = 'live' AND c.cursor IS NOT NULL
          AND EXISTS (SELECT FROM deposit_addresses d
                      WHERE (d.rail, d.mode) = (c.rail, c.mode) AND d.address LIKE '0x%'))
    SELECT format('%s %s: the ledger has %s, deposits, payouts and own money make %s', rail, currency, sum(booked),
                  sum(made)) AS line
    FROM (SELECT c.rail, p.currency, CASE a.id WHEN p.debit_account_id THEN p.amount ELSE -p.amount END AS booked, 0 AS made
          FROM networks c JOIN ledger_accounts a ON a.code = 'rail:' || c.rail AND a.mode = 'live'
          JOIN ledger_postings p ON a.id IN (p.debit_account_id, p.credit_account_id)
          UNION ALL
          SELECT d.rail, d.currency, 0, d.amount_minor
          FROM chain_deposits d WHERE d.mode = 'live' AND d.status IN ('confirmed', 'lost')
          UNION ALL
          SELECT p.rail, p.currency, 0, -o.amount_minor
          FROM chain_payouts p JOIN outgoing_transfers o ON o.id = p.transfer_id
          LEFT JOIN withdrawals w ON p.kind = 'withdrawal' AND w.id = p.id
          LEFT JOIN refunds r ON p.kind = 'refund' AND r.id = p.id
          WHERE p.mode = 'live' AND (w.status = 'completed' OR r.status = 'succeeded')
          UNION ALL
          SELECT p.rail, p.fee_currency, 0, -p.fee_minor
          FROM chain_payouts p LEFT JOIN withdrawals w ON p.kind = 'withdrawal' AND w.id = p.id
          WHERE p.mode = 'live' AND p.fee_minor IS NOT NULL
            AND (p.kind <> 'withdrawal' OR p.currency <> p.fee_currency OR p.status <> 'completed' OR w.status = 'completed')
          UNION ALL
          SELECT f.rail, f.currency, 0, f.amount_minor FROM rail_floats f WHERE f.mode = 'live') parts
    WHERE rail IN (SELECT n.rail FROM networks n)
    GROUP BY rail, currency HAVING sum(booked) <> sum(made)
"""
# The same of Bitcoin, whose rails carry one currency: outputs that were credited, less what was reversed.
I32_BITCOIN = """
    WITH rails AS (
        SELECT rail FROM bitcoin_outputs WHERE mode = 'live' UNION SELECT rail FROM bitcoin_payouts WHERE mode = 'live')
    SELECT format('%s: the ledger has %s, deposits and payouts in bitcoin make %s', rail, sum(booked), sum(made)) AS line
    FROM (SELECT r.rail, CASE a.id WHEN p.debit_account_id THEN p.amount ELSE -p.amount END AS booked, 0 AS made
          FROM rails r JOIN ledger_accounts a ON a.code = 'rail:' || r.rail AND a.mode = 'live'
          JOIN ledger_postings p ON a.id IN (p.debit_account_id, p.credit_account_id)
          UNION ALL
          SELECT o.rail, 0, o.amount_minor FROM bitcoin_outputs o
          WHERE o.mode = 'live' AND o.status IN ('confirmed', 'reversed')
          UNION ALL
          SELECT v.rail, 0, -v.amount_minor FROM payment_reversals v WHERE v.mode = 'live' AND v.status = 'reversed'
          UNION ALL
          SELECT p.rail, 0, -p.amount_minor - CASE p.kind WHEN 'withdrawal' THEN p.fee_minor ELSE 0 END
          FROM bitcoin_payouts p
          LEFT JOIN withdrawals w ON p.kind = 'withdrawal' AND w.id = p.id
          LEFT JOIN refunds r ON p.kind = 'refund' AND r.id = p.id
          WHERE p.mode = 'live' AND p.status = 'completed' AND (w.status = 'completed' OR r.status = 'succeeded')
          UNION ALL
          SELECT b.rail, 0, -b.expensed_fee_minor FROM bitcoin_batches b
          WHERE b.mode = 'live' AND b.status = 'confirmed'
          UNION ALL
          SELECT f.rail, 0, f.amount_minor FROM rail_floats f WHERE f.mode = 'live') parts
    WHERE rail IN (SELECT n.rail FROM rails n)
    GROUP BY rail HAVING sum(booked) <> sum(made)
"""
# Three measurements in a row: one alone can be read between two answers of a node. A rail that was removed is not measured.
I32_MEASURED = """
    SELECT format('%s %s differs by %s since %s', m.rail, c.currency, max(l.difference), min(l.measured_at)) AS line
    FROM rail_measurements m
    CROSS JOIN LATERAL (SELECT DISTINCT b.currency FROM rail_balances b WHERE (b.rail, b.mode) = (m.rail, m.mode)) c
    CROSS JOIN LATERAL (
        SELECT b.measured_at, abs(b.difference_units) > b.tolerance_units AS differs,
               trim_scale(b.difference_units / 10::numeric ^ b.decimals) AS difference
        FROM rail_balances b WHERE (b.rail, b.mode, b.currency) = (m.rail, m.mode, c.currency)
        ORDER BY b.measured_at DESC LIMIT 3) l
    WHERE m.next_at > now() - interval '1 day'
    GROUP BY m.rail, c.currency HAVING bool_and(l.differs) AND count(*) = 3
"""
I32_SUMS = """
    SELECT format('%s %s at %s: the parts make %s, stored are %s', b.rail, b.currency, b.measured_at,
                  o.units - b.ledger_units - f.units, b.difference_units) AS line
    FROM rail_balances b
    CROSS JOIN LATERAL (SELECT coalesce(sum(value::numeric), 0) AS units FROM jsonb_each_text(b.facts -> 'places')) o
    CROSS JOIN LATERAL (SELECT coalesce(sum(value::numeric), 0) AS units FROM jsonb_each_text(b.facts -> 'in_flight')) f
    WHERE (o.units, f.units, o.units - b.ledger_units - f.units) <> (b.outside_units, b.in_flight_units, b.difference_units)
"""

INVARIANTS: tuple[Invariant, ...] = (
    Invariant("I32", "own money on a rail is in the ledger", I32_BOOKED, "operator_action"),
    Invariant("I32", "own money on a rail is booked by an operator", I32_BY_OPERATOR, "ledger"),
    Invariant("I32", "the ledger has what deposits and payouts make", I32_ACCOUNT, costly=True),
    Invariant("I32", "the ledger has what deposits and payouts in bitcoin make", I32_BITCOIN, costly=True),
    Invariant("I32", "the parts of a measured balance make its difference", I32_SUMS, costly=True),
    Invariant("I32", "a rail has outside what the ledger has", I32_MEASURED),
)
