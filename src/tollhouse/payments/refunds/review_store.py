"""SQL of the operators' queue of refunds, across merchants."""

from uuid import UUID

from msgspec import Struct

from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.clock import Timestamp, stamp
from tollhouse.kernel.ids import Mode
from tollhouse.payments.transactions.model import RefundStatus
from tollhouse.platform.database.pool import Pool
from tollhouse.transfers.gate.model import Review

LIST_QUEUE = """
    SELECT r.id, r.merchant_id, m.business_name, r.mode, r.transaction_id, r.currency, r.amount_minor, o.receiver,
           o.payer_account, r.status, o.review, o.approvals,
           outgoing_transfers_needed(o, NULL, now()) AS approvals_needed, o.review_note, r.created_at
    FROM outgoing_transfers o JOIN refunds r ON r.id = o.id JOIN merchants m ON m.id = r.merchant_id
    WHERE o.kind = 'refund' AND o.review = $1 AND ($1 <> 'required' OR o.closed_at IS NULL)
    ORDER BY o.created_at, o.id LIMIT $2 OFFSET $3
"""


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
    return [
        ListedRefund(
            row["id"],
            row["merchant_id"],
            row["business_name"],
            row["mode"],
            row["transaction_id"],
            catalogue.format_amount(row["amount_minor"], row["currency"]),
            row["currency"],
            row["receiver"],
            row["payer_account"],
            row["status"],
            row["review"],
            row["approvals"],
            row["approvals_needed"],
            row["review_note"],
            stamp(row["created_at"]),
        )
        for row in await db.fetch(LIST_QUEUE, review, limit, offset)
    ]
