"""The projects of a merchant in the dashboard: those in review and rejected too."""

from collections.abc import Iterator
from typing import Annotated, Literal
from uuid import UUID

from msgspec import UNSET, Struct, UnsetType

from tollhouse.accounts.environments import projects, store
from tollhouse.accounts.environments.model import (
    ProjectChanges,
    ProjectFacts,
    ProjectStatus,
    ReviewedProject,
    is_web_address,
)
from tollhouse.accounts.identity.guards import signed_in
from tollhouse.accounts.identity.model import Person
from tollhouse.accounts.identity.stepup import require_recent
from tollhouse.http.bodies import ValidationContext
from tollhouse.http.lists import ListQuery, PageRequest
from tollhouse.http.operations import DASHBOARD, Operations
from tollhouse.http.services import Work
from tollhouse.kernel import messages
from tollhouse.kernel.clock import Timestamp, stamp
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import FieldError, NotFound, ValidationFailed
from tollhouse.kernel.examples import example
from tollhouse.kernel.ids import Mode
from tollhouse.kernel.limits import DESCRIPTION_CHARS_MAX, PROJECT_NAME_CHARS_MAX
from tollhouse.kernel.names import LINE_FEEDS, is_readable
from tollhouse.platform.database.pool import Pool

DASHBOARD_OPERATIONS = Operations(DASHBOARD)


class ProjectBody(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The fields of a project that a merchant can set."""

    name: Annotated[str, example("Coffee")]
    """Name of the project."""
    website_url: str | None = None
    description: str | None = None
    """What the project sells."""

    def facts(self) -> ProjectFacts:
        """The facts of the project. Raises `ValidationFailed`."""
        if field_errors := list(self._errors()):
            raise ValidationFailed(*field_errors)
        return ProjectFacts(self.name.strip(), self.website_url, self.description)

    def rule_errors(self, _context: ValidationContext) -> Iterator[FieldError]:
        """The errors of each field."""
        return self._errors()

    def _errors(self) -> Iterator[FieldError]:
        if not (1 <= len(self.name.strip()) <= len(self.name) <= PROJECT_NAME_CHARS_MAX and is_readable(self.name)):
            yield FieldError("name", "invalid_value", messages.plain_text(1, PROJECT_NAME_CHARS_MAX))
        if self.website_url is not None and not is_web_address(self.website_url, https_only=False):
            yield FieldError("website_url", "invalid_url", messages.A_WEB_ADDRESS)
        text = self.description or ""
        if len(text) > DESCRIPTION_CHARS_MAX or not is_readable(text, LINE_FEEDS):
            yield FieldError("description", "invalid_value", messages.plain_text(None, DESCRIPTION_CHARS_MAX))


class NewProject(ProjectBody, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The body of POST /projects."""

    mode: Mode


class ProjectChange(ProjectBody, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The body of PUT /projects/{id}. The mode cannot change."""

    mode: Mode | UnsetType = UNSET


class ProjectsQuery(ListQuery, frozen=True):
    """Filters of GET /projects; of both environments without `mode`."""

    mode: Mode | None = None


class ReviewedProjectView(Struct, frozen=True, kw_only=True):
    """A project with its review status.

    `pending_changes` of an approved live project are in review. Until they are approved, the other members are in force.
    """

    id: UUID
    object: Literal["project"] = "project"
    name: Annotated[str, example("Coffee")]
    """Approved name of the project, which customers see."""
    status: Annotated[ProjectStatus, example("approved")]
    """Result of the operator's review."""
    rejected_because: str | None
    """Why the operator rejected the project."""
    pending_changes: ProjectChanges | None
    """Changes that an operator has not approved yet; null if there are none."""
    changes_rejected_because: str | None
    """Why the operator rejected the latest changes."""
    website_url: Annotated[str | None, example("https://shop.example")]
    description: str | None
    """What the project sells."""
    created_at: Timestamp
    updated_at: Timestamp
    mode: Mode
    livemode: bool


class ReviewedProjects(Struct, frozen=True):
    """A page of projects."""

    projects: list[ReviewedProjectView]
    has_more: bool
    next_cursor: str | None


@DASHBOARD_OPERATIONS.add("GET", "/projects", guard=signed_in("read"), errors=(ValidationFailed,))
async def list_projects(caller: Person, query: ProjectsQuery, page: PageRequest, db: Pool) -> ReviewedProjects:
    """List projects. Newest first, with those in review and rejected."""
    found = await store.every(db, caller.merchant_id, query.mode, page.window)
    shown, more, cursor = page.cut(found)
    return ReviewedProjects([_view(project) for project in shown], more, cursor)


@DASHBOARD_OPERATIONS.add(
    "POST",
    "/projects",
    guard=signed_in("settings", of_object=True),
    status=201,
    errors=(ValidationFailed,),
    recent_authentication="live",
)
async def open_project(caller: Person, body: NewProject, work: Work) -> ReviewedProjectView:
    """Create a project. In test mode it is approved at once, in live mode an operator approves it."""
    caller.require("settings", body.mode)
    facts = body.facts()
    # Nothing below this line may refuse.
    opened = await projects.open_project(work, MerchantEnv(caller.merchant_id, body.mode), facts)
    return _view(
        ReviewedProject(
            id=opened.id,
            mode=body.mode,
            facts=facts,
            status=opened.status,
            rejected_because=None,
            created_at=work.now,
            updated_at=work.now,
        )
    )


@DASHBOARD_OPERATIONS.add(
    "PUT",
    "/projects/{project_id}",
    guard=signed_in("settings", of_object=True),
    errors=(ValidationFailed, NotFound),
    recent_authentication="by_content",
)
async def change_project(caller: Person, project_id: UUID, body: ProjectChange, work: Work) -> ReviewedProjectView:
    """Update a project. One that was rejected is reviewed again.

    Changes of an approved live project are kept as `pending_changes` until an operator approves them.
    """
    facts = body.facts()
    changed = await projects.change(work, caller.merchant_id, project_id, facts)
    if changed is None:
        raise NotFound
    caller.require("settings", changed.mode)
    if changed.mode == "live":
        require_recent(caller, work.now)
    if body.mode not in {UNSET, changed.mode}:
        raise ValidationFailed(FieldError("mode", "fixed", messages.FIXED))
    return _view(changed)


def _view(project: ReviewedProject) -> ReviewedProjectView:
    return ReviewedProjectView(
        id=project.id,
        name=project.facts.name,
        status=project.status,
        rejected_because=project.rejected_because,
        pending_changes=project.pending_changes,
        changes_rejected_because=project.changes_rejected_because,
        website_url=project.facts.website_url,
        description=project.facts.description,
        created_at=stamp(project.created_at),
        updated_at=stamp(project.updated_at),
        mode=project.mode,
        livemode=project.mode == "live",
    )
