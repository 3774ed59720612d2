"""Every SQL statement about withdrawals of all merchants, for operators."""

from uuid import UUID

from msgspec import Struct

from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.clock import Timestamp, stamp
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import Mode
from tollhouse.platform.database.pool import Pool, Tx
from tollhouse.transfers.orders.store import env_of, fetch_one
from tollhouse.transfers.withdrawals import store
from tollhouse.transfers.withdrawals.model import Withdrawal, WithdrawalStatus

GET_ENV = "SELECT merchant_id, mode FROM withdrawals WHERE id = $1"
QUEUE = """
    SELECT w.id, w.merchant_id, m.business_name, w.mode, w.method_id, w.currency, w.amount_minor, w.receive_minor,
           w.receiver, w.status, o.approvals,
           outgoing_transfers_needed(o, NULL, now()) AS approvals_needed, o.review_note, w.created_at
    FROM withdrawals w JOIN outgoing_transfers o ON o.id = w.id JOIN merchants m ON m.id = w.merchant_id
    WHERE w.status = $1 ORDER BY w.created_at, w.id LIMIT $2 OFFSET $3
"""


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


async def get(db: Pool, withdrawal_id: UUID) -> Withdrawal:
    """A withdrawal of any merchant. Raises `NotFound`."""
    return await store.get(db, await get_env(db, withdrawal_id), withdrawal_id)


async def list_queue(
    db: Pool, status: WithdrawalStatus, limit: int, catalogue: Catalogue, offset: int = 0
) -> list[WithdrawalReviewRow]:
    """Withdrawals of all merchants with this status, oldest first."""
    return [
        WithdrawalReviewRow(
            row["id"],
            row["merchant_id"],
            row["business_name"],
            row["mode"],
            row["method_id"],
            catalogue.format_amount(row["amount_minor"], row["currency"]),
            catalogue.format_amount(row["receive_minor"], row["currency"]),
            row["currency"],
            row["receiver"],
            row["status"],
            row["approvals"],
            row["approvals_needed"],
            row["review_note"],
            stamp(row["created_at"]),
        )
        for row in await db.fetch(QUEUE, status, limit, offset)
    ]
