"""The rules for received money, without a database.

Whether money is credited depends on its time, its amount and the link's status. Otherwise it is unapplied, and the
merchant accepts or refunds it. Each transfer is judged by the moment at which it was seen first itself: no other transfer of
the payment makes that earlier or later.
"""

from datetime import datetime

import msgspec
from msgspec import Struct

from tollhouse.accounts.environments.payment_settings import PaymentSettings
from tollhouse.kernel.money import MINOR_MAX
from tollhouse.kernel.rails.provider import Observation, PaymentTimes
from tollhouse.payments.links.model import LinkStatus
from tollhouse.payments.transactions.model import (
    OPEN,
    IncomingTransfer,
    RefundRequiredReason,
    Transaction,
    TransactionStatus,
)

BASIS_POINTS = 10_000
TOO_LATE: dict[LinkStatus, RefundRequiredReason] = {
    "active": "late",
    "expired": "late",
    "completed": "duplicate",
    "canceled": "after_cancel",
}
ENDED: frozenset[TransactionStatus] = frozenset({"succeeded", "partially_refunded", "refunded", "chargeback"})
"""Fully paid: further money is another payment."""
EXPIRING: frozenset[TransactionStatus] = frozenset({"pending", "expired"})
PAYMENT_REVERSED = "payment_reversed"
LATE: RefundRequiredReason = "late"
ENDED_BY: dict[LinkStatus, RefundRequiredReason] = {"completed": "duplicate", "canceled": "after_cancel"}


def sufficient_minor(amount_minor: int, settings: PaymentSettings) -> int:
    """The least sufficient amount under the tolerance: rounded down, at least 1."""
    tolerated = amount_minor * settings.underpayment_tolerance_bps // BASIS_POINTS
    return max(1, amount_minor - tolerated)


class Timing(Struct, frozen=True):
    """When a transfer counts as seen, by the clock of the merchant, and what that moment was before.

    `at_fixed_rate`: the expiry of the rate, if the payment has one; `before_deadline`: that of the link, which has passed;
    `before_cancellation`: the cancellation of the link, if it was canceled.
    """

    seen_at: datetime
    at_fixed_rate: bool
    before_deadline: bool
    before_cancellation: bool


def timing_of(
    transaction: Transaction, observation: Observation, transfer: IncomingTransfer | None, times: PaymentTimes, now: datetime
) -> Timing:
    """When the observed transfer counts as seen. `transfer` is what is known of it from before.

    On a network that is the moment at which it was seen first; but the time of its block, if that is more than
    `times.block_within` later. Money of a bank that does not state when it was sent can have been sent as much earlier as
    transfers take (`times.settlement`).
    """
    ahead, deadline = transaction.clock_offset, transaction.link_expires_at
    arrived_at = min(observation.arrived_at or now, now) + ahead
    first_at = arrived_at if observation.first_seen_at is None else min(observation.first_seen_at, now) + ahead
    if transfer is not None:
        first_at = transfer.first_seen_at
        if observation.arrived_at is None and transfer.block_at is not None:
            arrived_at = transfer.block_at
    if times.block_within is None or arrived_at - first_at <= times.block_within:
        arrived_at = first_at
    sent_at = None if observation.sent_at is None else min(observation.sent_at, now) + ahead
    seen_at = sent_at or arrived_at
    is_sent_too_late = sent_at is not None and sent_at >= deadline
    canceled_at = transaction.link_canceled_at
    return Timing(
        seen_at,
        at_fixed_rate=transaction.price is None or seen_at < transaction.price.expires_at,
        before_deadline=now + ahead >= deadline and not is_sent_too_late and arrived_at < deadline + times.settlement,
        before_cancellation=canceled_at is not None and seen_at - ahead <= canceled_at,
    )


def is_expected(transaction: Transaction, timing: Timing, now: datetime) -> bool:
    """Whether money is credited, if it is enough. Money that was seen in time may be confirmed after the link ended."""
    if not timing.at_fixed_rate:
        return False
    status = _link_status(transaction, now)
    is_processing = transaction.status == "processing"
    if status == "active":
        return transaction.is_open or _has_late_money_only(transaction)
    if status == "canceled":
        return is_processing and timing.before_cancellation
    can_continue = is_processing or transaction.status in EXPIRING or _is_untouched_part(transaction)
    return status == "expired" and timing.before_deadline and (can_continue or _has_late_money_only(transaction))


