"""Disputes: a chargeback, the merchant's response to it, the evidence, and their JSON in the API."""

from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

import msgspec
from msgspec import Struct

from tollhouse.kernel.catalogue.amounts import pairs
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.clock import Timestamp, stamp, stamp_or_none
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.examples import example
from tollhouse.kernel.ids import Mode
from tollhouse.kernel.rails.disputes import Evidence
from tollhouse.payments.refunds.chargeback_responses_store import ChargebackResponse
from tollhouse.payments.transactions.model import ChargebackStatus

DisputeStatus = Literal["needs_response", "under_review", "won", "lost", "accepted", "expired"]
"""State of a dispute.

needs_response: You can send evidence until the deadline.
under_review: The bank decides.
won: You have the money again.
lost: The customer keeps the money.
accepted: You accepted it.
expired: The deadline passed without evidence.
"""


class DisputeStep(Struct, frozen=True):
    """A status of a dispute and when it began."""

    status: DisputeStatus
    at: datetime


class Dispute(Struct, frozen=True, kw_only=True):
    """A chargeback as the merchant responds to it. `decision` is the chargeback's own status.

    `status` is that of the time when it was read: a dispute without a response expires at `evidence_due_at`.
    """

    id: UUID
    env: MerchantEnv
    transaction_id: UUID
    payment_link_id: UUID
    external_id: str | None
    method_id: str
    rail: str
    amount_minor: int
    fee_minor: int
    currency: str
    reason: str
    status: DisputeStatus
    decision: ChargebackStatus
    response: ChargebackResponse
    evidence: Evidence
    evidence_due_at: datetime | None
    evidence_saved_at: datetime | None
    responded_at: datetime | None
    opened_at: datetime
    closed_at: datetime | None

    @property
    def has_evidence(self) -> bool:
        """Whether any member of the evidence has a text."""
        return self.evidence != Evidence()

    @property
    def history(self) -> tuple[DisputeStep, ...]:
        """The statuses until now, oldest first."""
        return tuple(self._history())

    def _history(self) -> Iterator[DisputeStep]:
        yield DisputeStep("under_review" if self.response == "none" else "needs_response", self.opened_at)
        if self.responded_at is not None:
            yield DisputeStep("accepted" if self.response == "accepted" else "under_review", self.responded_at)
        if self.status == "expired" and self.evidence_due_at is not None:
            yield DisputeStep("expired", self.evidence_due_at)
        elif self.closed_at is not None and self.status in {"won", "lost"}:
            yield DisputeStep(self.status, self.closed_at)


class DueDispute(Struct, frozen=True):
    """A dispute whose time to respond is over."""

    env: MerchantEnv
    id: UUID
    transaction_id: UUID


class EvidenceView(Evidence, frozen=True, kw_only=True, omit_defaults=False):
    """The evidence. Members without a text are null."""


class DisputeStepView(Struct, frozen=True):
    """A status and when it began."""

    status: Annotated[DisputeStatus, example("needs_response")]
    """State that began."""
    at: Timestamp


class DisputeView(Struct, frozen=True, kw_only=True):
    """GET /disputes/{id}. Its `id` is that of the chargeback of its transaction."""

    id: UUID
    object: Literal["dispute"] = "dispute"
    transaction_id: UUID
    payment_link_id: UUID
    """ID of the payment link."""
    external_id: str | None
    method_id: str
    status: Annotated[DisputeStatus, example("needs_response")]
    """State of the dispute."""
    reason: Annotated[str, example("fraudulent")]
    """Reason that the customer gave to the bank."""
    amount: str
    amount_minor: int
    fee: str
    """Fee of the dispute."""
    fee_minor: int
    currency: str
    evidence: EvidenceView
    """Evidence that you saved."""
    evidence_due_at: Timestamp | None
    """Until when you can respond."""
    evidence_submitted_at: Timestamp | None
    """When you submitted the evidence."""
    history: list[DisputeStepView]
    """Every state of the dispute, oldest first."""
    mode: Mode
    livemode: bool
    created_at: Timestamp
    closed_at: Timestamp | None


def dispute_view(dispute: Dispute, catalogue: Catalogue) -> DisputeView:
    """The dispute with the status of the time when it was read."""
    return DisputeView(
        id=dispute.id,
        transaction_id=dispute.transaction_id,
        payment_link_id=dispute.payment_link_id,
        external_id=dispute.external_id,
        method_id=dispute.method_id,
        status=dispute.status,
        reason=dispute.reason,
        **pairs(dispute.currency, catalogue, amount=dispute.amount_minor, fee=dispute.fee_minor),
        currency=dispute.currency,
        evidence=msgspec.convert(dispute.evidence, EvidenceView, from_attributes=True),
        evidence_due_at=stamp_or_none(dispute.evidence_due_at),
        evidence_submitted_at=stamp_or_none(dispute.responded_at if dispute.response == "submitted" else None),
        history=[DisputeStepView(step.status, stamp(step.at)) for step in dispute.history],
        mode=dispute.env.mode,
        livemode=dispute.env.livemode,
        created_at=stamp(dispute.opened_at),
        closed_at=stamp_or_none(dispute.closed_at),
    )
