"""Every SQL statement about transactions and their timelines."""

from datetime import datetime
from uuid import UUID

import msgspec
from msgspec import Struct

from tollhouse.catalogue.methods import Method
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId
from tollhouse.payments.model import PaymentLink, Step, Transaction, TransactionStatus
from tollhouse.platform.db import Pool, Row, Tx
from tollhouse.rails.provider import Instructions

# One open attempt per link: who comes second finds the first one's.
BEGIN_IF_NONE_OPEN = """
    INSERT INTO transactions (id, merchant_id, mode, payment_link_id, method_id, method_type, rail, rail_reference,
                              instructions, currency, amount_minor, status, created_at, updated_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 'pending', $12, $12)
    ON CONFLICT (payment_link_id) WHERE status IN ('pending', 'processing') DO NOTHING
"""
ONE = """
    SELECT t.id, t.merchant_id, t.mode, t.payment_link_id, t.method_id, t.method_type, t.rail, t.instructions, t.currency,
           t.amount_minor, t.received_minor, t.fee_minor, t.refunded_minor, t.status, t.failure_code, t.version,
           t.created_at, t.updated_at, t.succeeded_at, l.project_id, l.external_id, l.metadata, l.webhook_url
    FROM transactions t JOIN payment_links l ON (l.merchant_id, l.mode, l.id) = (t.merchant_id, t.mode, t.payment_link_id)
    WHERE t.merchant_id = $1 AND t.mode = $2 AND t.id = $3
"""
OPEN_OF_LINK = """
    SELECT t.id, t.merchant_id, t.mode, t.payment_link_id, t.method_id, t.method_type, t.rail, t.instructions, t.currency,
           t.amount_minor, t.received_minor, t.fee_minor, t.refunded_minor, t.status, t.failure_code, t.version,
           t.created_at, t.updated_at, t.succeeded_at, l.project_id, l.external_id, l.metadata, l.webhook_url
    FROM transactions t JOIN payment_links l ON (l.merchant_id, l.mode, l.id) = (t.merchant_id, t.mode, t.payment_link_id)
    WHERE t.merchant_id = $1 AND t.mode = $2 AND t.payment_link_id = $3 AND t.status IN ('pending', 'processing')
"""
LIST = """
    SELECT t.id, t.merchant_id, t.mode, t.payment_link_id, t.method_id, t.method_type, t.rail, t.instructions, t.currency,
           t.amount_minor, t.received_minor, t.fee_minor, t.refunded_minor, t.status, t.failure_code, t.version,
           t.created_at, t.updated_at, t.succeeded_at, l.project_id, l.external_id, l.metadata, l.webhook_url
    FROM transactions t JOIN payment_links l ON (l.merchant_id, l.mode, l.id) = (t.merchant_id, t.mode, t.payment_link_id)
    WHERE t.merchant_id = $1 AND t.mode = $2
      AND ($3::text IS NULL OR t.status = $3) AND ($4::text IS NULL OR t.currency = $4)
      AND ($5::uuid IS NULL OR t.payment_link_id = $5) AND ($6::text IS NULL OR t.method_id = $6)
      AND ($7::uuid IS NULL OR l.project_id = $7) AND ($8::text IS NULL OR l.external_id = $8)
      AND ($9::timestamptz IS NULL OR t.created_at >= $9) AND ($10::timestamptz IS NULL OR t.created_at < $10)
    ORDER BY t.created_at DESC, t.id DESC LIMIT $11 OFFSET $12
"""
TIMELINES = """
    SELECT s.transaction_id, s.status, s.detail, s.at FROM transaction_steps s
    JOIN transactions t ON t.id = s.transaction_id
    WHERE t.merchant_id = $1 AND t.mode = $2 AND t.id = ANY ($3::uuid[]) ORDER BY s.transaction_id, s.version
"""
SUCCEED_IF_OPEN = """
    UPDATE transactions SET status = 'succeeded', received_minor = $4, fee_minor = $5, succeeded_at = $6, updated_at = $6,
        version = version + 1
    WHERE merchant_id = $1 AND mode = $2 AND id = $3 AND status IN ('pending', 'processing')
    RETURNING version
"""
FAIL_IF_OPEN = """
    UPDATE transactions SET status = 'failed', failure_code = $4, updated_at = $5, version = version + 1
    WHERE merchant_id = $1 AND mode = $2 AND id = $3 AND status IN ('pending', 'processing')
    RETURNING version
"""
ADD_STEP = "INSERT INTO transaction_steps (transaction_id, version, status, detail, at) VALUES ($1, $2, $3, $4, $5)"


