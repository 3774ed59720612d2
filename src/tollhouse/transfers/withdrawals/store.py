"""Every SQL statement about withdrawals, their quotes and batches, and the operators' queue across merchants."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from uuid import UUID

import msgspec
from msgspec import Struct

from tollhouse.http.lists import ListQuery, Window
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.catalogue.typed_amounts import ANY_AMOUNT, AmountBounds
from tollhouse.kernel.clock import Timestamp
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import Mode
from tollhouse.platform.database.pool import Pool, Tx
from tollhouse.transfers.gate.store import review_members
from tollhouse.transfers.orders.quotes import Quote
from tollhouse.transfers.orders.store import env_of, fetch_one, fetch_page
from tollhouse.transfers.withdrawals.model import (
    BATCH,
    WITHDRAWAL,
    WITHDRAWAL_QUOTE,
    Withdrawal,
    WithdrawalBatch,
    WithdrawalStatus,
    WithdrawalTerms,
)

INSERT = f"{WITHDRAWAL.insert} ON CONFLICT (merchant_id, mode, external_id) DO NOTHING"
ID_BY_EXTERNAL_ID = "SELECT id FROM withdrawals WHERE merchant_id = $1 AND mode = $2 AND external_id = $3"
ID_BY_QUOTE = "SELECT id FROM withdrawals WHERE merchant_id = $1 AND mode = $2 AND quote_id = $3"
GET = f"""
    SELECT {WITHDRAWAL.columns_of("w")} FROM withdrawals w JOIN outgoing_transfers o ON o.id = w.id
    WHERE w.merchant_id = $1 AND w.mode = $2 AND w.id = $3
"""
LOCK = f"{GET} FOR NO KEY UPDATE"
LIST = f"""
    SELECT {WITHDRAWAL.columns_of("w")} FROM withdrawals w JOIN outgoing_transfers o ON o.id = w.id
    WHERE w.merchant_id = $1 AND w.mode = $2 AND ($3::text[] IS NULL OR w.status = ANY($3))
      AND ($4::text IS NULL OR w.currency = $4)
      AND ($5::text IS NULL OR w.method_id = $5) AND ($6::text IS NULL OR w.external_id = $6)
      AND ($7::text[] IS NULL OR w.currency = ANY ($7) AND EXISTS (
           SELECT FROM unnest($7, $8::bigint[], $9::bigint[]) AS a (currency, least, most)
           WHERE a.currency = w.currency AND w.amount_minor BETWEEN a.least AND a.most))
      AND ($8 IS NULL OR $8 IS DISTINCT FROM $9 OR w.amount_minor = ANY ($8))
      AND ($10::uuid IS NULL OR w.batch_id = $10)
      AND w.created_at >= $11 AND (w.created_at, w.id) < ($12, $13)
    ORDER BY w.created_at DESC, w.id DESC LIMIT $14 OFFSET $15
"""
# The lease is the next poll time: after a worker dies, another takes its withdrawals when the lease ends.
LEASE_DUE = f"""
    UPDATE withdrawals w SET next_look_at = $1::timestamptz + $2::interval
    FROM (SELECT id FROM withdrawals WHERE next_look_at <= $1
          ORDER BY next_look_at LIMIT $3 FOR NO KEY UPDATE SKIP LOCKED) due, outgoing_transfers o
    WHERE w.id = due.id AND o.id = w.id
    RETURNING {WITHDRAWAL.columns_of("w")}
"""
SET_NEXT_POLL = """
    UPDATE withdrawals SET next_look_at = $4 WHERE merchant_id = $1 AND mode = $2 AND id = $3 AND status = 'processing'
"""
# A compare-and-set on the status and version that were read.
UPDATE = """
    UPDATE withdrawals
    SET status = $6, submission = $7, provider_reference = $8, tx_hash = $9, network_paid_minor = $10, failure_code = $11,
        next_look_at = $12, processing_at = $13, completed_at = $14, updated_at = $15, version = version + 1
    WHERE merchant_id = $1 AND mode = $2 AND id = $3 AND status = $4 AND version = $5
"""
INSERT_QUOTE = WITHDRAWAL_QUOTE.insert
LOCK_QUOTE = f"""
    SELECT {WITHDRAWAL_QUOTE.columns} FROM withdrawal_quotes
    WHERE merchant_id = $1 AND mode = $2 AND id = $3 FOR NO KEY UPDATE
