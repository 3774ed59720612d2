"""The records on the operators' pages, the action in the history, and the errors of actions."""

from datetime import timedelta
from typing import Literal
from uuid import UUID

from msgspec import Struct

from tollhouse.accounts.approvals.model import OperatorAction
from tollhouse.accounts.environments.model import ProjectChanges
from tollhouse.kernel.clock import Timestamp
from tollhouse.kernel.errors import ApiError
from tollhouse.kernel.ids import ClientId, Mode

FAILURES_SHOWN_FOR = timedelta(days=7)
"""How long a failed event stays in the list of failing deliveries."""
MerchantStatus = Literal["active", "suspended"]
ApplicationStatus = Literal["enabled", "paused", "revoked", "suspended"]


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


class InvitationExpired(ApiError):
    """410: the link to choose a password is unknown, was used, or has expired."""

    code, status = "link_over", 410
    message = "This link was used or has expired. Ask an operator for a new one."
