"""Every SQL statement about withdrawals that operators use: they see those of all merchants."""

from uuid import UUID

from msgspec import Struct

from tollhouse.catalogue.currencies import format_amount
from tollhouse.kernel.clock import Timestamp, stamp
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId, Mode
from tollhouse.platform.db import Pool, Tx
from tollhouse.withdrawals import store
from tollhouse.withdrawals.model import Withdrawal, WithdrawalStatus

ENV_OF = "SELECT merchant_id, mode FROM withdrawals WHERE id = $1"
QUEUE = """
    SELECT w.id, w.merchant_id, m.business_name, w.mode, w.method_id, w.currency, w.amount_minor, w.receive_minor,
           w.receiver, w.status, o.approvals, o.approvals_needed, o.review_note, w.created_at
    FROM withdrawals w JOIN outgoing_transfers o ON o.id = w.id JOIN merchants m ON m.id = w.merchant_id
    WHERE w.status = $1 ORDER BY w.created_at, w.id LIMIT $2 OFFSET $3
"""


class ListedWithdrawal(Struct, frozen=True):
    """A withdrawal in the operator's list."""

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


async def env_of(db: Pool | Tx, withdrawal_id: UUID) -> MerchantEnv | None:
    """Whose withdrawal it is, and in which environment; None where there is none."""
    row = await db.fetchrow(ENV_OF, withdrawal_id)
    return None if row is None else MerchantEnv(MerchantId(row["merchant_id"]), row["mode"])


async def one(db: Pool, withdrawal_id: UUID) -> Withdrawal | None:
    """The withdrawal of this id, whoever's it is."""
    env = await env_of(db, withdrawal_id)
    return None if env is None else await store.one(db, env, withdrawal_id)


async def queue(db: Pool, status: WithdrawalStatus, limit: int, offset: int = 0) -> list[ListedWithdrawal]:
    """Withdrawals of all merchants in this state, oldest first."""
    return [
        ListedWithdrawal(
            row["id"],
            row["merchant_id"],
            row["business_name"],
            row["mode"],
            row["method_id"],
            format_amount(row["amount_minor"], row["currency"]),
            format_amount(row["receive_minor"], row["currency"]),
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
