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
    """Network or rail that the customer used."""
    asset: Annotated[str, example("EUR")]
    """What the customer paid with."""
    pay_amount: str | None = None
    """Amount to pay, in the asset."""
    pay_amount_onchain: str | None = None
    """Amount to pay, in the smallest unit of the network."""
    address: str | None = None
    """Address or account to pay to."""
    tx_hashes: Annotated[tuple[str, ...], example([])] = ()
    """Hashes of the transfers that arrived."""
    confirmations: int | None = None
    """Confirmations so far."""
    required_confirmations: int | None = None
    """Confirmations after which the payment is final."""
    rate: str | None = None
    payer_hint: str | None = None
    """Part of the paying account, to recognize it."""


class PriceView(Struct, frozen=True, kw_only=True):
    """The price of a payment in another currency, and the rate that was fixed for it: before the margin, in major units.

    The amounts of the transaction are in the currency that is paid. Money that comes after `rate_expires_at` is late.
    """

    amount: str
    amount_minor: int
    currency: str
    rate: Annotated[str, example("2932.38")]
    """Rate before the margin, in major units."""
    rate_as_of: Timestamp
    """When the rate was published."""
    rate_source: Annotated[str, example("operator")]
    """Who published the rate."""
    rate_expires_at: Timestamp
    """Until when the rate is fixed; later money is late."""
    margin_bps: int
    """Margin on the rate, in hundredths of a percent."""
    settlement: Settlement
    """What happens to the money that is paid."""


class TimelineEntryView(Struct, frozen=True):
    """An entry of the timeline."""

    status: Annotated[TransactionStatus, example("succeeded")]
    """State that began."""
    at: Timestamp
    detail: str | None
    """What happened, in words."""


class ExchangeView(Struct, frozen=True, kw_only=True):
    """What the money of a refund costs: at the current rate, before the margin. The fee is the margin, included."""

    from_currency: str
    from_amount: str
    """What the refund costs in the currency of the balance."""
    from_amount_minor: int
    to_currency: str
    to_amount: str
    to_amount_minor: int
    rate: Annotated[str, example("0.00034102")]
    rate_as_of: Timestamp
    fee: str
    """Margin, which `from_amount` includes."""
    fee_minor: int


@view_of(Refund)
class RefundView(RecordView, frozen=True, kw_only=True):
    """GET /refunds/{id}. The fee of the payment is not returned."""

    object: Annotated[Literal["refund"], After("id")] = "refund"
    fee_refunded_minor: Annotated[int, After("currency")]
    """Part of the payment's fee that was returned; always zero."""
    exchange: Annotated[ExchangeView | None, After("fee_refunded_minor")]
    """What the refund of a converted payment costs; null for others."""
    review: Literal["not_required", "required", "approved", "rejected"]
    """Whether operators review the refund, and what they decided.

    not_required: No review is needed.
    required: An operator has to decide.
    approved: An operator approved it.
    rejected: An operator rejected it.
    """
    mode: Annotated[Mode, After("metadata")]
    livemode: Annotated[bool, After("mode")]


class ChargebackView(Struct, frozen=True, kw_only=True):
    """The latest chargeback of a transaction."""

    id: UUID
    status: Annotated[ChargebackStatus, example("open")]
    """State of the chargeback."""
    amount: str
    amount_minor: int
    fee: str
    """Fee of the chargeback."""
    fee_minor: int
    reason: Annotated[str, example("fraudulent")]
    """Reason that the customer gave to the bank."""
    opened_at: Timestamp
    """When the bank reported it."""
    closed_at: Timestamp | None


@view_of(Transaction)
class TransactionView(RecordView, frozen=True, kw_only=True):
    """GET /transactions/{id}."""

    object: Annotated[Literal["transaction"], After("id")] = "transaction"
    type: Annotated[Literal["payment"], After("object")] = "payment"
    """Always `payment`."""
    net_minor: Annotated[int, After("fee_minor")]
    """What reached the balance: the amount received, less the fee."""
    overpaid_minor: Annotated[int, After("amount_refunded_minor")]
    """How much more than the amount was paid."""
    refundable: Annotated[bool, After("overpaid_minor")]
    """Whether the payment can be refunded now."""
    refundable_amount_minor: Annotated[int, After("refundable")]
    """How much can be refunded now."""
    refund_unavailable_reason: Annotated[NotRefundable | None, After("refundable_amount_minor")]
    """Why the payment cannot be refunded; null if it can."""
    payment_details: Annotated[PaymentDetails, After("method_type")]
    """How the customer paid."""
    price: Annotated[PriceView | None, After("currency")]
    """Price in the currency of the link, if another one is paid; otherwise null."""
    failure_message: Annotated[str | None, After("failure_code")]
    """Why it failed, in words; null if it did not fail."""
    refund_required_amount_minor: Annotated[int, After("refund_required_reason")]
    """How much has to be refunded."""
    chargeback: ChargebackView | None
    """Latest chargeback; null without one."""
    refunds: Annotated[list[RefundView], example([])]
    """Refunds of the payment."""
    timeline: list[TimelineEntryView]
    """What happened, oldest first."""


def transaction_view(transaction: Transaction, now: datetime, catalogue: Catalogue) -> TransactionView:
    """The transaction at `now`."""
    failure_code, chargeback = transaction.failure_code, transaction.chargeback
    unavailable = _refund_unavailable(transaction, catalogue)
    refunds = [refund_view(refund, transaction.env, catalogue) for refund in transaction.refunds]
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