def is_on_its_way(transaction: Transaction, timing: Timing, now: datetime) -> bool:
    """Whether a transfer that was seen makes the payment wait for its confirmation."""
    return transaction.is_open and is_expected(transaction, timing, now)


def is_exact(transaction: Transaction, arrived_minor: int) -> bool:
    """Whether it is exactly the amount, at once. No payment setting applies to it if it is expected."""
    return transaction.received_minor == 0 and arrived_minor == transaction.amount_minor


def receive(
    transaction: Transaction, arrived_minor: int, settings: PaymentSettings, timing: Timing, now: datetime
) -> Transaction:
    """The payment after confirmed money in its currency. Not for payments for which `is_unmatched` is true."""
    received = transaction.received_minor + arrived_minor
    with_unapplied = _unapplied(transaction, arrived_minor)
    least_minor = sufficient_minor(transaction.amount_minor, settings)
    enough = received >= least_minor
    expected = is_expected(transaction, timing, now)
    if expected and _has_late_money_only(transaction):
        return _credit_beside(transaction, arrived_minor, settings, now) if arrived_minor >= least_minor else with_unapplied
    if expected and enough:
        return _credit(with_unapplied, settings, now)
    if transaction.status == "refund_required":
        return with_unapplied
    if expected:
        return _wait(with_unapplied) if transaction.is_open else end_unpaid(with_unapplied)
    reason = TOO_LATE[_link_status(transaction, now)]
    late = reason == LATE
    if late and enough and settings.late_payments == "accept":
        return _credit(msgspec.structs.replace(with_unapplied, late=True), settings, now)
    return msgspec.structs.replace(with_unapplied, status="refund_required", refund_required_reason=reason, late=late)


def overflow(transaction: Transaction, arrived_minor: int, reason: RefundRequiredReason = "balance_limit") -> Transaction:
    """The payment after money that would exceed a limit of the balance or of a position: it awaits a decision."""
    with_unapplied = _unapplied(transaction, arrived_minor)
    if transaction.status == "refund_required":
        return with_unapplied
    return msgspec.structs.replace(with_unapplied, status="refund_required", refund_required_reason=reason)


def is_unmatched(transaction: Transaction, currency: str | None) -> bool:
    """Whether the money becomes a payment of its own: this one is paid or full, or the currency differs."""
    full = transaction.received_minor >= MINOR_MAX
    return transaction.status in ENDED or full or currency not in {None, transaction.currency}


def unmatched_reason(transaction: Transaction, currency: str | None, now: datetime) -> RefundRequiredReason:
    """Why unmatched money cannot be credited."""
    if currency not in {None, transaction.currency}:
        return "wrong_asset"
    if transaction.status not in ENDED:
        return "balance_limit"
    status = _link_status(transaction, now)
    return "duplicate" if status == "active" else TOO_LATE[status]


def end_unpaid(transaction: Transaction) -> Transaction:
    """A pending payment after its link ended: expired, or `refund_required` if part of the money arrived."""
    transaction = msgspec.structs.replace(transaction, confirmations=None, required_confirmations=None)
    if transaction.received_minor == 0:
        return msgspec.structs.replace(transaction, status="expired")
    reason = ENDED_BY.get(transaction.link_status, "underpaid")
    return msgspec.structs.replace(transaction, status="refund_required", refund_required_reason=reason)


def accept(transaction: Transaction) -> Transaction:
    """The payment after the merchant accepted the unapplied amount."""
    accepted = msgspec.structs.replace(
        transaction, credited_minor=transaction.credited_minor + transaction.unapplied_minor, unapplied_minor=0
    )
    return with_derived_status(accepted)


def take_unapplied(transaction: Transaction, amount_minor: int) -> Transaction:
    """The payment after unapplied money was reversed. It counts as not received; if nothing is left, the payment failed."""
    taken = msgspec.structs.replace(
        transaction,
        received_minor=transaction.received_minor - amount_minor,
        unapplied_minor=transaction.unapplied_minor - amount_minor,
    )
    if taken.is_open:
        return taken
    if taken.received_minor == 0:
        return msgspec.structs.replace(taken, status="failed", failure_code=PAYMENT_REVERSED)
    return with_derived_status(taken)


