"""Every SQL statement about fulfillments, their invariants and their statistics."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from msgspec import Struct

from tollhouse.http.lists import ListQuery, Window
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.ledger.books.running_totals_store import list_added
from tollhouse.platform.database.invariants import Invariant
from tollhouse.platform.database.pool import Pool, Tx
from tollhouse.transfers.fulfillments.model import FULFILLMENT, Fulfillment, FulfillmentStatus
from tollhouse.transfers.orders.store import fetch_page

INSERT = f"{FULFILLMENT.insert} ON CONFLICT ON CONSTRAINT fulfillments_external_id DO NOTHING"
GET = f"SELECT {FULFILLMENT.columns} FROM fulfillments WHERE merchant_id = $1 AND mode = $2 AND id = $3"
ID_BY_EXTERNAL_ID = "SELECT id FROM fulfillments WHERE merchant_id = $1 AND mode = $2 AND external_id = $3"
LIST = f"""
    SELECT {FULFILLMENT.columns} FROM fulfillments
    WHERE merchant_id = $1 AND mode = $2 AND ($3::text[] IS NULL OR status = ANY($3))
      AND ($4::text IS NULL OR product_id = $4) AND ($5::text IS NULL OR currency = $5)
      AND ($6::uuid IS NULL OR project_id = $6)
      AND ($7::text IS NULL OR external_id = $7)
      AND created_at >= $8 AND (created_at, id) < ($9, $10)
    ORDER BY created_at DESC, id DESC LIMIT $11 OFFSET $12
"""
CANCEL = f"""
    UPDATE fulfillments SET status = 'canceled', next_look_at = NULL, updated_at = $4, version = version + 1
    WHERE merchant_id = $1 AND mode = $2 AND id = $3 AND status = 'pending'
    RETURNING {FULFILLMENT.columns}
"""
BEGIN = """
    UPDATE fulfillments SET status = 'processing', attempts = 1, processing_at = $4, updated_at = $4, version = version + 1
    WHERE merchant_id = $1 AND mode = $2 AND id = $3 AND status = 'pending'
"""
# The lease is the next attempt: after a worker dies, another takes its fulfillments when the lease ends. A leased
# fulfillment is processing and can no longer be canceled. Those of a suspended merchant wait until it is reactivated.
LEASE_DUE = f"""
    UPDATE fulfillments SET status = 'processing', attempts = attempts + 1,
        processing_at = coalesce(processing_at, $1), next_look_at = $1::timestamptz + $2::interval,
        updated_at = CASE status WHEN 'pending' THEN $1 ELSE updated_at END,
        version = version + CASE status WHEN 'pending' THEN 1 ELSE 0 END
    WHERE id IN (SELECT f.id FROM fulfillments f JOIN merchants m ON m.id = f.merchant_id AND m.suspended_at IS NULL
                 WHERE f.next_look_at <= $1 ORDER BY f.next_look_at LIMIT $3 FOR UPDATE OF f SKIP LOCKED)
    RETURNING {FULFILLMENT.columns}
"""
SET_NEXT_ATTEMPT = """
    UPDATE fulfillments SET next_look_at = $4 WHERE merchant_id = $1 AND mode = $2 AND id = $3 AND status = 'processing'
"""
END = f"""
    UPDATE fulfillments SET status = $4, delivered_quantity = $5, provider_reference = $6, failure_code = $7,
        completed_at = CASE $4 WHEN 'failed' THEN NULL ELSE $8::timestamptz END, next_look_at = NULL, updated_at = $8,
        version = version + 1
    WHERE merchant_id = $1 AND mode = $2 AND id = $3 AND status = 'processing'
    RETURNING {FULFILLMENT.columns}
"""
I17_HELD = """
    SELECT format('fulfillment %s is %s of %s with %s delivered; its hold is %s of %s with %s captured', f.id, f.status,
                  f.cost_minor, f.delivered_quantity, h.status, h.amount, h.captured) AS line
    FROM fulfillments f JOIN ledger_holds h ON h.id = f.hold_id
    WHERE f.id = ANY ($1::uuid[]) AND (
          (f.status IN ('pending', 'processing')) <> (h.status = 'active')
       OR (h.source_type, h.source_id) <> ('fulfillment', f.id)
       OR (h.merchant_id, h.mode, h.currency, h.amount, h.captured)
          <> (f.merchant_id, f.mode, f.currency, f.cost_minor, f.unit_price_minor * f.delivered_quantity))
