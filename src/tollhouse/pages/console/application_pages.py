"""The operators' pages about applications: list, detail, suspend and reactivate."""

from functools import partial
from typing import Annotated, Literal

from msgspec import Meta
from starlette.responses import Response

from tollhouse.accounts.identity.model import Operator
from tollhouse.accounts.identity.operators import operator_page
from tollhouse.http.lists import PageQuery
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.kernel.errors import InvalidRequest, NotFound
from tollhouse.oauth import reports_store
from tollhouse.oauth.model import DEVICE_CODE_GRANT
from tollhouse.pages.console import application_actions, applications_store
from tollhouse.pages.console.applications_store import CONNECTIONS_COUNTED
from tollhouse.pages.console.layout import (
    ActionQuery,
    ActionSubject,
    ConfirmedAction,
    FormState,
    Load,
    Show,
    add_confirmed_actions,
    decide,
    render,
)

OPERATIONS = Operations(PAGES)
ACTIONS_SHOWN = 50
REPORTS_SHOWN = 50
SEEN_DIGITS_MAX = 18
REASONS = {"approve": "remark", "verify": "verified_by"}
"""The field of each review's form, in which the operator may say what was looked at."""
KINDS = {
    "verified": "Verified",
    "unverified": "Not verified",
    "live_writes": "With permissions that write",
    "to_approve": "Waiting for approval",
    "connected": "With connections",
    "reported": "Reported",
}
"""What the list can be limited to."""


class ApplicationsQuery(PageQuery, frozen=True):
    """Filters of the application list; `search` matches names, owners and ids."""

    search: Annotated[str, Meta(max_length=254)] = ""
    status: Literal["", "enabled", "paused", "suspended", "revoked"] = ""
    only: Literal["", "verified", "unverified", "live_writes", "to_approve", "connected", "reported"] = ""


@OPERATIONS.add("GET", "/operator/applications", guard=operator_page)
async def listed(request: Request, caller: Operator, query: ApplicationsQuery) -> Response:
    """Applications of all merchants, newest first."""
    found = await applications_store.applications(
        request.services.db,
        request.now,
        status=query.status,
        search=query.search.strip(),
        only=query.only,
        limit=query.fetch,
        offset=query.offset,
    )
    rows, more = query.cut(found)
    return await render(
        request,
        caller,
        "applications",
        here="applications",
        applications=rows,
        actions={name: application_actions.OF_APPLICATIONS[name] for name in ("suspend", "reactivate")},
        query=query,
        kinds=KINDS,
        connections_counted=CONNECTIONS_COUNTED,
        page_links=query.links(rows, more=more),
    )


@OPERATIONS.add("GET", "/operator/applications/{client_id}", guard=operator_page)
async def application(request: Request, caller: Operator, client_id: str, query: ActionQuery) -> Response:
    """One application with its owner, permissions and history."""
    return await _application(request, caller, client_id, query.state)


def _subject(request: Request, caller: Operator) -> tuple[Load, Show]:
    client_id = request.params["client_id"]

    async def load() -> ActionSubject:
        found = await applications_store.application(request.services.db, client_id, request.now)
        if found is None:
            raise NotFound
        return ActionSubject("applications", client_id, found.name, found.status)

    return load, partial(_application, request, caller, client_id)


add_confirmed_actions(OPERATIONS, "/operator/applications/{client_id}", application_actions.OF_APPLICATIONS, _subject)


@OPERATIONS.add("POST", "/operator/applications/{client_id}/approve", guard=operator_page)
async def approve(request: Request, caller: Operator, client_id: str) -> Response:
    """Approve the live write permissions of an application."""
    return await _review(request, caller, client_id, "approve")


@OPERATIONS.add("POST", "/operator/applications/{client_id}/verify", guard=operator_page)
async def verify(request: Request, caller: Operator, client_id: str) -> Response:
    """Verify who is behind an application."""
    return await _review(request, caller, client_id, "verify")


async def _review(request: Request, caller: Operator, client_id: str, decision: Literal["approve", "verify"]) -> Response:
    """Decide on the version of the application that the operator saw; fails if its owner changed it since."""
    seen = request.form().one("seen") or ""
    if not (seen.isascii() and seen.isdecimal() and len(seen) <= SEEN_DIGITS_MAX):
        raise InvalidRequest("The form field `seen` must be the version of the application.")
    return await decide(
        request,
        caller,
        partial(_application, request, caller, client_id),
        lambda work, context: application_actions.review(work, client_id, int(seen), context, decision),
        f"/operator/applications/{client_id}",
        reason=REASONS[decision],
        is_optional=True,
    )


def _actions(found: applications_store.ApplicationSummary) -> dict[str, ConfirmedAction]:
    """What an operator can do to this application now."""
    names = {"suspend", "reactivate"}
    if DEVICE_CODE_GRANT in found.grant_types:
        names.add("allow-device-writes" if found.device_writes_allowed_at is None else "withdraw-device-writes")
    if found.approved_at is not None:
        names.add("withdraw-approval")
    if found.verified_at is not None:
        names.add("withdraw-verification")
    return {name: action for name, action in application_actions.OF_APPLICATIONS.items() if name in names}


async def _application(request: Request, caller: Operator, client_id: str, state: FormState) -> Response:
    db = request.services.db
    found = await applications_store.application(db, client_id, request.now)
    if found is None:
        raise NotFound
    return await render(
        request,
        caller,
        "application",
        state,
        here="applications",
        application=found,
        actions=_actions(found),
        connections_counted=CONNECTIONS_COUNTED,
        history=await applications_store.actions_of_application(db, found.client_id, ACTIONS_SHOWN),
        reports=await reports_store.list_reports(db, found.client_id, REPORTS_SHOWN) if found.reports else [],
        amount=request.services.catalogue.format_amount,
        reviews=request.services.settings.review_applications,
        **dict.fromkeys(REASONS.values(), ""),
    )
