"""Transactions, refunds and chargebacks, and the amounts derived from them."""

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Annotated, Literal
from uuid import UUID

from msgspec import Struct

from tollhouse.http.record_views import ShownAs
from tollhouse.kernel.clock import status_at
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.examples import example
from tollhouse.kernel.rails.provider import Instructions
from tollhouse.kernel.text import Text, Translatable, as_text
from tollhouse.payments.links.model import LinkStatus
from tollhouse.platform.database.records import Columns, Internal, Json, Record, Selected
from tollhouse.transfers.conversions.model import Exchange, PaymentPrice
from tollhouse.transfers.gate.model import Review

TransactionStatus = Literal[
    "pending",
    "processing",
    "succeeded",
    "failed",
    "expired",
    "refund_required",
    "partially_refunded",
    "refunded",
    "chargeback",
]
"""State of a payment.

pending: Nothing was paid yet.
processing: The payment was seen and is not final.
succeeded: The money is in the balance.
failed: The payment failed.
expired: The deadline passed without a payment.
refund_required: Money arrived that has to be refunded.
partially_refunded: A part was refunded.
refunded: All was refunded.
chargeback: The customer's bank took the money back.
"""
RefundRequiredReason = Literal[
    "underpaid", "late", "duplicate", "after_cancel", "wrong_asset", "balance_limit", "position_limit"
]
"""Why money has to be refunded.

underpaid: Less than the amount arrived.
late: It arrived after the deadline.
duplicate: The payment was made twice.
after_cancel: The link was canceled before.
wrong_asset: Another asset was sent.
balance_limit: The balance would be too large.
position_limit: The operator's limit for the currency is reached.
"""
RefundStatus = Literal["pending", "succeeded", "failed"]
"""State of a refund.

pending: The money is being returned.
succeeded: The money was returned.
failed: It failed; the money is in the balance again.
"""
RefundReason = Literal["duplicate", "fraudulent", "customer_request", "service_issue", "other"]
"""Why a payment is refunded.

duplicate: It was paid twice.
fraudulent: It was fraud.
customer_request: The customer asked for it.
service_issue: Something was wrong with what was sold.
other: Another reason.
"""
NotRefundable = Literal["not_refundable_method", "status", "window_passed"]
"""Why a payment cannot be refunded.

not_refundable_method: The method has no refunds.
status: There is nothing to refund in this state.
window_passed: The time for refunds is over.
"""
ChargebackStatus = Literal["open", "won", "lost"]
"""State of a chargeback.

open: It is not decided yet.
won: You have the money again.
lost: The customer keeps the money.
"""
OPEN: frozenset[TransactionStatus] = frozenset({"pending", "processing"})
CREDITED: frozenset[TransactionStatus] = frozenset({"succeeded", "partially_refunded"})
REFUNDABLE = CREDITED | {"refund_required"}
FAILURES = {
    "card_declined": "The payment was declined.",
    "insufficient_funds": "The customer's account has insufficient funds.",
    "expired_method": "The payment method has expired.",
    "double_spend": "The funds were spent in another transaction.",
    "canceled_by_customer": "The payment was canceled.",
    "link_canceled": "The payment link was canceled.",
    "payment_reversed": "The payment was reversed.",
}
REFUND_REASONS: dict[RefundReason, str] = {
    "customer_request": "Requested by customer",
    "duplicate": "Duplicate",
    "fraudulent": "Fraud",
    "service_issue": "Problem with the product or service",
    "other": "Another reason",
}
REFUND_FAILURES = {
    "refund_declined": "The refund was declined.",
    "receiver_invalid": "The recipient's account cannot receive money.",
    "returned_by_bank": "The customer's bank returned the refund.",
    "payment_charged_back": "The customer's bank had already reversed the payment.",
    "review_rejected": "The refund was not approved.",
}


RECEIVED = " received"
SENT_IN_TIME = "sent_before_deadline"
REFUND_FAILED = "refund failed: "
REFUNDS_MAX = 20
"""How many refunds of a payment succeed or are pending, before only all that is left can be refunded."""


def describe_detail(detail: str) -> Translatable:
    """The detail of a timeline entry, for pages: an amount that was received, the reason of a failed refund, or a code."""
    if detail.endswith(RECEIVED):
        return Text("%(amount)s received", amount=Decimal(detail.removesuffix(RECEIVED)))
    words = detail.replace("_", " ")
    if words.startswith(REFUND_FAILED):
        return Text("refund failed: %(reason)s", reason=as_text(words.removeprefix(REFUND_FAILED)))
    return words


def received_in(detail: str) -> str:
    """The amount that this detail of a timeline entry says was received; empty if it says something else."""
    return detail.removesuffix(RECEIVED) if detail.endswith(RECEIVED) else ""


class TimelineEntry(Struct, frozen=True):
    """An entry of a transaction's timeline."""

    status: TransactionStatus
    at: datetime
    detail: str | None = None


