"""SQL of payment links."""

from datetime import datetime, timedelta, tzinfo
from typing import Literal
from uuid import UUID

import msgspec
from msgspec import Struct

from tollhouse.accounts.environments import payment_settings, settings_store
from tollhouse.accounts.environments.payment_settings import PaymentSettings
from tollhouse.http.lists import NEWEST, Position, Window
from tollhouse.kernel.catalogue.typed_amounts import ANY_AMOUNT, AmountBounds
from tollhouse.kernel.clock import zone_of
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId
from tollhouse.payments.links.model import LINK, PaymentLink
from tollhouse.platform.database.batched_store import for_many
from tollhouse.platform.database.pool import Pool, Tx

INSERT = LINK.insert
GET = f"SELECT {LINK.columns} FROM payment_links WHERE merchant_id = $1 AND mode = $2 AND id = $3"
LOCK = f"{GET} FOR NO KEY UPDATE"
# What a new link depends on: the test clock, two approved projects at most (those of `$3`, or any), and the settings.
TERMS = f"""
    SELECT coalesce((SELECT c.ahead FROM test_clocks c WHERE c.merchant_id = $1 AND c.mode = $2), '0') AS ahead,
           ARRAY(SELECT p.id FROM projects p
                 WHERE p.merchant_id = $1 AND p.mode = $2 AND p.status = 'approved' AND ($3::uuid IS NULL OR p.id = $3)
                 LIMIT 2) AS project_ids,
           {settings_store.COLUMNS}
    FROM (VALUES (1)) AS always LEFT JOIN merchant_settings s ON s.merchant_id = $1 AND s.mode = $2
"""
TERMS_OF_MANY = for_many(TERMS, "uuid", "text", "uuid")
# The customer knows the token only; merchant and mode come from the row.
FIND_LINK = f"""
    SELECT {LINK.columns_of("l")}, m.business_name, m.time_zone, m.suspended_at
    FROM payment_links l JOIN merchants m ON m.id = l.merchant_id WHERE l.token = $1
"""
# A link counts as expired from expires_at on, even if its status still says active.
LIST = f"""
    SELECT {LINK.columns} FROM payment_links
    WHERE merchant_id = $1 AND mode = $2
      AND ($4::text[] IS NULL OR status = ANY (stored_statuses($4, 'active')))
      AND ($4 IS NULL OR status_at(status, 'active', expires_at, $3::timestamptz + coalesce(
           (SELECT c.ahead FROM test_clocks c WHERE (c.merchant_id, c.mode) = ($1, $2)), '0')) = ANY ($4))
      AND ($5::text IS NULL OR currency = $5) AND ($6::uuid IS NULL OR project_id = $6)
      AND ($7::text IS NULL OR external_id = $7)
      AND created_at >= $8 AND (created_at, id) < ($9, $10)
    ORDER BY created_at DESC, id DESC LIMIT $11 OFFSET $12
"""
POSITION = "SELECT created_at, id FROM payment_links WHERE merchant_id = $1 AND mode = $2 AND id = $3"
# The dashboard's list by keyset. `$7` is the external id or the customer's email. Exact amounts are found by their index.
SEARCH = f"""
    SELECT {LINK.columns} FROM payment_links
    WHERE merchant_id = $1 AND mode = $2
      AND ($4::text IS NULL OR status = ANY (stored_statuses(ARRAY[$4], 'active')))
      AND ($4 IS NULL OR status_at(status, 'active', expires_at, $3::timestamptz + coalesce(
           (SELECT c.ahead FROM test_clocks c WHERE (c.merchant_id, c.mode) = ($1, $2)), '0')) = $4)
      AND ($5::text IS NULL OR currency = $5) AND ($6::uuid IS NULL OR project_id = $6)
      AND ($7::text IS NULL OR external_id = $7 OR lower(customer_email) = lower($7))
      AND ($8::text[] IS NULL OR currency = ANY ($8) AND EXISTS (
           SELECT FROM unnest($8, $9::bigint[], $10::bigint[]) AS a (code, least, most)
           WHERE a.code = currency AND amount_minor BETWEEN a.least AND a.most))
      AND ($9 IS NULL OR $9 IS DISTINCT FROM $10 OR amount_minor = ANY ($9))
      AND (created_at, id) < ($11, $12)
    ORDER BY created_at DESC, id DESC LIMIT $13
"""
# The caller has locked the link and checked its expiry against the test clock.
CLOSE_IF_ACTIVE = """
    UPDATE payment_links SET status = $4, canceled_at = CASE $4 WHEN 'canceled' THEN $5::timestamptz END, updated_at = $5,
        expires_at = CASE $4 WHEN 'expired' THEN least(expires_at, greatest($6::timestamptz, created_at + interval '1 ms'))
                     ELSE expires_at END, version = version + 1
    WHERE merchant_id = $1 AND mode = $2 AND id = $3 AND status = 'active'
"""
# The caller has locked the link and checked that it has not expired by the test clock.
SET_EXPIRY = """
    UPDATE payment_links SET expires_at = $4, updated_at = $5, version = version + 1
    WHERE merchant_id = $1 AND mode = $2 AND id = $3 AND status = 'active'
"""
RECORD_ATTEMPT = """
    UPDATE payment_links SET latest_transaction_id = $4, updated_at = $5, version = version + 1
    WHERE merchant_id = $1 AND mode = $2 AND id = $3
"""
RECORD_PAYMENT = "SELECT payment_links_count_payment($1, $2, $3, $4, $5, $6, $7)"
# Of all merchants, by the index on merchant, mode and address.
CLEAR_CUSTOMER = """
    UPDATE payment_links l SET customer_email = NULL
    FROM merchants m CROSS JOIN (VALUES ('live'), ('test')) AS modes (mode)
    WHERE l.merchant_id = m.id AND l.mode = modes.mode AND lower(l.customer_email) = lower($1)
    RETURNING l.id
"""
# Some at a time, so that no transaction is long.
CLEAR_CUSTOMERS_OF_MERCHANT = """
    UPDATE payment_links SET customer_email = NULL WHERE merchant_id = $1 AND id IN (
        SELECT id FROM payment_links WHERE merchant_id = $1 AND mode = ANY ('{live,test}') AND customer_email IS NOT NULL
        LIMIT $2 FOR NO KEY UPDATE)
"""
LIST_DUE = """
    SELECT l.merchant_id, l.mode, l.id FROM payment_links l WHERE l.status = 'active' AND l.expires_at <= $1
    ORDER BY l.expires_at LIMIT $2 FOR NO KEY UPDATE SKIP LOCKED
"""
# The same for merchants with an advanced test clock.
LIST_DUE_BY_TEST_CLOCK = """
    SELECT l.merchant_id, l.mode, l.id FROM test_clocks c
    CROSS JOIN LATERAL (SELECT p.merchant_id, p.mode, p.id FROM payment_links p
                        WHERE p.merchant_id = c.merchant_id AND p.mode = 'test' AND p.status = 'active'
                          AND p.expires_at <= $1::timestamptz + c.ahead LIMIT $2) l
    WHERE $3::uuid IS NULL OR c.merchant_id = $3
    LIMIT $2
"""


