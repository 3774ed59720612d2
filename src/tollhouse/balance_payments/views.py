"""Balance payments in the Integration API and the dashboard."""

from datetime import datetime
from typing import Literal
from uuid import UUID

from msgspec import Struct

from tollhouse.balance_payments.model import BalancePayment, BalancePaymentStatus
from tollhouse.catalogue.amounts import pairs
from tollhouse.kernel.clock import Timestamp, stamp, stamp_or_none
from tollhouse.kernel.ids import ClientId, MerchantId, Mode


class BalancePaymentView(Struct, frozen=True, kw_only=True):
    """GET /balance-payments/{id}. `merchant_id` pays the owner of the application `oauth_client_id`."""

    id: UUID
    object: Literal["balance_payment"] = "balance_payment"
    merchant_id: MerchantId
    oauth_client_id: ClientId
    status: BalancePaymentStatus
    amount: str
    amount_minor: int
    captured: str
    captured_minor: int
    released: str
    released_minor: int
    refunded: str
    refunded_minor: int
    currency: str
    description: str | None
    external_id: str | None
    metadata: dict[str, str]
    mode: Mode
    livemode: bool
    created_at: Timestamp
    updated_at: Timestamp
    expires_at: Timestamp | None
    resolved_at: Timestamp | None
    version: int


def payment_view(payment: BalancePayment, now: datetime) -> BalancePaymentView:
    """A payment with its status at this time."""
    return BalancePaymentView(
        id=payment.id,
        merchant_id=payment.env.merchant_id,
        oauth_client_id=payment.client_id,
        status=payment.status_at(now),
        **pairs(
            payment.currency,
            amount=payment.amount_minor,
            captured=payment.captured_minor,
            released=payment.released_minor,
            refunded=payment.refunded_minor,
        ),
        currency=payment.currency,
        description=payment.description,
        external_id=payment.external_id,
        metadata=payment.metadata,
        mode=payment.env.mode,
        livemode=payment.env.livemode,
        created_at=stamp(payment.created_at),
        updated_at=stamp(payment.updated_at),
        expires_at=stamp_or_none(payment.expires_at),
        resolved_at=stamp_or_none(payment.resolved_at),
        version=payment.version,
    )
