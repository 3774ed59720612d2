"""What an operator sees, what is kept of each deed, and how one is refused."""

from datetime import datetime
from typing import Literal
from uuid import UUID

from msgspec import Struct

from tollhouse.kernel.clock import Timestamp
from tollhouse.kernel.ids import MerchantId, Mode

Action = Literal["merchant_suspended", "merchant_reactivated", "project_approved", "project_rejected", "balance_adjusted"]


class Hand(Struct, frozen=True):
    """Who does it, when, and why."""

    operator: str
    at: datetime
    reason: str | None = None


class Deed(Struct, frozen=True, kw_only=True):
    """What was done. `mode` is missing where it concerns both environments."""

    action_id: UUID
    operator: str
    action: Action
    merchant_id: MerchantId
    mode: Mode | None = None
    subject_id: UUID
    reason: str | None
    currency: str | None = None
    amount_minor: int | None = None
    at: Timestamp


class Merchant(Struct, frozen=True):
    """A merchant in the operator's list."""

    merchant_id: UUID
    business_name: str
    status: Literal["active", "suspended"]
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
    status: str
    rejected_because: str | None
    created_at: Timestamp


class OperatorRefusedError(Exception):
    """What was asked cannot be done; the sentence says why. Nothing changed."""
