"""SQL of the dashboard's search. Every statement reads a bounded number of rows by indexes, and has a time limit."""

import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import datetime
from uuid import UUID

from msgspec import Struct

from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId
from tollhouse.pages.dashboard.home.search_model import (
    FoundCustomer,
    FoundObject,
    FoundOrder,
    ShortId,
    TypedAmounts,
    prefix_pattern,
)
from tollhouse.pages.rows import read_row
from tollhouse.payments.links.model import LINK, PaymentLink
from tollhouse.platform.database.pool import Pool, Row, Tx
from tollhouse.webhooks.request_log.store import first_id

STATEMENT_TIMEOUT_MS = 330
"""Of each of the six statements of a search, so that it ends within two seconds."""
LIMIT_STATEMENTS = f"SET LOCAL statement_timeout = {STATEMENT_TIMEOUT_MS}"
IBAN_START = re.compile("[A-Z]{2}[0-9]{2}")
"""IBANs are kept without spaces and in capitals."""
MATCHES_MAX = 200
NEWEST_SEARCHED = 5_000
PAYMENTS_COUNTED_MAX = 1_000

# An ID belongs to one environment. $3: the oldest request that is kept.
FIND_BY_ID = """
    SELECT 'payment' AS kind, mode, id, NULL::text AS parent FROM transactions WHERE id = $2 AND merchant_id = $1
    UNION ALL SELECT 'payment_link', mode, id, NULL FROM payment_links WHERE id = $2 AND merchant_id = $1
    UNION ALL SELECT 'refund', mode, id, transaction_id::text FROM refunds WHERE id = $2 AND merchant_id = $1
    UNION ALL SELECT 'withdrawal', mode, id, NULL FROM withdrawals WHERE id = $2 AND merchant_id = $1
    UNION ALL SELECT 'balance_payment', mode, id, NULL FROM balance_payments WHERE id = $2 AND merchant_id = $1
    UNION ALL SELECT 'received_balance_payment', mode, id, client_id FROM balance_payments WHERE id = $2 AND owner_id = $1
    UNION ALL SELECT 'conversion', mode, id, NULL FROM conversions WHERE id = $2 AND merchant_id = $1
    UNION ALL SELECT 'fulfillment', mode, id, NULL FROM fulfillments WHERE id = $2 AND merchant_id = $1
    UNION ALL SELECT 'project', mode, id, NULL FROM projects WHERE id = $2 AND merchant_id = $1
    UNION ALL SELECT 'event', mode, id, NULL FROM webhook_events WHERE id = $2 AND merchant_id = $1
    UNION ALL SELECT 'request', mode, id, NULL FROM api_requests
              WHERE merchant_id = $1 AND mode IN ('live', 'test') AND id = $2 AND id >= $3
"""
# Objects of which pages show short IDs. Those that begin with the same eight characters were made within 66 seconds.
FIND_BY_SHORT_ID = " UNION ALL ".join(
    f"""
    (SELECT '{kind}' AS kind, mode, id, {parent} AS parent FROM {table}
     WHERE id BETWEEN $2 AND $3 AND {owner} = $1 AND mode IN ('live', 'test') AND right(id::text, 4) = $4 LIMIT 2)"""
    for kind, table, parent, owner in (
        ("payment", "transactions", "NULL::text", "merchant_id"),
        ("payment_link", "payment_links", "NULL", "merchant_id"),
        ("refund", "refunds", "transaction_id::text", "merchant_id"),
        ("withdrawal", "withdrawals", "NULL", "merchant_id"),
        ("balance_payment", "balance_payments", "NULL", "merchant_id"),
        ("received_balance_payment", "balance_payments", "client_id", "owner_id"),
        ("conversion", "conversions", "NULL", "merchant_id"),
        ("fulfillment", "fulfillments", "NULL", "merchant_id"),
        ("project", "projects", "NULL", "merchant_id"),
        ("event", "webhook_events", "NULL", "merchant_id"),
        ("request", "api_requests", "NULL", "merchant_id"),
    )
)
FIND_RECEIPT = """
    SELECT 'payment' AS kind, mode, transaction_id AS id, NULL AS parent FROM receipts
    WHERE merchant_id = $1 AND mode IN ('live', 'test') AND year = $2 AND number = $3 ORDER BY mode = $4 DESC LIMIT 1
"""
FIND_LINK = """
    SELECT 'payment_link' AS kind, mode, id, NULL AS parent FROM payment_links WHERE token = $2 AND merchant_id = $1
"""
# By the beginning of the external ID or email address: $3 is the pattern, $4 the text. By the beginning of a word of the
# name or by an amount: among the newest $7 only. Exact external IDs come first.
LINKS = f"""
    WITH found AS (
        (SELECT id FROM payment_links WHERE merchant_id = $1 AND mode = $2 AND external_id = $4
         ORDER BY created_at DESC, id DESC LIMIT $8)
        UNION
        (SELECT id FROM payment_links WHERE merchant_id = $1 AND mode = $2 AND external_id LIKE $3 LIMIT $8)
        UNION
        (SELECT id FROM payment_links WHERE merchant_id = $1 AND mode = $2 AND lower(customer_email) LIKE lower($3) LIMIT $8)
        UNION
        (SELECT id FROM (SELECT id, display_name, currency, amount_minor FROM payment_links
                         WHERE merchant_id = $1 AND mode = $2 ORDER BY created_at DESC, id DESC LIMIT $7) AS newest
         WHERE ' ' || lower(display_name) LIKE '% ' || lower($3)
            OR (currency, amount_minor) IN (
                SELECT a.currency, a.minor FROM unnest($5::text[], $6::bigint[]) AS a (currency, minor))
         LIMIT $8))
    SELECT {LINK.columns_of("l")}
    FROM found JOIN payment_links l ON (l.merchant_id, l.mode, l.id) = ($1, $2, found.id)
    ORDER BY coalesce(l.external_id = $4, false) DESC, l.created_at DESC, l.id DESC LIMIT $8
"""
# Of links that were found ($3), by the reference of a bank transfer ($4), by amount ($5, $6), by the beginning of the
# payer's account ($9) or name ($8), and by that of any word of it among the newest $11. At most $7 of each, $10 of
# payers.
PAYMENTS = """
    SELECT id FROM (
        SELECT t.id, t.created_at FROM unnest($3::uuid[]) AS link (id) CROSS JOIN LATERAL (
            SELECT p.id, p.created_at FROM transactions p
            WHERE p.merchant_id = $1 AND p.mode = $2 AND p.payment_link_id = link.id
            ORDER BY p.created_at DESC, p.id DESC LIMIT $7) AS t
        UNION
        SELECT id, created_at FROM transactions
        WHERE merchant_id = $1 AND rail = 'bank' AND mode = $2 AND rail_reference = $4
        UNION
        SELECT t.id, t.created_at FROM unnest($5::text[], $6::bigint[]) AS a (currency, minor) CROSS JOIN LATERAL (
            SELECT p.id, p.created_at FROM transactions p
            WHERE p.merchant_id = $1 AND p.mode = $2 AND p.currency = a.currency AND p.amount_minor = a.minor
            ORDER BY p.created_at DESC, p.id DESC LIMIT $7) AS t
        UNION
        SELECT id, created_at FROM transactions WHERE merchant_id = $1 AND mode = $2 AND id = ANY (ARRAY(
            SELECT o.transaction_id FROM rail_observations o
            WHERE o.merchant_id = $1 AND o.mode = $2 AND o.payer_account IS NOT NULL AND o.payer_account LIKE $9 LIMIT $10))
        UNION
        SELECT id, created_at FROM transactions WHERE merchant_id = $1 AND mode = $2 AND id = ANY (ARRAY(
            SELECT o.transaction_id FROM rail_observations o
            WHERE o.merchant_id = $1 AND o.mode = $2 AND o.payer_name IS NOT NULL AND lower(o.payer_name) LIKE lower($8)
            LIMIT $10))
        UNION
        (SELECT n.id, n.created_at FROM (
             SELECT p.id, p.created_at FROM transactions p WHERE p.merchant_id = $1 AND p.mode = $2
             ORDER BY p.created_at DESC, p.id DESC LIMIT $11) AS n
         JOIN rail_observations o ON o.transaction_id = n.id
         WHERE o.payer_name IS NOT NULL AND ' ' || lower(o.payer_name) LIKE '% ' || lower($8) LIMIT $10)
    ) AS found
    ORDER BY created_at DESC, id DESC LIMIT $7
"""
CUSTOMERS = """
    SELECT (array_agg(l.customer_email ORDER BY l.created_at DESC))[1] AS email, (array_agg(l.id))[1] AS id,
           least(sum(t.payments), $5)::int AS payments
    FROM (SELECT id, customer_email, created_at FROM payment_links
          WHERE merchant_id = $1 AND mode = $2 AND lower(customer_email) LIKE lower($3) LIMIT $4) AS l
    CROSS JOIN LATERAL (SELECT count(*) AS payments FROM (
        SELECT FROM transactions p
        WHERE p.merchant_id = $1 AND p.mode = $2 AND p.payment_link_id = l.id LIMIT $5) AS counted) AS t
    GROUP BY lower(l.customer_email) ORDER BY max(l.created_at) DESC, lower(l.customer_email) LIMIT $6
"""
# By the beginning of the external ID: $3 is the text, $8 the pattern. In the order of bytes, an exact one is the first of
# its beginning. Withdrawals also by amount ($4, $5), among the newest $6. At most $7 of each kind.
ORDERS = """
    SELECT kind, id, parent, currency, amount_minor, status, external_id, created_at FROM (
        (SELECT 'withdrawal' AS kind, id, NULL::text AS parent, currency, amount_minor, status, external_id, created_at
         FROM (SELECT id, currency, amount_minor, status, external_id, created_at FROM withdrawals
               WHERE merchant_id = $1 AND mode = $2 ORDER BY created_at DESC, id DESC LIMIT $6) AS newest
         WHERE (currency, amount_minor) IN (
             SELECT a.currency, a.minor FROM unnest($4::text[], $5::bigint[]) AS a (currency, minor))
         ORDER BY created_at DESC, id DESC LIMIT $7)
        UNION
        (SELECT 'withdrawal', id, NULL, currency, amount_minor, status, external_id, created_at
         FROM withdrawals WHERE merchant_id = $1 AND mode = $2 AND external_id LIKE $8
         ORDER BY external_id USING ~<~ LIMIT $7)
        UNION ALL
        (SELECT 'refund', id, transaction_id::text, currency, amount_minor, status, external_id, created_at
         FROM refunds WHERE merchant_id = $1 AND mode = $2 AND external_id LIKE $8
         ORDER BY external_id USING ~<~, created_at DESC, id DESC LIMIT $7)
        UNION ALL
        (SELECT 'balance_payment', id, NULL, currency, amount_minor, status, external_id, created_at
         FROM balance_payments WHERE merchant_id = $1 AND mode = $2 AND external_id LIKE $8
         ORDER BY external_id USING ~<~ LIMIT $7)
        UNION ALL
        (SELECT 'conversion', id, NULL, from_currency, from_amount_minor, status, external_id, created_at
         FROM conversions WHERE merchant_id = $1 AND mode = $2 AND external_id LIKE $8
         ORDER BY external_id USING ~<~, created_at DESC, id DESC LIMIT $7)
        UNION ALL
        (SELECT 'fulfillment', id, NULL, currency, cost_minor, status, external_id, created_at
         FROM fulfillments WHERE merchant_id = $1 AND mode = $2 AND external_id LIKE $8
         ORDER BY external_id USING ~<~ LIMIT $7)
    ) AS found
    ORDER BY coalesce(external_id = $3, false) DESC, created_at DESC, id DESC
"""
EXISTS_IN_MODE = """
    SELECT EXISTS (SELECT FROM payment_links WHERE merchant_id = $1 AND mode = $2 AND external_id = $3)
        OR EXISTS (SELECT FROM payment_links WHERE merchant_id = $1 AND mode = $2 AND lower(customer_email) = lower($3))
        OR EXISTS (SELECT FROM withdrawals WHERE merchant_id = $1 AND mode = $2 AND external_id = $3)
        OR EXISTS (SELECT FROM refunds WHERE merchant_id = $1 AND mode = $2 AND external_id = $3)
        OR EXISTS (SELECT FROM balance_payments WHERE merchant_id = $1 AND mode = $2 AND external_id = $3)
        OR EXISTS (SELECT FROM conversions WHERE merchant_id = $1 AND mode = $2 AND external_id = $3)
        OR EXISTS (SELECT FROM fulfillments WHERE merchant_id = $1 AND mode = $2 AND external_id = $3) AS found
"""


