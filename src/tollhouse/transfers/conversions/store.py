"""Every SQL statement about conversions and their quotes, and their invariants."""

from uuid import UUID

import asyncpg

from tollhouse.http.lists import ListQuery, Window
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.platform.database.invariants import Invariant
from tollhouse.platform.database.pool import Pool, Tx
from tollhouse.transfers.conversions.model import (
    CONVERSION,
    CONVERSION_QUOTE,
    Conversion,
    ConversionStatus,
    Exchange,
    PairUnavailable,
)
from tollhouse.transfers.conversions.prices_store import LIMIT_CONSTRAINT
from tollhouse.transfers.orders.quotes import Quote
from tollhouse.transfers.orders.store import fetch_page

INSERT = CONVERSION.insert
GET = f"SELECT {CONVERSION.columns} FROM conversions WHERE merchant_id = $1 AND mode = $2 AND id = $3"
# The conversions of a payment, oldest first.
LIST_OF_TRANSACTION = f"""
    SELECT {CONVERSION.columns} FROM conversions
    WHERE merchant_id = $1 AND mode = $2 AND transaction_id = $3 ORDER BY created_at, id
"""
ID_BY_QUOTE = "SELECT id FROM conversions WHERE merchant_id = $1 AND mode = $2 AND quote_id = $3"
LIST = f"""
    SELECT {CONVERSION.columns} FROM conversions
    WHERE merchant_id = $1 AND mode = $2 AND ($3::text[] IS NULL OR status = ANY($3))
      AND ($4::text IS NULL OR from_currency = $4 OR to_currency = $4) AND ($5::uuid IS NULL OR rule_id = $5)
      AND ($6::text IS NULL OR external_id = $6)
      AND created_at >= $7 AND (created_at, id) < ($8, $9)
    ORDER BY created_at DESC, id DESC LIMIT $10 OFFSET $11
"""
INSERT_QUOTE = CONVERSION_QUOTE.insert
LOCK_QUOTE = f"""
    SELECT {CONVERSION_QUOTE.columns} FROM conversion_quotes
    WHERE merchant_id = $1 AND mode = $2 AND id = $3 FOR NO KEY UPDATE
"""
USE_QUOTE = """
    UPDATE conversion_quotes SET used_at = $4 WHERE merchant_id = $1 AND mode = $2 AND id = $3 AND used_at IS NULL
"""
DELETE_OLD_QUOTES = "DELETE FROM conversion_quotes WHERE created_at < $1"
# What was got is never more than the rate gives; and never less by a unit, but for what a unit of the other one is worth.
# What returns from a failed refund can yield less: at most what it cost. Payments at a fixed rate share their price: I30.
# A refund or chargeback once had the rate that resulted from its amounts, rounded down.
I9_RATE = """
    SELECT format('conversion %s gave %s %s less a fee of %s for %s %s at %s', c.id, c.from_amount_minor, c.from_currency,
                  c.fee_minor, c.to_amount_minor, c.to_currency, c.rate) AS line
    FROM conversions c JOIN currency_scales f ON f.code = c.from_currency JOIN currency_scales t ON t.code = c.to_currency
    LEFT JOIN transactions p ON p.id = c.transaction_id
    CROSS JOIN LATERAL (SELECT c.rate * 10::numeric ^ (t.decimals - f.decimals) AS unit,
                               (c.reversal_id IS NOT NULL AND c.fee_minor = 0)::int AS rounded) u
    WHERE c.id = ANY ($1::uuid[])
      AND (c.reversal_id IS NOT NULL OR (p.rate, p.rate_as_of) IS DISTINCT FROM (c.rate, c.rate_as_of)) AND (
          c.to_amount_minor > (c.from_amount_minor - c.fee_minor) * u.unit + u.rounded
       OR ((c.reversal_id IS NULL OR c.to_currency = p.currency)
           AND c.to_amount_minor < (c.from_amount_minor - c.fee_minor) * u.unit - 1 - 2 * u.unit))
"""
# What returns after it was bought back yields at most what it cost.
I30_RETURNED = """
    SELECT format('conversion %s yielded %s %s for money that had cost %s', c.id, c.to_amount_minor, c.to_currency,
                  coalesce(b.cost, 0)) AS line
    FROM conversions c JOIN transactions p ON p.id = c.transaction_id AND p.currency = c.from_currency
    CROSS JOIN LATERAL (SELECT sum(b.from_amount_minor) AS cost FROM conversions b
                        WHERE b.transaction_id = c.transaction_id AND b.reversal_id = c.reversal_id
                          AND b.to_currency = p.currency) b
    WHERE c.id = ANY ($1::uuid[]) AND c.to_amount_minor > coalesce(b.cost, 0)
      AND c.reversal_id IS NOT NULL
"""
I9_LEDGER = """
    SELECT format('conversion %s says %s %s (fee %s) for %s %s, the ledger %s (fee %s) for %s', c.id, c.from_amount_minor,
                  c.from_currency, c.fee_minor, c.to_amount_minor, c.to_currency, p.given, p.fee, p.got) AS line
    FROM conversions c
    CROSS JOIN LATERAL (
               SELECT sum(p.amount) FILTER (WHERE p.type = 'conversion_out' AND cr.code = 'fx') AS given,
                      sum(p.amount) FILTER (WHERE p.type = 'conversion_fee' AND cr.code = 'income:conversion_fee') AS fee,
                      sum(p.amount) FILTER (WHERE p.type = 'conversion_in' AND de.code = 'fx') AS got,
                      min(p.currency) FILTER (WHERE p.type = 'conversion_out') AS from_currency,
                      min(p.currency) FILTER (WHERE p.type = 'conversion_in') AS to_currency
               FROM ledger_transactions l JOIN ledger_postings p ON p.transaction_id = l.id
               JOIN ledger_accounts de ON de.id = p.debit_account_id JOIN ledger_accounts cr ON cr.id = p.credit_account_id
               WHERE l.source_type = 'conversion' AND l.source_id = c.id AND l.mode = c.mode) p
    WHERE c.id = ANY ($1::uuid[]) AND (p.given, coalesce(p.fee, 0), p.got, p.from_currency, p.to_currency)
          IS DISTINCT FROM
          (c.from_amount_minor - c.fee_minor, c.fee_minor, c.to_amount_minor, c.from_currency, c.to_currency)
"""
I9_ORPHANS = """
    SELECT format('ledger transaction %s is of a conversion %s that there is not', l.id, l.source_id) AS line
    FROM ledger_transactions l LEFT JOIN conversions c ON c.id = l.source_id
    WHERE l.id = ANY ($1::uuid[]) AND l.source_type = 'conversion' AND c.id IS NULL
"""
I14_COMPLETED = """
    SELECT format('conversion %s has %s events', c.id, count(w.source_id)) AS line
    FROM conversions c
    LEFT JOIN webhook_event_keys w
        ON w.source_type = 'conversion' AND w.source_id = c.id AND w.type = 'conversion.completed'
    WHERE c.id = ANY ($1::uuid[])
    GROUP BY c.id HAVING count(w.source_id) <> 1
"""
I28_POSITIONS = """
    SELECT format('%s: the ledger has %s, the position is %s', currency, sum(booked), sum(kept)) AS line
    FROM (SELECT a.currency, CASE a.id WHEN p.credit_account_id THEN p.amount ELSE -p.amount END AS booked, 0 AS kept
          FROM ledger_accounts a JOIN ledger_postings p ON a.id IN (p.debit_account_id, p.credit_account_id)
          WHERE a.code = 'fx' AND a.mode = 'live'
          UNION ALL SELECT currency, 0, position_minor FROM conversion_positions) books
    GROUP BY currency HAVING sum(booked) <> sum(kept)
"""
INVARIANTS: tuple[Invariant, ...] = (
    Invariant("I9", "a conversion uses its quoted rate, rounded down", I9_RATE, "conversion"),
    Invariant("I30", "money that returns yields at most what it cost", I30_RETURNED, "conversion"),
    Invariant("I9", "a conversion is in the ledger", I9_LEDGER, "conversion"),
    Invariant("I9", "nothing else is in the ledger as a conversion", I9_ORPHANS, "ledger"),
    Invariant("I28", "positions are those of the ledger", I28_POSITIONS, costly=True),
    Invariant("I14", "every conversion has one event", I14_COMPLETED, "conversion"),
)


