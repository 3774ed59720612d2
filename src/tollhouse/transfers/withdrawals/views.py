"""Withdrawals, their methods, quotes, batches and schedules in the Integration API and in events."""

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import MAXYEAR, datetime, timedelta
from typing import Annotated, Any, Literal
from uuid import UUID

from msgspec import Struct

from tollhouse.http.record_views import After, InCurrency, RecordView, view_of
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.catalogue.withdrawal_methods import FeeMode, ReceiverType, WithdrawalMethod
from tollhouse.kernel.clock import Timestamp, stamp, stamp_or_none
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.examples import example
from tollhouse.kernel.ids import Mode
from tollhouse.kernel.rails.registry import Rails
from tollhouse.transfers.gate.model import SavedRecipient, WithdrawalSettings
from tollhouse.transfers.orders.quotes import Quote
from tollhouse.transfers.withdrawals.model import (
    FAILURES,
    ScheduleRun,
    UnavailableReason,
    WaitReason,
    Withdrawal,
    WithdrawalBatch,
    WithdrawalSchedule,
    WithdrawalTerms,
    unavailable_reason,
)
from tollhouse.transfers.withdrawals.store import BatchItem


class SystemFee(Struct, frozen=True):
    """The platform's fee: a fixed part and a percentage, within bounds."""

    fixed_minor: Annotated[int, example(0)]
    """Fixed part of the fee, in minor units."""
    percent_bps: Annotated[int, example(0)]
    """Share of the amount, in hundredths of a percent."""
    minimum_minor: int
    """Smallest fee, in minor units."""
    maximum_minor: int | None
    """Largest fee, in minor units; null is unlimited."""


class NetworkFee(Struct, frozen=True):
    """The fee of the rail. `as_of` is the time of an estimate."""

    model: Literal["fixed", "estimated", "none"]
    """How the fee is determined.

    fixed: It is always the same.
    estimated: It depends on the network's prices.
    none: There is none.
    """
    amount_minor: Annotated[int, example(0)]
    """Fee in minor units."""
    as_of: Timestamp | None = None
    """Time of the estimate; null for a fixed fee."""


class MethodFees(Struct, frozen=True):
    """The platform's fee and the rail's fee."""

    system: SystemFee
    """Fee of the platform."""
    network: NetworkFee
    """Fee of the rail."""


class ManualReview(Struct, frozen=True):
    """Whether operators review every withdrawal, and from which amount on."""

    always_required: bool
    """Whether every withdrawal is reviewed; true for live methods."""
    threshold_minor: Annotated[int, example(0)] = 0
    """Amount above which withdrawals are reviewed, in minor units."""


class WithdrawalMethodView(Struct, frozen=True, kw_only=True):
    """One withdrawal method, available or not."""

    method_id: str
    name: Annotated[str, example("Sandbox")]
    """Name of the method."""
    currency: str
    network: str
    """Network or rail of the method."""
    available: bool
    """Whether this environment can use the method."""
    unavailable_reason: UnavailableReason | None
    """Why the method is not available; null if it is."""
    minimum_minor: int
    """Smallest withdrawal, in minor units."""
    maximum_minor: int | None
    """Largest withdrawal, in minor units; null is unlimited."""
    daily_limit_minor: Annotated[int | None, example(10_000_000)]
    """Most that can be withdrawn in a day, in minor units; null is unlimited."""
    network_fee_modes: Annotated[tuple[FeeMode, ...], example(["deduct"])]
    """Values of `network_fee_mode` that the method accepts."""
    fees: MethodFees
    """Fees of a withdrawal."""
    receiver_type: ReceiverType
    """What `receiver` has to be."""
    provider_fields: dict[str, Any]
    manual_review: ManualReview
    """Whether operators review withdrawals."""
    mode: Mode
    livemode: bool


class NetworkFeeEstimate(Struct, frozen=True):
    """What the network takes for a payout by the prices of `as_of`, in its coin. You are charged `network_fee`."""

    currency: str
    amount: str
    amount_minor: int
    as_of: Timestamp
    """Time of the prices."""


@view_of(Quote[WithdrawalTerms])
class WithdrawalQuoteView(RecordView, frozen=True, kw_only=True):
    """The costs of a withdrawal, guaranteed until `expires_at`."""

    object: Annotated[Literal["withdrawal_quote"], After("id")] = "withdrawal_quote"
    debit_minor: Annotated[int, After("network_fee_minor"), InCurrency("terms.currency")]
    receive_minor: Annotated[int, After("debit_minor"), InCurrency("terms.currency")]
    manual_review_required: Annotated[bool, After("receive_minor")]
    """Whether an operator has to approve the withdrawal."""
    network_fee_estimate: Annotated[NetworkFeeEstimate | None, After("manual_review_required")]
    """What the network takes now; null where the rail has no prices."""


