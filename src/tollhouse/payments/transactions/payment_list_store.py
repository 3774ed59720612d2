"""SQL of the dashboard's list of payments and its export."""

from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from uuid import UUID

import msgspec

from tollhouse.http.lists import FIRST, NEWEST, Position, read_in_batches
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.payments.transactions.payment_list import PaymentListFilter, PaymentRow
from tollhouse.platform.database.pool import Pool, Row, Tx

STATUS = """payment_status_at(t.status, t.received_minor, l.status, l.expires_at, $3::timestamptz + coalesce(
           (SELECT c.ahead FROM test_clocks c WHERE (c.merchant_id, c.mode) = ($1, $2)), '0'))"""
SELECT_ROWS = f"""
    SELECT t.id, t.created_at, t.updated_at, t.succeeded_at, t.currency, t.amount_minor, t.received_minor, t.credited_minor,
           t.fee_minor, t.refunded_minor, t.method_id, t.failure_code, t.refund_required_reason, t.late, t.payment_link_id,
           l.project_id, l.display_name, l.external_id, l.customer_email, l.currency AS link_currency,
           CASE WHEN coalesce(t.price_minor, t.amount_minor) = l.amount_minor * coalesce(t.quantity, 1)
                THEN coalesce(t.quantity, 1) * coalesce(
                    (SELECT sum((line ->> 'amount_minor')::bigint) FROM jsonb_array_elements(l.tax_lines) AS line), 0)
                ELSE 0 END::bigint AS tax_minor,
           (SELECT r.year || '-' || lpad(r.number::text, greatest(6, length(r.number::text)), '0') FROM receipts r
            WHERE r.transaction_id = t.id) AS receipt_number,
           {STATUS} AS status
    FROM transactions t JOIN payment_links l ON (l.merchant_id, l.mode, l.id) = (t.merchant_id, t.mode, t.payment_link_id)"""
POSITION = "SELECT created_at, id FROM transactions WHERE merchant_id = $1 AND mode = $2 AND id = $3"
# Keyset bounds are always present, so that the index is used. There is one upper bound: with two, an index scan begins at
# the looser one. Links of a reference are searched once, by its indexes.
# A pending attempt may count as expired: the last condition decides. Amounts: an exact one is found by its index.
LIST = f"""
    {SELECT_ROWS}
    WHERE t.merchant_id = $1 AND t.mode = $2
      AND ($4::text IS NULL OR t.status = ANY (stored_statuses(ARRAY[$4], 'pending')))
      AND ($5::text IS NULL OR t.currency = $5) AND ($6::uuid IS NULL OR t.payment_link_id = $6)
      AND ($7::text IS NULL OR t.method_id = $7)
      AND ($8::uuid IS NULL OR l.project_id = $8)
      AND ($9::text IS NULL OR t.payment_link_id = ANY (ARRAY(
           SELECT f.id FROM payment_links f WHERE f.merchant_id = $1 AND f.mode = $2
           AND (f.external_id = $9 OR lower(f.customer_email) = lower($9)))))
      AND t.created_at >= coalesce($10::timestamptz, '-infinity') AND (t.created_at, t.id) < ($11, $15)
      AND ($12::text[] IS NULL OR t.currency = ANY ($12) AND EXISTS (
           SELECT FROM unnest($12, $13::bigint[], $14::bigint[]) AS a (currency, least, most)
           WHERE a.currency = t.currency AND t.amount_minor BETWEEN a.least AND a.most))
      AND ($13 IS NULL OR $13 IS DISTINCT FROM $14 OR t.amount_minor = ANY ($13))
      AND ($4 IS NULL OR t.status <> 'pending' OR {STATUS} = $4)
    ORDER BY t.created_at DESC, t.id DESC LIMIT $16
"""
# Counts stop at $15. In the order of the list: otherwise the planner would read the table from its beginning for a merchant
# with most of its rows, wherever these are.
COUNT = f"""
    SELECT count(*) AS payments FROM (
    SELECT FROM transactions t
    WHERE t.merchant_id = $1 AND t.mode = $2
      AND ($4::text IS NULL OR t.status = ANY (stored_statuses(ARRAY[$4], 'pending')))
      AND ($5::text IS NULL OR t.currency = $5) AND ($6::uuid IS NULL OR t.payment_link_id = $6)
      AND ($7::text IS NULL OR t.method_id = $7)
      AND ($8::uuid IS NULL OR EXISTS (SELECT FROM payment_links f WHERE f.id = t.payment_link_id AND f.project_id = $8))
      AND ($9::text IS NULL OR t.payment_link_id = ANY (ARRAY(
           SELECT f.id FROM payment_links f WHERE f.merchant_id = $1 AND f.mode = $2
           AND (f.external_id = $9 OR lower(f.customer_email) = lower($9)))))
      AND t.created_at >= coalesce($10::timestamptz, '-infinity') AND t.created_at < coalesce($11::timestamptz, 'infinity')
      AND ($12::text[] IS NULL OR t.currency = ANY ($12) AND EXISTS (
           SELECT FROM unnest($12, $13::bigint[], $14::bigint[]) AS a (currency, least, most)
           WHERE a.currency = t.currency AND t.amount_minor BETWEEN a.least AND a.most))
      AND ($13 IS NULL OR $13 IS DISTINCT FROM $14 OR t.amount_minor = ANY ($13))
      AND ($4 IS NULL OR t.status <> 'pending' OR $4 = (
           SELECT {STATUS} FROM payment_links l WHERE l.merchant_id = $1 AND l.mode = $2 AND l.id = t.payment_link_id))
    ORDER BY t.created_at DESC, t.id DESC LIMIT $15) AS counted
"""
# The newest payments of a link, by the link's index.
LIST_OF_LINK = f"""
    {SELECT_ROWS}
    WHERE t.merchant_id = $1 AND t.mode = $2 AND t.payment_link_id = $4
    ORDER BY t.created_at DESC, t.id DESC LIMIT $5
"""
LIST_BY_IDS = f"""
    {SELECT_ROWS}
    WHERE t.merchant_id = $1 AND t.mode = $2 AND t.id = ANY($4::uuid[])
    ORDER BY t.created_at DESC, t.id DESC
"""