class RefundExchange(Struct, frozen=True, kw_only=True):
    """How the money of a refund was bought: the fee is the margin, in `from_currency`, and part of `from_amount_minor`."""

    from_currency: str
    from_amount_minor: int
    to_currency: str
    to_amount_minor: int
    rate: str
    rate_as_of: datetime
    fee_minor: int


def refund_exchange(made: Exchange | None) -> RefundExchange | None:
    """The exchange of a refund, which is kept with the conversion."""
    if made is None:
        return None
    return RefundExchange(
        from_currency=made.from_currency,
        from_amount_minor=made.from_amount_minor,
        to_currency=made.to_currency,
        to_amount_minor=made.to_amount_minor,
        rate=made.rate.text,
        rate_as_of=made.rate.as_of,
        fee_minor=made.fee_minor,
    )


WAITS_UNTIL = "CASE WHEN {row}.status = 'pending' THEN outgoing_transfers_wait_until(o, now()) END"
WAITS_FOR_MEMBER = "{row}.status = 'pending' AND o.second_member_required AND o.second_member_at IS NULL"


class Refund(Struct, frozen=True, kw_only=True):
    """A refund. `unapplied_minor` of it was never credited to the merchant; the rest and the network fee are on hold.

    `exchange` is set if the money was bought back with another currency.
    """

    id: UUID
    transaction_id: UUID
    amount_minor: int
    currency: str
    status: Annotated[RefundStatus, example("succeeded")]
    """Whether the money was returned."""
    reason: Annotated[RefundReason, example("customer_request")]
    """Why you refunded the payment."""
    receiver: str | None
    review: Annotated[Review, Selected("o.review")]
    failure_code: str | None
    provider_reference: str | None
    external_id: str | None
    metadata: Json[dict[str, str]]
    created_at: datetime
    updated_at: datetime
    version: int
    network_fee_minor: int = 0
    """Fee of the network, which is added to the debit."""
    unapplied_minor: Internal[int]
    hold_id: Internal[UUID | None]
    credential_id: Internal[UUID | None] = None
    """The connection or API key that asked for it."""
    waits_until: Internal[Annotated[datetime | None, Selected(WAITS_UNTIL)]] = None
    """As `Withdrawal.waits_until`."""
    waits_for_member: Internal[Annotated[bool, Selected(WAITS_FOR_MEMBER)]] = False
    """As `Withdrawal.waits_for_member`."""
    exchange: Internal[Json[Annotated[RefundExchange | None, Selected("refund_exchange({row})")]]] = None

    @property
    def cost(self) -> tuple[str, int]:
        """The currency and amount that left the merchant's balance."""
        bought = self.exchange
        return (self.currency, self.held_minor) if bought is None else (bought.from_currency, bought.from_amount_minor)

    @property
    def held_minor(self) -> int:
        """What is on hold: the part that was credited, and the network fee."""
        return self.amount_minor - self.unapplied_minor + self.network_fee_minor


class Chargeback(Struct, frozen=True, kw_only=True):
    """A chargeback. `fee_minor` is charged to the merchant in any case."""

    id: UUID
    amount_minor: int
    fee_minor: int
    reason: str
    status: ChargebackStatus
    opened_at: datetime
    closed_at: datetime | None


class IncomingTransfer(Struct, frozen=True, kw_only=True):
    """A transfer on its way: when it was seen first, and the time of its block, by the clock of the merchant."""

    transfer_ref: str
    amount_minor: int
    first_seen_at: datetime
    block_at: datetime | None = None


PRICE_COLUMNS = Columns(
    {
        "price_currency": "currency",
        "price_minor": "amount_minor",
        "rate": "rate",
        "rate_as_of": "as_of",
        "rate_source": "source",
        "rate_margin_bps": "margin_bps",
        "rate_expires_at": "expires_at",
        "settlement": "settlement",
    }
)