class LinkFilter(Struct, frozen=True):
    """Filters of the API's list; None means any. The order is that of the statement's parameters."""

    status: list[str] | None = None
    currency: str | None = None
    project_id: UUID | None = None
    external_id: str | None = None


class LinkListFilter(Struct, frozen=True):
    """Filters of the dashboard's list; None means any. The order is that of the statement's parameters."""

    status: str | None = None
    currency: str | None = None
    project_id: UUID | None = None
    reference: str | None = None
    amounts: AmountBounds = ANY_AMOUNT


class Credited(Struct, frozen=True):
    """A payment of a link, and whether it was made in time."""

    transaction_id: UUID
    amount_minor: int
    in_time: bool


class LinkTerms(Struct, frozen=True):
    """What a new link depends on: the offset of the test clock, the approved project, and the payment settings.

    The project is the one of the request; without one, the only one. None if there is none.
    """

    clock_offset: timedelta
    project_id: UUID | None
    settings: PaymentSettings


class CheckoutLink(Struct, frozen=True):
    """A link with its merchant's name and time zone, and whether the merchant is suspended."""

    link: PaymentLink
    business_name: str
    zone: tzinfo
    suspended: bool


async def get_terms(tx: Tx, env: MerchantEnv, project_id: UUID | None) -> LinkTerms:
    """What a new link depends on; `project_id` as in its request."""
    row = await tx.read_row_in_batch(TERMS_OF_MANY, (env.merchant_id, env.mode, project_id))
    if row is None:
        raise AssertionError("the statement has one row")
    project_ids = row["project_ids"]
    return LinkTerms(row["ahead"], project_ids[0] if len(project_ids) == 1 else None, payment_settings.of_row(row))


async def insert(tx: Tx, link: PaymentLink) -> None:
    """Insert a link."""
    await tx.write(INSERT, *LINK.values(link))


