"""SQL of refunds and chargebacks, and of the operators' queue of refunds across merchants."""

from datetime import datetime, timedelta
from uuid import UUID

import msgspec
from msgspec import Struct

from tollhouse.http.lists import Window
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.clock import Timestamp
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId, Mode
from tollhouse.kernel.rails.disputes import Evidence, encode
from tollhouse.kernel.rails.provider import RefundOrder
from tollhouse.payments.transactions.model import REFUND, Chargeback, Refund, RefundStatus, Transaction
from tollhouse.platform.database.pool import Pool, Row, Tx
from tollhouse.transfers.gate.model import Review
from tollhouse.transfers.gate.store import review_members

INSERT = REFUND.insert
GET = f"""
    SELECT {REFUND.columns_of("r")}
    FROM refunds r JOIN outgoing_transfers o ON o.id = r.id WHERE r.merchant_id = $1 AND r.mode = $2 AND r.id = $3
"""
LIST = f"""
    SELECT {REFUND.columns_of("r")} FROM refunds r JOIN outgoing_transfers o ON o.id = r.id
    WHERE r.merchant_id = $1 AND r.mode = $2 AND ($3::uuid IS NULL OR r.transaction_id = $3)
      AND ($4::text[] IS NULL OR r.status = ANY($4)) AND ($5::text IS NULL OR r.currency = $5)
      AND ($6::text IS NULL OR r.external_id = $6)
      AND r.created_at >= $7 AND (r.created_at, r.id) < ($8, $9)
    ORDER BY r.created_at DESC, r.id DESC LIMIT $10 OFFSET $11
"""
UPDATE_STATUS_IF = f"""
    UPDATE refunds r SET status = $5, failure_code = $6, next_look_at = NULL, updated_at = $7, version = r.version + 1
    FROM outgoing_transfers o
    WHERE r.merchant_id = $1 AND r.mode = $2 AND r.id = $3 AND r.status = $4 AND o.id = r.id
    RETURNING {REFUND.columns_of("r")}
"""
# An approval is a change of the refund too, and increments its version.
RECORD_APPROVAL = """
    UPDATE refunds SET next_look_at = $4, updated_at = $5, version = version + 1
    WHERE merchant_id = $1 AND mode = $2 AND id = $3 AND status = 'pending'
"""
FIND_BY_ID = "SELECT merchant_id, mode, transaction_id FROM refunds WHERE id = $1"
# Leased by moving next_look_at: if the worker dies, another one takes over.
LEASE_DUE = """
    UPDATE refunds r SET next_look_at = $1::timestamptz + $2::interval
    FROM (SELECT id FROM refunds WHERE status = 'pending' AND next_look_at <= $1
          ORDER BY next_look_at LIMIT $3 FOR NO KEY UPDATE SKIP LOCKED) due, transactions t, outgoing_transfers o
    WHERE r.id = due.id AND t.id = r.transaction_id AND o.id = r.id
    RETURNING r.merchant_id, r.mode, r.id, r.rail, r.currency, r.amount_minor, o.receiver, r.provider_reference,
              r.created_at, t.rail_reference, t.amount_minor AS payment_minor, o.released_at IS NOT NULL AS released
"""
SCHEDULE_POLL = """
    UPDATE refunds SET next_look_at = $4, provider_reference = coalesce(provider_reference, $5)
    WHERE merchant_id = $1 AND mode = $2 AND id = $3 AND status = 'pending'
"""
INSERT_CHARGEBACK = """
    INSERT INTO chargebacks (id, merchant_id, mode, transaction_id, currency, amount_minor, fee_minor, reason, status,
                             opened_at, respond_by, provider_reference, response, evidence, evidence_saved_at)
    SELECT $1, $2, $3, $4, $5, $6, $7, $8, 'open', $9, $10, $11, v.response, v.evidence,
           CASE WHEN v.evidence <> '{}' THEN $9::timestamptz END
    FROM (SELECT CASE WHEN $10::timestamptz IS NULL THEN 'none' ELSE 'needed' END,
                 CASE WHEN $10::timestamptz IS NULL THEN '{}' ELSE $12::jsonb END) v (response, evidence)
"""
GET_CHARGEBACK = """
    SELECT id, amount_minor, fee_minor, reason, status, opened_at, closed_at FROM chargebacks
    WHERE merchant_id = $1 AND mode = $2 AND id = $3
"""
# A compare-and-set on the status. Without a response in time it has expired, by whatever it is closed.
# A closed one keeps its response.
CLOSE_CHARGEBACK = """
    UPDATE chargebacks
    SET status = $5, closed_at = $6, next_delivery_at = NULL,
        response = CASE WHEN status = 'open' AND response = 'needed' AND respond_by <= $6::timestamptz + $7::interval
                        THEN 'expired' ELSE response END
    WHERE merchant_id = $1 AND mode = $2 AND id = $3 AND status = $4
"""
LIST_QUEUE = """
    SELECT r.id AS refund_id, r.merchant_id, m.business_name, r.mode, r.transaction_id, r.currency, r.amount_minor,
           o.receiver, o.payer_account, r.status, o.review, o.approvals,
           outgoing_transfers_needed(o, NULL, now()) AS approvals_needed, o.review_note, r.created_at
    FROM outgoing_transfers o JOIN refunds r ON r.id = o.id JOIN merchants m ON m.id = r.merchant_id
    WHERE o.kind = 'refund' AND o.review = $1 AND ($1 <> 'required' OR o.closed_at IS NULL)
    ORDER BY o.created_at, o.id LIMIT $2 OFFSET $3
"""


