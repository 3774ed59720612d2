"""SQL of the financial summary."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from tollhouse.kernel.environment import MerchantEnv
from tollhouse.platform.db import Row, Tx

TOTALS = """
    SELECT currency, sum(CASE code WHEN 'debt' THEN -balance ELSE balance END)::text AS total
    FROM ledger_accounts WHERE owner = $1 AND mode = $2 AND ($3::text IS NULL OR currency = $3)
    GROUP BY currency ORDER BY currency
"""
# By the time of the ledger transaction, so that its entries are in one period. An entry is never older than its transaction,
# so the condition on its own time, which has the index, excludes nothing. Period 1 starts at the first time of $4; the last
# period is everything after the report.
MOVES = """
    SELECT e.currency, width_bucket(t.created_at, $4::timestamptz[]) AS period, e.type,
           (e.account = 'debt') <> (e.delta > 0) AS raised,
           sum(CASE e.account WHEN 'debt' THEN -e.delta ELSE e.delta END)::text AS moved, count(*) AS transactions
    FROM ledger_entries e
    JOIN ledger_transactions t ON t.id = e.transaction_id AND t.mode = e.mode
    WHERE e.merchant_id = $1 AND e.mode = $2 AND ($3::text IS NULL OR e.currency = $3)
      AND e.created_at >= ($4::timestamptz[])[1] AND t.created_at >= ($4::timestamptz[])[1]
    GROUP BY 1, 2, 3, 4
"""
# Corrects the counts of MOVES. A transaction has one entry of a type and direction on the available balance, but may have
# more on reserved or debt (a price in two parts, a partly covered charge). These are subtracted, all but one, or all if
# there is one on the available balance. Grouping everything by transaction would take three times as long.
COUNTED_TWICE = """
    SELECT o.currency, width_bucket(o.at, $4::timestamptz[]) AS period, o.type, o.raised,
           sum(o.entries - CASE WHEN beside.id IS NULL THEN 1 ELSE 0 END)::bigint AS transactions
    FROM (
        SELECT t.id, t.created_at AS at, e.currency, e.type, (e.account = 'debt') <> (e.delta > 0) AS raised,
               count(*) AS entries
        FROM ledger_accounts a
        JOIN ledger_entries e ON e.account_id = a.id
        JOIN ledger_transactions t ON t.id = e.transaction_id AND t.mode = e.mode
        WHERE a.owner = $1 AND a.mode = $2 AND a.code <> 'available' AND ($3::text IS NULL OR a.currency = $3)
          AND e.merchant_id = $1 AND e.mode = $2 AND e.type <> ALL ($5::text[])
          AND e.created_at >= ($4::timestamptz[])[1] AND t.created_at >= ($4::timestamptz[])[1]
        GROUP BY 1, 2, 3, 4, 5
    ) AS o
    LEFT JOIN ledger_entries beside
        ON beside.merchant_id = $1 AND beside.mode = $2 AND beside.account = 'available' AND beside.transaction_id = o.id
        AND (beside.currency, beside.type, beside.delta > 0) = (o.currency, o.type, o.raised)
    GROUP BY 1, 2, 3, 4
    HAVING sum(o.entries - CASE WHEN beside.id IS NULL THEN 1 ELSE 0 END) > 0
