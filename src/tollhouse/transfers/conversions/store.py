"""Every SQL statement about conversions and their quotes."""

from uuid import UUID

import asyncpg

from tollhouse.http.lists import ListQuery, Window
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.platform.database.pool import Pool, Tx
from tollhouse.transfers.conversions.errors import PairUnavailable
from tollhouse.transfers.conversions.model import CONVERSION, CONVERSION_QUOTE, Conversion, ConversionStatus, Exchange
from tollhouse.transfers.conversions.positions_store import LIMIT_CONSTRAINT
from tollhouse.transfers.orders.quotes import Quote
from tollhouse.transfers.orders.store import fetch_one, fetch_page

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
    return await fetch_one(db, CONVERSION.read, GET, env.merchant_id, env.mode, conversion_id)


async def list_of_transaction(db: Pool | Tx, env: MerchantEnv, transaction_id: UUID) -> list[Conversion]:
    """The conversions of a payment, oldest first."""
    return [CONVERSION.read(row) for row in await db.fetch(LIST_OF_TRANSACTION, env.merchant_id, env.mode, transaction_id)]


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
    return await fetch_one(tx, CONVERSION_QUOTE.read, LOCK_QUOTE, env.merchant_id, env.mode, quote_id)
