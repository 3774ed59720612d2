"""Withdrawals: their members, their costs, and the actions each status allows."""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from msgspec import Struct

from tollhouse.kernel.catalogue.withdrawal_methods import FeeMode, WithdrawalMethod
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.examples import example
from tollhouse.kernel.rails.provider import PayoutOrder
from tollhouse.platform.database.records import Array, Internal, Json, Record, Selected
from tollhouse.transfers.orders.quotes import Quote

WithdrawalStatus = Literal["pending_review", "approved", "processing", "completed", "failed", "canceled"]
SubmissionState = Literal["prepared", "accepted", "unknown"]
FailureCode = Literal["review_rejected", "payout_declined", "receiver_invalid", "returned"]
CANCELABLE: frozenset[WithdrawalStatus] = frozenset({"pending_review", "approved"})
FAILURES: dict[FailureCode, str] = {
    "review_rejected": "The withdrawal was rejected in review.",
    "payout_declined": "The provider declined the withdrawal.",
    "receiver_invalid": "The provider does not recognize the recipient.",
    "returned": "The withdrawal was sent and then returned.",
}


class WithdrawalTerms(Struct, frozen=True):
    """The costs of a withdrawal. Fee mode `deduct` takes the fees from the amount, `add` adds them to it."""

    method_id: str
    currency: str
    amount_minor: int
    network_fee_mode: FeeMode
    system_fee_minor: int
    network_fee_minor: int

    @property
    def debit_minor(self) -> int:
        """The amount that leaves the merchant's balance."""
        return self.amount_minor + (self._fees_minor if self.network_fee_mode == "add" else 0)

    @property
    def receive_minor(self) -> int:
        """The amount that arrives; zero or less where the fees exceed the amount."""
        return self.debit_minor - self._fees_minor

    @property
    def _fees_minor(self) -> int:
        return self.system_fee_minor + self.network_fee_minor


class Withdrawal(Struct, frozen=True, kw_only=True):
    """A payout from a merchant's balance. `debit_minor` is on hold until it completes, fails or is canceled.

    `submission` is the state of the hand-over to the rail: prepared, accepted by the rail, or unknown.
    """

    id: UUID
    method_id: str
    currency: str
    status: Annotated[WithdrawalStatus, example("pending_review")]
    amount_minor: int
    network_fee_mode: FeeMode
    system_fee_minor: int
    network_fee_minor: int
    debit_minor: int
    receive_minor: int
    receiver: str
    recipient_id: UUID | None = None
    provider_fields: Json[dict[str, Any]]
    quote_id: UUID | None
    batch_id: UUID | None = None
    failure_code: FailureCode | None = None
    provider_reference: str | None = None
    tx_hash: str | None = None
    webhook_url: str | None
    external_id: str | None
    description: str | None
    metadata: Json[dict[str, str]]
    env: MerchantEnv
    created_at: datetime
    updated_at: datetime
    processing_at: datetime | None = None
    completed_at: datetime | None = None
    version: int = 1
    rail: Internal[str]
    batch_row: Internal[int | None] = None
    hold_id: Internal[UUID]
    submission: Internal[SubmissionState | None] = None
    network_paid_minor: Internal[int | None] = None
    next_look_at: Internal[datetime | None]
    approvals_needed: Internal[Annotated[int, Selected("o.approvals_needed")]]
    approvals: Internal[Array[Annotated[tuple[str, ...], Selected("o.approvals")]]] = ()
    reviewed_at: Internal[Annotated[datetime | None, Selected("o.reviewed_at")]] = None
    review_note: Internal[Annotated[str | None, Selected("o.review_note")]] = None

    @property
    def cancelable(self) -> bool:
        """Whether it was not handed to the rail yet."""
        return self.status in CANCELABLE

    @property
    def order(self) -> PayoutOrder:
        """The order for the rail. Its id is the withdrawal's, so that a repeated hand-over is sent once."""
        return PayoutOrder(
            self.id,
            self.method_id,
            self.currency,
            self.receive_minor,
            self.receiver,
            self.provider_fields,
            self.created_at,
        )


def terms_of(method: WithdrawalMethod, amount_minor: int, mode: FeeMode) -> WithdrawalTerms:
    """The current costs of an amount by a method."""
    fee_minor = method.fees.of(amount_minor)
    return WithdrawalTerms(method.method_id, method.currency, amount_minor, mode, fee_minor, method.network_fee_minor)


def largest_amount(method: WithdrawalMethod, available_minor: int, mode: FeeMode) -> int:
    """The largest amount whose debit the balance covers, within the method's maximum; 0 where there is none."""
    least, most = 0, min(available_minor, method.maximum_minor or available_minor)
    while least < most:  # a fee never falls when the amount rises, so neither does the debit
        middle = (least + most + 1) // 2
        if terms_of(method, middle, mode).debit_minor <= available_minor:
            least = middle
        else:
            most = middle - 1
    return least


class WithdrawalBatch(Struct, frozen=True, kw_only=True):
    """Withdrawals that were created together."""

    id: UUID
    description: str | None
    item_count: Annotated[int, example(2)]
    env: MerchantEnv
    created_at: datetime


BATCH = Record(WithdrawalBatch, "withdrawal_batches")
WITHDRAWAL = Record(Withdrawal, "withdrawals")
"""Its statements join the withdrawal's outgoing transfer as `o`."""
WITHDRAWAL_QUOTE = Record(Quote[WithdrawalTerms], "withdrawal_quotes")