async def get(db: Pool | Tx, env: MerchantEnv, link_id: UUID) -> PaymentLink:
    """The link of this id. Raises `NotFound`."""
    return await LINK.get(db, GET, env.merchant_id, env.mode, link_id)


async def lock(tx: Tx, env: MerchantEnv, link_id: UUID) -> PaymentLink:
    """Lock the link and return it. Payments of it are locked through it. Raises `NotFound`."""
    return await LINK.get(tx, LOCK, env.merchant_id, env.mode, link_id)


async def get_by_token(db: Pool | Tx, token: str) -> CheckoutLink | None:
    """The link of a checkout page."""
    row = await db.fetchrow(FIND_LINK, token)
    return (
        None
        if row is None
        else CheckoutLink(LINK.read(row), row["business_name"], zone_of(row["time_zone"]), row["suspended_at"] is not None)
    )


async def list_links(db: Pool, env: MerchantEnv, filters: LinkFilter, now: datetime, window: Window) -> list[PaymentLink]:
    """A page of links, newest first."""
    rows = await db.fetch_custom_plan(
        LIST, env.merchant_id, env.mode, now, *msgspec.structs.astuple(filters), *msgspec.structs.astuple(window)
    )
    return [LINK.read(row) for row in rows]


async def search_links(
    db: Pool, env: MerchantEnv, filters: LinkListFilter, now: datetime, before: UUID | None, limit: int
) -> list[PaymentLink]:
    """A page of links after the link `before`, newest first. None: the first page."""
    values = (*msgspec.structs.astuple(filters)[:-1], *msgspec.structs.astuple(filters.amounts))
    row = None if before is None else await db.fetchrow(POSITION, env.merchant_id, env.mode, before)
    after = NEWEST if row is None else Position(row["created_at"], row["id"])
    rows = await db.fetch_custom_plan(SEARCH, env.merchant_id, env.mode, now, *values, after.at, after.id, limit)
    return [LINK.read(row) for row in rows]


async def close_if_active(tx: Tx, link: PaymentLink, becomes: Literal["canceled", "expired"], now: datetime) -> bool:
    """Close an active link. False if it is not active. One that expires before its time has expired now."""
    key = (link.env.merchant_id, link.env.mode, link.id)
    return await tx.execute(CLOSE_IF_ACTIVE, *key, becomes, now, now + link.clock_offset) == 1


async def set_expiry(tx: Tx, link: PaymentLink, expires_at: datetime, now: datetime) -> None:
    """Change the expiry of a locked, active link."""
    if await tx.execute(SET_EXPIRY, link.env.merchant_id, link.env.mode, link.id, expires_at, now) != 1:
        raise AssertionError("the link is locked and active")


async def record_attempt(tx: Tx, link: PaymentLink, transaction_id: UUID, now: datetime) -> None:
    """Record the latest attempt."""
    await tx.execute(RECORD_ATTEMPT, link.env.merchant_id, link.env.mode, link.id, transaction_id, now)


async def record_payment(tx: Tx, env: MerchantEnv, link_id: UUID, payment: Credited, now: datetime) -> None:
    """Count a payment. The last one, in time, completes the link."""
    paid = (payment.transaction_id, payment.amount_minor, now, payment.in_time)
    await tx.write(RECORD_PAYMENT, env.merchant_id, env.mode, link_id, *paid)


async def clear_customer(tx: Tx, email: str) -> list[UUID]:
    """Remove this address of a customer from every link that has it. Returns the links' ids."""
    return [row["id"] for row in await tx.fetch(CLEAR_CUSTOMER, email)]


async def clear_customers_of(db: Pool, merchant_id: UUID, limit: int) -> int:
    """Remove the customer's address from so many links of a merchant. Returns their number."""
    return await db.execute(CLEAR_CUSTOMERS_OF_MERCHANT, merchant_id, limit)


async def list_due(db: Pool, now: datetime, limit: int) -> list[tuple[MerchantEnv, UUID]]:
    """Active links that have expired and are not closed yet."""
    rows = [*await db.fetch(LIST_DUE, now, limit), *await db.fetch(LIST_DUE_BY_TEST_CLOCK, now, limit, None)]
    return [(MerchantEnv(MerchantId(row["merchant_id"]), row["mode"]), row["id"]) for row in rows]


async def list_due_of_merchant(tx: Tx, env: MerchantEnv, now: datetime, limit: int) -> list[UUID]:
    """Active links of a merchant that have expired by its test clock and are not closed yet."""
    return [row["id"] for row in await tx.fetch(LIST_DUE_BY_TEST_CLOCK, now, limit, env.merchant_id)]
