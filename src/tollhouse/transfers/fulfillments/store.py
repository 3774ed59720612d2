"""Every SQL statement about fulfillments."""

from datetime import datetime, timedelta
from uuid import UUID

from tollhouse.http.lists import ListQuery, Window
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.platform.database.pool import Pool, Tx
from tollhouse.transfers.fulfillments.model import FULFILLMENT, Fulfillment, FulfillmentStatus
from tollhouse.transfers.orders.store import fetch_one, fetch_page

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
    return await fetch_one(db, FULFILLMENT.read, GET, env.merchant_id, env.mode, fulfillment_id)


async def list_fulfillments(db: Pool, env: MerchantEnv, query: FulfillmentsQuery, window: Window) -> list[Fulfillment]:
    """A page of fulfillments, newest first."""
    filters = (query.status, query.product_id, query.currency, query.project_id, query.external_id)
    return await fetch_page(db, FULFILLMENT.read, LIST, window, env.merchant_id, env.mode, *filters)


async def cancel(tx: Tx, env: MerchantEnv, fulfillment_id: UUID, now: datetime) -> Fulfillment | None:
    """Cancel a pending fulfillment; None where it is not pending."""
    row = await tx.fetchrow(CANCEL, env.merchant_id, env.mode, fulfillment_id, now)
    return None if row is None else FULFILLMENT.read(row)


async def begin(tx: Tx, env: MerchantEnv, fulfillment_id: UUID, now: datetime) -> None:
    """Start processing a pending fulfillment, as the worker's lease does."""
    await tx.execute(BEGIN, env.merchant_id, env.mode, fulfillment_id, now)


async def lease_due(db: Pool, now: datetime, lease: timedelta, limit: int) -> list[Fulfillment]:
    """Fulfillments whose next attempt is due, leased to this caller."""
    return [FULFILLMENT.read(row) for row in await db.fetch(LEASE_DUE, now, lease, limit)]


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
    row = await tx.fetchrow(END, env.merchant_id, env.mode, fulfillment_id, *outcome)
    return None if row is None else FULFILLMENT.read(row)
