"""Every SQL statement about conversions and their quotes."""

from typing import Any
from uuid import UUID

import msgspec

from tollhouse.conversions.model import Conversion, ConversionStatus, Exchange, rate_of
from tollhouse.http.lists import ListQuery
from tollhouse.http.paging import Window
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.orders import quotes
from tollhouse.orders.quotes import Quote
from tollhouse.orders.store import fetch_one, fetch_page, order_of, values_of
from tollhouse.platform.db import Pool, Row, Tx

INSERT = """
    INSERT INTO conversions (id, merchant_id, mode, status, from_currency, to_currency, rate, rate_as_of, from_amount_minor,
                             fee_minor, to_amount_minor, quote_id, rule_id, rule_step, webhook_url, external_id, metadata,
                             created_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7::text::numeric, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)
"""
GET = "SELECT * FROM conversions WHERE merchant_id = $1 AND mode = $2 AND id = $3"
ID_BY_QUOTE = "SELECT id FROM conversions WHERE merchant_id = $1 AND mode = $2 AND quote_id = $3"
LIST = """
    SELECT * FROM conversions
    WHERE merchant_id = $1 AND mode = $2 AND ($3::text[] IS NULL OR status = ANY($3))
      AND ($4::text IS NULL OR $4 IN (from_currency, to_currency)) AND ($5::uuid IS NULL OR rule_id = $5)
      AND ($6::text IS NULL OR external_id = $6)
      AND created_at >= $7 AND (created_at, id) < ($8, $9)
    ORDER BY created_at DESC, id DESC LIMIT $10 OFFSET $11
"""
INSERT_QUOTE = """
    INSERT INTO conversion_quotes (id, merchant_id, mode, from_currency, to_currency, rate, rate_as_of, from_amount_minor,
                                   fee_minor, to_amount_minor, created_at, expires_at)
    VALUES ($1, $2, $3, $4, $5, $6::text::numeric, $7, $8, $9, $10, $11, $12)
"""
LOCK_QUOTE = "SELECT * FROM conversion_quotes WHERE merchant_id = $1 AND mode = $2 AND id = $3 FOR NO KEY UPDATE"
USE_QUOTE = """
    UPDATE conversion_quotes SET used_at = $4 WHERE merchant_id = $1 AND mode = $2 AND id = $3 AND used_at IS NULL
"""
DELETE_OLD_QUOTES = "DELETE FROM conversion_quotes WHERE created_at < $1"


class ConversionsQuery(ListQuery, frozen=True):
    """Filters of GET /conversions. `currency` matches either of the two."""

    status: list[ConversionStatus] | None = None
    currency: str | None = None
    rule_id: UUID | None = None
    external_id: str | None = None


async def insert(tx: Tx, new: Conversion) -> None:
    """Insert a conversion."""
    await tx.execute(INSERT, *values_of(new, INSERT, **_columns(new.exchange)))


async def get(db: Pool | Tx, env: MerchantEnv, conversion_id: UUID) -> Conversion:
    """A conversion of a merchant and mode. Raises `NotFound`."""
    return await fetch_one(db, _conversion, GET, env.merchant_id, env.mode, conversion_id)


async def id_by_quote(db: Pool, env: MerchantEnv, quote_id: UUID) -> UUID | None:
    """The conversion that used a quote."""
    row = await db.fetchrow(ID_BY_QUOTE, env.merchant_id, env.mode, quote_id)
    return None if row is None else row["id"]


async def list_conversions(db: Pool, env: MerchantEnv, query: ConversionsQuery, window: Window) -> list[Conversion]:
    """A page of conversions, newest first."""
    filters = (query.status, query.currency, query.rule_id, query.external_id)
    return await fetch_page(db, _conversion, LIST, window, env.merchant_id, env.mode, *filters)


async def insert_quote(tx: Tx, quote: Quote[Exchange]) -> None:
    """Insert a quote."""
    await tx.execute(INSERT_QUOTE, *values_of(quote, INSERT_QUOTE, **_columns(quote.terms)))


async def lock_quote(tx: Tx, env: MerchantEnv, quote_id: UUID) -> Quote[Exchange]:
    """Lock a quote until the transaction ends, and return it. Raises `NotFound`."""
    return await quotes.lock(tx, LOCK_QUOTE, env, quote_id, _exchange)


def _columns(exchange: Exchange) -> dict[str, Any]:
    rate = exchange.rate
    return msgspec.structs.asdict(exchange) | {"rate": rate.text, "rate_as_of": rate.as_of}


def _conversion(row: Row) -> Conversion:
    return order_of(Conversion, row, exchange=_exchange(row))


def _exchange(row: Row) -> Exchange:
    return Exchange(
        row["from_currency"],
        row["to_currency"],
        rate_of(f"{row['rate']:f}", row["rate_as_of"]),
        row["from_amount_minor"],
        row["fee_minor"],
        row["to_amount_minor"],
    )
