"""The operators' pages about applications: list, detail, suspend and reactivate."""

from typing import Annotated, Literal

from msgspec import Meta
from starlette.responses import Response

from tollhouse.accounts.identity.model import Operator
from tollhouse.accounts.identity.operators import operator_page
from tollhouse.http.lists import PageQuery
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.kernel.errors import NotFound
from tollhouse.kernel.text import Translatable
from tollhouse.pages.console import application_actions, applications_store, store
from tollhouse.pages.console.layout import ActionQuery, render
from tollhouse.pages.console.suspension import Load, ShowError, StatusChange, Suspendable, confirm_page, submit

OPERATIONS = Operations(PAGES)
ACTIONS_SHOWN = 50
CONNECTIONS_COUNTED = 1_000


class ApplicationsQuery(PageQuery, frozen=True):
    """Filters of the application list; `search` matches names, owners and ids."""

    search: Annotated[str, Meta(max_length=254)] = ""
    status: Literal["", "enabled", "paused", "suspended", "revoked"] = ""


SUSPEND = StatusChange(
    "Suspend application",
    "danger",
    frozenset({"enabled", "paused"}),
    (
        "Merchants cannot connect to it, and it cannot get tokens.",
        "All requests with its tokens fail, and it cannot receive balance payments.",
        (
            "Its connections are kept. Its owner can view it, disconnect merchants and revoke it, but cannot change "
            "anything else."
        ),
    ),
    "This application can no longer be suspended. No changes were made. Its current state is shown below.",
    application_actions.suspend,
)
REACTIVATE = StatusChange(
    "Reactivate application",
    "primary",
    frozenset({"suspended"}),
    ("Its connections and tokens work again, unless its owner is suspended.",),
    "This application is not suspended. No changes were made. Its current state is shown below.",
    application_actions.reactivate,
)


@OPERATIONS.add("GET", "/operator/applications", guard=operator_page)
async def listed(request: Request, caller: Operator, query: ApplicationsQuery) -> Response:
    """Applications of all merchants, newest first."""
    found = await applications_store.applications(
        request.services.db, status=query.status, search=query.search.strip(), limit=query.fetch, offset=query.offset
    )
    rows, more = query.cut(found)
    return await render(
        request,
        caller,
        "applications",
        here="applications",
        applications=rows,
        query=query,
        page_links=query.links(rows, more=more),
    )


@OPERATIONS.add("GET", "/operator/applications/{client_id}", guard=operator_page)
async def application(request: Request, caller: Operator, client_id: str, query: ActionQuery) -> Response:
    """One application with its owner, permissions and history."""
    return await _application(request, caller, client_id, done=query.action)


@OPERATIONS.add("GET", "/operator/applications/{client_id}/suspend", guard=operator_page)
async def suspend_page(request: Request, caller: Operator, client_id: str) -> Response:
    """Confirm that an application is suspended, and enter the reason."""
    return await confirm_page(request, caller, SUSPEND, *_subject(request, caller, client_id))


@OPERATIONS.add("POST", "/operator/applications/{client_id}/suspend", guard=operator_page)
async def suspend(request: Request, caller: Operator, client_id: str) -> Response:
    """Suspend an application."""
    return await submit(request, caller, SUSPEND, *_subject(request, caller, client_id))


@OPERATIONS.add("GET", "/operator/applications/{client_id}/reactivate", guard=operator_page)
async def reactivate_page(request: Request, caller: Operator, client_id: str) -> Response:
    """Confirm that an application is reactivated, and enter the reason."""
    return await confirm_page(request, caller, REACTIVATE, *_subject(request, caller, client_id))


@OPERATIONS.add("POST", "/operator/applications/{client_id}/reactivate", guard=operator_page)
async def reactivate(request: Request, caller: Operator, client_id: str) -> Response:
    """Reactivate a suspended application."""
    return await submit(request, caller, REACTIVATE, *_subject(request, caller, client_id))


def _subject(request: Request, caller: Operator, client_id: str) -> tuple[Load, ShowError]:
    async def load() -> Suspendable:
        found = await applications_store.application(request.services.db, client_id)
        if found is None:
            raise NotFound
        return Suspendable("applications", client_id, found.name, found.status)

    async def show_error(message: Translatable) -> Response:
        return await _application(request, caller, client_id, message=message)

    return load, show_error


async def _application(
    request: Request, caller: Operator, client_id: str, *, done: str = "", message: Translatable = ""
) -> Response:
    db = request.services.db
    found = await applications_store.application(db, client_id)
    if found is None:
        raise NotFound
    return await render(
        request,
        caller,
        "application",
        409 if message else 200,
        here="applications",
        application=found,
        connections=await applications_store.active_connections(db, found.client_id, request.now, CONNECTIONS_COUNTED + 1),
        connections_counted=CONNECTIONS_COUNTED,
        history=await store.actions_of_application(db, found.client_id, ACTIONS_SHOWN),
        amount=request.services.catalogue.format_amount,
        done=done,
        message=message,
    )
