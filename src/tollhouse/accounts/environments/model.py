"""Projects, the shops and games that payment links belong to, and the web addresses that browsers are sent to."""

from datetime import datetime
from typing import Annotated, Literal
from urllib.parse import urlsplit
from uuid import UUID

from msgspec import UNSET, Meta, Struct, UnsetType, structs

from tollhouse.http.bodies import documented
from tollhouse.kernel.ids import Mode
from tollhouse.kernel.limits import URL_CHARS_MAX
from tollhouse.platform.database.records import Json, Record

ProjectStatus = Literal["in_review", "approved", "rejected"]
"""Result of a review.

in_review: An operator has to decide.
approved: The project can sell.
rejected: The project cannot sell.
"""

Address = Annotated[str, documented(format="uri", maxLength=URL_CHARS_MAX)]
"""A URL in a request body."""

ReturnAddress = Annotated[
    str,
    Meta(description="`{PAYMENT_LINK_ID}` and `{TRANSACTION_ID}` are replaced."),
    documented(format="uri-template", maxLength=URL_CHARS_MAX),
]
"""The URL a customer returns to after paying."""


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


class ProjectChanges(Struct, frozen=True, kw_only=True):
    """The members of a project that change when an operator approves them, with their new values."""

    name: str | UnsetType = UNSET
    """New name of the project."""
    website_url: str | UnsetType | None = UNSET
    """New website of the project."""
    description: str | UnsetType | None = UNSET
    """New description of the project; null if it is removed."""


class ReviewedProject(Struct, frozen=True, kw_only=True):
    """A project with its review status.

    `pending_changes` are those of an approved live project that are not approved yet: until then, `facts` are in force.
    """

    id: UUID
    mode: Mode
    facts: ProjectFacts
    status: ProjectStatus
    rejected_because: str | None
    pending_changes: Json[ProjectChanges | None] = None
    changes_rejected_because: str | None = None
    created_at: datetime
    updated_at: datetime

    @property
    def changes_are_reviewed(self) -> bool:
        """Whether changes of the merchant take effect only when an operator approves them."""
        return self.mode == "live" and self.status == "approved"

    @property
    def requested_facts(self) -> ProjectFacts:
        """The facts with the pending changes."""
        return self.facts if self.pending_changes is None else with_changes(self.facts, self.pending_changes)


def changes_between(current: ProjectFacts, requested: ProjectFacts) -> ProjectChanges | None:
    """The members that differ, with the requested values; None if none does."""
    names = [name for name in ProjectFacts.__struct_fields__ if getattr(current, name) != getattr(requested, name)]
    return ProjectChanges(**{name: getattr(requested, name) for name in names}) if names else None


def with_changes(facts: ProjectFacts, changes: ProjectChanges) -> ProjectFacts:
    """The facts after the changes."""
    values = {name: getattr(changes, name) for name in ProjectFacts.__struct_fields__}
    return structs.replace(facts, **{name: value for name, value in values.items() if value is not UNSET})


PROJECT = Record(Project, "projects", also=("merchant_id", "mode", "updated_at"))
REVIEWED_PROJECT = Record(ReviewedProject, "projects")


def is_web_address(url: str, *, https_only: bool) -> bool:
    """Whether this is an absolute http(s) URL in printable ASCII, without user name, within the length limit."""
    if len(url) > URL_CHARS_MAX or not url.isascii() or not url.isprintable() or " " in url or "\\" in url:
        return False
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return False
    return parts.scheme in ({"https"} if https_only else {"https", "http"}) and bool(host) and "@" not in parts.netloc