"""
I17_UNCLAIMED = """
    SELECT format('hold %s is of fulfillment %s, which does not know of it', h.id, h.source_id) AS line
    FROM ledger_holds h
    WHERE h.id = ANY ($1::uuid[]) AND h.source_type = 'fulfillment'
      AND NOT EXISTS (SELECT FROM fulfillments f WHERE f.hold_id = h.id)
"""
I17_BOOKED = """
    SELECT format('fulfillment %s: %s delivered at %s, of it %s for the game; the ledger says %s and %s', f.id,
                  f.delivered_quantity, f.unit_price_minor, f.unit_wholesale_minor, coalesce(b.game, 0),
                  coalesce(b.margin, 0)) AS line
    FROM fulfillments f
    CROSS JOIN LATERAL (
               SELECT sum(p.amount) FILTER (WHERE a.code LIKE 'payable:%') AS game,
                      sum(p.amount) FILTER (WHERE a.code = 'income:fulfillment_margin') AS margin
               FROM ledger_transactions l JOIN ledger_postings p ON p.transaction_id = l.id
               JOIN ledger_accounts a ON a.id = p.credit_account_id
               WHERE l.source_type = 'fulfillment' AND l.source_id = f.id AND p.type = 'fulfillment') b
    WHERE f.id = ANY ($1::uuid[]) AND (f.unit_wholesale_minor * f.delivered_quantity,
           (f.unit_price_minor - f.unit_wholesale_minor) * f.delivered_quantity)
       <> (coalesce(b.game, 0), coalesce(b.margin, 0))
"""
INVARIANTS: tuple[Invariant, ...] = (
    Invariant("I17", "the cost of a fulfillment is held until it ends", I17_HELD, "fulfillment"),
    Invariant("I17", "every hold has a fulfillment", I17_UNCLAIMED, "hold"),
    Invariant("I17", "delivered amounts are in the ledger", I17_BOOKED, "fulfillment"),
)
# Within a quarter hour: created from $3 until before $4.
FULFILLED = """
    SELECT currency, status AS type, false AS raised, product_id AS method_id,
           sum(unit_price_minor * delivered_quantity)::text AS amount, count(*) AS count
    FROM fulfillments
    WHERE merchant_id = $1 AND mode = $2 AND created_at >= $3 AND created_at < $4
      AND status NOT IN ('pending', 'processing')
      AND ($5::text IS NULL OR product_id = $5) AND ($6::uuid IS NULL OR project_id = $6)
    GROUP BY currency, status, product_id
"""
DELIVERED = """
    SELECT '' AS currency, status || ' ' || delivery_seconds(created_at, completed_at) AS type, true AS raised,
           product_id AS method_id, sum(delivered_quantity)::text AS amount, count(*) AS count
    FROM fulfillments
    WHERE merchant_id = $1 AND mode = $2 AND created_at >= $3 AND created_at < $4
      AND status NOT IN ('pending', 'processing') AND completed_at IS NOT NULL
      AND ($5::text IS NULL OR product_id = $5) AND ($6::uuid IS NULL OR project_id = $6)
    GROUP BY 2, 4
"""
# $3: the starts of the parts, and the end of the last one. Parts are numbered from 1. The index has no completed
# fulfillments.
OPEN = """
    SELECT width_bucket(created_at, $3::timestamptz[]) AS part, status, product_id, count(*) AS count
    FROM fulfillments
    WHERE merchant_id = $1 AND mode = $2 AND status IN ('pending', 'processing')
      AND created_at >= ($3::timestamptz[])[1] AND created_at < ($3::timestamptz[])[cardinality($3::timestamptz[])]
      AND ($4::text IS NULL OR product_id = $4) AND ($5::uuid IS NULL OR project_id = $5)
    GROUP BY 1, 2, 3
