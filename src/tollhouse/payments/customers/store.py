"""SQL of customers: the payment links with one address, or without an address and with one external ID, and their notes.

A customer has the ID of its first payment link. What is read of one is bounded: of its newest links, and their payments.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import TypeVar
from uuid import UUID

from msgspec import Struct

from tollhouse.http.lists import NEWEST, Position
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId, Mode
from tollhouse.payments.customers.model import (
    LINKS_COUNTED_MAX,
    LINKS_READ_MAX,
    PAYMENTS_READ_MAX,
    Customer,
    CustomerDispute,
    CustomerKind,
    CustomerNote,
    CustomerRefund,
    CustomerTotal,
)
from tollhouse.platform.database.pool import Pool, Row, Tx

S = TypeVar("S", bound=Struct)
KEY = "customer_key(customer_email, external_id)"
# Of a customer `c` with its `mode` and `key`: its newest link, its first, and how many there are.
COLUMNS = """
    c.mode, c.key, newest.customer_email AS email,
    CASE WHEN newest.customer_email IS NULL THEN newest.external_id END AS external_id,
    newest.created_at AS latest_link_at, first.id, first.created_at, counted.links, counted.payments"""
FACTS = f"""
    CROSS JOIN LATERAL (
        SELECT customer_email, external_id, created_at FROM payment_links
        WHERE merchant_id = $1 AND mode = c.mode AND {KEY} = c.key ORDER BY created_at DESC, id DESC LIMIT 1) AS newest
    CROSS JOIN LATERAL (
        SELECT id, created_at FROM payment_links
        WHERE merchant_id = $1 AND mode = c.mode AND {KEY} = c.key ORDER BY created_at, id LIMIT 1) AS first
    CROSS JOIN LATERAL (
        SELECT count(*) AS links, sum(payments_count)::bigint AS payments FROM (
            SELECT payments_count FROM payment_links
            WHERE merchant_id = $1 AND mode = c.mode AND {KEY} = c.key
            ORDER BY created_at DESC, id DESC LIMIT {LINKS_COUNTED_MAX}) AS newest) AS counted
"""
# From key to key by the index, so that the number of links does not matter: those that begin with `$3` or `$4`, after `$5`.
# `$6` is the last place, `$7` the one before the first. The last character of Unicode is behind every text that begins so.
LIST = f"""
    WITH RECURSIVE bounds AS (
        SELECT coalesce($5 || chr(1), customer_key($3::text, $4::text)) AS least,
               customer_key($3, $4) || chr(1114111) AS beyond
    ), keys AS (
        (SELECT 1 AS place, {KEY} AS key FROM payment_links
         WHERE merchant_id = $1 AND mode = $2 AND {KEY} ~>=~ (SELECT least FROM bounds)
           AND {KEY} ~<~ (SELECT beyond FROM bounds)
         ORDER BY {KEY} USING ~<~ LIMIT 1)
        UNION ALL
        SELECT k.place + 1, n.key FROM keys k CROSS JOIN LATERAL (
            SELECT {KEY} AS key FROM payment_links
            WHERE merchant_id = $1 AND mode = $2 AND {KEY} ~>~ k.key AND {KEY} ~<~ (SELECT beyond FROM bounds)
            ORDER BY {KEY} USING ~<~ LIMIT 1) AS n
        WHERE k.place < $6
    )
    SELECT {COLUMNS}
    FROM (SELECT place, key, $2::text AS mode FROM keys WHERE place > $7) AS c
    {FACTS} ORDER BY c.place
"""
# Found by any of its links, in one of these modes.
FIND = f"""
    SELECT {COLUMNS}
    FROM (SELECT mode, {KEY} AS key FROM payment_links WHERE merchant_id = $1 AND mode = ANY ($2::text[]) AND id = $3) AS c
    {FACTS}
"""
LINKS = f"""
    SELECT id FROM payment_links WHERE merchant_id = $1 AND mode = $2 AND {KEY} = $3
    ORDER BY created_at DESC, id DESC LIMIT {LINKS_READ_MAX}
