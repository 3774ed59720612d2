"""Every SQL statement about batches of withdrawals."""

from collections.abc import Mapping
from uuid import UUID

from msgspec import Struct

from tollhouse.http.lists import Window
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.platform.database.pool import Pool, Tx
from tollhouse.transfers.orders.store import fetch_one, fetch_page
from tollhouse.transfers.withdrawals.model import BATCH, WithdrawalBatch

INSERT = f"{BATCH.insert} ON CONFLICT (id, merchant_id) DO NOTHING"
GET = f"SELECT {BATCH.columns} FROM withdrawal_batches WHERE merchant_id = $1 AND mode = $2 AND id = $3"
LIST = f"""
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


class BatchItem(Struct, frozen=True):
    """A withdrawal of a batch."""

    id: UUID
    status: str
    currency: str
    amount_minor: int
    debit_minor: int
    receive_minor: int


async def insert(tx: Tx, new: WithdrawalBatch) -> bool:
    """Insert a batch; False if there is one of this ID."""
    return await tx.execute(INSERT, *BATCH.values(new)) == 1


async def get(db: Pool | Tx, env: MerchantEnv, batch_id: UUID) -> WithdrawalBatch:
    """A batch. Raises `NotFound`."""
    return await fetch_one(db, BATCH.read, GET, env.merchant_id, env.mode, batch_id)


async def list_batches(db: Pool, env: MerchantEnv, window: Window) -> list[WithdrawalBatch]:
    """A page of batches, newest first."""
    return await fetch_page(db, BATCH.read, LIST, window, env.merchant_id, env.mode)


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