"""

# The same for one project, from its first entry on: period 0 is everything before the report.
MOVES_OF_PROJECT = """
    WITH paid AS (
        SELECT x.id FROM transactions x
        JOIN payment_links l ON (l.merchant_id, l.mode, l.id) = (x.merchant_id, x.mode, x.payment_link_id)
        WHERE x.merchant_id = $1 AND x.mode = $2 AND l.project_id = $5
    ), sources AS (
        SELECT 'transaction' AS type, id FROM paid
        UNION ALL SELECT 'refund', r.id FROM refunds r JOIN paid ON paid.id = r.transaction_id
        UNION ALL SELECT 'chargeback', c.id FROM chargebacks c JOIN paid ON paid.id = c.transaction_id
    )
    SELECT e.currency, width_bucket(t.created_at, $4::timestamptz[]) AS period, e.type, m.delta > 0 AS raised,
           sum(m.delta)::text AS moved, count(DISTINCT e.transaction_id) AS transactions
    FROM ledger_entries e
    JOIN ledger_transactions t ON t.id = e.transaction_id AND t.mode = e.mode
    JOIN sources s ON (s.type, s.id) = (t.source_type, t.source_id)
    CROSS JOIN LATERAL (SELECT CASE e.account WHEN 'debt' THEN -e.delta ELSE e.delta END AS delta) m
    WHERE e.merchant_id = $1 AND e.mode = $2 AND ($3::text IS NULL OR e.currency = $3)
    GROUP BY 1, 2, 3, 4
"""

# Payments, fees, refunds and chargebacks by method, from $4 to $5. A credited payment is one entry, so entries are counted.
BY_METHOD = """
    SELECT e.currency, x.method_id, e.type,
           sum(CASE e.account WHEN 'debt' THEN -e.delta ELSE e.delta END)::text AS moved, count(*) AS entries
    FROM ledger_entries e
    JOIN ledger_transactions t ON t.id = e.transaction_id AND t.mode = e.mode
    LEFT JOIN refunds r ON t.source_type = 'refund' AND r.id = t.source_id
    LEFT JOIN chargebacks c ON t.source_type = 'chargeback' AND c.id = t.source_id
    JOIN transactions x ON x.id = coalesce(r.transaction_id, c.transaction_id, t.source_id)
        AND x.merchant_id = $1 AND x.mode = $2
    WHERE e.merchant_id = $1 AND e.mode = $2 AND ($3::text IS NULL OR e.currency = $3)
      AND e.created_at >= $4 AND t.created_at >= $4 AND t.created_at < $5 AND e.type = ANY ($7::text[])
      AND ($6::uuid IS NULL OR EXISTS (SELECT FROM payment_links l WHERE l.id = x.payment_link_id AND l.project_id = $6))
    GROUP BY 1, 2, 3
"""


async def totals(tx: Tx, env: MerchantEnv, currency: str | None) -> dict[str, int]:
    """The current total, less the debt, in each currency with entries."""
    return {row["currency"]: int(row["total"]) for row in await tx.fetch(TOTALS, env.merchant_id, env.mode, currency)}


async def moves(tx: Tx, env: MerchantEnv, currency: str | None, moments: Sequence[datetime]) -> list[Row]:
    """Changes of the total since the first of these times, by currency, period, type and direction."""
    return await tx.fetch(MOVES, env.merchant_id, env.mode, currency, list(moments))


async def count_duplicates(
    tx: Tx, env: MerchantEnv, currency: str | None, moments: Sequence[datetime], uncounted: Sequence[str]
) -> list[Row]:
    """How many transactions `moves` counts more than once, in the same groups, except for some types."""
    return await tx.fetch(COUNTED_TWICE, env.merchant_id, env.mode, currency, list(moments), list(uncounted))


async def by_method(
    tx: Tx, env: MerchantEnv, currency: str | None, span: tuple[datetime, datetime], project_id: UUID | None,
    types: Sequence[str],
) -> list[Row]:  # fmt: skip
    """Changes by entries of these types in an interval, by currency, payment method and type."""
    return await tx.fetch(BY_METHOD, env.merchant_id, env.mode, currency, *span, project_id, list(types))


async def moves_of_project(
    tx: Tx, env: MerchantEnv, currency: str | None, moments: Sequence[datetime], project_id: UUID
) -> list[Row]:
    """Changes by the payments of one project, by currency, period, type and direction."""
    return await tx.fetch(MOVES_OF_PROJECT, env.merchant_id, env.mode, currency, list(moments), project_id)