async def list_payments(
    db: Pool, env: MerchantEnv, filters: PaymentListFilter, now: datetime, before: UUID | None, limit: int
) -> list[PaymentRow]:
    """A page of payments after the payment `before`, newest first. None: the first page."""
    after = NEWEST if before is None else await _find_position(db, env, before) or NEWEST
    return await _list_after(db, env, filters, now, after, limit)


async def list_of_link(db: Pool, env: MerchantEnv, link_id: UUID, now: datetime, limit: int) -> list[PaymentRow]:
    """The newest payments of a link."""
    return [_payment(row) for row in await db.fetch(LIST_OF_LINK, env.merchant_id, env.mode, now, link_id, limit)]


async def list_by_ids(db: Pool | Tx, env: MerchantEnv, ids: Sequence[UUID], now: datetime) -> list[PaymentRow]:
    """The payments with these IDs, newest first."""
    return [_payment(row) for row in await db.fetch(LIST_BY_IDS, env.merchant_id, env.mode, now, ids)]


async def count_payments(db: Pool, env: MerchantEnv, filters: PaymentListFilter, now: datetime, count_max: int) -> int:
    """The number of matching payments, up to `count_max`."""
    rows = await db.fetch_custom_plan(COUNT, env.merchant_id, env.mode, now, *filters.values, count_max)
    return rows[0]["payments"]


def iterate_payments(
    db: Pool, env: MerchantEnv, filters: PaymentListFilter, now: datetime, at_once: int
) -> AsyncIterator[list[PaymentRow]]:
    """All matching payments in batches, newest first."""
    return read_in_batches(lambda after: _list_after(db, env, filters, now, after, at_once), at_once)


async def _list_after(
    db: Pool, env: MerchantEnv, filters: PaymentListFilter, now: datetime, after: Position, limit: int
) -> list[PaymentRow]:
    if filters.created_to is not None:
        after = min(after, Position(filters.created_to, FIRST))
    filters = msgspec.structs.replace(filters, created_to=after.at)
    values = (env.merchant_id, env.mode, now, *filters.values, after.id, limit)
    return [_payment(row) for row in await db.fetch_custom_plan(LIST, *values)]


async def _find_position(db: Pool, env: MerchantEnv, payment_id: UUID) -> Position | None:
    row = await db.fetchrow(POSITION, env.merchant_id, env.mode, payment_id)
    return None if row is None else Position(row["created_at"], row["id"])


def _payment(row: Row) -> PaymentRow:
    return PaymentRow(**{name: row[name] for name in PaymentRow.__struct_fields__})