"""
# A page of payments, newest first, before the payment of `$4` and `$5`.
PAYMENT_IDS = f"""
    SELECT p.id FROM ({LINKS}) AS l CROSS JOIN LATERAL (
        SELECT id, created_at FROM transactions
        WHERE payment_link_id = l.id AND (created_at, id) < ($4, $5) ORDER BY created_at DESC, id DESC LIMIT $6) AS p
    ORDER BY p.created_at DESC, p.id DESC LIMIT $6
"""
POSITION = "SELECT created_at, id FROM transactions WHERE merchant_id = $1 AND mode = $2 AND id = $3"
PAYMENTS = f"""
    SELECT t.* FROM ({LINKS}) AS l CROSS JOIN LATERAL (
        SELECT id, currency, received_minor, refunded_minor, charged_back_minor FROM transactions
        WHERE payment_link_id = l.id ORDER BY created_at DESC, id DESC LIMIT {PAYMENTS_READ_MAX}) AS t
    LIMIT {PAYMENTS_READ_MAX}
"""
TOTALS = f"""
    SELECT currency, count(*) AS attempts, count(*) FILTER (WHERE received_minor > 0) AS payments,
           sum(received_minor)::bigint AS paid_minor, sum(refunded_minor)::bigint AS refunded_minor,
           sum(charged_back_minor)::bigint AS charged_back_minor
    FROM ({PAYMENTS}) AS t GROUP BY currency ORDER BY currency
"""
REFUNDS = f"""
    SELECT r.id, r.transaction_id, r.currency, r.amount_minor, r.status, r.reason, r.created_at
    FROM ({PAYMENTS}) AS t CROSS JOIN LATERAL (
        SELECT * FROM refunds WHERE transaction_id = t.id ORDER BY created_at DESC, id DESC LIMIT $4) AS r
    ORDER BY r.created_at DESC, r.id DESC LIMIT $4
"""
DISPUTES = f"""
    SELECT d.id, d.transaction_id, d.currency, d.amount_minor, s.status, d.reason, d.opened_at AS created_at
    FROM ({PAYMENTS}) AS t CROSS JOIN LATERAL (
        SELECT * FROM chargebacks WHERE transaction_id = t.id ORDER BY opened_at DESC LIMIT $4) AS d
    CROSS JOIN LATERAL dispute_status(d.status, d.response, d.respond_by, time_of_environment($1, $2, $5)) AS s (status)
    ORDER BY d.opened_at DESC, d.id DESC LIMIT $4
"""
NOTES = """
    SELECT n.id, n.note, u.email AS author, n.created_at
    FROM customer_notes n LEFT JOIN users u ON u.id = n.author_id
    WHERE n.merchant_id = $1 AND n.mode = $2 AND n.customer_key = $3
    ORDER BY n.created_at DESC, n.id DESC LIMIT $4
"""
COUNT_NOTES = "SELECT count(*) FROM customer_notes WHERE merchant_id = $1 AND mode = $2 AND customer_key = $3"
# The first link is locked: an erasure of its address waits and deletes the note, or was first, and the customer is no more.
INSERT_NOTE = f"""
    INSERT INTO customer_notes (id, merchant_id, mode, customer_key, author_id, note, created_at)
    SELECT $5, merchant_id, mode, $3, $6, $7, $8 FROM payment_links
    WHERE merchant_id = $1 AND mode = $2 AND {KEY} = $3 AND id = $4 FOR SHARE
"""
DELETE_NOTE = """
    DELETE FROM customer_notes WHERE merchant_id = $1 AND mode = $2 AND customer_key = $3 AND id = $4
"""
# Of all merchants, after the address was removed from their links.
DELETE_OF_ADDRESS = """
    DELETE FROM customer_notes n USING merchants m CROSS JOIN (VALUES ('live'), ('test')) AS modes (mode)
    WHERE n.merchant_id = m.id AND n.mode = modes.mode AND n.customer_key = customer_key($1, NULL)
