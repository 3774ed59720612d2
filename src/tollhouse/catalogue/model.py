"""What a project is: the shop or game that a payment link sells for."""

from datetime import datetime
from typing import Literal
from uuid import UUID

from msgspec import Struct

from tollhouse.kernel.ids import Mode

ProjectStatus = Literal["in_review", "approved", "rejected"]


class Project(Struct, frozen=True):
    """A shop of a merchant in one environment. Only an approved one can sell."""

    id: UUID
    name: str
    website_url: str | None
    description: str | None
    status: ProjectStatus
    created_at: datetime


class ProjectFacts(Struct, frozen=True):
    """What a project says of itself."""

    name: str
    website_url: str | None
    description: str | None


class ReviewedProject(Struct, frozen=True, kw_only=True):
    """A project as its merchant sees it: approved or not, and why not."""

    id: UUID
    mode: Mode
    facts: ProjectFacts
    status: ProjectStatus
    rejected_because: str | None
    created_at: datetime
    updated_at: datetime
