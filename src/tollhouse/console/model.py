"""The records on the operators' pages, the action in the history, and the errors of actions."""

from datetime import timedelta
from typing import Literal
from uuid import UUID

from msgspec import Struct

from tollhouse.approvals.model import OperatorRefusedError
from tollhouse.environments.model import ProjectChanges
from tollhouse.kernel.clock import Timestamp
from tollhouse.kernel.errors import ApiError
from tollhouse.kernel.ids import ClientId, MerchantId, Mode
from tollhouse.kernel.limits import REASON_CHARS_MAX
from tollhouse.kernel.names import is_readable
from tollhouse.kernel.text import Text

Action = Literal[
    "merchant_suspended",
    "merchant_reactivated",
    "project_approval_given",
    "project_approved",
    "project_rejected",
    "project_changes_approved",
    "project_changes_rejected",
    "adjustment_approved",
    "balance_adjusted",
    "operator_invited",
    "operator_joined",
    "operator_closed",
    "withdrawal_approval_given",
    "withdrawal_approved",
    "withdrawal_rejected",
    "refund_approval_given",
    "refund_approved",
    "refund_rejected",
    "statement_imported",
    "import_confirmed",
    "transfer_assigned",
    "transfer_dismissed",
    "batch_exported",
    "bitcoin_batch_exported",
    "bitcoin_batch_imported",
    "bitcoin_batch_replaced",
    "bitcoin_batch_canceled",
    "network_payouts_exported",
    "network_payouts_imported",
    "payout_approved",
    "payout_refusal_approved",
    "payout_refused",
    "payout_to_be_refused",
    "payouts_paused",
    "payouts_resumed",
    "transfer_matched",
    "transfer_recorded_as_fee",
    "transfer_written_off",
    "transfer_reopened",
    "transfer_taken_back",
    "transfer_return_approved",
    "payout_returned",
    "position_limit_changed",
    "rail_float_changed",
    "second_factor_removed",
    "application_suspended",
    "application_reactivated",
    "merchant_exported",
    "merchant_erased",
    "person_exported",
    "person_erased",
]
FAILURES_SHOWN_FOR = timedelta(days=7)
"""How long a failed event stays in the list of failing deliveries."""
MerchantStatus = Literal["active", "suspended"]
ApplicationStatus = Literal["enabled", "paused", "revoked", "suspended"]


class OperatorAction(Struct, frozen=True, kw_only=True):
    """An action in the history. `mode` is None if it concerns both environments; `merchant_id` if it concerns no merchant.

    `client_id` is the application it concerns; the subject is then its owner. `single_operator`: it approved alone what
    otherwise needs two operators.
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
    single_operator: bool = False

    @property
    def summary(self) -> str:
        """The action and its subject."""
        return f"{self.action} {self.client_id or self.subject_id}"


class Merchant(Struct, frozen=True):
    """A merchant."""

    merchant_id: UUID
    business_name: str
    status: MerchantStatus
    created_at: Timestamp
    suspended_at: Timestamp | None


class ApplicationSummary(Struct, frozen=True, kw_only=True):
    """An application. `status` is the one its owner chose, unless an operator suspended it."""

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


class ProjectSummary(Struct, frozen=True):
    """A project."""

    project_id: UUID
    merchant_id: UUID
    business_name: str
    mode: Mode
    name: str
    website_url: str | None
    description: str | None
    status: str
    rejected_because: str | None
    pending_changes: ProjectChanges | None
    created_at: Timestamp
    updated_at: Timestamp


class HistoryEntry(Struct, frozen=True):
    """An action in the history with the name of the merchant, operator or application it concerns.

    `order_kind` is that of a payout by any rail but the bank; None for a payout by bank.
    """

    action: OperatorAction
    business_name: str | None
    email: str | None
    application: str | None = None
    order_kind: str | None = None


class OperatorSummary(Struct, frozen=True):
    """An operator. `link_expires_at` is set until a password is chosen."""

    operator_id: UUID
    email: str
    status: Literal["invited", "active", "closed"]
    created_at: Timestamp
    link_expires_at: Timestamp | None
    last_seen_at: Timestamp | None
    closed_at: Timestamp | None


class FailingMerchant(Struct, frozen=True):
    """The number of events of a merchant's environment that failed recently, are retried, or are held."""

    merchant_id: UUID
    business_name: str
    mode: Mode
    failed: int
    retrying: int
    held: int
    last_failed_at: Timestamp | None


class FailingEvent(Struct, frozen=True):
    """An undelivered event: its receiver and the result of the last attempt, without its content."""

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


class SubjectNotFoundError(OperatorRefusedError):
    """There is no such merchant, application, project, withdrawal or refund."""


class SubjectChangedError(OperatorRefusedError):
    """The subject was changed or decided since the operator opened it."""


class InvitationExpired(ApiError):
    """410: the link to choose a password is unknown, was used, or has expired."""

    code, status = "link_over", 410
    message = "This link was used or has expired. Ask an operator for a new one."


REASON_RULE = Text("Enter a reason: one line of 1 to %(most)s characters.", most=REASON_CHARS_MAX)


def is_reason(text: str) -> bool:
    """Whether the text is a valid reason."""
    return 1 <= len(text.strip()) <= len(text) <= REASON_CHARS_MAX and is_readable(text)