"""
USE_QUOTE = """
    UPDATE withdrawal_quotes SET used_at = $4 WHERE merchant_id = $1 AND mode = $2 AND id = $3 AND used_at IS NULL
"""
DELETE_OLD_QUOTES = "DELETE FROM withdrawal_quotes WHERE created_at < $1"
GET_ENV = "SELECT merchant_id, mode FROM withdrawals WHERE id = $1"
QUEUE = """
    SELECT w.id AS withdrawal_id, w.merchant_id, m.business_name, w.mode, w.method_id, w.currency, w.amount_minor,
           w.receive_minor, w.receiver, w.status, o.approvals,
           outgoing_transfers_needed(o, NULL, now()) AS approvals_needed, o.review_note, w.created_at
    FROM withdrawals w JOIN outgoing_transfers o ON o.id = w.id JOIN merchants m ON m.id = w.merchant_id
    WHERE w.status = $1 ORDER BY w.created_at, w.id LIMIT $2 OFFSET $3
"""
INSERT_BATCH = f"{BATCH.insert} ON CONFLICT (id, merchant_id) DO NOTHING"
GET_BATCH = f"SELECT {BATCH.columns} FROM withdrawal_batches WHERE merchant_id = $1 AND mode = $2 AND id = $3"
LIST_BATCHES = f"""
    SELECT {BATCH.columns} FROM withdrawal_batches
    WHERE merchant_id = $1 AND mode = $2 AND created_at >= $3 AND (created_at, id) < ($4, $5)
    ORDER BY created_at DESC, id DESC LIMIT $6 OFFSET $7
"""
ITEMS = """
    SELECT batch_id, id, status, currency, amount_minor, debit_minor, receive_minor FROM withdrawals
    WHERE merchant_id = $1 AND mode = $2 AND batch_id = ANY ($3::uuid[]) ORDER BY batch_id, batch_row
"""
FIND_EXTERNAL_IDS = """
    SELECT external_id FROM withdrawals WHERE merchant_id = $1 AND mode = $2 AND external_id = ANY ($3::text[])
"""


class WithdrawalsQuery(ListQuery, frozen=True):
    """Filters of GET /withdrawals."""

    status: list[WithdrawalStatus] | None = None
    currency: str | None = None
    method_id: str | None = None
    external_id: str | None = None
    batch_id: UUID | None = None


async def insert(tx: Tx, new: Withdrawal) -> bool:
    """Insert a withdrawal; False where another one has its external id."""
    return await tx.try_write(INSERT, *WITHDRAWAL.values(new), strict=WITHDRAWAL.insert)


async def id_by_quote(db: Pool | Tx, env: MerchantEnv, quote_id: UUID) -> UUID | None:
    """The withdrawal that used a quote."""
    row = await db.fetchrow(ID_BY_QUOTE, env.merchant_id, env.mode, quote_id)
    return None if row is None else row["id"]


async def get(db: Pool | Tx, env: MerchantEnv, withdrawal_id: UUID) -> Withdrawal:
    """A withdrawal of a merchant and mode. Raises `NotFound`."""
    return await WITHDRAWAL.get(db, GET, env.merchant_id, env.mode, withdrawal_id)


async def lock(tx: Tx, env: MerchantEnv, withdrawal_id: UUID) -> Withdrawal:
    """Lock a withdrawal until the transaction ends, and return it. Raises `NotFound`."""
    return await WITHDRAWAL.get(tx, LOCK, env.merchant_id, env.mode, withdrawal_id)


async def list_withdrawals(
    db: Pool, env: MerchantEnv, query: WithdrawalsQuery, window: Window, amounts: AmountBounds = ANY_AMOUNT
) -> list[Withdrawal]:
    """A page of withdrawals, newest first."""
    filters = (
        query.status,
        query.currency,
        query.method_id,
        query.external_id,
        *msgspec.structs.astuple(amounts),
        query.batch_id,
    )
    return await fetch_page(db, WITHDRAWAL.read, LIST, window, env.merchant_id, env.mode, *filters)


async def lease_due(db: Pool, now: datetime, lease: timedelta, limit: int) -> list[Withdrawal]:
    """Withdrawals that are due to be sent or polled, leased to this caller."""
    return await WITHDRAWAL.find_all(db, LEASE_DUE, now, lease, limit)


async def set_next_poll(db: Pool, withdrawal: Withdrawal, at: datetime) -> None:
    """Poll the rail for it again at this time."""
    await db.execute(SET_NEXT_POLL, withdrawal.env.merchant_id, withdrawal.env.mode, withdrawal.id, at)


async def update(tx: Tx, current: Withdrawal, now: datetime, **members: object) -> Withdrawal:
    """Change members of a locked withdrawal, and return it as stored."""
    new = msgspec.structs.replace(current, **members, updated_at=now)
    row = (current.env.merchant_id, current.env.mode, current.id, current.status, current.version)
    sent = (new.submission, new.provider_reference, new.tx_hash, new.network_paid_minor, new.failure_code)
    times = (new.next_look_at, new.processing_at, new.completed_at, new.updated_at)
    if await tx.execute(UPDATE, *row, new.status, *sent, *times) != 1:
        raise AssertionError("another transaction cannot change a locked withdrawal")
    return msgspec.structs.replace(new, version=current.version + 1)


async def insert_quote(tx: Tx, quote: Quote[WithdrawalTerms]) -> None:
    """Insert a quote."""
    await tx.execute(INSERT_QUOTE, *WITHDRAWAL_QUOTE.values(quote))


async def lock_quote(tx: Tx, env: MerchantEnv, quote_id: UUID) -> Quote[WithdrawalTerms]:
    """Lock a quote until the transaction ends, and return it. Raises `NotFound`."""
    return await WITHDRAWAL_QUOTE.get(tx, LOCK_QUOTE, env.merchant_id, env.mode, quote_id)


class WithdrawalReviewRow(Struct, frozen=True):
    """A withdrawal in the operators' review queue."""

    withdrawal_id: UUID
    merchant_id: UUID
    business_name: str
    mode: Mode
    method_id: str
    amount: str
    receive: str
    currency: str
    receiver: str
    status: WithdrawalStatus
    approvals: list[str]
    approvals_needed: int
    review_note: str | None
    created_at: Timestamp


