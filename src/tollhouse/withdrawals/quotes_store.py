"""Every SQL statement about quotes of withdrawals."""

from datetime import datetime, timedelta
from uuid import UUID

from tollhouse.kernel.environment import MerchantEnv
from tollhouse.platform.db import Pool, Row, Tx
from tollhouse.withdrawals.model import Quote, Terms

# Quotes live by the merchant's test clock, where it has moved that ahead.
INSERT = """
    INSERT INTO withdrawal_quotes (id, merchant_id, mode, method_id, currency, amount_minor, network_fee_mode,
                                   system_fee_minor, network_fee_minor, created_at, expires_at)
    SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10::timestamptz + $11::interval
           + coalesce((SELECT c.ahead FROM test_clocks c WHERE (c.merchant_id, c.mode) = ($2, $3)), '0')
    RETURNING id, method_id, currency, amount_minor, network_fee_mode, system_fee_minor, network_fee_minor, created_at,
              expires_at, used_at
"""
ONE = """
    SELECT id, method_id, currency, amount_minor, network_fee_mode, system_fee_minor, network_fee_minor, created_at,
           expires_at, used_at
    FROM withdrawal_quotes WHERE merchant_id = $1 AND mode = $2 AND id = $3
"""
IS_GOOD = """
    SELECT true FROM withdrawal_quotes
    WHERE merchant_id = $1 AND mode = $2 AND id = $3 AND used_at IS NULL
      AND expires_at > $4::timestamptz
          + coalesce((SELECT c.ahead FROM test_clocks c WHERE (c.merchant_id, c.mode) = ($1, $2)), '0')
"""
USE = """
    UPDATE withdrawal_quotes SET used_at = $4
    WHERE merchant_id = $1 AND mode = $2 AND id = $3 AND used_at IS NULL
      AND expires_at > $4::timestamptz
          + coalesce((SELECT c.ahead FROM test_clocks c WHERE (c.merchant_id, c.mode) = ($1, $2)), '0')
"""
FORGET = "DELETE FROM withdrawal_quotes WHERE created_at < $1"


async def insert(
    tx: Tx, quote_id: UUID, env: MerchantEnv, what: tuple[str, str], terms: Terms, now: datetime, kept: timedelta
) -> Quote:
    """Keep terms for a while, for a method and currency."""
    costs = (terms.amount_minor, terms.network_fee_mode, terms.system_fee_minor, terms.network_fee_minor)
    row = await tx.fetchrow(INSERT, quote_id, env.merchant_id, env.mode, *what, *costs, now, kept)
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


def _quote(row: Row, env: MerchantEnv) -> Quote:
    return Quote(
        id=row["id"],
        env=env,
        method_id=row["method_id"],
        currency=row["currency"],
        terms=Terms(row["amount_minor"], row["network_fee_mode"], row["system_fee_minor"], row["network_fee_minor"]),
        created_at=row["created_at"],
        expires_at=row["expires_at"],
        used_at=row["used_at"],
    )
