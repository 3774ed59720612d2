"""Outgoing transfers, their destination and their review."""

from datetime import date, datetime
from typing import Annotated, Literal
from uuid import UUID

from msgspec import Struct

from tollhouse.accounts.approvals.model import Approvals
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.platform.database.records import Columns, Record

Kind = Literal["withdrawal", "refund"]
Review = Literal["not_required", "required", "approved", "rejected", "before_reviews"]
"""`before_reviews`: a refund older than reviews."""


class Pause(Struct, frozen=True):
    """A pause of payouts. `data_until` is when the backup of a restored database was taken, else None."""

    id: UUID
    cause: Literal["restored", "operator"]
    data_until: datetime | None
    paused_at: datetime
    paused_by: str
    reason: str


class DailyCount(Struct, frozen=True):
    """The amount of a transfer that counts towards a method's daily limit."""

    method_id: str
    day: date
    amount_minor: int


def _read_approvals(given: list[str], by_command: int, needed: int, single_operator: bool) -> Approvals:
    return Approvals(tuple(given), by_command, needed, single_operator)


class OutgoingTransfer(Struct, frozen=True, kw_only=True):
    """Money that leaves by a rail. Its id is that of its withdrawal or refund.

    `receiver` is in the rail's notation. `released_at`: it may be on its way since then. `closed_at`: it does not leave or
    came back. Above `second_operator_above_minor`, counted over 24 hours, two operators approve it.
    """

    id: UUID
    kind: Kind
    env: MerchantEnv
    rail: str
    currency: str
    amount_minor: int
    receiver: str
    receiver_name: str | None = None
    payer_account: str | None = None
    count: Annotated[
        DailyCount | None, Columns({"method_id": "method_id", "limit_day": "day", "counted_minor": "amount_minor"})
    ] = None
    review: Review = "not_required"
    approvals: Annotated[
        Approvals,
        Columns(
            {
                "approvals": "given",
                "approvals_by_command": "by_command",
                "approvals_needed": "needed",
                "single_operator": "single_operator",
            },
            _read_approvals,
        ),
    ] = Approvals((), 0, 0)
    second_operator_above_minor: int | None = None
    reviewed_at: datetime | None = None
    review_note: str | None = None
    created_at: datetime
    released_at: datetime | None = None
    closed_at: datetime | None = None


OUTGOING_TRANSFER = Record(OutgoingTransfer, "outgoing_transfers")
