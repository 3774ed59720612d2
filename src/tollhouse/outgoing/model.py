"""Outgoing transfers: what leaves by a rail, where it goes, and how far its review is."""

from datetime import date, datetime
from typing import Literal
from uuid import UUID

from msgspec import Struct

from tollhouse.approvals.model import Approvals
from tollhouse.kernel.environment import MerchantEnv

Kind = Literal["withdrawal", "refund"]
Review = Literal["not_required", "required", "approved", "rejected", "before_reviews"]
"""`before_reviews`: a refund from before refunds were reviewed."""


class Count(Struct, frozen=True):
    """What of a transfer counts in which day's limit of which withdrawal method."""

    method_id: str
    day: date
    amount_minor: int


class OutgoingTransfer(Struct, frozen=True, kw_only=True):
    """Money that leaves by a rail. Its id is that of the withdrawal or refund that it pays.

    `receiver` is as the rail writes it. `released_at`: from then on it may be on its way. `closed_at`: it does not leave, or
    came back.
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
    count: Count | None = None
    review: Review = "not_required"
    approvals: Approvals = Approvals((), 0, 0)
    reviewed_at: datetime | None = None
    review_note: str | None = None
    created_at: datetime
    released_at: datetime | None = None
    closed_at: datetime | None = None