class Searched(Struct, frozen=True):
    """What is searched, and in which environment."""

    env: MerchantEnv
    text: str
    amounts: TypedAmounts

    @property
    def pattern(self) -> str:
        """The LIKE pattern of what begins with the text."""
        return prefix_pattern(self.text)


@asynccontextmanager
async def limited_connection(db: Pool) -> AsyncGenerator[Tx]:
    """A connection whose statements are canceled after `STATEMENT_TIMEOUT_MS`."""
    async with db.connection() as tx, tx.snapshot():
        await tx.run(LIMIT_STATEMENTS)
        yield tx


async def find_by_id(db: Pool, merchant_id: MerchantId, object_id: UUID, requests_since: datetime) -> list[FoundObject]:
    """The merchant's objects with this ID, in either mode."""
    return [_object(row) for row in await db.fetch(FIND_BY_ID, merchant_id, object_id, first_id(requests_since))]


async def find_by_short_id(db: Pool, merchant_id: MerchantId, short: ShortId) -> list[FoundObject]:
    """The merchant's objects whose ID pages show so, in either mode."""
    return [_object(row) for row in await db.fetch(FIND_BY_SHORT_ID, merchant_id, short.first, short.last, short.end)]


async def find_receipt(db: Pool, env: MerchantEnv, year: int, number: int) -> list[FoundObject]:
    """The merchant's payment with this receipt; that of this environment, if both have one."""
    return [_object(row) for row in await db.fetch(FIND_RECEIPT, env.merchant_id, year, number, env.mode)]


