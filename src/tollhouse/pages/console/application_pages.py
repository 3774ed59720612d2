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
from tollhouse.kernel.errors import NotFound
from tollhouse.oauth.model import DEVICE_CODE_GRANT
from tollhouse.pages.console import application_actions, store
from tollhouse.pages.console.layout import (
    ActionQuery,
    ActionSubject,
    ConfirmedAction,
    FormState,
    Load,
    Show,
    add_confirmed_actions,
    render,
)

OPERATIONS = Operations(PAGES)
ACTIONS_SHOWN = 50
CONNECTIONS_COUNTED = 1_000


class ApplicationsQuery(PageQuery, frozen=True):
    """Filters of the application list; `search` matches names, owners and ids."""

    search: Annotated[str, Meta(max_length=254)] = ""
    status: Literal["", "enabled", "paused", "suspended", "revoked"] = ""


@OPERATIONS.add("GET", "/operator/applications", guard=operator_page)
async def listed(request: Request, caller: Operator, query: ApplicationsQuery) -> Response:
    """Applications of all merchants, newest first."""
    found = await store.applications(
        request.services.db, status=query.status, search=query.search.strip(), limit=query.fetch, offset=query.offset
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
        page_links=query.links(rows, more=more),
    )


@OPERATIONS.add("GET", "/operator/applications/{client_id}", guard=operator_page)
async def application(request: Request, caller: Operator, client_id: str, query: ActionQuery) -> Response:
    """One application with its owner, permissions and history."""
    return await _application(request, caller, client_id, query.state)


def _subject(request: Request, caller: Operator) -> tuple[Load, Show]:
    client_id = request.params["client_id"]

    async def load() -> ActionSubject:
        found = await store.application(request.services.db, client_id)
        if found is None:
            raise NotFound
        return ActionSubject("applications", client_id, found.name, found.status)

    return load, partial(_application, request, caller, client_id)


add_confirmed_actions(OPERATIONS, "/operator/applications/{client_id}", application_actions.OF_APPLICATIONS, _subject)


def _actions(found: store.ApplicationSummary) -> dict[str, ConfirmedAction]:
    """What an operator can do to this application now."""
    names = {"suspend", "reactivate"}
    if DEVICE_CODE_GRANT in found.grant_types:
        names.add("allow-device-writes" if found.device_writes_allowed_at is None else "withdraw-device-writes")
    return {name: action for name, action in application_actions.OF_APPLICATIONS.items() if name in names}


async def _application(request: Request, caller: Operator, client_id: str, state: FormState) -> Response:
    db = request.services.db
    found = await store.application(db, client_id)
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
        connections=await store.active_connections(db, found.client_id, request.now, CONNECTIONS_COUNTED + 1),
        connections_counted=CONNECTIONS_COUNTED,
        history=await store.actions_of_application(db, found.client_id, ACTIONS_SHOWN),
        amount=request.services.catalogue.format_amount,
    )
