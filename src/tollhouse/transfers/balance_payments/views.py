"""Balance payments in the Integration API and the dashboard."""

from datetime import datetime
from typing import Annotated, Literal

from tollhouse.http.record_views import After, RecordView, view_of
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.ids import MerchantId
from tollhouse.transfers.balance_payments.model import BalancePayment


@view_of(BalancePayment)
class BalancePaymentView(RecordView, frozen=True, kw_only=True):
    """GET /balance-payments/{id}. `merchant_id` pays the owner of the application `oauth_client_id`."""

    object: Annotated[Literal["balance_payment"], After("id")] = "balance_payment"
    merchant_id: Annotated[MerchantId, After("object")]


def payment_view(payment: BalancePayment, now: datetime, catalogue: Catalogue) -> BalancePaymentView:
    """A payment with its status at this time."""
    return BalancePaymentView.of(payment, catalogue, merchant_id=payment.env.merchant_id, status=payment.status_at(now))