class Transaction(Struct, frozen=True, kw_only=True):
    """An attempt to pay a link, with all amounts received and returned.

    Received money is `credited_minor` (credited to the merchant, ever), `unapplied_minor` (awaiting a decision), or was
    refunded from the unapplied part. `returning_minor` is in pending refunds, and `returning_unapplied_minor` is the
    unapplied part of it. Until the payment ends, `incoming` are transfers on their way, which are not confirmed yet.
    All are in the currency that is paid; `price` is set if that of the link is another one.
    """

    id: UUID
    payment_link_id: UUID
    """ID of the payment link."""
    project_id: UUID
    external_id: str | None
    status: Annotated[TransactionStatus, example("succeeded")] = "pending"
    """State of the payment."""
    amount_minor: int
    currency: str
    received_minor: Annotated[int, ShownAs("amount_received_minor")] = 0
    """What the customer paid."""
    fee_minor: int = 0
    """Fee of the payment."""
    refunded_minor: Annotated[int, ShownAs("amount_refunded_minor")] = 0
    """What was refunded or is being refunded."""
    quantity: int | None = None
    """Number that the customer chose; null if the link has no quantity."""
    method_id: str
    method_type: Annotated[str, example("sandbox")]
    """Kind of the payment method."""
    failure_code: str | None = None
    refund_required_reason: RefundRequiredReason | None = None
    """Why the money that arrived has to be refunded; null if it does not."""
    late: Annotated[bool, example(False)] = False
    """Whether the money arrived after the deadline."""
    chargeback: Json[Chargeback | None] = None
    refunds: Json[tuple[Refund, ...]] = ()
    timeline: Json[tuple[TimelineEntry, ...]] = ()
    metadata: Json[dict[str, str]]
    env: MerchantEnv
    created_at: datetime
    updated_at: datetime
    succeeded_at: Annotated[datetime | None, example("2026-11-21T09:30:00.000Z")] = None
    """When the payment succeeded; null before."""
    version: int = 1
    credited_minor: Internal[int] = 0
    unapplied_minor: Internal[int] = 0
    returning_minor: Internal[int] = 0
    returning_unapplied_minor: Internal[int] = 0
    charged_back_minor: Internal[int] = 0
    price: Internal[Annotated[PaymentPrice | None, PRICE_COLUMNS]] = None
    confirmations: Internal[int | None] = None
    required_confirmations: Internal[int | None] = None
    rail: Internal[str]
    instructions: Internal[Json[Instructions]]
    webhook_url: Internal[str | None]
    link_status: Internal[LinkStatus]
    link_expires_at: Internal[datetime]
    link_is_paid: Internal[bool]
    link_version: Internal[int] = 1
    link_has_email: Internal[bool] = False
    link_canceled_at: Internal[datetime | None] = None
    incoming: Internal[Json[tuple[IncomingTransfer, ...] | None]] = None
    clock_offset: Internal[Annotated[timedelta, Selected("{row}.ahead")]]

    @property
    def is_open(self) -> bool:
        """Whether it may still succeed or fail."""
        return self.status in OPEN

    @property
    def detected_minor(self) -> int:
        """The amount that is on its way and not confirmed yet."""
        return sum(transfer.amount_minor for transfer in self.incoming or ())

    @property
    def detected_in_time_minor(self) -> int:
        """What of it was seen before the rate and the link expired."""
        return sum(transfer.amount_minor for transfer in self.incoming or () if self.is_in_time(transfer))

    def is_in_time(self, transfer: IncomingTransfer) -> bool:
        """Whether a transfer was seen before the rate and the link expired."""
        is_at_rate = self.price is None or transfer.first_seen_at < self.price.expires_at
        return is_at_rate and transfer.first_seen_at < self.link_expires_at

    @property
    def unapplied_refundable_minor(self) -> int:
        """The unapplied amount that is in no pending refund."""
        return self.unapplied_minor - self.returning_unapplied_minor

    @property
    def kept_minor(self) -> int:
        """What the merchant keeps: credited, minus refunds (pending ones included) and chargebacks, at least nothing."""
        given_back = self.refunded_minor - (self.received_minor - self.credited_minor - self.unapplied_minor)
        on_hold = self.returning_minor - self.returning_unapplied_minor
        return max(0, self.credited_minor - given_back - on_hold - self.charged_back_minor)

    @property
    def disputable_minor(self) -> int:
        """What a dispute can take from the merchant: received, also if it was refunded since; not what awaits a decision."""
        return max(0, self.received_minor - self.unapplied_refundable_minor - self.charged_back_minor)

    @property
    def refundable_minor(self) -> int:
        """What can be refunded beside the pending refunds."""
        return self.unapplied_refundable_minor + self.kept_minor

    @property
    def refunds_left(self) -> int:
        """How many refunds can leave a rest."""
        return max(0, REFUNDS_MAX - sum(refund.status != "failed" for refund in self.refunds))

    @property
    def is_acceptable(self) -> bool:
        """Whether the merchant can accept the unapplied amount: no refund of it is pending, and the currency is right."""
        waits = self.status in {"refund_required", "chargeback", *CREDITED} and self.unapplied_minor > 0
        return waits and self.returning_unapplied_minor == 0 and self.refund_required_reason != "wrong_asset"

    def link_status_at(self, now: datetime) -> LinkStatus:
        """The link's status at `now`."""
        return status_at(self.link_status, "active", self.link_expires_at, now + self.clock_offset)

    def is_rate_over(self, now: datetime) -> bool:
        """Whether the fixed rate has expired by `now`. What was seen before still has it."""
        return self.price is not None and now + self.clock_offset >= self.price.expires_at

    def status_at(self, now: datetime) -> TransactionStatus:
        """The status at `now`: a pending attempt without money expires with its link."""
        over = self.status == "pending" and self.received_minor == 0
        return "expired" if over and self.link_status_at(now) in {"expired", "completed"} else self.status


REFUND = Record(Refund, "refunds", also=("merchant_id", "mode", "rail", "next_look_at"))
"""Its statements join the refund's outgoing transfer as `o`."""
TRANSACTION = Record(Transaction, "whole_transactions")
