"""Every SQL statement about quotes of conversions."""

from datetime import datetime, timedelta
from uuid import UUID

from tollhouse.conversions.model import Exchange, Quote, rate_of
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.platform.db import Pool, Row, Tx

# Quotes live by the merchant's test clock, where it has moved that ahead.
INSERT = """
    INSERT INTO conversion_quotes (id, merchant_id, mode, from_currency, to_currency, rate, rate_as_of, from_amount_minor,
                                   fee_minor, to_amount_minor, created_at, expires_at)
    SELECT $1, $2, $3, $4, $5, $6::text::numeric, $7, $8, $9, $10, $11, $11::timestamptz + $12::interval
           + coalesce((SELECT c.ahead FROM test_clocks c WHERE (c.merchant_id, c.mode) = ($2, $3)), '0')
    RETURNING id, from_currency, to_currency, rate::text AS rate, rate_as_of, from_amount_minor, fee_minor,
              to_amount_minor, created_at, expires_at, used_at
"""
ONE = """
    SELECT id, from_currency, to_currency, rate::text AS rate, rate_as_of, from_amount_minor, fee_minor, to_amount_minor,
           created_at, expires_at, used_at
    FROM conversion_quotes WHERE merchant_id = $1 AND mode = $2 AND id = $3
"""
IS_GOOD = """
    SELECT true FROM conversion_quotes
    WHERE merchant_id = $1 AND mode = $2 AND id = $3 AND used_at IS NULL
      AND expires_at > $4::timestamptz
          + coalesce((SELECT c.ahead FROM test_clocks c WHERE (c.merchant_id, c.mode) = ($1, $2)), '0')
"""
USE = """
    UPDATE conversion_quotes SET used_at = $4
    WHERE merchant_id = $1 AND mode = $2 AND id = $3 AND used_at IS NULL
      AND expires_at > $4::timestamptz
          + coalesce((SELECT c.ahead FROM test_clocks c WHERE (c.merchant_id, c.mode) = ($1, $2)), '0')
"""
FORGET = "DELETE FROM conversion_quotes WHERE created_at < $1"


async def insert(tx: Tx, quote_id: UUID, env: MerchantEnv, exchange: Exchange, now: datetime, kept: timedelta) -> Quote:
    """Keep an exchange for a while."""
    what = (exchange.from_currency, exchange.to_currency, exchange.rate.text, exchange.rate.as_of)
    amounts = (exchange.from_amount_minor, exchange.fee_minor, exchange.to_amount_minor)
    row = await tx.fetchrow(INSERT, quote_id, env.merchant_id, env.mode, *what, *amounts, now, kept)
    if row is None:
        raise AssertionError("an insert returns its row")
    return _quote(row, env)


async def one(db: Pool | Tx, env: MerchantEnv, quote_id: UUID) -> Quote | None:
    """This quote of this merchant and mode."""
    row = await db.fetchrow(ONE, env.merchant_id, env.mode, quote_id)
    return None if row is None else _quote(row, env)


async def is_good(tx: Tx, env: MerchantEnv, quote_id: UUID, now: datetime) -> bool:
    """Whether a quote can still be used."""
    return bool(await tx.fetchval(IS_GOOD, env.merchant_id, env.mode, quote_id, now))


async def use(tx: Tx, env: MerchantEnv, quote_id: UUID, now: datetime) -> bool:
    """Use a quote up; False where its time is over or somebody used it."""
    return await tx.execute(USE, env.merchant_id, env.mode, quote_id, now) == 1


async def forget(db: Pool, before: datetime) -> int:
    """Delete the quotes made before this time; how many there were."""
    return await db.execute(FORGET, before)


def exchange_of(row: Row) -> Exchange:
    """The exchange that a row of quotes or conversions holds."""
    return Exchange(
        row["from_currency"],
        row["to_currency"],
        rate_of(row["rate"], row["rate_as_of"]),
        row["from_amount_minor"],
        row["fee_minor"],
        row["to_amount_minor"],
    )


def _quote(row: Row, env: MerchantEnv) -> Quote:
    return Quote(
        id=row["id"],
        env=env,
        exchange=exchange_of(row),
        created_at=row["created_at"],
        expires_at=row["expires_at"],
        used_at=row["used_at"],
    )
