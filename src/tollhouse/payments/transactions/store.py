"""SQL of transactions and their timelines."""

from datetime import datetime
from operator import attrgetter
from uuid import UUID

import msgspec
from msgspec import Struct

from tollhouse.http.lists import Window
from tollhouse.kernel.catalogue.methods import Method
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import NotFound
from tollhouse.kernel.ids import MerchantId, Mode
from tollhouse.kernel.rails.provider import Instructions, Observation, Payer
from tollhouse.payments.links.model import CheckoutPrice, PaymentLink
from tollhouse.payments.transactions.model import TRANSACTION, RefundRequiredReason, TimelineEntry, Transaction
from tollhouse.platform.database.pool import Pool, Tx
from tollhouse.platform.log import changed_objects
from tollhouse.transfers.conversions.model import PaymentPrice, PricedAmount

INSERT = """
    WITH begun AS (
        INSERT INTO transactions (id, merchant_id, mode, payment_link_id, method_id, method_type, rail, rail_reference,
                                  instructions, currency, amount_minor, status, created_at, updated_at, payer_language,
                                  price_currency, price_minor, rate, rate_as_of, rate_source, rate_margin_bps,
                                  rate_expires_at, settlement, quantity)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 'pending', $12, $12, $13, $14, $15, $16, $17, $18, $19,
                $20, $21, $22)
    )
    INSERT INTO transaction_steps (transaction_id, version, status, at) VALUES ($1, 1, 'pending', $12)
"""
# A payment of its own for money that matches no open payment. In the same currency, it has its share of the price.
INSERT_UNMATCHED = """
    WITH begun AS (
        INSERT INTO transactions (id, merchant_id, mode, payment_link_id, method_id, method_type, rail, rail_reference,
                                  instructions, currency, amount_minor, received_minor, unapplied_minor, status,
                                  refund_required_reason, late, created_at, updated_at, price_currency, price_minor, rate,
                                  rate_as_of, rate_source, rate_margin_bps, rate_expires_at, settlement)
        SELECT $1, t.merchant_id, t.mode, t.payment_link_id, t.method_id, t.method_type, t.rail,
               t.rail_reference || '/' || $5,
               t.instructions, $6, $7, $7, $7, 'refund_required', $8, $8 = 'late', $9, $9, p.price_currency,
               CASE WHEN p.price_minor IS NOT NULL
                    THEN least(div($7::bigint::numeric * p.price_minor, p.amount_minor), 9007199254740991)::bigint END,
               p.rate, p.rate_as_of, p.rate_source, p.rate_margin_bps, p.rate_expires_at, p.settlement
        FROM transactions t LEFT JOIN transactions p ON p.id = t.id AND p.currency = $6
        WHERE t.merchant_id = $2 AND t.mode = $3 AND t.id = $4
    )
    INSERT INTO transaction_steps (transaction_id, version, status, detail, at) VALUES ($1, 1, 'refund_required', $8, $9)
"""
# The primary key refuses an observation that was recorded before.
RECORD_OBSERVATION_ONCE = """
    INSERT INTO rail_observations (rail, mode, external_ref, outcome, merchant_id, transaction_id, currency, amount_minor,
                                   confirmations, at, payer_account, payer_name, seen_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
"""
# A transfer that was confirmed or has vanished cannot be "seen" afterwards.
RECORD_OBSERVATION = """
    INSERT INTO rail_observations (rail, mode, external_ref, outcome, merchant_id, transaction_id, currency, amount_minor,
                                   confirmations, at, payer_account, payer_name, seen_at)
    SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13
    WHERE $4 <> 'seen' OR NOT EXISTS (
        SELECT FROM rail_observations
        WHERE rail = $1 AND mode = $2 AND external_ref = $3 AND outcome IN ('confirmed', 'vanished'))
    ON CONFLICT DO NOTHING
"""
FIND_PAYER = """
    SELECT min(payer_account) AS account, min(payer_name) AS name FROM rail_observations
    WHERE transaction_id = $1 AND outcome = 'confirmed'
    HAVING count(*) = count(payer_account) AND count(DISTINCT payer_account) = 1
"""
# Partly paid, and the link ended otherwise than by its expiry.
LIST_PARTLY_PAID = """
    SELECT t.merchant_id, t.mode, t.id FROM transactions t
    JOIN payment_links l ON (l.merchant_id, l.mode, l.id) = (t.merchant_id, t.mode, t.payment_link_id)
    WHERE t.status = 'pending' AND t.received_minor > 0 AND l.status <> 'active' LIMIT $1
"""
FIND_BY_REFERENCE = "SELECT merchant_id, id FROM transactions WHERE rail = $1 AND mode = $2 AND rail_reference = $3"
LOCK_LINK = """
    SELECT l.id FROM payment_links l
    WHERE l.merchant_id = $1 AND l.mode = $2
      AND l.id = (SELECT t.payment_link_id FROM transactions t WHERE t.merchant_id = $1 AND t.mode = $2 AND t.id = $3)
    FOR NO KEY UPDATE
"""
GET = f"SELECT {TRANSACTION.columns} FROM whole_transactions WHERE merchant_id = $1 AND mode = $2 AND id = $3"
LIST_OPEN = f"""
    SELECT {TRANSACTION.columns} FROM whole_transactions
    WHERE merchant_id = $1 AND mode = $2 AND payment_link_id = $3 AND status IN ('pending', 'processing')
    ORDER BY created_at DESC, id DESC
"""
FIND_PAID_IN_PART = f"""
    SELECT {TRANSACTION.columns} FROM whole_transactions
    WHERE merchant_id = $1 AND mode = $2 AND payment_link_id = $3
      AND (received_minor > 0 OR EXISTS (SELECT FROM incoming_transfers i
                                         WHERE i.transaction_id = whole_transactions.id AND i.status = 'seen'
                                           AND i.currency = whole_transactions.currency))
    ORDER BY received_minor > 0 DESC, created_at DESC, id DESC LIMIT 1
"""
# Without those whose rate has expired before all of the money was seen.
LIST_NEWEST_OPEN = """
    SELECT id, method_id, coalesce(price_minor, amount_minor) AS price_minor, quantity,
           status = 'processing' OR received_minor > 0 AS is_paid_in_part, created_at
    FROM transactions t
    WHERE merchant_id = $1 AND mode = $2 AND payment_link_id = $3 AND status IN ('pending', 'processing')
      AND (rate_expires_at IS NULL OR rate_expires_at > $5::timestamptz
           OR (status = 'processing' AND amount_minor - received_minor <= (
               SELECT coalesce(sum(i.amount_minor), 0) FROM incoming_transfers i
               WHERE i.transaction_id = t.id AND i.status = 'seen' AND i.currency = t.currency
                 AND i.first_seen_at < t.rate_expires_at)))
    ORDER BY created_at DESC, id DESC LIMIT $4
"""
# An attempt expires with its link, even if no job has recorded it yet: what is shown as expired may be stored as pending.
LIST = f"""
    SELECT {TRANSACTION.columns} FROM whole_transactions
    WHERE merchant_id = $1 AND mode = $2
      AND ($4::text[] IS NULL OR status = ANY (stored_statuses($4, 'pending')))
      AND ($4 IS NULL
           OR payment_status_at(status, received_minor, link_status, link_expires_at, $3::timestamptz + ahead) = ANY ($4))
      AND ($5::text IS NULL OR currency = $5)
      AND ($6::uuid IS NULL OR payment_link_id = $6) AND ($7::text IS NULL OR method_id = $7)
      AND ($8::uuid IS NULL OR project_id = $8) AND ($9::text IS NULL OR external_id = $9)
      AND created_at >= $10 AND (created_at, id) < ($11, $12)
    ORDER BY created_at DESC, id DESC LIMIT $13 OFFSET $14
"""
# Every change of a transaction writes the whole row, if the version is the one that was read.
CHANGE = f"SELECT transactions_change({', '.join(f'${place}' for place in range(1, 22))})"
CHANGED = attrgetter(
    *("id", "version", "status", "received_minor", "credited_minor", "unapplied_minor", "fee_minor", "refunded_minor"),
    *("returning_minor", "returning_unapplied_minor", "charged_back_minor", "confirmations", "required_confirmations"),
    *("failure_code", "refund_required_reason", "late", "succeeded_at"),
)
REQUIRE = "SELECT transactions_require($1, $2, $3, $4, $5, $6)"