class ReviewView(Struct, frozen=True):
    """Whether operators review the withdrawal, and their decision."""

    required: bool
    """Whether an operator has to approve it."""
    decided_at: Timestamp | None
    """When the operator decided; null before."""
    note: str | None
    """What the operator wrote to you."""


class WaitView(Struct, frozen=True):
    """Why a withdrawal that was not sent waits, whatever its review."""

    reason: Annotated[WaitReason, example("destination_waits")]
    """What it waits for."""
    until: Timestamp | None
    """When that ends; null if not by itself."""


@view_of(Withdrawal)
class WithdrawalView(RecordView, frozen=True, kw_only=True):
    """GET /withdrawals/{id}. `debit` leaves the balance, `receive` arrives."""

    object: Annotated[Literal["withdrawal"], After("id")] = "withdrawal"
    failure_message: Annotated[str | None, After("failure_code")]
    """Why it failed, in words; null if it did not fail."""
    review: Annotated[ReviewView, After("tx_hash")]
    """Whether operators review the withdrawal, and their decision."""
    waits: Annotated[list[WaitView], After("review")]
    """What else it waits for before it is sent; empty if for nothing."""
    cancelable: Annotated[bool, After("waits")]
    """Whether it can still be canceled."""
    estimated_arrival: Annotated[Timestamp | None, After("cancelable")]
    """When the money should arrive; null if that is not known."""


@view_of(SavedRecipient)
class SavedRecipientView(RecordView, frozen=True, kw_only=True):
    """GET /withdrawal-recipients/{id}. It can be paid from `active_at` on: in test mode by the test clock."""

    object: Annotated[Literal["withdrawal_recipient"], After("id")] = "withdrawal_recipient"


class BatchTotal(Struct, frozen=True, kw_only=True):
    """The sums of a batch in one currency."""

    currency: str
    amount: str
    amount_minor: int
    debit: str
    """What leaves the balance."""
    debit_minor: int
    receive: str
    """What arrives."""
    receive_minor: int


@view_of(WithdrawalBatch)
class WithdrawalBatchView(RecordView, frozen=True, kw_only=True):
    """GET /withdrawal-batches/{id}. `statuses` counts its withdrawals; `withdrawal_ids` has the order of the items."""

    object: Annotated[Literal["withdrawal_batch"], After("id")] = "withdrawal_batch"
    totals: Annotated[list[BatchTotal], After("item_count")]
    """Sums by currency."""
    statuses: Annotated[dict[str, int], After("totals"), example({"pending_review": 2})]
    """Number of withdrawals in each status."""
    withdrawal_ids: Annotated[list[UUID], After("statuses")]
    """IDs of the withdrawals, in the order of the request."""


class WithdrawalSettingsView(Struct, frozen=True, kw_only=True):
    """GET /settings/withdrawals. `turns_off_at`: from then on, withdrawals can go to any recipient."""

    object: Literal["withdrawal_settings"] = "withdrawal_settings"
    saved_recipients_only: Annotated[bool, example(True)]
    turns_off_at: Timestamp | None
    """From when on withdrawals can go to any recipient; null if that is not planned."""
    mode: Mode
    livemode: bool


def withdrawal_settings_view(settings: WithdrawalSettings) -> WithdrawalSettingsView:
    """The settings of an environment."""
    env, rule = settings.env, settings.rule
    return WithdrawalSettingsView(
        saved_recipients_only=rule.saved_recipients_only,
        turns_off_at=stamp_or_none(rule.turns_off_at),
        mode=env.mode,
        livemode=env.livemode,
    )


def method_view(method: WithdrawalMethod, env: MerchantEnv, rails: Rails, catalogue: Catalogue) -> WithdrawalMethodView:
    """A method in this environment now."""
    reason, fees = unavailable_reason(method, env.mode, rails, catalogue), method.fees
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


def withdrawal_quote_view(quote: Quote[WithdrawalTerms], rails: Rails, catalogue: Catalogue) -> WithdrawalQuoteView:
    """A quote."""
    return WithdrawalQuoteView.of(
        quote,
        catalogue,
        debit_minor=quote.terms.debit_minor,
        receive_minor=quote.terms.receive_minor,
        manual_review_required=quote.env.livemode,
        network_fee_estimate=_network_fee_estimate(quote, rails, catalogue),
    )