class TransactionFilter(Struct, frozen=True):
    """Which transactions to list; None leaves a filter out."""

    status: str | None = None
    currency: str | None = None
    payment_link_id: UUID | None = None
    method_id: str | None = None
    project_id: UUID | None = None
    external_id: str | None = None
    created_from: datetime | None = None
    created_to: datetime | None = None


async def begin_if_none_open(
    tx: Tx, link: PaymentLink, transaction_id: UUID, method: Method, told: Instructions, now: datetime
) -> bool:
    """Begin an attempt; False when the link has an open one already."""
    begun = await tx.execute(
        BEGIN_IF_NONE_OPEN,
        transaction_id,
        link.env.merchant_id,
        link.env.mode,
        link.id,
        method.method_id,
        method.type,
        method.rail,
        told.reference,
        msgspec.json.encode(told).decode(),
        link.currency,
        link.amount_minor,
        now,
    )
    return begun == 1


async def one(db: Pool | Tx, env: MerchantEnv, transaction_id: UUID) -> Transaction | None:
    """This transaction of this merchant and mode."""
    row = await db.fetchrow(ONE, env.merchant_id, env.mode, transaction_id)
    return None if row is None else _transaction(row)


async def open_of(db: Pool | Tx, link: PaymentLink) -> Transaction | None:
    """The open attempt of a link, if there is one."""
    row = await db.fetchrow(OPEN_OF_LINK, link.env.merchant_id, link.env.mode, link.id)
    return None if row is None else _transaction(row)


async def listed(db: Pool, env: MerchantEnv, wanted: TransactionFilter, limit: int, offset: int) -> list[Transaction]:
    """A page of transactions, newest first."""
    rows = await db.fetch(
        LIST,
        env.merchant_id,
        env.mode,
        wanted.status,
        wanted.currency,
        wanted.payment_link_id,
        wanted.method_id,
        wanted.project_id,
        wanted.external_id,
        wanted.created_from,
        wanted.created_to,
        limit,
        offset,
    )
    return [_transaction(row) for row in rows]


async def timelines(db: Pool | Tx, env: MerchantEnv, transaction_ids: list[UUID]) -> dict[UUID, list[Step]]:
    """The steps of each of these transactions, in order."""
    found: dict[UUID, list[Step]] = {transaction_id: [] for transaction_id in transaction_ids}
    for row in await db.fetch(TIMELINES, env.merchant_id, env.mode, transaction_ids):
        found[row["transaction_id"]].append(Step(row["status"], row["at"], row["detail"]))
    return found


async def succeed_if_open(
    tx: Tx, transaction: Transaction, received_minor: int, fee_minor: int, now: datetime
) -> int | None:
    """Move an open transaction to succeeded; its new version, None when it is open no more."""
    env = transaction.env
    row = await tx.fetchrow(SUCCEED_IF_OPEN, env.merchant_id, env.mode, transaction.id, received_minor, fee_minor, now)
    return None if row is None else row["version"]


async def fail_if_open(tx: Tx, transaction: Transaction, failure_code: str, now: datetime) -> int | None:
    """Move an open transaction to failed; its new version, None when it is open no more."""
    env = transaction.env
    row = await tx.fetchrow(FAIL_IF_OPEN, env.merchant_id, env.mode, transaction.id, failure_code, now)
    return None if row is None else row["version"]


async def add_step(
    tx: Tx, transaction_id: UUID, version: int, status: TransactionStatus, detail: str | None, now: datetime
) -> None:
    """Write a line of the timeline."""
    await tx.execute(ADD_STEP, transaction_id, version, status, detail, now)


def _transaction(row: Row) -> Transaction:
    return Transaction(
        id=row["id"],
        env=MerchantEnv(MerchantId(row["merchant_id"]), row["mode"]),
        payment_link_id=row["payment_link_id"],
        project_id=row["project_id"],
        external_id=row["external_id"],
        metadata=msgspec.json.decode(row["metadata"], type=dict[str, str]),
        webhook_url=row["webhook_url"],
        method_id=row["method_id"],
        method_type=row["method_type"],
        rail=row["rail"],
        instructions=msgspec.json.decode(row["instructions"], type=Instructions),
        currency=row["currency"],
        amount_minor=row["amount_minor"],
        received_minor=row["received_minor"],
        fee_minor=row["fee_minor"],
        refunded_minor=row["refunded_minor"],
        status=row["status"],
        failure_code=row["failure_code"],
        version=row["version"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
        succeeded_at=row["succeeded_at"],
    )
