"""What money that arrived means for a payment: the rule, without a database.

Whether it is applied depends on when it came, how much it is, and what has become of the link meanwhile. What cannot be
applied is kept apart, and the merchant decides: accept it, or give it back.
"""

from datetime import datetime

import msgspec

from tollhouse.catalogue.payment_settings import PaymentSettings
from tollhouse.kernel.money import MINOR_MAX
from tollhouse.payment_links.model import LinkStatus
from tollhouse.transactions.model import RefundRequiredReason, Transaction, TransactionStatus

BASIS_POINTS = 10_000
TOO_LATE: dict[LinkStatus, RefundRequiredReason] = {
    "active": "late",
    "expired": "late",
    "completed": "duplicate",
    "canceled": "after_cancel",
}
ENDED: frozenset[TransactionStatus] = frozenset({"succeeded", "partially_refunded", "refunded", "chargeback"})
"""The payment has what it was for: more money is another payment."""
ENDED_BY: dict[LinkStatus, RefundRequiredReason] = {"completed": "duplicate", "canceled": "after_cancel"}


def least_minor(amount_minor: int, settings: PaymentSettings) -> int:
    """How much is enough, given the tolerance; rounded in favour of the merchant, and never nothing."""
    tolerated = amount_minor * settings.underpayment_tolerance_bps // BASIS_POINTS
    return max(1, amount_minor - tolerated)


def fits(transaction: Transaction, arrived_minor: int, now: datetime) -> bool:
    """Whether the money is exactly what the customer was asked for, in time: then no setting matters."""
    exact = transaction.received_minor == 0 and arrived_minor == transaction.amount_minor
    return exact and transaction.is_open and _is_expected(transaction, now)


def receive(transaction: Transaction, arrived_minor: int, settings: PaymentSettings, now: datetime) -> Transaction:
    """The payment after money of its currency arrived for good. Not for payments that have succeeded: see `is_unmatched`."""
    received = transaction.received_minor + arrived_minor
    with_unapplied = _unapplied(transaction, arrived_minor)
    if transaction.status == "refund_required":
        return with_unapplied
    enough = received >= least_minor(transaction.amount_minor, settings)
    if transaction.is_open and _is_expected(transaction, now):
        return _credit(with_unapplied, settings, now) if enough else _wait(with_unapplied)
    reason = TOO_LATE[transaction.link_status_at(now)]
    late = reason == "late"
    if late and enough and settings.late_payments == "accept":
        return _credit(msgspec.structs.replace(with_unapplied, late=True), settings, now)
    return msgspec.structs.replace(with_unapplied, status="refund_required", refund_required_reason=reason, late=late)


def overflow(transaction: Transaction, arrived_minor: int) -> Transaction:
    """The payment after money arrived that the merchant's balance cannot hold: it waits for a decision."""
    with_unapplied = _unapplied(transaction, arrived_minor)
    if transaction.status == "refund_required":
        return with_unapplied
    return msgspec.structs.replace(with_unapplied, status="refund_required", refund_required_reason="balance_limit")


def is_unmatched(transaction: Transaction, currency: str | None) -> bool:
    """Whether money that came for it starts a payment of its own: it is paid or full, or this is another currency."""
    full = transaction.received_minor >= MINOR_MAX
    return transaction.status in ENDED or full or currency not in {None, transaction.currency}


def unmatched_reason(transaction: Transaction, currency: str | None, now: datetime) -> RefundRequiredReason:
    """Why such money cannot be applied."""
    if currency not in {None, transaction.currency}:
        return "wrong_asset"
    if transaction.status not in ENDED:
        return "balance_limit"
    standing = transaction.link_status_at(now)
    return "duplicate" if standing == "active" else TOO_LATE[standing]


def end_unpaid(transaction: Transaction) -> Transaction:
    """A pending payment whose link has ended: expired, or, where part of the money is there, up to the merchant."""
    if transaction.received_minor == 0:
        return msgspec.structs.replace(transaction, status="expired")
    reason = ENDED_BY.get(transaction.link_status, "underpaid")
    return msgspec.structs.replace(transaction, status="refund_required", refund_required_reason=reason)


def accept(transaction: Transaction) -> Transaction:
    """The payment after the merchant took what waited for its decision."""
    taken = msgspec.structs.replace(
        transaction,
        credited_minor=transaction.credited_minor + transaction.unapplied_minor,
        unapplied_minor=0,
    )
    return settled(taken)


def fail(transaction: Transaction, failure_code: str) -> Transaction:
    """An open payment that was declined, or whose link was canceled: failed, unless part of the money is there."""
    if transaction.received_minor == 0:
        return msgspec.structs.replace(transaction, status="failed", failure_code=failure_code)
    reason = "after_cancel" if failure_code == "link_canceled" else "underpaid"
    return msgspec.structs.replace(transaction, status="refund_required", refund_required_reason=reason)


def settled(transaction: Transaction) -> Transaction:
    """The same amounts with the state they make, after a refund ended or a dispute was won."""
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


def _is_expected(transaction: Transaction, now: datetime) -> bool:
    """Money that was seen in time is honoured, though it be confirmed when the link has expired or was canceled."""
    standing = transaction.link_status_at(now)
    return standing == "active" or (transaction.status == "processing" and standing in {"expired", "canceled"})


def _wait(transaction: Transaction) -> Transaction:
    return msgspec.structs.replace(transaction, status="pending", confirmations=None, required_confirmations=None)


def _credit(transaction: Transaction, settings: PaymentSettings, now: datetime) -> Transaction:
    """Everything is the merchant's, or, where it wants it so, only what was asked for."""
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
