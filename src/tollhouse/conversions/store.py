"""Every SQL statement about conversions that were made."""

from collections.abc import Sequence
from uuid import UUID

import msgspec
from msgspec import Struct

from tollhouse.conversions.model import Conversion
from tollhouse.conversions.quotes_store import exchange_of
from tollhouse.http.paging import Window
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.platform.db import Pool, Row, Tx

INSERT = """
    INSERT INTO conversions (id, merchant_id, mode, status, from_currency, to_currency, rate, rate_as_of, from_amount_minor,
                             fee_minor, to_amount_minor, quote_id, rule_id, rule_step, webhook_url, external_id, metadata,
                             created_at)
    VALUES ($1, $2, $3, 'completed', $4, $5, $6::text::numeric, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)
"""
ONE = """
    SELECT id, from_currency, to_currency, rate::text AS rate, rate_as_of, from_amount_minor, fee_minor, to_amount_minor,
           quote_id, rule_id, rule_step, webhook_url, external_id, metadata, created_at
    FROM conversions WHERE merchant_id = $1 AND mode = $2 AND id = $3
"""
ID_OF_QUOTE = "SELECT id FROM conversions WHERE merchant_id = $1 AND mode = $2 AND quote_id = $3"
LIST = """
    SELECT id, from_currency, to_currency, rate::text AS rate, rate_as_of, from_amount_minor, fee_minor, to_amount_minor,
           quote_id, rule_id, rule_step, webhook_url, external_id, metadata, created_at
    FROM conversions
    WHERE merchant_id = $1 AND mode = $2 AND ($3::text[] IS NULL OR status = ANY($3))
      AND ($4::text IS NULL OR $4 IN (from_currency, to_currency)) AND ($5::uuid IS NULL OR rule_id = $5)
      AND ($6::text IS NULL OR external_id = $6)
      AND created_at >= $7 AND (created_at, id) < ($8, $9)
    ORDER BY created_at DESC, id DESC LIMIT $10 OFFSET $11
"""


class ConversionFilter(Struct, frozen=True):
    """Which conversions to list; None leaves a filter out. `currency` is either of the two."""

    status: Sequence[str] | None = None
    currency: str | None = None
    rule_id: UUID | None = None
    external_id: str | None = None


async def insert(tx: Tx, new: Conversion) -> None:
    """Keep what was converted."""
    made = new.exchange
    what = (made.from_currency, made.to_currency, made.rate.text, made.rate.as_of)
    amounts = (made.from_amount_minor, made.fee_minor, made.to_amount_minor)
    said = (new.webhook_url, new.external_id, msgspec.json.encode(new.metadata).decode(), new.created_at)
    why = (new.quote_id, new.rule_id, new.rule_step)
    await tx.execute(INSERT, new.id, new.env.merchant_id, new.env.mode, *what, *amounts, *why, *said)


async def one(db: Pool | Tx, env: MerchantEnv, conversion_id: UUID) -> Conversion | None:
    """This conversion of this merchant and mode."""
    row = await db.fetchrow(ONE, env.merchant_id, env.mode, conversion_id)
    return None if row is None else _conversion(row, env)


async def id_of_quote(db: Pool, env: MerchantEnv, quote_id: UUID) -> UUID | None:
    """The conversion that was made with this quote."""
    row = await db.fetchrow(ID_OF_QUOTE, env.merchant_id, env.mode, quote_id)
    return None if row is None else row["id"]


async def listed(db: Pool, env: MerchantEnv, wanted: ConversionFilter, window: Window) -> list[Conversion]:
    """A page of conversions, newest first."""
    which = (wanted.status, wanted.currency, wanted.rule_id, wanted.external_id)
    rows = await db.fetch_fresh(LIST, env.merchant_id, env.mode, *which, *msgspec.structs.astuple(window))
    return [_conversion(row, env) for row in rows]


def _conversion(row: Row, env: MerchantEnv) -> Conversion:
    return Conversion(
        id=row["id"],
        env=env,
        exchange=exchange_of(row),
        quote_id=row["quote_id"],
        rule_id=row["rule_id"],
        rule_step=row["rule_step"],
        webhook_url=row["webhook_url"],
        external_id=row["external_id"],
        metadata=msgspec.json.decode(row["metadata"], type=dict[str, str]),
        created_at=row["created_at"],
    )
