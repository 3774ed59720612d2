"""Projects: the shops and games that payment links belong to."""

from datetime import datetime
from typing import Literal
from uuid import UUID

from msgspec import Struct

from tollhouse.kernel.ids import Mode
from tollhouse.platform.records import Record

ProjectStatus = Literal["in_review", "approved", "rejected"]


class Project(Struct, frozen=True):
    """A project in one environment. Only approved projects accept payments."""

    id: UUID
    name: str
    website_url: str | None
    description: str | None
    status: ProjectStatus
    created_at: datetime


class ProjectFacts(Struct, frozen=True):
    """The fields of a project that its merchant sets."""

    name: str
    website_url: str | None
    description: str | None


class ReviewedProject(Struct, frozen=True, kw_only=True):
    """A project with its review status."""

    id: UUID
    mode: Mode
    facts: ProjectFacts
    status: ProjectStatus
    rejected_because: str | None
    created_at: datetime
    updated_at: datetime


PROJECT = Record(Project, "projects", also=("merchant_id", "mode", "updated_at"))
REVIEWED_PROJECT = Record(ReviewedProject, "projects")
