"""Withdrawals, their methods and quotes in the Integration API and in events."""

from datetime import datetime, timedelta
from typing import Any, Literal
from uuid import UUID

from msgspec import Struct

from tollhouse.catalogue.amounts import pairs
from tollhouse.catalogue.withdrawal_methods import WITHDRAWAL_METHODS, FeeMode, ReceiverType, WithdrawalMethod
from tollhouse.kernel.clock import Timestamp, stamp, stamp_or_none
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import Mode
from tollhouse.orders.quotes import Quote
from tollhouse.rails.configured import Rails
from tollhouse.withdrawals.methods import UnavailableReason, unavailable_reason
from tollhouse.withdrawals.model import FAILURES, FailureCode, Withdrawal, WithdrawalStatus, WithdrawalTerms


class SystemFee(Struct, frozen=True):
    """The platform's fee: a fixed part and a percentage, within bounds."""

    fixed_minor: int
    percent_bps: int
    minimum_minor: int
    maximum_minor: int | None


class NetworkFee(Struct, frozen=True):
    """The fee of the rail. `as_of` is the time of an estimate."""

    model: Literal["fixed", "estimated", "none"]
    amount_minor: int
    as_of: Timestamp | None = None


class MethodFees(Struct, frozen=True):
    """The platform's fee and the rail's fee."""

    system: SystemFee
    network: NetworkFee


class ManualReview(Struct, frozen=True):
    """Whether operators review every withdrawal, and from which amount on."""

    always_required: bool
    threshold_minor: int = 0


class WithdrawalMethodView(Struct, frozen=True, kw_only=True):
    """One withdrawal method, available or not."""

    method_id: str
    name: str
    currency: str
    network: str
    available: bool
    unavailable_reason: UnavailableReason | None
    minimum_minor: int
    maximum_minor: int | None
    daily_limit_minor: int | None
    network_fee_modes: tuple[FeeMode, ...]
    fees: MethodFees
    receiver_type: ReceiverType
    provider_fields: dict[str, Any]
    manual_review: ManualReview
    mode: Mode
    livemode: bool


class WithdrawalQuoteView(Struct, frozen=True, kw_only=True):
    """The costs of a withdrawal, guaranteed until `expires_at`."""

    id: UUID
    object: Literal["withdrawal_quote"] = "withdrawal_quote"
    method_id: str
    currency: str
    amount: str
    amount_minor: int
    network_fee_mode: FeeMode
    system_fee: str
    system_fee_minor: int
    network_fee: str
    network_fee_minor: int
    debit: str
    debit_minor: int
    receive: str
    receive_minor: int
    manual_review_required: bool
    mode: Mode
    livemode: bool
    created_at: Timestamp
    expires_at: Timestamp


class ReviewView(Struct, frozen=True):
    """Whether operators review the withdrawal, and their decision."""

    required: bool
    decided_at: Timestamp | None
    note: str | None


class WithdrawalView(Struct, frozen=True, kw_only=True):
    """GET /withdrawals/{id}. `debit` leaves the balance, `receive` arrives."""

    id: UUID
    object: Literal["withdrawal"] = "withdrawal"
    method_id: str
    currency: str
    status: WithdrawalStatus
    amount: str
    amount_minor: int
    network_fee_mode: FeeMode
    system_fee: str
    system_fee_minor: int
    network_fee: str
    network_fee_minor: int
    debit: str
    debit_minor: int
    receive: str
    receive_minor: int
    receiver: str
    provider_fields: dict[str, Any]
    quote_id: UUID | None
    failure_code: FailureCode | None
    failure_message: str | None
    provider_reference: str | None
    tx_hash: str | None
    review: ReviewView
    cancelable: bool
    estimated_arrival: Timestamp | None
    webhook_url: str | None
    external_id: str | None
    description: str | None
    metadata: dict[str, str]
    mode: Mode
    livemode: bool
    created_at: Timestamp
    updated_at: Timestamp
    processing_at: Timestamp | None
    completed_at: Timestamp | None
    version: int


