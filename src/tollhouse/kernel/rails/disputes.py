"""The interface of rails whose provider takes a merchant's response to a dispute."""

from datetime import datetime
from typing import Literal, Protocol, runtime_checkable
from uuid import UUID

import msgspec
from msgspec import Struct

EVIDENCE_CHARS_MAX, EVIDENCE_CHARS_TOTAL_MAX = 5_000, 50_000
"""The longest text of one member of evidence, and of all together."""


class Evidence(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the merchant says about a dispute, as texts. The names are those of card networks and their providers."""

    product_description: str | None = None
    """What was sold."""
    customer_name: str | None = None
    """Name of the customer."""
    customer_email_address: str | None = None
    """Email address of the customer."""
    customer_purchase_ip: str | None = None
    """IP address that the customer ordered from."""
    customer_communication: str | None = None
    """Messages between you and the customer about the order."""
    billing_address: str | None = None
    """Billing address of the customer."""
    shipping_address: str | None = None
    """Address that the goods were sent to."""
    shipping_carrier: str | None = None
    """Carrier that delivered the goods."""
    shipping_date: str | None = None
    """Day on which the goods were sent."""
    shipping_tracking_number: str | None = None
    """Tracking number of the carrier."""
    service_date: str | None = None
    """Day on which the service was provided."""
    service_documentation: str | None = None
    """What shows that the service was provided."""
    access_activity_log: str | None = None
    """When the customer signed in to or downloaded a digital product."""
    refund_policy: str | None = None
    """Your refund policy, and why no refund was due."""
    cancellation_policy: str | None = None
    """Your cancellation policy."""
    cancellation_rebuttal: str | None = None
    """Why the order was not canceled."""
    duplicate_charge_explanation: str | None = None
    """How this payment differs from a payment it seems to repeat."""
    uncategorized_text: str | None = None
    """Anything else that supports you."""


def encode(evidence: Evidence) -> str:
    """The evidence as JSON, without members that have no text."""
    return msgspec.json.encode(evidence).decode()


class DisputeOrder(Struct, frozen=True, kw_only=True):
    """A dispute to respond to. Its `id` is the idempotency key; `reference` is that of the payment at the rail.

    `provider_reference` is the ID of the dispute at the provider, if it named one.
    """

    id: UUID
    provider_reference: str | None
    reference: str
    currency: str
    amount_minor: int
    evidence: Evidence
    responded_at: datetime


class DisputeSubmission(Struct, frozen=True):
    """The outcome of a response. `unknown` is repeated. `decision`: the provider has decided at once."""

    outcome: Literal["accepted", "rejected", "unknown"]
    decision: Literal["won", "lost"] | None = None


@runtime_checkable
class DisputeProvider(Protocol):
    """What such a rail has beside the methods of `Provider`. Both are called without an open transaction."""

    async def submit_evidence(self, order: DisputeOrder) -> DisputeSubmission:
        """Submit the evidence, once per ID."""
        ...

    async def accept_dispute(self, order: DisputeOrder) -> DisputeSubmission:
        """Give the dispute up, once per ID."""
        ...