class ConversionsQuery(ListQuery, frozen=True):
    """Filters of GET /conversions. `currency` matches either of the two."""

    status: list[ConversionStatus] | None = None
    currency: str | None = None
    rule_id: UUID | None = None
    external_id: str | None = None


async def insert(tx: Tx, new: Conversion) -> None:
    """Insert a conversion. Raises `PairUnavailable` if a position would exceed its limit; that aborts the transaction."""
    try:
        await tx.execute(INSERT, *CONVERSION.values(new))
    except asyncpg.CheckViolationError as violation:
        if violation.constraint_name != LIMIT_CONSTRAINT:
            raise
        raise PairUnavailable("position_limit") from violation


async def get(db: Pool | Tx, env: MerchantEnv, conversion_id: UUID) -> Conversion:
    """A conversion of a merchant and mode. Raises `NotFound`."""
    return await CONVERSION.get(db, GET, env.merchant_id, env.mode, conversion_id)


async def list_of_transaction(db: Pool | Tx, env: MerchantEnv, transaction_id: UUID) -> list[Conversion]:
    """The conversions of a payment, oldest first."""
    return await CONVERSION.find_all(db, LIST_OF_TRANSACTION, env.merchant_id, env.mode, transaction_id)


async def id_by_quote(db: Pool, env: MerchantEnv, quote_id: UUID) -> UUID | None:
    """The conversion that used a quote."""
    row = await db.fetchrow(ID_BY_QUOTE, env.merchant_id, env.mode, quote_id)
    return None if row is None else row["id"]


async def list_conversions(db: Pool, env: MerchantEnv, query: ConversionsQuery, window: Window) -> list[Conversion]:
    """A page of conversions, newest first."""
    filters = (query.status, query.currency, query.rule_id, query.external_id)
    return await fetch_page(db, CONVERSION.read, LIST, window, env.merchant_id, env.mode, *filters)


async def insert_quote(tx: Tx, quote: Quote[Exchange]) -> None:
    """Insert a quote."""
    await tx.execute(INSERT_QUOTE, *CONVERSION_QUOTE.values(quote))


async def lock_quote(tx: Tx, env: MerchantEnv, quote_id: UUID) -> Quote[Exchange]:
    """Lock a quote until the transaction ends, and return it. Raises `NotFound`."""
    return await CONVERSION_QUOTE.get(tx, LOCK_QUOTE, env.merchant_id, env.mode, quote_id)
