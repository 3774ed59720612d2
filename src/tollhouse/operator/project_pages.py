"""The operators' pages about projects: what waits for review, and the decision."""

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Literal
from uuid import UUID

from starlette.responses import Response

from tollhouse.approvals import rules
from tollhouse.approvals.model import Approvals, Reviewer
from tollhouse.callers.model import Operator
from tollhouse.callers.operators import operator_page
from tollhouse.kernel.refusals import InvalidRequest, NotFound
from tollhouse.operator import actions, store
from tollhouse.operator.desk import DoneQuery, reason_in, show
from tollhouse.operator.model import (
    ChangedMeanwhileError,
    Deed,
    Hand,
    ListedProject,
    NothingThereError,
    OperatorRefusedError,
)
from tollhouse.platform.db import Tx
from tollhouse.web.answers import see_other
from tollhouse.web.ask import Ask
from tollhouse.web.operations import PAGES, Operations
from tollhouse.web.paging import PageQuery, turn

OPERATIONS = Operations(PAGES)
DEEDS_SHOWN = 50
TOO_LATE = "Nothing was done: the project is not what you saw any more. Below is how it is now."
Decide = Callable[[Tx, UUID, Hand, datetime], Awaitable[Deed]]


class ProjectsQuery(PageQuery, frozen=True):
    """Which projects: those in review, unless something else is asked for."""

    status: Literal["all", "in_review", "approved", "rejected"] = "in_review"

    @property
    def filter(self) -> str:
        """What the statement looks for."""
        return "" if self.status == "all" else self.status


@OPERATIONS.add("GET", "/operator/projects", guard=operator_page)
async def projects(ask: Ask, caller: Operator, query: ProjectsQuery) -> Response:
    """Projects, newest first."""
    found = await store.projects(ask.house.db, status=query.filter, limit=query.fetch, offset=query.offset)
    shown, more = query.cut(found)
    return show(
        ask,
        caller,
        "projects",
        here="projects",
        projects=shown,
        query=query,
        turn=turn(query, more=more),
    )


@OPERATIONS.add("GET", "/operator/projects/{project_id}", guard=operator_page)
async def project(ask: Ask, caller: Operator, project_id: UUID, query: DoneQuery) -> Response:
    """One project, to be approved or rejected."""
    return await _project(ask, caller, project_id, done=query.deed)


@OPERATIONS.add("POST", "/operator/projects/{project_id}/approve", guard=operator_page)
async def approve(ask: Ask, caller: Operator, project_id: UUID) -> Response:
    """Let a project sell."""
    remark, fault = reason_in(ask, "remark")
    if fault and remark:
        return await _project(ask, caller, project_id, status=422, remark=remark, faults={"remark": fault})
    return await _decide(ask, caller, project_id, actions.approve, remark or None)


@OPERATIONS.add("POST", "/operator/projects/{project_id}/reject", guard=operator_page)
async def reject(ask: Ask, caller: Operator, project_id: UUID) -> Response:
    """Refuse a project; its merchant sees the reason."""
    reason, fault = reason_in(ask)
    if fault:
        return await _project(ask, caller, project_id, status=422, reason=reason, faults={"reason": fault})
    return await _decide(ask, caller, project_id, actions.reject, reason)


async def _decide(ask: Ask, caller: Operator, project_id: UUID, decide: Decide, reason: str | None) -> Response:
    """Decide about the project that was seen: one that its merchant changed meanwhile is to be looked at again."""
    hand, seen = Hand(caller.email, ask.now, reason), _seen(ask)
    try:
        deed = await ask.house.db.transact(lambda tx: decide(tx, project_id, hand, seen))
    except OperatorRefusedError as refused:
        changed = isinstance(refused, NothingThereError | ChangedMeanwhileError)
        message = TOO_LATE if changed else f"Nothing was done. {refused}"
        return await _project(ask, caller, project_id, status=409, message=message)
    return see_other(f"/operator/projects/{project_id}?deed={deed.action_id}")


def _seen(ask: Ask) -> datetime:
    try:
        seen = datetime.fromisoformat(ask.form().one("seen") or "")
    except ValueError:
        seen = None
    if seen is None or seen.tzinfo is None:
        raise InvalidRequest("The form does not say which state of the project was seen.")
    return seen


async def _project(
    ask: Ask,
    caller: Operator,
    project_id: UUID,
    *,
    status: int = 200,
    done: str = "",
    message: str = "",
    remark: str = "",
    reason: str = "",
    faults: dict[str, str] | None = None,
) -> Response:
    async def look(tx: Tx) -> tuple[ListedProject | None, Approvals]:
        return await store.project(tx, project_id), await store.approvals(tx, project_id, rules.TWO)

    found, approvals = await ask.house.db.transact(look)
    if found is None:
        raise NotFound
    return show(
        ask,
        caller,
        "project",
        status,
        here="projects",
        project=found,
        approved_by=approvals.given,
        approved_by_me=Reviewer(caller.email).is_among(approvals.given),
        deeds=await store.deeds_about(ask.house.db, found.merchant_id, project_id, DEEDS_SHOWN),
        done=done,
        message=message,
        remark=remark,
        reason=reason,
        faults=faults or {},
    )