async def find_by_token(db: Pool, merchant_id: MerchantId, token: str) -> list[FoundObject]:
    """The merchant's payment link with this token, in either mode."""
    return [_object(row) for row in await db.fetch(FIND_LINK, merchant_id, token)]


async def search_links(tx: Tx, searched: Searched) -> list[PaymentLink]:
    """Up to `MATCHES_MAX` payment links."""
    env, amounts = searched.env, searched.amounts
    rows = await tx.fetch_custom_plan(
        LINKS,
        env.merchant_id,
        env.mode,
        searched.pattern,
        searched.text,
        amounts.currencies,
        amounts.minors,
        NEWEST_SEARCHED,
        MATCHES_MAX,
    )
    return [LINK.read(row) for row in rows]


async def search_payments(tx: Tx, searched: Searched, links: list[PaymentLink], limit: int) -> list[UUID]:
    """The IDs of payments, newest first."""
    env, amounts = searched.env, searched.amounts
    ids, reference = [link.id for link in links], "".join(searched.text.split()).upper()
    rows = await tx.fetch_custom_plan(
        PAYMENTS,
        env.merchant_id,
        env.mode,
        ids,
        reference,
        amounts.currencies,
        amounts.minors,
        limit,
        searched.pattern,
        prefix_pattern(reference if IBAN_START.match(reference) else searched.text),
        MATCHES_MAX,
        NEWEST_SEARCHED,
    )
    return [row["id"] for row in rows]


