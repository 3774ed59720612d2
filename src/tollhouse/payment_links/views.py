"""Payment links as JSON in the API and in events."""

from datetime import datetime
from typing import Literal
from uuid import UUID

from msgspec import Struct

from tollhouse.catalogue.amounts import pairs
from tollhouse.kernel.clock import Timestamp, stamp, stamp_or_none
from tollhouse.kernel.ids import Mode
from tollhouse.payment_links.model import LinkCreator, LinkStatus, PaymentLink


class LinkView(Struct, frozen=True, kw_only=True):
    """GET /payment-links/{id}."""

    id: UUID
    object: Literal["payment_link"] = "payment_link"
    url: str
    status: LinkStatus
    display_name: str
    description: str | None
    amount: str
    amount_minor: int
    currency: str
    project_id: UUID
    webhook_url: str | None
    external_id: str | None
    metadata: dict[str, str]
    payment_method_ids: tuple[str, ...] | None
    success_url: str | None
    cancel_url: str | None
    customer_email: str | None
    max_payments: int | None
    payments_count: int
    amount_paid: str
    amount_paid_minor: int
    latest_transaction_id: UUID | None
    created_by: LinkCreator
    mode: Mode
    livemode: bool
    created_at: Timestamp
    updated_at: Timestamp
    expires_at: Timestamp
    completed_at: Timestamp | None
    canceled_at: Timestamp | None
    version: int


def link_view(link: PaymentLink, base_url: str, now: datetime) -> LinkView:
    """The link at `now`."""
    return LinkView(
        id=link.id,
        url=f"{base_url}/pay/{link.token}",
        status=link.status_at(now),
        display_name=link.display_name,
        description=link.description,
        **pairs(link.currency, amount=link.amount_minor, amount_paid=link.amount_paid_minor),
        currency=link.currency,
        project_id=link.project_id,
        webhook_url=link.webhook_url,
        external_id=link.external_id,
        metadata=link.metadata,
        payment_method_ids=link.payment_method_ids,
        success_url=link.success_url,
        cancel_url=link.cancel_url,
        customer_email=link.customer_email,
        max_payments=link.max_payments,
        payments_count=link.payments_count,
        latest_transaction_id=link.latest_transaction_id,
        created_by=link.created_by,
        mode=link.env.mode,
        livemode=link.env.livemode,
        created_at=stamp(link.created_at),
        updated_at=stamp(link.updated_at),
        expires_at=stamp(link.expires_at),
        completed_at=stamp_or_none(link.completed_at),
        canceled_at=stamp_or_none(link.canceled_at),
        version=link.version,
    )