def method_view(method: WithdrawalMethod, env: MerchantEnv, rails: Rails) -> WithdrawalMethodView:
    """A method in this environment now."""
    reason, fees = unavailable_reason(method, env.mode, rails), method.fees
    return WithdrawalMethodView(
        method_id=method.method_id,
        name=method.name,
        currency=method.currency,
        network=method.network,
        available=reason is None,
        unavailable_reason=reason,
        minimum_minor=method.minimum_minor,
        maximum_minor=method.maximum_minor,
        daily_limit_minor=method.daily_limit_minor,
        network_fee_modes=method.network_fee_modes,
        fees=MethodFees(
            SystemFee(fees.fixed_minor, fees.basis_points, fees.minimum_minor, fees.maximum_minor),
            NetworkFee("fixed" if method.network_fee_minor else "none", method.network_fee_minor),
        ),
        receiver_type=method.receiver_type,
        provider_fields=method.provider_fields,
        manual_review=ManualReview(always_required=env.livemode),
        mode=env.mode,
        livemode=env.livemode,
    )


def withdrawal_quote_view(quote: Quote[WithdrawalTerms]) -> WithdrawalQuoteView:
    """A quote."""
    terms = quote.terms
    return WithdrawalQuoteView(
        id=quote.id,
        method_id=terms.method_id,
        currency=terms.currency,
        network_fee_mode=terms.network_fee_mode,
        **pairs(
            terms.currency,
            amount=terms.amount_minor,
            system_fee=terms.system_fee_minor,
            network_fee=terms.network_fee_minor,
            debit=terms.debit_minor,
            receive=terms.receive_minor,
        ),
        manual_review_required=quote.env.livemode,
        mode=quote.env.mode,
        livemode=quote.env.livemode,
        created_at=stamp(quote.created_at),
        expires_at=stamp(quote.expires_at),
    )


def withdrawal_view(withdrawal: Withdrawal) -> WithdrawalView:
    """A withdrawal."""
    code = withdrawal.failure_code
    return WithdrawalView(
        id=withdrawal.id,
        method_id=withdrawal.method_id,
        currency=withdrawal.currency,
        status=withdrawal.status,
        network_fee_mode=withdrawal.network_fee_mode,
        **pairs(
            withdrawal.currency,
            amount=withdrawal.amount_minor,
            system_fee=withdrawal.system_fee_minor,
            network_fee=withdrawal.network_fee_minor,
            debit=withdrawal.debit_minor,
            receive=withdrawal.receive_minor,
        ),
        receiver=withdrawal.receiver,
        provider_fields=withdrawal.provider_fields,
        quote_id=withdrawal.quote_id,
        failure_code=code,
        failure_message=None if code is None else FAILURES[code],
        provider_reference=withdrawal.provider_reference,
        tx_hash=withdrawal.tx_hash,
        review=ReviewView(withdrawal.approvals_needed > 0, stamp_or_none(withdrawal.reviewed_at), withdrawal.review_note),
        cancelable=withdrawal.cancelable,
        estimated_arrival=stamp_or_none(_estimated_arrival(withdrawal)),
        webhook_url=withdrawal.webhook_url,
        external_id=withdrawal.external_id,
        description=withdrawal.description,
        metadata=withdrawal.metadata,
        mode=withdrawal.env.mode,
        livemode=withdrawal.env.livemode,
        created_at=stamp(withdrawal.created_at),
        updated_at=stamp(withdrawal.updated_at),
        processing_at=stamp_or_none(withdrawal.processing_at),
        completed_at=stamp_or_none(withdrawal.completed_at),
        version=withdrawal.version,
    )


def _estimated_arrival(withdrawal: Withdrawal) -> datetime | None:
    """The estimated arrival. None before approval, and for methods without a known speed."""
    method = WITHDRAWAL_METHODS.get(withdrawal.method_id)
    if method is None or method.arrives_in_s is None or withdrawal.status not in {"approved", "processing"}:
        return None
    return (withdrawal.reviewed_at or withdrawal.created_at) + timedelta(seconds=method.arrives_in_s)