NO_PRICE = (None,) * len(PaymentPrice.__struct_fields__)


class OpenAttempt(Struct, frozen=True):
    """An open attempt of a link: what it costs, and whether money for it has been seen or received."""

    id: UUID
    method_id: str
    price: CheckoutPrice
    is_paid_in_part: bool
    created_at: datetime


class TransactionFilter(Struct, frozen=True):
    """Filters; None means any. The order is that of the statement's parameters."""

    status: list[str] | None = None
    currency: str | None = None
    payment_link_id: UUID | None = None
    method_id: str | None = None
    project_id: UUID | None = None
    external_id: str | None = None


async def insert(
    tx: Tx,
    link: PaymentLink,
    transaction_id: UUID,
    method: Method,
    instructions: Instructions,
    price: CheckoutPrice,
    now: datetime,
    payer_language: str | None = None,
    priced: PricedAmount | None = None,
) -> None:
    """Insert a pending attempt to pay this price. Its receipt is sent in the language of the payer.

    `priced` is the amount in the currency of the method, if that is not the one of the link. The database refuses a price
    that the link does not allow.
    """
    env = link.env
    how = (method.method_id, method.type, method.rail, instructions.reference, msgspec.json.encode(instructions).decode())
    amount = (link.currency, price.amount_minor) if priced is None else (method.asset, priced.amount_minor)
    fixed = NO_PRICE if priced is None else msgspec.structs.astuple(priced.price)
    values = (*how, *amount, now, payer_language, *fixed, price.quantity)
    await tx.execute(INSERT, transaction_id, env.merchant_id, env.mode, link.id, *values)


