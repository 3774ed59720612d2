"""Every SQL statement about fulfillments."""

from datetime import datetime, timedelta
from uuid import UUID

import msgspec
from msgspec import Struct

from tollhouse.fulfillments.model import Fulfillment, Status
from tollhouse.http.paging import Window
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId
from tollhouse.platform.db import Pool, Row, Tx

INSERT = """
    INSERT INTO fulfillments (id, merchant_id, mode, project_id, product_id, server, quantity, currency, unit_price_minor,
                              unit_wholesale_minor, cost_minor, recipient, hold_id, status, next_look_at, webhook_url,
                              external_id, metadata, created_at, updated_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, 'pending', $14, $15, $16, $17, $18, $18)
    ON CONFLICT ON CONSTRAINT fulfillments_external_id DO NOTHING
"""
ONE = "SELECT * FROM fulfillments WHERE merchant_id = $1 AND mode = $2 AND id = $3"
NAMED = "SELECT id FROM fulfillments WHERE merchant_id = $1 AND mode = $2 AND external_id = $3"
LIST = """
    SELECT * FROM fulfillments
    WHERE merchant_id = $1 AND mode = $2 AND ($3::text[] IS NULL OR status = ANY($3))
      AND ($4::text IS NULL OR product_id = $4) AND ($5::text IS NULL OR currency = $5)
      AND ($6::uuid IS NULL OR project_id = $6)
      AND ($7::text IS NULL OR external_id = $7)
      AND created_at >= $8 AND (created_at, id) < ($9, $10)
    ORDER BY created_at DESC, id DESC LIMIT $11 OFFSET $12
"""
CANCEL = """
    UPDATE fulfillments SET status = 'canceled', next_look_at = NULL, updated_at = $4, version = version + 1
    WHERE merchant_id = $1 AND mode = $2 AND id = $3 AND status = 'pending'
    RETURNING *
"""
BEGIN = """
    UPDATE fulfillments SET status = 'processing', attempts = 1, processing_at = $4, updated_at = $4, version = version + 1
    WHERE merchant_id = $1 AND mode = $2 AND id = $3 AND status = 'pending'
"""
# Taken for a while by moving its time: of whom nothing is heard, another worker asks again. From here on it cannot be
# canceled, whatever becomes of the worker that has it.
TAKE_DUE = """
    UPDATE fulfillments SET status = 'processing', attempts = attempts + 1,
        processing_at = coalesce(processing_at, $1), next_look_at = $1::timestamptz + $2::interval,
        updated_at = CASE status WHEN 'pending' THEN $1 ELSE updated_at END,
        version = version + CASE status WHEN 'pending' THEN 1 ELSE 0 END
    WHERE id IN (SELECT id FROM fulfillments WHERE next_look_at <= $1 ORDER BY next_look_at LIMIT $3 FOR UPDATE SKIP LOCKED)
    RETURNING *
"""
LOOK_AGAIN = """
    UPDATE fulfillments SET next_look_at = $4 WHERE merchant_id = $1 AND mode = $2 AND id = $3 AND status = 'processing'
"""
END = """
    UPDATE fulfillments SET status = $4, delivered_quantity = $5, provider_reference = $6, failure_code = $7,
        completed_at = CASE $4 WHEN 'failed' THEN NULL ELSE $8::timestamptz END, next_look_at = NULL, updated_at = $8,
        version = version + 1
    WHERE merchant_id = $1 AND mode = $2 AND id = $3 AND status = 'processing'
    RETURNING *
"""


class FulfillmentFilter(Struct, frozen=True):
    """Which fulfillments to list; None leaves a filter out."""

    status: list[Status] | None = None
    product_id: str | None = None
    currency: str | None = None
    project_id: UUID | None = None
    external_id: str | None = None