async def get_env(db: Pool | Tx, withdrawal_id: UUID) -> MerchantEnv:
    """The environment of a withdrawal. Raises `NotFound`."""
    return await fetch_one(db, env_of, GET_ENV, withdrawal_id)


async def get_of_any_merchant(db: Pool, withdrawal_id: UUID) -> Withdrawal:
    """A withdrawal of any merchant. Raises `NotFound`."""
    return await get(db, await get_env(db, withdrawal_id), withdrawal_id)


async def list_queue(
    db: Pool, status: WithdrawalStatus, limit: int, catalogue: Catalogue, offset: int = 0
) -> list[WithdrawalReviewRow]:
    """Withdrawals of all merchants with this status, oldest first."""
    rows = await db.fetch(QUEUE, status, limit, offset)
    return [WithdrawalReviewRow(**review_members(row, catalogue, "amount", "receive")) for row in rows]


class BatchItem(Struct, frozen=True):
    """A withdrawal of a batch."""

    id: UUID
    status: str
    currency: str
    amount_minor: int
    debit_minor: int
    receive_minor: int


async def insert_batch(tx: Tx, new: WithdrawalBatch) -> bool:
    """Insert a batch; False if there is one of this ID."""
    return await tx.execute(INSERT_BATCH, *BATCH.values(new)) == 1


async def get_batch(db: Pool | Tx, env: MerchantEnv, batch_id: UUID) -> WithdrawalBatch:
    """A batch. Raises `NotFound`."""
    return await BATCH.get(db, GET_BATCH, env.merchant_id, env.mode, batch_id)


async def list_batches(db: Pool, env: MerchantEnv, window: Window) -> list[WithdrawalBatch]:
    """A page of batches, newest first."""
    return await fetch_page(db, BATCH.read, LIST_BATCHES, window, env.merchant_id, env.mode)


async def list_items(db: Pool | Tx, env: MerchantEnv, *batch_ids: UUID) -> dict[UUID, list[BatchItem]]:
    """The withdrawals of batches by the ID of the batch, in its order."""
    found: dict[UUID, list[BatchItem]] = {batch_id: [] for batch_id in batch_ids}
    for row in await db.fetch(ITEMS, env.merchant_id, env.mode, batch_ids):
        values = dict(row)
        found[values.pop("batch_id")].append(BatchItem(**values))
    return found


async def find_external_ids(tx: Tx, env: MerchantEnv, external_ids: Mapping[str, int]) -> set[str]:
    """Those of these external IDs that withdrawals have."""
    if not external_ids:
        return set()
    rows = await tx.fetch(FIND_EXTERNAL_IDS, env.merchant_id, env.mode, list(external_ids))
    return {row["external_id"] for row in rows}