"""
DELETE_OF_MERCHANT = "DELETE FROM customer_notes WHERE merchant_id = $1"


async def list_customers(
    db: Pool, env: MerchantEnv, kind: CustomerKind, search: str, before: UUID | None, fetch: int, offset: int = 0
) -> list[Customer]:
    """Customers whose address or external ID begins with a text, in the order of bytes, after the customer `before`."""
    after = None
    if before is not None:
        last = await find(db, env.merchant_id, [env.mode], before)
        if last is None:
            return []
        after = last.key
    begins = (search, None) if kind == "email" else (None, search)
    rows = await db.fetch(LIST, env.merchant_id, env.mode, *begins, after, offset + fetch, offset)
    return [_customer(row, env.merchant_id) for row in rows]


async def find(db: Pool | Tx, merchant_id: MerchantId, modes: Sequence[Mode], customer_id: UUID) -> Customer | None:
    """The customer with this ID, or of this payment link."""
    row = await db.fetchrow(FIND, merchant_id, modes, customer_id)
    return None if row is None else _customer(row, merchant_id)


async def list_payment_ids(db: Pool, customer: Customer, before: UUID | None, limit: int) -> list[UUID]:
    """A page of the customer's payments after the payment `before`, newest first. None: the first page."""
    env = customer.env
    row = None if before is None else await db.fetchrow(POSITION, env.merchant_id, env.mode, before)
    after = NEWEST if row is None else Position(row["created_at"], row["id"])
    rows = await db.fetch(PAYMENT_IDS, *_key(customer), after.at, after.id, limit)
    return [row["id"] for row in rows]


async def list_totals(db: Pool, customer: Customer) -> list[CustomerTotal]:
    """What the customer paid, by currency."""
    return _read(CustomerTotal, await db.fetch(TOTALS, *_key(customer)))


async def list_refunds(db: Pool, customer: Customer, limit: int) -> list[CustomerRefund]:
    """The customer's refunds, newest first."""
    return _read(CustomerRefund, await db.fetch(REFUNDS, *_key(customer), limit))


async def list_disputes(db: Pool, customer: Customer, limit: int, now: datetime) -> list[CustomerDispute]:
    """The customer's disputes with their status at `now`, newest first."""
    return _read(CustomerDispute, await db.fetch(DISPUTES, *_key(customer), limit, now))


async def list_notes(db: Pool | Tx, customer: Customer, limit: int) -> list[CustomerNote]:
    """The notes about a customer, newest first."""
    return _read(CustomerNote, await db.fetch(NOTES, *_key(customer), limit))


async def count_notes(tx: Tx, customer: Customer) -> int:
    """The number of notes about a customer."""
    return int(await tx.fetchval(COUNT_NOTES, *_key(customer)))


async def insert_note(tx: Tx, customer: Customer, note_id: UUID, author_id: UUID, note: str, now: datetime) -> bool:
    """Insert a note. False if the address of the customer was erased in the meantime."""
    return await tx.execute(INSERT_NOTE, *_key(customer), customer.id, note_id, author_id, note, now) == 1


async def delete_note(tx: Tx, customer: Customer, note_id: UUID) -> bool:
    """Delete a note about a customer. False if there is none."""
    return await tx.execute(DELETE_NOTE, *_key(customer), note_id) == 1


async def delete_of_address(tx: Tx, email: str) -> int:
    """Delete the notes of every merchant about an address. Returns their number."""
    return await tx.execute(DELETE_OF_ADDRESS, email)


async def delete_of_merchant(tx: Tx, merchant_id: MerchantId) -> int:
    """Delete the notes of a merchant in both modes. Returns their number."""
    return await tx.execute(DELETE_OF_MERCHANT, merchant_id)


def _key(customer: Customer) -> tuple[object, ...]:
    return customer.env.merchant_id, customer.env.mode, customer.key


def _customer(row: Row, merchant_id: MerchantId) -> Customer:
    members = dict(row)
    return Customer(env=MerchantEnv(merchant_id, members.pop("mode")), **members)


def _read(kind: type[S], rows: Sequence[Row]) -> list[S]:
    return [kind(**row) for row in rows]