async def insert(tx: Tx, new: Fulfillment, first_look_at: datetime) -> bool:
    """Keep a new fulfillment; False where its external_id was taken meanwhile."""
    written = await tx.execute(
        INSERT,
        new.id,
        new.env.merchant_id,
        new.env.mode,
        new.project_id,
        new.product_id,
        new.server,
        new.quantity,
        new.currency,
        new.unit_price_minor,
        new.unit_wholesale_minor,
        new.cost_minor,
        msgspec.json.encode(new.recipient).decode(),
        new.hold_id,
        first_look_at,
        new.webhook_url,
        new.external_id,
        msgspec.json.encode(new.metadata).decode(),
        new.created_at,
    )
    return written == 1


async def one(db: Pool | Tx, env: MerchantEnv, fulfillment_id: UUID) -> Fulfillment | None:
    """This fulfillment of this merchant and mode."""
    row = await db.fetchrow(ONE, env.merchant_id, env.mode, fulfillment_id)
    return None if row is None else _fulfillment(row)


async def named(tx: Tx, env: MerchantEnv, external_id: str) -> UUID | None:
    """The fulfillment that has this external_id."""
    return await tx.fetchval(NAMED, env.merchant_id, env.mode, external_id)


async def listed(db: Pool, env: MerchantEnv, wanted: FulfillmentFilter, window: Window) -> list[Fulfillment]:
    """A page of fulfillments, newest first."""
    which = msgspec.structs.astuple(wanted)
    rows = await db.fetch_fresh(LIST, env.merchant_id, env.mode, *which, *msgspec.structs.astuple(window))
    return [_fulfillment(row) for row in rows]


async def cancel(tx: Tx, env: MerchantEnv, fulfillment_id: UUID, now: datetime) -> Fulfillment | None:
    """Cancel a pending fulfillment; None where it is not pending, or not this merchant's."""
    row = await tx.fetchrow(CANCEL, env.merchant_id, env.mode, fulfillment_id, now)
    return None if row is None else _fulfillment(row)


async def begin(tx: Tx, env: MerchantEnv, fulfillment_id: UUID, now: datetime) -> None:
    """Begin to deliver a pending fulfillment, as the worker does when it takes it."""
    await tx.execute(BEGIN, env.merchant_id, env.mode, fulfillment_id, now)


async def take_due(db: Pool, now: datetime, patience: timedelta, limit: int) -> list[Fulfillment]:
    """What is to be asked for now, each for this caller alone until its patience ends."""
    return [_fulfillment(row) for row in await db.fetch(TAKE_DUE, now, patience, limit)]


async def look_again(db: Pool, due: Fulfillment, at: datetime) -> None:
    """Ask again then."""
    await db.execute(LOOK_AGAIN, due.env.merchant_id, due.env.mode, due.id, at)


async def end(
    tx: Tx,
    env: MerchantEnv,
    fulfillment_id: UUID,
    status: Status,
    now: datetime,
    *,
    delivered_quantity: int = 0,
    reference: str | None = None,
    failure_code: str | None = None,
) -> Fulfillment | None:
    """End a fulfillment that is processing; None where it is not."""
    facts = (status, delivered_quantity, reference, failure_code, now)
    row = await tx.fetchrow(END, env.merchant_id, env.mode, fulfillment_id, *facts)
    return None if row is None else _fulfillment(row)


def _fulfillment(row: Row) -> Fulfillment:
    return Fulfillment(
        id=row["id"],
        env=MerchantEnv(MerchantId(row["merchant_id"]), row["mode"]),
        project_id=row["project_id"],
        product_id=row["product_id"],
        server=row["server"],
        quantity=row["quantity"],
        delivered_quantity=row["delivered_quantity"],
        currency=row["currency"],
        unit_price_minor=row["unit_price_minor"],
        unit_wholesale_minor=row["unit_wholesale_minor"],
        recipient=msgspec.json.decode(row["recipient"]),
        hold_id=row["hold_id"],
        status=row["status"],
        provider_reference=row["provider_reference"],
        failure_code=row["failure_code"],
        attempts=row["attempts"],
        webhook_url=row["webhook_url"],
        external_id=row["external_id"],
        metadata=msgspec.json.decode(row["metadata"], type=dict[str, str]),
        version=row["version"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
        processing_at=row["processing_at"],
        completed_at=row["completed_at"],
    )
