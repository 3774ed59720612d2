"""The sandbox: the rail of test mode. There is no real money; the simulator acts as customer and bank."""

from datetime import datetime, timedelta

import msgspec

from tollhouse.kernel.ids import Mode
from tollhouse.kernel.names import is_readable
from tollhouse.kernel.rails.disputes import DisputeOrder, DisputeSubmission
from tollhouse.kernel.rails.provider import (
    BLOCK_WITHIN,
    SANDBOX_RAIL,
    Attempt,
    Health,
    Instructions,
    PaymentTimes,
    PayoutOrder,
    PayoutState,
    RefundOrder,
    RefundState,
    Submission,
)

WORDS = "This is a test payment. Nothing is charged. Choose the outcome below."
REFUND_TAKES = timedelta(seconds=1)
PAYOUT_TAKES = timedelta(seconds=4)
RECEIVER_CHARS_MAX = 256
MAGIC_DIGITS = 10_000
"""The last four digits of an amount in minor units determine the outcome of the payment."""

PAYER = "sandbox-payer"
"""The account of every test payer."""

INVALID_RECEIVER, DECLINING_RECEIVER, FAILING_RECEIVER, STUCK_RECEIVER = (
    f"sandbox-{what}" for what in ("invalid", "declined", "fails", "stuck")
)
"""Receivers that cannot be paid: rejected on validation, on submission, later, or never answered."""

WINNING_EVIDENCE, LOSING_EVIDENCE = "winning_evidence", "losing_evidence"
"""Texts in evidence that decide a dispute."""

DECLINED, WITHOUT_FUNDS, THEN_CHARGEBACK, SLOW, UNDERPAID, REFUND_FAILS = 2, 9995, 259, 77, 4040, 5150


def magic(amount_minor: int) -> int:
    """The last four digits of an amount."""
    return amount_minor % MAGIC_DIGITS


class Sandbox:
    """Available in test mode only."""

    name = SANDBOX_RAIL
    mode: Mode = "test"
    is_exported = False
    times = PaymentTimes(block_within=BLOCK_WITHIN)

    def health(self) -> Health:
        """Always available."""
        return Health(available=True)

    async def start_payment(self, attempt: Attempt) -> Instructions:
        """The attempt's id is the reference."""
        return Instructions(reference=str(attempt.id), words=WORDS)

    def receiver_error(self, receiver: str) -> str | None:
        """The receiver must be readable."""
        if receiver == INVALID_RECEIVER:
            return "This must be a different recipient. The sandbox always declines this one."
        if 1 <= len(receiver) <= RECEIVER_CHARS_MAX and is_readable(receiver):
            return None
        return "This must be 1 to 256 printable characters long."

    def account_of(self, receiver: str) -> str:
        """Without surrounding spaces."""
        return receiver.strip() or receiver

    async def refund(self, order: RefundOrder) -> Submission:
        """Every order is accepted."""
        return Submission("accepted", f"sandbox-{order.id}")

    async def refund_state(self, order: RefundOrder, now: datetime) -> RefundState:
        """Succeeded after a second, except for the amount that fails."""
        if now < order.ordered_at + REFUND_TAKES:
            return RefundState("pending")
        if REFUND_FAILS in {magic(order.payment_minor), magic(order.amount_minor)}:
            return RefundState("failed", "refund_declined")
        return RefundState("succeeded")

    async def payout(self, order: PayoutOrder) -> Submission:
        """Every order is accepted, except for two receivers: one declines, one never answers."""
        if order.receiver == DECLINING_RECEIVER:
            return Submission("rejected", failure_code="receiver_invalid")
        if order.receiver == STUCK_RECEIVER:
            return Submission("unknown")
        return Submission("accepted", f"sandbox-{order.id}")

    async def payout_state(self, order: PayoutOrder, now: datetime) -> PayoutState:
        """Succeeded after four seconds, except for the test receivers."""
        if order.receiver == STUCK_RECEIVER:
            return PayoutState("unknown")
        if now < order.ordered_at + PAYOUT_TAKES:
            return PayoutState("pending")
        if order.receiver in {FAILING_RECEIVER, DECLINING_RECEIVER}:
            return PayoutState("failed", "payout_declined")
        return PayoutState("succeeded")

    async def submit_evidence(self, order: DisputeOrder) -> DisputeSubmission:
        """Evidence with one of two texts decides the dispute at once."""
        texts = msgspec.structs.astuple(order.evidence)
        if any(text is not None and WINNING_EVIDENCE in text for text in texts):
            return DisputeSubmission("accepted", "won")
        if any(text is not None and LOSING_EVIDENCE in text for text in texts):
            return DisputeSubmission("accepted", "lost")
        return DisputeSubmission("accepted")

    async def accept_dispute(self, order: DisputeOrder) -> DisputeSubmission:  # noqa: ARG002 - of the interface
        """The dispute is lost at once."""
        return DisputeSubmission("accepted", "lost")


SANDBOX = Sandbox()
"""The rail of test mode."""
