"""Disputes as JSON in the API."""

from typing import Annotated, Literal
from uuid import UUID

import msgspec
from msgspec import Struct

from tollhouse.kernel.catalogue.amounts import pairs
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.clock import Timestamp, stamp, stamp_or_none
from tollhouse.kernel.examples import example
from tollhouse.kernel.ids import Mode
from tollhouse.kernel.rails.disputes import Evidence
from tollhouse.payments.disputes.model import Dispute, DisputeStatus


class EvidenceView(Evidence, frozen=True, kw_only=True, omit_defaults=False):
    """The evidence. Members without a text are null."""


class DisputeStepView(Struct, frozen=True):
    """A status and when it began."""

    status: Annotated[DisputeStatus, example("needs_response")]
    at: Timestamp


class DisputeView(Struct, frozen=True, kw_only=True):
    """GET /disputes/{id}. Its `id` is that of the chargeback of its transaction."""

    id: UUID
    object: Literal["dispute"] = "dispute"
    transaction_id: UUID
    payment_link_id: UUID
    external_id: str | None
    method_id: str
    status: Annotated[DisputeStatus, example("needs_response")]
    reason: Annotated[str, example("fraudulent")]
    amount: str
    amount_minor: int
    fee: str
    fee_minor: int
    currency: str
    evidence: EvidenceView
    evidence_due_at: Timestamp | None
    evidence_submitted_at: Timestamp | None
    history: list[DisputeStepView]
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
