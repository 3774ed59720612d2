"""SQL of the payouts on networks that operators want refused."""

from uuid import UUID

from msgspec import Struct

from tollhouse.platform.database.pool import Pool

LIST_TO_REFUSE = """
    SELECT p.id, a.operator, a.reason FROM chain_payouts p JOIN operator_actions a ON a.id = p.refused_by_action_id
    WHERE p.status = 'waiting' ORDER BY p.created_at, p.id LIMIT $1
"""


class PayoutToRefuse(Struct, frozen=True):
    """The operator who wants a payout refused, and why."""

    payout_id: UUID
    operator: str
    reason: str


async def list_to_refuse(db: Pool, limit: int) -> list[PayoutToRefuse]:
    """The requests that the worker has not carried out."""
    return [PayoutToRefuse(row["id"], row["operator"], row["reason"]) for row in await db.fetch(LIST_TO_REFUSE, limit)]
