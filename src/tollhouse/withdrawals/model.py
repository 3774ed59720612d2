"""Withdrawals and their quotes: what they are, what they cost, and which state allows what."""

from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from msgspec import Struct

from tollhouse.catalogue.withdrawal_methods import FeeMode, WithdrawalMethod
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.rails.provider import PayoutOrder

WithdrawalStatus = Literal["pending_review", "approved", "processing", "completed", "failed", "canceled"]
Submission = Literal["prepared", "accepted", "unknown"]
FailureCode = Literal["review_rejected", "payout_declined", "receiver_invalid", "returned"]
CANCELABLE: frozenset[WithdrawalStatus] = frozenset({"pending_review", "approved"})
FAILURES: dict[FailureCode, str] = {
    "review_rejected": "The withdrawal was not approved.",
    "payout_declined": "The provider did not send the money.",
    "receiver_invalid": "The provider does not know this receiver.",
    "returned": "The money was sent and came back.",
}


class Terms(Struct, frozen=True):
    """What a withdrawal costs. `deduct` takes the fees from the amount, `add` adds them to it."""

    amount_minor: int
    network_fee_mode: FeeMode
    system_fee_minor: int
    network_fee_minor: int

    @property
    def debit_minor(self) -> int:
        """What leaves the merchant's balance."""
        return self.amount_minor + (self._fees_minor if self.network_fee_mode == "add" else 0)

    @property
    def receive_minor(self) -> int:
        """What arrives; zero or less where the fees eat all of it."""
        return self.debit_minor - self._fees_minor

    @property
    def _fees_minor(self) -> int:
        return self.system_fee_minor + self.network_fee_minor


class Quote(Struct, frozen=True, kw_only=True):
    """Terms that are kept for a while, for one withdrawal."""

    id: UUID
    env: MerchantEnv
    method_id: str
    currency: str
    terms: Terms
    created_at: datetime
    expires_at: datetime
    used_at: datetime | None = None


class Withdrawal(Struct, frozen=True, kw_only=True):
    """Money that a merchant wants sent. Until it is completed or given back, all of `debit_minor` is on hold.

    `submission` says what we know of handing it to the rail: it was about to be, it was, or nobody can tell.
    """

    id: UUID
    env: MerchantEnv
    method_id: str
    rail: str
    currency: str
    amount_minor: int
    network_fee_mode: FeeMode
    system_fee_minor: int
    network_fee_minor: int
    debit_minor: int
    receive_minor: int
    receiver: str
    provider_fields: dict[str, Any]
    quote_id: UUID | None
    hold_id: UUID
    status: WithdrawalStatus
    submission: Submission | None = None
    provider_reference: str | None = None
    tx_hash: str | None = None
    network_paid_minor: int | None = None
    failure_code: FailureCode | None = None
    approvals_needed: int
    approvals: tuple[str, ...] = ()
    reviewed_at: datetime | None = None
    review_note: str | None = None
    webhook_url: str | None
    external_id: str | None
    description: str | None
    metadata: dict[str, str]
    version: int = 1
    next_look_at: datetime | None
    created_at: datetime
    updated_at: datetime
    processing_at: datetime | None = None
    completed_at: datetime | None = None

    @property
    def cancelable(self) -> bool:
        """Whether nothing was sent yet."""
        return self.status in CANCELABLE

    @property
    def order(self) -> PayoutOrder:
        """What the rail is told. Its id is ours, so that it can be handed in twice and is sent once."""
        return PayoutOrder(
            self.id,
            self.method_id,
            self.currency,
            self.receive_minor,
            self.receiver,
            self.provider_fields,
            self.created_at,
        )


def terms(method: WithdrawalMethod, amount_minor: int, mode: FeeMode) -> Terms:
    """What this amount costs by this method now."""
    return Terms(amount_minor, mode, method.fees.of(amount_minor), method.network_fee_minor)