class RefundFilter(Struct, frozen=True):
    """Filters; None means any. The order is that of the statement's parameters."""

    transaction_id: UUID | None = None
    status: list[str] | None = None
    currency: str | None = None
    external_id: str | None = None


class AwaitedResponse(Struct, frozen=True):
    """Until when the merchant can respond to a chargeback; None if it takes no response.

    `provider_reference` is the id of the dispute at the rail's provider, or names the transfer and its dropped block.
    """

    respond_by: datetime | None
    provider_reference: str | None = None


class DueRefund(Struct, frozen=True):
    """A refund due for submission or polling. `released`: by the gate; `accepted`: by the rail."""

    env: MerchantEnv
    rail: str
    order: RefundOrder
    released: bool
    accepted: bool


async def insert(tx: Tx, transaction: Transaction, refund: Refund) -> None:
    """Insert a refund. The worker submits it at once, or after its review."""
    due_at = None if refund.review == "required" else refund.created_at
    env, rail = transaction.env, transaction.rail
    values = REFUND.values(refund, merchant_id=env.merchant_id, mode=env.mode, rail=rail, next_look_at=due_at)
    await tx.write(INSERT, *values)


async def find(db: Pool | Tx, env: MerchantEnv, refund_id: UUID) -> Refund | None:
    """The refund of this id."""
    return await REFUND.find(db, GET, env.merchant_id, env.mode, refund_id)


async def get(db: Pool | Tx, env: MerchantEnv, refund_id: UUID) -> Refund:
    """The refund of this id. Raises `NotFound`."""
    return await REFUND.get(db, GET, env.merchant_id, env.mode, refund_id)


async def list_refunds(db: Pool, env: MerchantEnv, filters: RefundFilter, window: Window) -> list[Refund]:
    """A page of refunds, newest first."""
    rows = await db.fetch_custom_plan(
        LIST, env.merchant_id, env.mode, *msgspec.structs.astuple(filters), *msgspec.structs.astuple(window)
    )
    return [REFUND.read(row) for row in rows]


async def update_status_if(
    tx: Tx, env: MerchantEnv, refund_id: UUID, was: str, becomes: str, failure_code: str | None, now: datetime
) -> Refund | None:
    """Move a refund from one status to another. None if it has another status."""
    return await REFUND.find(tx, UPDATE_STATUS_IF, env.merchant_id, env.mode, refund_id, was, becomes, failure_code, now)