"""


class FulfillmentsQuery(ListQuery, frozen=True):
    """Filters of GET /fulfillments."""

    status: list[FulfillmentStatus] | None = None
    product_id: str | None = None
    currency: str | None = None
    project_id: UUID | None = None
    external_id: str | None = None


async def insert(tx: Tx, new: Fulfillment, first_attempt_at: datetime) -> bool:
    """Insert a fulfillment; False where another one has its external id."""
    return await tx.execute(INSERT, *FULFILLMENT.values(new, cost_minor=new.cost_minor, next_look_at=first_attempt_at)) == 1


async def get(db: Pool | Tx, env: MerchantEnv, fulfillment_id: UUID) -> Fulfillment:
    """A fulfillment of a merchant and mode. Raises `NotFound`."""
    return await FULFILLMENT.get(db, GET, env.merchant_id, env.mode, fulfillment_id)


async def list_fulfillments(db: Pool, env: MerchantEnv, query: FulfillmentsQuery, window: Window) -> list[Fulfillment]:
    """A page of fulfillments, newest first."""
    filters = (query.status, query.product_id, query.currency, query.project_id, query.external_id)
    return await fetch_page(db, FULFILLMENT.read, LIST, window, env.merchant_id, env.mode, *filters)


async def cancel(tx: Tx, env: MerchantEnv, fulfillment_id: UUID, now: datetime) -> Fulfillment | None:
    """Cancel a pending fulfillment; None where it is not pending."""
    return await FULFILLMENT.find(tx, CANCEL, env.merchant_id, env.mode, fulfillment_id, now)


async def begin(tx: Tx, env: MerchantEnv, fulfillment_id: UUID, now: datetime) -> None:
    """Start processing a pending fulfillment, as the worker's lease does."""
    await tx.execute(BEGIN, env.merchant_id, env.mode, fulfillment_id, now)


async def lease_due(db: Pool, now: datetime, lease: timedelta, limit: int) -> list[Fulfillment]:
    """Fulfillments whose next attempt is due, leased to this caller."""
    return await FULFILLMENT.find_all(db, LEASE_DUE, now, lease, limit)


async def set_next_attempt(db: Pool, due: Fulfillment, at: datetime) -> None:
    """Retry the game server at this time."""
    await db.execute(SET_NEXT_ATTEMPT, due.env.merchant_id, due.env.mode, due.id, at)


async def end(
    tx: Tx,
    env: MerchantEnv,
    fulfillment_id: UUID,
    status: FulfillmentStatus,
    now: datetime,
    *,
    delivered_quantity: int = 0,
    reference: str | None = None,
    failure_code: str | None = None,
) -> Fulfillment | None:
    """End a fulfillment that is processing; None where it is not."""
    outcome = (status, delivered_quantity, reference, failure_code, now)
    return await FULFILLMENT.find(tx, END, env.merchant_id, env.mode, fulfillment_id, *outcome)


class FulfillmentPart(Struct, frozen=True, kw_only=True):
    """Fulfillments of a product and status that were created in a part of the period. Parts are numbered from 1.

    Either `count` of them with what was charged for them, or `deliveries` that took `seconds` with their `units`.
    """

    number: int
    status: str
    product_id: str
    count: int = 0
    currency: str = ""
    charged_minor: int = 0
    deliveries: int = 0
    seconds: int = 0
    units: int = 0


async def list_parts(
    db: Pool, env: MerchantEnv, bounds: Sequence[datetime], product_id: str | None, project_id: UUID | None
) -> list[FulfillmentPart]:
    """What was ordered between these moments, read in one snapshot."""
    only = (product_id, project_id)
    async with db.connection() as tx, tx.snapshot():
        opened = await tx.fetch(OPEN, env.merchant_id, env.mode, bounds, *only)
        fulfilled = await list_added(tx, env, "fulfilled", bounds, FULFILLED, only)
        delivered = await list_added(tx, env, "delivered", bounds, DELIVERED, only)
    found = [
        FulfillmentPart(number=row["part"], status=row["status"], product_id=row["product_id"], count=row["count"])
        for row in opened
    ]
    for series, number, added in fulfilled:
        part = FulfillmentPart(
            number=number,
            status=series.type,
            product_id=series.method_id,
            count=added.count,
            currency=series.currency,
            charged_minor=added.minor,
        )
        found.append(part)
    for series, number, added in delivered:
        status, seconds = series.type.split()
        part = FulfillmentPart(
            number=number,
            status=status,
            product_id=series.method_id,
            deliveries=added.count,
            seconds=int(seconds),
            units=added.minor,
        )
        found.append(part)
    return found
