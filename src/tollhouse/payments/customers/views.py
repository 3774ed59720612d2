"""Customers and notes as JSON in the dashboard API, and all that a page shows of one."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from msgspec import Struct

from tollhouse.http.record_views import After, RecordView, view_of
from tollhouse.kernel.catalogue.amounts import pairs
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.clock import Timestamp, stamp
from tollhouse.kernel.examples import example
from tollhouse.payments.customers import store
from tollhouse.payments.customers.model import (
    NOTES_MAX,
    PAYMENTS_READ_MAX,
    Customer,
    CustomerDispute,
    CustomerNote,
    CustomerRefund,
    CustomerTotal,
)
from tollhouse.payments.transactions import payment_list_store
from tollhouse.payments.transactions.model import TransactionStatus
from tollhouse.payments.transactions.payment_list import PaymentRow
from tollhouse.platform.database.pool import Pool

SHOWN_MAX = 20


@view_of(Customer)
class CustomerView(RecordView, frozen=True, kw_only=True):
    """A customer."""

    object: Annotated[Literal["customer"], After("id")] = "customer"


@view_of(CustomerTotal)
class CustomerTotalView(RecordView, frozen=True, kw_only=True):
    """What the customer paid in one currency."""


@view_of(CustomerRefund)
class CustomerRefundView(RecordView, frozen=True, kw_only=True):
    """A refund of the customer."""


@view_of(CustomerDispute)
class CustomerDisputeView(RecordView, frozen=True, kw_only=True):
    """A dispute of the customer."""


@view_of(CustomerNote)
class CustomerNoteView(RecordView, frozen=True, kw_only=True):
    """A note about a customer."""

    object: Annotated[Literal["customer_note"], After("id")] = "customer_note"


class CustomerPaymentView(Struct, frozen=True, kw_only=True):
    """A payment of the customer."""

    id: UUID
    payment_link_id: UUID
    """ID of the payment link."""
    display_name: Annotated[str, example("Coffee")]
    """Name of what was sold."""
    external_id: str | None
    amount: str
    amount_minor: int
    currency: str
    status: Annotated[TransactionStatus, example("succeeded")]
    """State of the payment."""
    receipt_number: Annotated[str | None, example("2026-000042")]
    """Number of the receipt; null if there is none."""
    created_at: Timestamp


class CustomerDetails(Struct, frozen=True, kw_only=True):
    """A customer with payments, refunds, disputes and notes, each newest first."""

    customer: CustomerView
    """The customer."""
    totals: list[CustomerTotalView]
    """What was paid, by currency: with the newest 1,000 payment links, and at most 1,000 payments."""
    totals_are_partial: Annotated[bool, example(False)]
    """Whether there can be more payments than the totals count."""
    payments: list[CustomerPaymentView]
    """Newest 20 payments."""
    refunds: list[CustomerRefundView]
    """Newest 20 refunds."""
    disputes: list[CustomerDisputeView]
    """Newest 20 disputes."""
    notes: list[CustomerNoteView]
    """All notes."""


async def load_payments(
    db: Pool, customer: Customer, now: datetime, before: UUID | None = None, limit: int = SHOWN_MAX
) -> list[PaymentRow]:
    """A page of the customer's payments after the payment `before`, newest first."""
    ids = await store.list_payment_ids(db, customer, before, limit)
    return await payment_list_store.list_by_ids(db, customer.env, ids, now)


async def load_details(
    db: Pool, customer: Customer, payments: list[PaymentRow], now: datetime, catalogue: Catalogue
) -> CustomerDetails:
    """The customer with these payments."""
    totals = await store.list_totals(db, customer)
    refunds = await store.list_refunds(db, customer, SHOWN_MAX)
    disputes = await store.list_disputes(db, customer, SHOWN_MAX, now)
    notes = await store.list_notes(db, customer, NOTES_MAX)
    return CustomerDetails(
        customer=CustomerView.of(customer, catalogue),
        totals=[CustomerTotalView.of(total, catalogue) for total in totals],
        totals_are_partial=sum(total.attempts for total in totals) >= PAYMENTS_READ_MAX,
        payments=[_payment_view(payment, catalogue) for payment in payments],
        refunds=[CustomerRefundView.of(refund, catalogue) for refund in refunds],
        disputes=[CustomerDisputeView.of(dispute, catalogue) for dispute in disputes],
        notes=[CustomerNoteView.of(note, catalogue) for note in notes],
    )


def _payment_view(payment: PaymentRow, catalogue: Catalogue) -> CustomerPaymentView:
    return CustomerPaymentView(
        id=payment.id,
        payment_link_id=payment.payment_link_id,
        display_name=payment.display_name,
        external_id=payment.external_id,
        **pairs(payment.currency, catalogue, amount=payment.amount_minor),
        currency=payment.currency,
        status=payment.status,
        receipt_number=payment.receipt_number,
        created_at=stamp(payment.created_at),
    )