def is_awaiting_money(transaction: Transaction) -> bool:
    """Whether money that is reinstated is judged as if it arrived now: it is not one that failed by its reversal."""
    return transaction.status in {*OPEN, "expired"} or (
        transaction.status == "failed" and transaction.failure_code != PAYMENT_REVERSED
    )


def give_back_unapplied(transaction: Transaction, amount_minor: int) -> Transaction:
    """The payment after unapplied money was reinstated: it awaits a decision again, for the same reason."""
    given_back = _unapplied(msgspec.structs.replace(transaction, failure_code=None), amount_minor)
    return with_derived_status(given_back)


def fail(transaction: Transaction, failure_code: str) -> Transaction:
    """An open payment after a decline or a cancellation: failed, or `refund_required` if part of the money arrived."""
    if transaction.received_minor == 0:
        return msgspec.structs.replace(transaction, status="failed", failure_code=failure_code)
    reason = "after_cancel" if failure_code == "link_canceled" else "underpaid"
    return msgspec.structs.replace(transaction, status="refund_required", refund_required_reason=reason)


def with_derived_status(transaction: Transaction) -> Transaction:
    """The payment with the status that follows from its amounts, after a refund ended or a chargeback was won."""
    if transaction.charged_back_minor > 0:
        return msgspec.structs.replace(transaction, status="chargeback")
    from_unapplied = transaction.received_minor - transaction.credited_minor - transaction.unapplied_minor
    from_credited = transaction.refunded_minor - from_unapplied
    if transaction.credited_minor == 0:
        status = "refund_required" if transaction.unapplied_minor > 0 else "refunded"
    elif from_credited == 0:
        status = "succeeded"
    else:
        whole = transaction.refunded_minor == transaction.received_minor
        status = "refunded" if whole else "partially_refunded"
    return msgspec.structs.replace(transaction, status=status)


def _unapplied(transaction: Transaction, arrived_minor: int) -> Transaction:
    return msgspec.structs.replace(
        transaction,
        received_minor=transaction.received_minor + arrived_minor,
        unapplied_minor=transaction.unapplied_minor + arrived_minor,
    )


def _link_status(transaction: Transaction, now: datetime) -> LinkStatus:
    """The status of the link for this money: an expired link that has all its payments counts as completed."""
    status = transaction.link_status_at(now)
    return "completed" if status == "expired" and transaction.link_is_paid else status


def _is_untouched_part(transaction: Transaction) -> bool:
    """Whether part of the amount came in time, and none of it was refunded since."""
    underpaid = transaction.status == "refund_required" and transaction.refund_required_reason == "underpaid"
    return underpaid and transaction.refunded_minor == transaction.returning_minor == 0


def _has_late_money_only(transaction: Transaction) -> bool:
    """Whether all that the payment waits with came late, and none of it was refunded since."""
    is_late = transaction.status == "refund_required" and transaction.refund_required_reason == LATE
    return is_late and transaction.refunded_minor == transaction.returning_minor == 0


def _credit_beside(transaction: Transaction, arrived_minor: int, settings: PaymentSettings, now: datetime) -> Transaction:
    """Credit a transfer that was seen in time and pays everything by itself. What came late before it still waits."""
    alone = msgspec.structs.replace(transaction, received_minor=arrived_minor, unapplied_minor=arrived_minor)
    credited = _credit(alone, settings, now)
    return msgspec.structs.replace(
        credited,
        received_minor=transaction.received_minor + arrived_minor,
        unapplied_minor=transaction.unapplied_minor + credited.unapplied_minor,
        late=False,
    )


def _wait(transaction: Transaction) -> Transaction:
    return msgspec.structs.replace(transaction, status="pending", confirmations=None, required_confirmations=None)


def _credit(transaction: Transaction, settings: PaymentSettings, now: datetime) -> Transaction:
    """Credit everything, or only the requested amount if the settings say so."""
    excess = max(0, transaction.received_minor - transaction.amount_minor)
    unapplied = excess if settings.overpayment == "refund_required" else 0
    return msgspec.structs.replace(
        transaction,
        status="succeeded",
        credited_minor=transaction.received_minor - unapplied,
        unapplied_minor=unapplied,
        succeeded_at=now,
        failure_code=None,
        refund_required_reason=None,
    )
