"""What a project is: the shop or game that a payment link sells for."""

from datetime import datetime
from typing import Literal
from uuid import UUID

from msgspec import Struct

ProjectStatus = Literal["in_review", "approved", "rejected"]


class Project(Struct, frozen=True):
    """A shop of a merchant in one environment. Only an approved one can sell."""

    id: UUID
    name: str
    website_url: str | None
    description: str | None
    status: ProjectStatus
    created_at: datetime
