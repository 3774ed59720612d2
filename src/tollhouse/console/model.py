"""What an operator sees, what is kept of each deed, and how one is refused."""

from datetime import timedelta
from typing import Literal
from uuid import UUID

from msgspec import Struct

from tollhouse.approvals.model import OperatorRefusedError
from tollhouse.kernel.clock import Timestamp
from tollhouse.kernel.errors import ApiError
from tollhouse.kernel.ids import ClientId, MerchantId, Mode
from tollhouse.kernel.limits import REASON_CHARS_MAX

Action = Literal[
    "merchant_suspended",
    "merchant_reactivated",
    "project_approval_given",
    "project_approved",
    "project_rejected",
    "balance_adjusted",
    "operator_invited",
    "operator_joined",
    "operator_closed",
    "withdrawal_approved",
    "withdrawal_rejected",
    "refund_approved",
    "refund_rejected",
    "statement_imported",
    "transfer_assigned",
    "transfer_dismissed",
    "batch_exported",
    "payout_approved",
    "payout_refused",
    "second_factor_removed",
    "application_suspended",
    "application_reactivated",
]
FAILED_RECENTLY = timedelta(days=7)
"""How long an event that failed is shown among those that do."""
MerchantStatus = Literal["active", "suspended"]
ApplicationStatus = Literal["enabled", "paused", "revoked", "suspended"]


class OperatorAction(Struct, frozen=True, kw_only=True):
    """What was done. `mode` is missing where it concerns both environments; the merchant, where it concerns none.

    `client_id` names the application it was done to, whose owner is then the subject.
    """

    action_id: UUID
    operator: str
    action: Action
    merchant_id: MerchantId | None
    mode: Mode | None = None
    subject_id: UUID
    reason: str | None
    currency: str | None = None
    amount_minor: int | None = None
    on_command_line: bool = False
    at: Timestamp
    client_id: ClientId | None = None

    @property
    def summary(self) -> str:
        """The action and its subject."""
        return f"{self.action} {self.client_id or self.subject_id}"


class Merchant(Struct, frozen=True):
    """A merchant in the operator's list."""

    merchant_id: UUID
    business_name: str
    status: MerchantStatus
    created_at: Timestamp
    suspended_at: Timestamp | None


class ListedApplication(Struct, frozen=True, kw_only=True):
    """An application in the operator's list. `status` is its owner's, unless it is suspended."""

    client_id: ClientId
    name: str
    client_type: str
    status: ApplicationStatus
    merchant_id: UUID
    business_name: str
    owner_suspended: bool
    description: str
    website_url: str | None
    redirect_uris: list[str]
    scopes: list[str]
    created_at: Timestamp
    suspended_at: Timestamp | None


class ListedProject(Struct, frozen=True):
    """A project in the operator's list."""

    project_id: UUID
    merchant_id: UUID
    business_name: str
    mode: Mode
    name: str
    website_url: str | None
    description: str | None
    status: str
    rejected_because: str | None
    created_at: Timestamp
    updated_at: Timestamp


class ListedOperatorAction(Struct, frozen=True):
    """A deed in the history: about which merchant, operator or application, where it is about one."""

    action: OperatorAction
    business_name: str | None
    email: str | None
    application: str | None = None


class ListedOperator(Struct, frozen=True):
    """An operator in the list. `link_expires_at` is there until a password is chosen."""

    operator_id: UUID
    email: str
    status: Literal["invited", "active", "closed"]
    created_at: Timestamp
    link_expires_at: Timestamp | None
    last_seen_at: Timestamp | None
    closed_at: Timestamp | None


class FailingMerchant(Struct, frozen=True):
    """How many events of a merchant's environment failed of late, are retried, or are held."""

    merchant_id: UUID
    business_name: str
    mode: Mode
    failed: int
    retrying: int
    held: int
    last_failed_at: Timestamp | None


class FailingEvent(Struct, frozen=True):
    """An event that its receiver has not got: where it goes and how the last attempt ended, not what it says."""

    event_id: UUID
    type: str
    status: str
    attempts: int
    host: str | None
    error: str | None
    http_status: int | None
    attempted_at: Timestamp | None
    next_attempt_at: Timestamp | None
    created_at: Timestamp


class NothingThereError(OperatorRefusedError):
    """There is no such merchant, application or project."""


class ChangedMeanwhileError(OperatorRefusedError):
    """It is not any more what was looked at, or was decided before."""


class LinkIsOver(ApiError):
    """410: the link on which an operator chooses a password is none, was used, or is too old."""

    code, status = "link_over", 410
    message = "This link was used, or is too old. Ask for another."


REASON_RULE = f"A reason has 1 to {REASON_CHARS_MAX} characters, on one line."


def is_reason(text: str) -> bool:
    """Whether this says something, on one line."""
    return 1 <= len(text.strip()) <= len(text) <= REASON_CHARS_MAX and text.isprintable()