def withdrawal_view(withdrawal: Withdrawal, catalogue: Catalogue) -> WithdrawalView:
    """A withdrawal."""
    code = withdrawal.failure_code
    return WithdrawalView.of(
        withdrawal,
        catalogue,
        failure_message=None if code is None else FAILURES[code],
        review=ReviewView(withdrawal.approvals_needed > 0, stamp_or_none(withdrawal.reviewed_at), withdrawal.review_note),
        waits=list(_waits(withdrawal)),
        estimated_arrival=stamp_or_none(_estimated_arrival(withdrawal, catalogue)),
    )


def _waits(withdrawal: Withdrawal) -> Iterator[WaitView]:
    until = withdrawal.waits_until
    if withdrawal.cancelable and until is not None:
        is_over = until.year == MAXYEAR  # infinity of the database
        yield WaitView("destination_refused", None) if is_over else WaitView("destination_waits", stamp(until))
    if withdrawal.cancelable and withdrawal.waits_for_member:
        yield WaitView("second_member", None)


def _network_fee_estimate(quote: Quote[WithdrawalTerms], rails: Rails, catalogue: Catalogue) -> NetworkFeeEstimate | None:
    method = catalogue.withdrawal_methods[quote.terms.method_id]
    fee = rails.payout_fee(method.rail, quote.env.mode, method.currency)
    if fee is None:
        return None
    amount = catalogue.format_amount(fee.amount_minor, fee.currency)
    return NetworkFeeEstimate(fee.currency, amount, fee.amount_minor, stamp(fee.measured_at))


def _estimated_arrival(withdrawal: Withdrawal, catalogue: Catalogue) -> datetime | None:
    """The estimated arrival. None before approval, and for methods without a known speed."""
    method = catalogue.withdrawal_methods.get(withdrawal.method_id)
    if method is None or method.arrives_in_s is None or withdrawal.status not in {"approved", "processing"}:
        return None
    return (withdrawal.reviewed_at or withdrawal.created_at) + timedelta(seconds=method.arrives_in_s)


def batch_view(batch: WithdrawalBatch, items: Sequence[BatchItem | Withdrawal], catalogue: Catalogue) -> WithdrawalBatchView:
    """A batch and its withdrawals, in its order."""
    return WithdrawalBatchView.of(
        batch,
        catalogue,
        totals=[_total(currency, items, catalogue) for currency in sorted({item.currency for item in items})],
        statuses=dict(sorted(Counter(item.status for item in items).items())),
        withdrawal_ids=[item.id for item in items],
    )


def _total(currency: str, items: Sequence[BatchItem | Withdrawal], catalogue: Catalogue) -> BatchTotal:
    found = [item for item in items if item.currency == currency]
    amount_minor = sum(item.amount_minor for item in found)
    debit_minor = sum(item.debit_minor for item in found)
    receive_minor = sum(item.receive_minor for item in found)
    return BatchTotal(
        currency=currency,
        amount=catalogue.format_amount(amount_minor, currency),
        amount_minor=amount_minor,
        debit=catalogue.format_amount(debit_minor, currency),
        debit_minor=debit_minor,
        receive=catalogue.format_amount(receive_minor, currency),
        receive_minor=receive_minor,
    )


@view_of(WithdrawalSchedule)
class WithdrawalScheduleView(RecordView, frozen=True, kw_only=True):
    """A schedule. It has an `amount`, or withdraws everything above `keep`."""

    object: Annotated[Literal["withdrawal_schedule"], After("id")] = "withdrawal_schedule"


@view_of(ScheduleRun)
class ScheduleRunView(RecordView, frozen=True, kw_only=True):
    """A run of a schedule: the withdrawal that it created, or why it created none."""

    object: Annotated[Literal["withdrawal_schedule_run"], After("at")] = "withdrawal_schedule_run"


@view_of(WithdrawalSchedule)
class WithdrawalScheduleDetails(RecordView, frozen=True, kw_only=True):
    """GET /withdrawal-schedules/{id}. `latest_runs`: newest first, at most 100."""

    object: Annotated[Literal["withdrawal_schedule"], After("id")] = "withdrawal_schedule"
    latest_runs: Annotated[list[ScheduleRunView], After("next_run_at")]
    """Latest runs, newest first, at most 100."""
