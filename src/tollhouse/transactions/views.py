"""Transactions, refunds and chargebacks as JSON in the API and in events."""

from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from msgspec import Struct

from tollhouse.catalogue.amounts import pairs
from tollhouse.catalogue.methods import METHODS
from tollhouse.kernel.clock import Timestamp, stamp, stamp_or_none
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import Mode
from tollhouse.transactions.model import (
    FAILURES,
    Chargeback,
    ChargebackStatus,
    NotRefundable,
    Refund,
    RefundReason,
    RefundRequiredReason,
    RefundStatus,
    Transaction,
    TransactionStatus,
)


class PaymentDetails(Struct, frozen=True, kw_only=True):
    """How the customer paid. Members a rail does not have are null."""

    network: str
    asset: str
    pay_amount: str | None = None
    pay_amount_onchain: str | None = None
    address: str | None = None
    tx_hashes: tuple[str, ...] = ()
    confirmations: int | None = None
    required_confirmations: int | None = None
    rate: str | None = None
    payer_hint: str | None = None


class TimelineEntryView(Struct, frozen=True):
    """An entry of the timeline."""

    status: TransactionStatus
    at: Timestamp
    detail: str | None


class RefundView(Struct, frozen=True, kw_only=True):
    """GET /refunds/{id}. The fee of the payment is not returned."""

    id: UUID
    object: Literal["refund"] = "refund"
    transaction_id: UUID
    amount: str
    amount_minor: int
    currency: str
    fee_refunded: str
    fee_refunded_minor: int
    status: RefundStatus
    reason: RefundReason
    receiver: str | None
    review: Literal["not_required", "required", "approved", "rejected"]
    failure_code: str | None
    provider_reference: str | None
    external_id: str | None
    metadata: dict[str, str]
    mode: Mode
    livemode: bool
    created_at: Timestamp
    updated_at: Timestamp
    version: int


class ChargebackView(Struct, frozen=True, kw_only=True):
    """The latest chargeback of a transaction."""

    id: UUID
    status: ChargebackStatus
    amount: str
    amount_minor: int
    fee: str
    fee_minor: int
    reason: str
    opened_at: Timestamp
    closed_at: Timestamp | None


class TransactionView(Struct, frozen=True, kw_only=True):
    """GET /transactions/{id}."""

    id: UUID
    object: Literal["transaction"] = "transaction"
    type: Literal["payment"] = "payment"
    payment_link_id: UUID
    project_id: UUID
    external_id: str | None
    status: TransactionStatus
    amount: str
    amount_minor: int
    currency: str
    amount_received: str
    amount_received_minor: int
    fee: str
    fee_minor: int
    net: str
    net_minor: int
    amount_refunded: str
    amount_refunded_minor: int
    overpaid: str
    overpaid_minor: int
    refundable: bool
    refundable_amount: str
    refundable_amount_minor: int
    refund_unavailable_reason: NotRefundable | None
    method_id: str
    method_type: str
    payment_details: PaymentDetails
    failure_code: str | None
    failure_message: str | None
    refund_required_reason: RefundRequiredReason | None
    refund_required_amount: str
    refund_required_amount_minor: int
    late: bool
    chargeback: ChargebackView | None
    refunds: list[RefundView]
    timeline: list[TimelineEntryView]
    metadata: dict[str, str]
    mode: Mode
    livemode: bool
    created_at: Timestamp
    updated_at: Timestamp
    succeeded_at: Timestamp | None
    version: int


def transaction_view(transaction: Transaction, now: datetime) -> TransactionView:
    """The transaction at `now`."""
    instructions = transaction.instructions
    refused = _refund_refused(transaction)
    return TransactionView(
        id=transaction.id,
        payment_link_id=transaction.payment_link_id,
        project_id=transaction.project_id,
        external_id=transaction.external_id,
        status=transaction.status_at(now),
        currency=transaction.currency,
        **_amounts(transaction, refundable_minor=0 if refused else transaction.refundable_minor),
        refundable=refused is None,
        refund_unavailable_reason=refused,
        method_id=transaction.method_id,
        method_type=transaction.method_type,
        payment_details=PaymentDetails(
            network=transaction.method_id.partition(":")[0],
            asset=transaction.method_id.partition(":")[2],
            pay_amount=instructions.pay_amount,
            address=instructions.address,
            confirmations=transaction.confirmations,
            required_confirmations=transaction.required_confirmations,
        ),
        failure_code=transaction.failure_code,
        failure_message=None if transaction.failure_code is None else FAILURES.get(transaction.failure_code, "It failed."),
        refund_required_reason=transaction.refund_required_reason,
        late=transaction.late,
        chargeback=None if transaction.chargeback is None else chargeback_view(transaction.chargeback, transaction.currency),
        refunds=[refund_view(one, transaction.env) for one in transaction.refunds],
        timeline=[TimelineEntryView(step.status, stamp(step.at), step.detail) for step in transaction.timeline],
        metadata=transaction.metadata,
        mode=transaction.env.mode,
        livemode=transaction.env.livemode,
        created_at=stamp(transaction.created_at),
        updated_at=stamp(transaction.updated_at),
        succeeded_at=stamp_or_none(transaction.succeeded_at),
        version=transaction.version,
    )


def refund_view(refund: Refund, env: MerchantEnv) -> RefundView:
    """The refund."""
    return RefundView(
        id=refund.id,
        transaction_id=refund.transaction_id,
        **pairs(refund.currency, amount=refund.amount_minor, fee_refunded=0),
        currency=refund.currency,
        status=refund.status,
        reason=refund.reason,
        receiver=refund.receiver,
        review="not_required" if refund.review == "before_reviews" else refund.review,
        failure_code=refund.failure_code,
        provider_reference=refund.provider_reference,
        external_id=refund.external_id,
        metadata=refund.metadata,
        mode=env.mode,
        livemode=env.livemode,
        created_at=stamp(refund.created_at),
        updated_at=stamp(refund.updated_at),
        version=refund.version,
    )


def chargeback_view(chargeback: Chargeback, code: str) -> ChargebackView:
    """The chargeback."""
    return ChargebackView(
        id=chargeback.id,
        status=chargeback.status,
        **pairs(code, amount=chargeback.amount_minor, fee=chargeback.fee_minor),
        reason=chargeback.reason,
        opened_at=stamp(chargeback.opened_at),
        closed_at=stamp_or_none(chargeback.closed_at),
    )


def _refund_refused(transaction: Transaction) -> NotRefundable | None:
    refundable = transaction.status in {"succeeded", "partially_refunded", "refund_required"}
    if not refundable or transaction.refundable_minor <= 0:
        return "status"
    method = METHODS.get(transaction.method_id)
    return None if method is not None and method.refundable else "not_refundable_method"


def _amounts(transaction: Transaction, *, refundable_minor: int) -> dict[str, Any]:
    received, credited, fee = transaction.received_minor, transaction.credited_minor, transaction.fee_minor
    return pairs(
        transaction.currency,
        amount=transaction.amount_minor,
        amount_received=received,
        fee=fee,
        net=credited - fee,
        amount_refunded=transaction.refunded_minor,
        overpaid=max(0, received - transaction.amount_minor) if credited else 0,
        refundable_amount=refundable_minor,
        refund_required_amount=0 if transaction.is_open else transaction.unapplied_minor,
    )
