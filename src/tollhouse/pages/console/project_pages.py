"""The operators' pages about projects: the review queue and its decisions."""

from collections.abc import Awaitable, Callable
from datetime import datetime
from functools import partial
from typing import Literal
from uuid import UUID

from msgspec import UNSET, structs
from starlette.responses import Response

from tollhouse.accounts.approvals import rules
from tollhouse.accounts.approvals.model import (
    Approvals,
    OperatorAction,
    OperatorContext,
    OperatorRefusedError,
    Reviewer,
    SubjectChangedError,
    SubjectNotFoundError,
)
from tollhouse.accounts.identity.model import Operator
from tollhouse.accounts.identity.operators import operator_page
from tollhouse.http.lists import PageQuery
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.services import Work
from tollhouse.kernel.errors import InvalidRequest, NotFound
from tollhouse.kernel.text import Translatable
from tollhouse.pages.console import actions, store
from tollhouse.pages.console.layout import ActionQuery, FormState, decide, render
from tollhouse.pages.console.store import ProjectSummary
from tollhouse.platform.database.pool import Tx

OPERATIONS = Operations(PAGES)
ACTIONS_SHOWN = 50
FIELD_LABELS = {"name": "Name", "website_url": "Website", "description": "Description"}
Decision = Callable[[Work, UUID, OperatorContext, datetime], Awaitable[OperatorAction]]


class TooLate(OperatorRefusedError):
    """The project was changed since the operator opened it."""

    def __init__(self) -> None:
        super().__init__(
            "No changes were made: the project was changed since you opened it. Its current state is shown below."
        )

    @property
    def notice(self) -> Translatable:
        """The message for the page, which says already that nothing was changed."""
        return self.message


class ProjectQueueQuery(PageQuery, frozen=True):
    """The status of the projects; by default those in review."""

    status: Literal["all", "in_review", "approved", "rejected"] = "in_review"

    @property
    def filter(self) -> str:
        """The status in the statement; empty for all."""
        return "" if self.status == "all" else self.status


@OPERATIONS.add("GET", "/operator/projects", guard=operator_page)
async def projects(request: Request, caller: Operator, query: ProjectQueueQuery) -> Response:
    """Projects, newest first."""
    found = await store.projects(request.services.db, status=query.filter, limit=query.fetch, offset=query.offset)
    rows, more = query.cut(found)
    return await render(
        request, caller, "projects", here="projects", projects=rows, query=query, page_links=query.links(rows, more=more)
    )


@OPERATIONS.add("GET", "/operator/projects/{project_id}", guard=operator_page)
async def project(request: Request, caller: Operator, project_id: UUID, query: ActionQuery) -> Response:
    """One project, with the forms that approve and reject it."""
    return await _project(request, caller, project_id, query.state)


@OPERATIONS.add("POST", "/operator/projects/{project_id}/approve", guard=operator_page)
async def approve(request: Request, caller: Operator, project_id: UUID) -> Response:
    """Approve a project."""
    return await _decide(request, caller, project_id, actions.approve, "remark")


@OPERATIONS.add("POST", "/operator/projects/{project_id}/reject", guard=operator_page)
async def reject(request: Request, caller: Operator, project_id: UUID) -> Response:
    """Reject a project; its merchant sees the reason."""
    return await _decide(request, caller, project_id, actions.reject, "reason")


@OPERATIONS.add("POST", "/operator/projects/{project_id}/reject-changes", guard=operator_page)
async def reject_changes(request: Request, caller: Operator, project_id: UUID) -> Response:
    """Reject the pending changes of an approved project; its merchant sees the reason."""
    return await _decide(request, caller, project_id, actions.reject_changes, "changes_reason")


async def _decide(request: Request, caller: Operator, project_id: UUID, decision: Decision, reason: str) -> Response:
    """Decide on the version of the project that the operator saw; fails if its merchant changed it since."""

    async def action(work: Work, context: OperatorContext) -> OperatorAction:
        try:
            return await decision(work, project_id, context, _seen(request))
        except (SubjectNotFoundError, SubjectChangedError):
            raise TooLate from None

    show, to = partial(_project, request, caller, project_id), f"/operator/projects/{project_id}"
    return await decide(request, caller, show, action, to, reason=reason, is_optional=reason == "remark")


def _seen(request: Request) -> datetime:
    try:
        seen = datetime.fromisoformat(request.form().one("seen") or "")
    except ValueError:
        seen = None
    if seen is None or seen.tzinfo is None:
        raise InvalidRequest("The form field `seen` must be the time of the project's last change.")
    return seen


async def _project(request: Request, caller: Operator, project_id: UUID, state: FormState) -> Response:
    async def load(tx: Tx) -> tuple[ProjectSummary | None, Approvals]:
        return await store.project(tx, project_id), await store.approvals(tx, project_id, rules.TWO)

    found, approvals = await request.services.db.transact(load)
    if found is None:
        raise NotFound
    return await render(
        request,
        caller,
        "project",
        state,
        here="projects",
        project=found,
        needs_approval=found.status != "approved" or found.pending_changes is not None,
        changes=_changes(found),
        approved_by=approvals.given,
        approved_by_me=Reviewer(caller.email).is_among(approvals.given),
        history=await store.actions_about(request.services.db, found.merchant_id, project_id, ACTIONS_SHOWN),
        remark="",
        changes_reason="",
    )


def _changes(found: ProjectSummary) -> list[tuple[str, str | None, str | None]]:
    """The label, the approved and the requested value of each member with a pending change."""
    if found.pending_changes is None:
        return []
    requested = structs.asdict(found.pending_changes)
    return [
        (label, getattr(found, name), requested[name])
        for name, label in FIELD_LABELS.items()
        if requested[name] is not UNSET
    ]