async def insert_unmatched(
    tx: Tx, beside: Transaction, transaction_id: UUID, observation: Observation, reason: RefundRequiredReason, now: datetime
) -> None:
    """Insert an unmatched payment beside the payment whose reference the money carried."""
    env, currency = beside.env, observation.currency or beside.currency
    values = (observation.external_ref, currency, observation.amount_minor, reason, now)
    await tx.execute(INSERT_UNMATCHED, transaction_id, env.merchant_id, env.mode, beside.id, *values)


async def record_observation(
    tx: Tx, of: Transaction, observation: Observation, transaction_id: UUID, now: datetime, seen_at: datetime | None = None
) -> bool:
    """Record an observation for this transaction. False if it was recorded before.

    `seen_at` is the moment that decides whether confirmed money is in time, by the clock of the merchant.
    """
    step = (observation.confirmations or 0) if observation.outcome == "seen" else 0
    whose = (of.env.merchant_id, transaction_id, observation.currency or of.currency, observation.amount_minor, step, now)
    payer = (None, None) if observation.payer is None else (observation.payer.account, observation.payer.name)
    values = (of.rail, of.env.mode, observation.external_ref, observation.outcome, *whose, *payer, seen_at)
    if observation.outcome == "seen":
        return await tx.execute(RECORD_OBSERVATION, *values) == 1
    return await tx.try_write(RECORD_OBSERVATION, *values, strict=RECORD_OBSERVATION_ONCE)


async def find_payer(db: Pool | Tx, transaction_id: UUID) -> Payer | None:
    """The account that paid; None if the rail does not report it or several accounts paid."""
    row = await db.read_row(FIND_PAYER, transaction_id)
    return None if row is None else Payer(row["account"], row["name"])


async def list_partly_paid(db: Pool, limit: int) -> list[tuple[MerchantEnv, UUID]]:
    """Partly paid attempts of links that have ended."""
    rows = await db.fetch(LIST_PARTLY_PAID, limit)
    return [(MerchantEnv(MerchantId(row["merchant_id"]), row["mode"]), row["id"]) for row in rows]


