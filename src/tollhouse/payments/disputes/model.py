"""Disputes: a chargeback, the merchant's response to it, and the evidence."""

from collections.abc import Iterator
from datetime import datetime
from typing import Literal
from uuid import UUID

from msgspec import Struct

from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.rails.disputes import Evidence
from tollhouse.payments.refunds.chargeback_responses_store import ChargebackResponse
from tollhouse.payments.transactions.model import ChargebackStatus

DisputeStatus = Literal["needs_response", "under_review", "won", "lost", "accepted", "expired"]


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