async def search_customers(tx: Tx, searched: Searched, limit: int) -> list[FoundCustomer]:
    """Email addresses of payers."""
    env = searched.env
    rows = await tx.fetch_custom_plan(
        CUSTOMERS, env.merchant_id, env.mode, searched.pattern, MATCHES_MAX, PAYMENTS_COUNTED_MAX, limit
    )
    return [FoundCustomer(row["id"], row["email"], row["payments"]) for row in rows]


async def search_orders(tx: Tx, searched: Searched, limit: int) -> list[FoundOrder]:
    """Withdrawals, refunds, conversions, balance payments and fulfillments."""
    env, amounts = searched.env, searched.amounts
    rows = await tx.fetch_custom_plan(
        ORDERS,
        env.merchant_id,
        env.mode,
        searched.text,
        amounts.currencies,
        amounts.minors,
        NEWEST_SEARCHED,
        limit,
        searched.pattern,
    )
    return [read_row(FoundOrder, row, found=FoundObject(row["kind"], env.mode, row["id"], row["parent"])) for row in rows]


async def is_known_in(tx: Tx, searched: Searched) -> bool:
    """Whether the environment has an object with this external ID, or a payer with this address."""
    env = searched.env
    rows = await tx.fetch_custom_plan(EXISTS_IN_MODE, env.merchant_id, env.mode, searched.text)
    return rows[0]["found"]


def _object(row: Row) -> FoundObject:
    return FoundObject(row["kind"], row["mode"], row["id"], row["parent"])