async def find_by_reference(db: Pool | Tx, rail: str, mode: Mode, reference: str) -> tuple[MerchantEnv, UUID] | None:
    """The merchant environment and id of the attempt with this rail reference."""
    row = await db.fetchrow(FIND_BY_REFERENCE, rail, mode, reference)
    return None if row is None else (MerchantEnv(MerchantId(row["merchant_id"]), mode), row["id"])


async def lock(tx: Tx, env: MerchantEnv, transaction_id: UUID) -> Transaction:
    """Lock the payment through its link and return it. Raises `NotFound`."""
    if await tx.fetchrow(LOCK_LINK, env.merchant_id, env.mode, transaction_id) is None:
        raise NotFound
    return await get(tx, env, transaction_id)


async def get_to_change(tx: Tx, env: MerchantEnv, transaction_id: UUID) -> Transaction:
    """The payment. If others change it or its link before this transaction commits, this one runs again. Raises `NotFound`.

    Only for actions whose every change depends on nothing else that the lock protects.
    """
    key, versions = (env.merchant_id, env.mode, transaction_id), ("version", "payment_link_id", "link_version")
    row = await tx.read_to_change(GET, *key, lock=LOCK_LINK, require=REQUIRE, versions=versions)
    if row is None:
        raise NotFound
    return TRANSACTION.read(row)


async def find(db: Pool | Tx, env: MerchantEnv, transaction_id: UUID) -> Transaction | None:
    """The transaction of this id."""
    return await TRANSACTION.find(db, GET, env.merchant_id, env.mode, transaction_id)


async def get(db: Pool | Tx, env: MerchantEnv, transaction_id: UUID) -> Transaction:
    """The transaction of this id. Raises `NotFound`."""
    return await TRANSACTION.get(db, GET, env.merchant_id, env.mode, transaction_id)


async def list_open(db: Pool | Tx, link: PaymentLink) -> list[Transaction]:
    """The open attempts of a link, newest first."""
    return await TRANSACTION.find_all(db, LIST_OPEN, link.env.merchant_id, link.env.mode, link.id)


async def find_paid_in_part(db: Pool, link: PaymentLink) -> Transaction | None:
    """The newest attempt of a link for which money was received, or is on its way."""
    return await TRANSACTION.find(db, FIND_PAID_IN_PART, link.env.merchant_id, link.env.mode, link.id)


async def list_newest_open(db: Pool | Tx, link: PaymentLink, now: datetime, limit: int) -> list[OpenAttempt]:
    """The newest open attempts of a link, without those whose rate has expired at `now`."""
    at = now + link.clock_offset
    rows = await db.fetch(LIST_NEWEST_OPEN, link.env.merchant_id, link.env.mode, link.id, limit, at)
    return [
        OpenAttempt(
            row["id"],
            row["method_id"],
            CheckoutPrice(row["price_minor"], row["quantity"]),
            row["is_paid_in_part"],
            row["created_at"],
        )
        for row in rows
    ]


async def list_transactions(
    db: Pool, env: MerchantEnv, filters: TransactionFilter, now: datetime, window: Window
) -> list[Transaction]:
    """A page of transactions, newest first."""
    rows = await db.fetch_custom_plan(
        LIST, env.merchant_id, env.mode, now, *msgspec.structs.astuple(filters), *msgspec.structs.astuple(window)
    )
    return [TRANSACTION.read(row) for row in rows]


async def change(tx: Tx, new: Transaction, detail: str | None, now: datetime) -> Transaction:
    """Write `new` and return it with the next version. Another version in the database is a serialization failure."""
    changed_objects.note(new.id)
    await tx.write(CHANGE, new.env.merchant_id, new.env.mode, *CHANGED(new), now, detail)
    timeline = (*new.timeline, TimelineEntry(new.status, now, detail))
    return msgspec.structs.replace(new, version=new.version + 1, updated_at=now, timeline=timeline)
