"""Customers, what they paid, and the notes about them."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from msgspec import Struct

from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import ApiError
from tollhouse.kernel.examples import example
from tollhouse.payments.disputes.model import DisputeStatus
from tollhouse.payments.transactions.model import RefundReason, RefundStatus
from tollhouse.platform.database.records import Internal

CustomerKind = Literal["email", "external_id"]
"""What a customer is known by.

email: The email address of payment links.
external_id: The external ID of payment links without an email address.
"""
LINKS_COUNTED_MAX = 100
"""So many of the newest links are counted in a list."""
LINKS_READ_MAX = PAYMENTS_READ_MAX = 1_000
"""What is said of a customer is about so many of the newest links, and so many of their payments."""
NOTES_MAX = 100


class TooManyNotes(ApiError):
    """409: there are 100 notes about the customer."""

    code, status = "too_many_notes", 409
    message = "There are 100 notes about this customer. Delete one to add another."
    solution = "Delete a note about the customer."


class Customer(Struct, frozen=True, kw_only=True):
    """A customer. `key` tells it from others."""

    id: UUID
    """ID of the customer: that of its first payment link. The ID of each of its links finds it, too."""
    email: Annotated[str | None, example("anna@example.com")]
    """Email address as on the newest payment link; null for a customer that is known by an external ID."""
    external_id: Annotated[str | None, example(None)]
    """External ID of the payment links, if they have no email address; otherwise null."""
    links: Annotated[int, example(2)]
    """Number of payment links, counted up to 100."""
    payments: Annotated[int, example(2)]
    """Number of payments that these links count."""
    env: MerchantEnv
    created_at: datetime
    latest_link_at: datetime
    """When the newest payment link was created."""
    key: Internal[str]

    @property
    def name(self) -> str:
        """Its address or external ID."""
        return self.email or self.external_id or ""


class CustomerTotal(Struct, frozen=True, kw_only=True):
    """The payments in one currency. `attempts` are all of them, `payments` those that brought money."""

    currency: str
    payments: Annotated[int, example(2)]
    """Number of payments for which money arrived."""
    paid_minor: int
    """What the customer paid."""
    refunded_minor: int
    """What was refunded."""
    charged_back_minor: int
    """What the customer's bank took back."""
    attempts: Internal[int]


class CustomerRefund(Struct, frozen=True, kw_only=True):
    """A refund of one of the payments."""

    id: UUID
    transaction_id: UUID
    amount_minor: int
    currency: str
    status: Annotated[RefundStatus, example("succeeded")]
    """Whether the money was returned."""
    reason: Annotated[RefundReason, example("customer_request")]
    """Why you refunded the payment."""
    created_at: datetime


class CustomerDispute(Struct, frozen=True, kw_only=True):
    """A dispute of one of the payments."""

    id: UUID
    transaction_id: UUID
    amount_minor: int
    currency: str
    status: Annotated[DisputeStatus, example("needs_response")]
    """State of the dispute."""
    reason: Annotated[str, example("fraudulent")]
    """Reason that the customer gave to the bank."""
    created_at: datetime


class CustomerNote(Struct, frozen=True, kw_only=True):
    """A note about a customer."""

    id: UUID
    note: Annotated[str, example("Wants invoices by post.")]
    """Text of the note."""
    author: Annotated[str | None, example("nina@example.com")]
    """Email address of the user who wrote it; null if the user was deleted."""
    created_at: datetime
