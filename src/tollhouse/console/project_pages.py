"""The operators' pages about projects: what waits for review, and the decision."""

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Literal
from uuid import UUID

from starlette.responses import Response

from tollhouse.approvals import rules
from tollhouse.approvals.model import Approvals, OperatorContext, Reviewer
from tollhouse.console import actions, store
from tollhouse.console.model import (
    ChangedMeanwhileError,
    ListedProject,
    NothingThereError,
    OperatorAction,
    OperatorRefusedError,
)
from tollhouse.console.pages_shared import DoneQuery, reason_in, show
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.paging import PageQuery, turn
from tollhouse.http.request import Request
from tollhouse.http.responses import see_other
from tollhouse.identity.model import Operator
from tollhouse.identity.operators import operator_page
from tollhouse.kernel.errors import InvalidRequest, NotFound
from tollhouse.platform.db import Tx

OPERATIONS = Operations(PAGES)
ACTIONS_SHOWN = 50
TOO_LATE = "Nothing was done: the project is not what you saw any more. Below is how it is now."
Decide = Callable[[Tx, UUID, OperatorContext, datetime], Awaitable[OperatorAction]]


class ProjectsQuery(PageQuery, frozen=True):
    """Which projects: those in review, unless something else is asked for."""

    status: Literal["all", "in_review", "approved", "rejected"] = "in_review"

    @property
    def filter(self) -> str:
        """What the statement looks for."""
        return "" if self.status == "all" else self.status


@OPERATIONS.add("GET", "/operator/projects", guard=operator_page)
async def projects(request: Request, caller: Operator, query: ProjectsQuery) -> Response:
    """Projects, newest first."""
    found = await store.projects(request.services.db, status=query.filter, limit=query.fetch, offset=query.offset)
    shown, more = query.cut(found)
    return show(
        request,
        caller,
        "projects",
        here="projects",
        projects=shown,
        query=query,
        turn=turn(query, more=more),
    )


@OPERATIONS.add("GET", "/operator/projects/{project_id}", guard=operator_page)
async def project(request: Request, caller: Operator, project_id: UUID, query: DoneQuery) -> Response:
    """One project, to be approved or rejected."""
    return await _project(request, caller, project_id, done=query.action)


@OPERATIONS.add("POST", "/operator/projects/{project_id}/approve", guard=operator_page)
async def approve(request: Request, caller: Operator, project_id: UUID) -> Response:
    """Let a project sell."""
    remark, fault = reason_in(request, "remark")
    if fault and remark:
        return await _project(request, caller, project_id, status=422, remark=remark, field_errors={"remark": fault})
    return await _decide(request, caller, project_id, actions.approve, remark or None)


@OPERATIONS.add("POST", "/operator/projects/{project_id}/reject", guard=operator_page)
async def reject(request: Request, caller: Operator, project_id: UUID) -> Response:
    """Refuse a project; its merchant sees the reason."""
    reason, fault = reason_in(request)
    if fault:
        return await _project(request, caller, project_id, status=422, reason=reason, field_errors={"reason": fault})
    return await _decide(request, caller, project_id, actions.reject, reason)


async def _decide(request: Request, caller: Operator, project_id: UUID, decide: Decide, reason: str | None) -> Response:
    """Decide about the project that was seen: one that its merchant changed meanwhile is to be looked at again."""
    context, seen = OperatorContext(caller.email, request.now, reason), _seen(request)
    try:
        action = await request.services.db.transact(lambda tx: decide(tx, project_id, context, seen))
    except OperatorRefusedError as refused:
        changed = isinstance(refused, NothingThereError | ChangedMeanwhileError)
        message = TOO_LATE if changed else f"Nothing was done. {refused}"
        return await _project(request, caller, project_id, status=409, message=message)
    return see_other(f"/operator/projects/{project_id}?action={action.action_id}")


def _seen(request: Request) -> datetime:
    try:
        seen = datetime.fromisoformat(request.form().one("seen") or "")
    except ValueError:
        seen = None
    if seen is None or seen.tzinfo is None:
        raise InvalidRequest("The form does not say which state of the project was seen.")
    return seen


async def _project(
    request: Request,
    caller: Operator,
    project_id: UUID,
    *,
    status: int = 200,
    done: str = "",
    message: str = "",
    remark: str = "",
    reason: str = "",
    field_errors: dict[str, str] | None = None,
) -> Response:
    async def look(tx: Tx) -> tuple[ListedProject | None, Approvals]:
        return await store.project(tx, project_id), await store.approvals(tx, project_id, rules.TWO)

    found, approvals = await request.services.db.transact(look)
    if found is None:
        raise NotFound
    return show(
        request,
        caller,
        "project",
        status,
        here="projects",
        project=found,
        approved_by=approvals.given,
        approved_by_me=Reviewer(caller.email).is_among(approvals.given),
        history=await store.actions_about(request.services.db, found.merchant_id, project_id, ACTIONS_SHOWN),
        done=done,
        message=message,
        remark=remark,
        reason=reason,
        field_errors=field_errors or {},
    )
