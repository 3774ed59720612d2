"""The operators' pages about applications: find one, see whose it is, suspend it and let it go on."""

from collections.abc import Awaitable, Callable
from typing import Annotated, Literal

from msgspec import Meta, Struct
from starlette.responses import Response

from tollhouse.approvals.model import OperatorContext
from tollhouse.catalogue.currencies import format_amount
from tollhouse.console import applications, store
from tollhouse.console import applications_store as apps
from tollhouse.console.model import ListedApplication, OperatorAction, OperatorRefusedError
from tollhouse.console.pages_shared import DoneQuery, reason_in, show
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.paging import PageQuery, turn
from tollhouse.http.request import Request
from tollhouse.http.responses import see_other
from tollhouse.identity.model import Operator
from tollhouse.identity.operators import operator_page
from tollhouse.kernel.errors import NotFound
from tollhouse.platform.db import Tx

OPERATIONS = Operations(PAGES)
ACTIONS_SHOWN = 50
CONNECTIONS_COUNTED = 1_000
ROOT = "/operator/applications"


class ApplicationsQuery(PageQuery, frozen=True):
    """Which applications: of one status, or in whose name, owner or id something is found."""

    search: Annotated[str, Meta(max_length=254)] = ""
    status: Literal["", "enabled", "paused", "suspended", "revoked"] = ""


class Act(Struct, frozen=True):
    """What is asked about on a page of its own before it is done."""

    word: str
    when_suspended: bool
    tone: str
    follows: tuple[str, ...]
    too_late: str
    do: Callable[[Tx, str, OperatorContext], Awaitable[OperatorAction]]


SUSPEND = Act(
    "Suspend",
    False,
    "danger",
    (
        "Merchants cannot connect to it, and it gets no tokens.",
        "Every call with its tokens is refused, and nobody can pay it from a balance.",
        "Its connections stay. Its owner can read it, end connections and revoke it, and change nothing else.",
    ),
    "This application cannot be suspended any more. Nothing was done; below is how it is now.",
    applications.suspend,
)
REACTIVATE = Act(
    "Reactivate",
    True,
    "primary",
    ("Its connections and its tokens work again, unless its owner is suspended.",),
    "This application is not suspended any more. Nothing was done; below is how it is now.",
    applications.reactivate,
)


@OPERATIONS.add("GET", ROOT, guard=operator_page)
async def listed(request: Request, caller: Operator, query: ApplicationsQuery) -> Response:
    """Applications of all merchants, newest first."""
    found = await apps.applications(
        request.services.db, status=query.status, search=query.search.strip(), limit=query.fetch, offset=query.offset
    )
    shown, more = query.cut(found)
    return show(
        request, caller, "applications", here="applications", applications=shown, query=query, turn=turn(query, more=more)
    )


@OPERATIONS.add("GET", ROOT + "/{client_id}", guard=operator_page)
async def application(request: Request, caller: Operator, client_id: str, query: DoneQuery) -> Response:
    """One application: whose it is, what it may do, and what operators did to it."""
    return await _application(request, caller, await _known(request, client_id), done=query.action)


@OPERATIONS.add("GET", ROOT + "/{client_id}/suspend", guard=operator_page)
async def suspend_page(request: Request, caller: Operator, client_id: str) -> Response:
    """Ask whether an application is to be suspended, and why."""
    return await _ask(request, caller, client_id, SUSPEND)


@OPERATIONS.add("POST", ROOT + "/{client_id}/suspend", guard=operator_page)
async def suspend(request: Request, caller: Operator, client_id: str) -> Response:
    """Suspend an application."""
    return await _do(request, caller, client_id, SUSPEND)


@OPERATIONS.add("GET", ROOT + "/{client_id}/reactivate", guard=operator_page)
async def reactivate_page(request: Request, caller: Operator, client_id: str) -> Response:
    """Ask whether an application is to go on, and why."""
    return await _ask(request, caller, client_id, REACTIVATE)


@OPERATIONS.add("POST", ROOT + "/{client_id}/reactivate", guard=operator_page)
async def reactivate(request: Request, caller: Operator, client_id: str) -> Response:
    """Let a suspended application go on."""
    return await _do(request, caller, client_id, REACTIVATE)


async def _ask(request: Request, caller: Operator, client_id: str, act: Act) -> Response:
    known = await _known(request, client_id)
    if known.status == "revoked" or (known.status == "suspended") is not act.when_suspended:
        return await _application(request, caller, known, message=act.too_late)
    return _question(request, caller, known, act)


async def _do(request: Request, caller: Operator, client_id: str, act: Act) -> Response:
    known = await _known(request, client_id)
    reason, fault = reason_in(request)
    if fault:
        return _question(request, caller, known, act, reason=reason, fault=fault)
    context = OperatorContext(caller.email, request.now, reason)
    try:
        action = await request.services.db.transact(lambda tx: act.do(tx, client_id, context))
    except OperatorRefusedError:
        return await _application(request, caller, await _known(request, client_id), message=act.too_late)
    return see_other(f"{ROOT}/{client_id}?action={action.action_id}")


def _question(
    request: Request, caller: Operator, known: ListedApplication, act: Act, *, reason: str = "", fault: str = ""
) -> Response:
    return show(
        request,
        caller,
        "act",
        422 if fault else 200,
        here="applications",
        name=known.name,
        back=f"{ROOT}/{known.client_id}",
        act=act,
        reason=reason,
        field_errors={"reason": fault} if fault else {},
    )


async def _known(request: Request, client_id: str) -> ListedApplication:
    found = await apps.application(request.services.db, client_id)
    if found is None:
        raise NotFound
    return found


async def _application(
    request: Request, caller: Operator, known: ListedApplication, *, done: str = "", message: str = ""
) -> Response:
    db = request.services.db
    return show(
        request,
        caller,
        "application",
        409 if message else 200,
        here="applications",
        application=known,
        connections=await apps.active_connections(db, known.client_id, request.now, CONNECTIONS_COUNTED + 1),
        connections_counted=CONNECTIONS_COUNTED,
        history=await store.actions_of_application(db, known.client_id, ACTIONS_SHOWN),
        amount=format_amount,
        done=done,
        message=message,
    )
