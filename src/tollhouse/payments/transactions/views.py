"""Transactions, refunds and chargebacks as JSON in the API and in events."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from msgspec import Struct

from tollhouse.accounts.environments.payment_settings import Settlement
from tollhouse.http.record_views import After, RecordView, view_of
from tollhouse.kernel.catalogue.amounts import pairs
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.clock import Timestamp, stamp, stamp_or_none
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.examples import example
from tollhouse.kernel.ids import Mode
from tollhouse.payments.transactions.model import (
    FAILURES,
    REFUNDABLE,
    Chargeback,
    ChargebackStatus,
    NotRefundable,
    Refund,
    RefundExchange,
    Transaction,
    TransactionStatus,
)


class PaymentDetails(Struct, frozen=True, kw_only=True):
    """How the customer paid. Members a rail does not have are null."""

    network: Annotated[str, example("sandbox")]
    asset: Annotated[str, example("EUR")]
    pay_amount: str | None = None
    pay_amount_onchain: str | None = None
    address: str | None = None
    tx_hashes: Annotated[tuple[str, ...], example([])] = ()
    confirmations: int | None = None
    required_confirmations: int | None = None
    rate: str | None = None
    payer_hint: str | None = None


class PriceView(Struct, frozen=True, kw_only=True):
    """The price of a payment in another currency, and the rate that was fixed for it: before the margin, in major units.

    The amounts of the transaction are in the currency that is paid. Money that comes after `rate_expires_at` is late.
    """

    amount: str
    amount_minor: int
    currency: str
    rate: Annotated[str, example("2932.38")]
    rate_as_of: Timestamp
    rate_source: Annotated[str, example("operator")]
    rate_expires_at: Timestamp
    margin_bps: int
    settlement: Settlement


class TimelineEntryView(Struct, frozen=True):
    """An entry of the timeline."""

    status: Annotated[TransactionStatus, example("succeeded")]
    at: Timestamp
    detail: str | None


class ExchangeView(Struct, frozen=True, kw_only=True):
    """What the money of a refund costs: at the current rate, before the margin. The fee is the margin, included."""

    from_currency: str
    from_amount: str
    from_amount_minor: int
    to_currency: str
    to_amount: str
    to_amount_minor: int
    rate: Annotated[str, example("0.00034102")]
    rate_as_of: Timestamp
    fee: str
    fee_minor: int


@view_of(Refund)
class RefundView(RecordView, frozen=True, kw_only=True):
    """GET /refunds/{id}. The fee of the payment is not returned."""

    object: Annotated[Literal["refund"], After("id")] = "refund"
    fee_refunded_minor: Annotated[int, After("currency")]
    exchange: Annotated[ExchangeView | None, After("fee_refunded_minor")]
    review: Literal["not_required", "required", "approved", "rejected"]
    mode: Annotated[Mode, After("metadata")]
    livemode: Annotated[bool, After("mode")]


class ChargebackView(Struct, frozen=True, kw_only=True):
    """The latest chargeback of a transaction."""

    id: UUID
    status: Annotated[ChargebackStatus, example("open")]
    amount: str
    amount_minor: int
    fee: str
    fee_minor: int
    reason: Annotated[str, example("fraudulent")]
    opened_at: Timestamp
    closed_at: Timestamp | None


@view_of(Transaction)
class TransactionView(RecordView, frozen=True, kw_only=True):
    """GET /transactions/{id}."""

    object: Annotated[Literal["transaction"], After("id")] = "transaction"
    type: Annotated[Literal["payment"], After("object")] = "payment"
    net_minor: Annotated[int, After("fee_minor")]
    overpaid_minor: Annotated[int, After("amount_refunded_minor")]
    refundable: Annotated[bool, After("overpaid_minor")]
    refundable_amount_minor: Annotated[int, After("refundable")]
    refund_unavailable_reason: Annotated[NotRefundable | None, After("refundable_amount_minor")]
    payment_details: Annotated[PaymentDetails, After("method_type")]
    price: Annotated[PriceView | None, After("currency")]
    failure_message: Annotated[str | None, After("failure_code")]
    refund_required_amount_minor: Annotated[int, After("refund_required_reason")]
    chargeback: ChargebackView | None
    refunds: Annotated[list[RefundView], example([])]
    timeline: list[TimelineEntryView]


def transaction_view(transaction: Transaction, now: datetime, catalogue: Catalogue) -> TransactionView:
    """The transaction at `now`."""
    failure_code, chargeback = transaction.failure_code, transaction.chargeback
    unavailable = _refund_unavailable(transaction, catalogue)
    refunds = [refund_view(one, transaction.env, catalogue) for one in transaction.refunds]
    details = _payment_details(transaction, catalogue)
    return TransactionView.of(
        transaction,
        catalogue,
        net_minor=transaction.credited_minor - transaction.fee_minor,
        overpaid_minor=max(0, transaction.received_minor - transaction.amount_minor) if transaction.credited_minor else 0,
        refundable=unavailable is None,
        refundable_amount_minor=0 if unavailable else transaction.refundable_minor,
        refund_unavailable_reason=unavailable,
        payment_details=details,
        price=_price(transaction, catalogue),
        failure_message=None if failure_code is None else FAILURES.get(failure_code, "The payment failed."),
        refund_required_amount_minor=0 if transaction.is_open else transaction.unapplied_minor,
        chargeback=None if chargeback is None else chargeback_view(chargeback, transaction.currency, catalogue),
        refunds=refunds,
        timeline=[TimelineEntryView(step.status, stamp(step.at), step.detail) for step in transaction.timeline],
        status=transaction.status_at(now),
    )


def refund_view(refund: Refund, env: MerchantEnv, catalogue: Catalogue) -> RefundView:
    """The refund."""
    review = "not_required" if refund.review == "before_reviews" else refund.review
    exchange = None if refund.exchange is None else exchange_view(refund.exchange, catalogue)
    whose = {"mode": env.mode, "livemode": env.livemode}
    return RefundView.of(refund, catalogue, fee_refunded_minor=0, exchange=exchange, review=review, **whose)


def exchange_view(made: RefundExchange, catalogue: Catalogue) -> ExchangeView:
    """The exchange of a refund."""
    return ExchangeView(
        from_currency=made.from_currency,
        **pairs(made.from_currency, catalogue, from_amount=made.from_amount_minor, fee=made.fee_minor),
        to_currency=made.to_currency,
        **pairs(made.to_currency, catalogue, to_amount=made.to_amount_minor),
        rate=made.rate,
        rate_as_of=stamp(made.rate_as_of),
    )


def chargeback_view(chargeback: Chargeback, code: str, catalogue: Catalogue) -> ChargebackView:
    """The chargeback."""
    return ChargebackView(
        id=chargeback.id,
        status=chargeback.status,
        **pairs(code, catalogue, amount=chargeback.amount_minor, fee=chargeback.fee_minor),
        reason=chargeback.reason,
        opened_at=stamp(chargeback.opened_at),
        closed_at=stamp_or_none(chargeback.closed_at),
    )


def _refund_unavailable(transaction: Transaction, catalogue: Catalogue) -> NotRefundable | None:
    if transaction.status not in REFUNDABLE or transaction.refundable_minor <= 0:
        return "status"
    return None if catalogue.is_refundable(transaction.method_id) else "not_refundable_method"


def _price(transaction: Transaction, catalogue: Catalogue) -> PriceView | None:
    price = transaction.price
    if price is None:
        return None
    return PriceView(
        **pairs(price.currency, catalogue, amount=price.amount_minor),
        currency=price.currency,
        rate=price.rate_text,
        rate_as_of=stamp(price.as_of),
        rate_source=price.source,
        rate_expires_at=stamp(price.expires_at),
        margin_bps=price.margin_bps,
        settlement=price.settlement,
    )


def _payment_details(transaction: Transaction, catalogue: Catalogue) -> PaymentDetails:
    price = transaction.price
    network, _, asset = transaction.method_id.partition(":")
    return PaymentDetails(
        network=network,
        asset=asset,
        pay_amount=transaction.instructions.pay_amount
        or (None if price is None else catalogue.format_amount(transaction.amount_minor, transaction.currency)),
        address=transaction.instructions.address,
        confirmations=transaction.confirmations,
        required_confirmations=transaction.required_confirmations,
        rate=None if price is None else price.rate_text,
    )
