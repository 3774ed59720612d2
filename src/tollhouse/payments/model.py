"""Payment links and the transactions that pay them: what they are, and the rules that need no database."""

import base64
import secrets
from datetime import datetime
from typing import Literal
from uuid import UUID

from msgspec import Struct

from tollhouse.catalogue.currencies import Currency
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.refusals import Fault, Refusal
from tollhouse.rails.provider import Instructions

LinkStatus = Literal["active", "completed", "expired", "canceled"]
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
OPEN: frozenset[TransactionStatus] = frozenset({"pending", "processing"})
FAILURES = {
    "card_declined": "The payment was declined.",
    "insufficient_funds": "There was not enough money for the payment.",
    "link_canceled": "The payment link was canceled.",
}


class CreatedBy(Struct, frozen=True):
    """Who made a link: an API key, an application, or a person at the dashboard."""

    type: Literal["api_key", "oauth", "dashboard"]
    oauth_client_id: str | None = None


class PaymentLink(Struct, frozen=True, kw_only=True):
    """An offer to be paid a fixed price, until it is paid often enough, expires or is canceled."""

    id: UUID
    env: MerchantEnv
    token: str
    project_id: UUID
    display_name: str
    description: str | None
    amount_minor: int
    currency: str
    webhook_url: str | None
    external_id: str | None
    metadata: dict[str, str]
    payment_method_ids: tuple[str, ...] | None
    success_url: str | None
    cancel_url: str | None
    customer_email: str | None
    max_payments: int | None
    created_by: CreatedBy
    created_at: datetime
    expires_at: datetime
    updated_at: datetime
    payments_count: int = 0
    amount_paid_minor: int = 0
    latest_transaction_id: UUID | None = None
    status: LinkStatus = "active"
    version: int = 1
    completed_at: datetime | None = None
    canceled_at: datetime | None = None

    def status_at(self, now: datetime) -> LinkStatus:
        """The status at this moment: a link is expired when its time has come, whether or not anybody wrote it down."""
        return "expired" if self.status == "active" and now >= self.expires_at else self.status


class Step(Struct, frozen=True):
    """One state a transaction came into."""

    status: TransactionStatus
    at: datetime
    detail: str | None = None


class Transaction(Struct, frozen=True, kw_only=True):
    """A customer's attempt to pay a link. One that failed stays failed: trying again makes a new one."""

    id: UUID
    env: MerchantEnv
    payment_link_id: UUID
    project_id: UUID
    external_id: str | None
    metadata: dict[str, str]
    webhook_url: str | None
    method_id: str
    method_type: str
    rail: str
    instructions: Instructions
    currency: str
    amount_minor: int
    received_minor: int
    fee_minor: int
    refunded_minor: int
    status: TransactionStatus
    failure_code: str | None
    version: int
    created_at: datetime
    updated_at: datetime
    succeeded_at: datetime | None

    @property
    def is_open(self) -> bool:
        """Whether it may still succeed or fail."""
        return self.status in OPEN

    @property
    def remaining_minor(self) -> int:
        """What was received and not given back."""
        return self.received_minor - self.refunded_minor


class CurrencyNotSupported(Refusal):
    """422: links cannot be paid in this currency."""

    code, status = "currency_not_supported", 422
    message = "Payments are not possible in this currency."

    def __init__(self) -> None:
        super().__init__(faults=[Fault("currency", self.code, self.message)])


class InvalidProject(Refusal):
    """422: no such approved project in this environment, or not said which of several."""

    code, status = "invalid_project", 422
    message = "Name an approved project of this environment."

    def __init__(self) -> None:
        super().__init__(faults=[Fault("project_id", self.code, self.message)])


class LinkNotActive(Refusal):
    """409: a completed or expired link cannot be canceled."""

    code, status = "invalid_state", 409
    message = "Only an active payment link can be canceled."

    def __init__(self, status: LinkStatus) -> None:
        super().__init__(members={"details": {"status": status}})


class MethodUnavailable(Refusal):
    """422: the method cannot be used for this now."""

    code, status = "method_unavailable", 422
    message = "This payment method is not available here."

    def __init__(self, reason: str | None = None) -> None:
        super().__init__(members={"details": {"unavailable_reason": reason}} if reason else None)


def new_token() -> str:
    """The public name of a checkout page: 128 random bits in 26 characters, which say nothing about the link's id."""
    return base64.b32encode(secrets.token_bytes(16)).decode().rstrip("=").lower()


def money(name: str, minor: int, currency: Currency) -> dict[str, str | int]:
    """An amount as both members that every answer carries: `name` and `name_minor`."""
    return {name: currency.format(minor), f"{name}_minor": minor}