async def record_approval(tx: Tx, env: MerchantEnv, refund_id: UUID, look_at: datetime | None, now: datetime) -> None:
    """Record an approval. `look_at`: when the worker submits it; None while approvals are missing."""
    await tx.execute(RECORD_APPROVAL, env.merchant_id, env.mode, refund_id, look_at, now)


async def find_by_id(db: Pool | Tx, refund_id: UUID) -> tuple[MerchantEnv, UUID] | None:
    """The merchant environment and transaction of a refund."""
    row = await db.fetchrow(FIND_BY_ID, refund_id)
    return None if row is None else (MerchantEnv(MerchantId(row["merchant_id"]), row["mode"]), row["transaction_id"])


async def lease_due(db: Pool, now: datetime, lease: object, limit: int) -> list[DueRefund]:
    """Lease refunds that are due."""
    return [_due(row) for row in await db.fetch(LEASE_DUE, now, lease, limit)]


async def schedule_poll(db: Pool, due: DueRefund, at: datetime, provider_reference: str | None) -> None:
    """Schedule the next poll. `provider_reference` is set once the rail has accepted the refund."""
    await db.execute(SCHEDULE_POLL, due.env.merchant_id, due.env.mode, due.order.id, at, provider_reference)


async def insert_chargeback(
    tx: Tx, transaction: Transaction, chargeback: Chargeback, awaited: AwaitedResponse, evidence: Evidence
) -> None:
    """Insert a chargeback with a draft of its evidence. A transaction has one with this reference that is not won."""
    env = transaction.env
    values = (chargeback.amount_minor, chargeback.fee_minor, chargeback.reason, chargeback.opened_at)
    whose = (env.merchant_id, env.mode, transaction.id, transaction.currency)
    await tx.execute(INSERT_CHARGEBACK, chargeback.id, *whose, *values, *msgspec.structs.astuple(awaited), encode(evidence))


async def get_chargeback(tx: Tx, env: MerchantEnv, chargeback_id: UUID) -> Chargeback | None:
    """The chargeback of this id."""
    row = await tx.fetchrow(GET_CHARGEBACK, env.merchant_id, env.mode, chargeback_id)
    return None if row is None else Chargeback(**dict(row))


async def close_chargeback(
    tx: Tx, env: MerchantEnv, chargeback: Chargeback, status: str, now: datetime, clock_offset: timedelta
) -> bool:
    """Close a chargeback. False if its status has changed."""
    values = (chargeback.id, chargeback.status, status, now, clock_offset)
    return await tx.execute(CLOSE_CHARGEBACK, env.merchant_id, env.mode, *values) == 1


def _due(row: Row) -> DueRefund:
    mode: Mode = row["mode"]
    order = RefundOrder(
        row["id"],
        row["rail_reference"],
        row["currency"],
        row["amount_minor"],
        row["receiver"],
        row["payment_minor"],
        row["created_at"],
    )
    env = MerchantEnv(MerchantId(row["merchant_id"]), mode)
    return DueRefund(env, row["rail"], order, row["released"], row["provider_reference"] is not None)


class ListedRefund(Struct, frozen=True):
    """A row of the operators' queue. `payer_account` is null if unknown."""

    refund_id: UUID
    merchant_id: UUID
    business_name: str
    mode: Mode
    transaction_id: UUID
    amount: str
    currency: str
    receiver: str
    payer_account: str | None
    status: RefundStatus
    review: Review
    approvals: list[str]
    approvals_needed: int
    review_note: str | None
    created_at: Timestamp


async def list_queue(db: Pool, review: Review, limit: int, catalogue: Catalogue, offset: int = 0) -> list[ListedRefund]:
    """Refunds of all merchants with this review status, oldest first."""
    rows = await db.fetch(LIST_QUEUE, review, limit, offset)
    return [ListedRefund(**review_members(row, catalogue, "amount")) for row in rows]
