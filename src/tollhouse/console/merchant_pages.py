"""The operators' pages about merchants: find one, see what is its, suspend it and let it go on."""

from collections.abc import Awaitable, Callable
from typing import Annotated, Literal
from uuid import UUID

from msgspec import Meta, Struct
from starlette.responses import Response

from tollhouse.approvals.model import OperatorContext
from tollhouse.catalogue.currencies import format_amount
from tollhouse.console import actions, store
from tollhouse.console.model import Merchant, MerchantStatus, OperatorAction, OperatorRefusedError
from tollhouse.console.pages_shared import DoneQuery, reason_in, show
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.paging import PageQuery, turn
from tollhouse.http.request import Request
from tollhouse.http.responses import see_other
from tollhouse.identity.model import Operator
from tollhouse.identity.operators import operator_page
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import NotFound
from tollhouse.kernel.ids import MerchantId, Mode
from tollhouse.ledger.store import list_balances
from tollhouse.platform.db import Tx

OPERATIONS = Operations(PAGES)
PROJECTS_SHOWN = 50
ACTIONS_SHOWN = 50
MODES: tuple[Mode, ...] = ("live", "test")


class MerchantsQuery(PageQuery, frozen=True):
    """Which merchants: of one status, or in whose name, e-mails or id something is found."""

    search: Annotated[str, Meta(max_length=254)] = ""
    status: Literal["", "active", "suspended"] = ""


class Act(Struct, frozen=True):
    """What is asked about on a page of its own before it is done."""

    word: str
    of: MerchantStatus
    tone: str
    follows: tuple[str, ...]
    too_late: str
    do: Callable[[Tx, MerchantId, OperatorContext], Awaitable[OperatorAction]]


SUSPEND = Act(
    "Suspend",
    "active",
    "danger",
    (
        "Every call with its API keys and of connected applications is refused from now on.",
        "Its payment links take no new payments. What is on its way is still booked.",
        "Its own applications take no connections and no money, from any merchant, and get no tokens.",
        "Nothing of it is approved, exported or paid out.",
        "Connections stay. Its people can read the dashboard, sign out, revoke keys and connections, and change passwords.",
    ),
    "This merchant was suspended already. Nothing was done; below stands who was first, and why.",
    actions.suspend,
)
REACTIVATE = Act(
    "Reactivate",
    "suspended",
    "primary",
    ("Its API keys, its applications, those it is connected to, and its payment links work again from now on.",),
    "This merchant is not suspended any more. Nothing was done; below stands who was first, and why.",
    actions.reactivate,
)


@OPERATIONS.add("GET", "/operator/merchants", guard=operator_page)
async def merchants(request: Request, caller: Operator, query: MerchantsQuery) -> Response:
    """Merchants, newest first."""
    found = await store.merchants(
        request.services.db, status=query.status, search=query.search.strip(), limit=query.fetch, offset=query.offset
    )
    shown, more = query.cut(found)
    return show(
        request,
        caller,
        "merchants",
        here="merchants",
        merchants=shown,
        query=query,
        turn=turn(query, more=more),
    )


@OPERATIONS.add("GET", "/operator/merchants/{merchant_id}", guard=operator_page)
async def merchant(request: Request, caller: Operator, merchant_id: UUID, query: DoneQuery) -> Response:
    """One merchant: its people, balances and projects, and what operators did to it."""
    return await _merchant(request, caller, await _known(request, merchant_id), done=query.action)


@OPERATIONS.add("GET", "/operator/merchants/{merchant_id}/suspend", guard=operator_page)
async def suspend_page(request: Request, caller: Operator, merchant_id: UUID) -> Response:
    """Ask whether a merchant is to be suspended, and why."""
    return await _ask(request, caller, merchant_id, SUSPEND)


@OPERATIONS.add("POST", "/operator/merchants/{merchant_id}/suspend", guard=operator_page)
async def suspend(request: Request, caller: Operator, merchant_id: UUID) -> Response:
    """Suspend a merchant."""
    return await _do(request, caller, merchant_id, SUSPEND)


@OPERATIONS.add("GET", "/operator/merchants/{merchant_id}/reactivate", guard=operator_page)
async def reactivate_page(request: Request, caller: Operator, merchant_id: UUID) -> Response:
    """Ask whether a merchant is to go on, and why."""
    return await _ask(request, caller, merchant_id, REACTIVATE)


@OPERATIONS.add("POST", "/operator/merchants/{merchant_id}/reactivate", guard=operator_page)
async def reactivate(request: Request, caller: Operator, merchant_id: UUID) -> Response:
    """Let a suspended merchant go on."""
    return await _do(request, caller, merchant_id, REACTIVATE)


async def _ask(request: Request, caller: Operator, merchant_id: UUID, act: Act) -> Response:
    known = await _known(request, merchant_id)
    if known.status != act.of:
        return await _merchant(request, caller, known, message=act.too_late)
    return _question(request, caller, known, act)


async def _do(request: Request, caller: Operator, merchant_id: UUID, act: Act) -> Response:
    known = await _known(request, merchant_id)
    reason, fault = reason_in(request)
    if fault:
        return _question(request, caller, known, act, reason=reason, fault=fault)
    context = OperatorContext(caller.email, request.now, reason)
    try:
        action = await request.services.db.transact(lambda tx: act.do(tx, MerchantId(merchant_id), context))
    except OperatorRefusedError:
        return await _merchant(request, caller, await _known(request, merchant_id), message=act.too_late)
    return see_other(f"/operator/merchants/{merchant_id}?action={action.action_id}")


def _question(
    request: Request, caller: Operator, known: Merchant, act: Act, *, reason: str = "", fault: str = ""
) -> Response:
    return show(
        request,
        caller,
        "act",
        422 if fault else 200,
        here="merchants",
        name=known.business_name,
        back=f"/operator/merchants/{known.merchant_id}",
        act=act,
        reason=reason,
        field_errors={"reason": fault} if fault else {},
    )


async def _known(request: Request, merchant_id: UUID) -> Merchant:
    found = await store.merchant(request.services.db, merchant_id)
    if found is None:
        raise NotFound
    return found


async def _merchant(request: Request, caller: Operator, known: Merchant, *, done: str = "", message: str = "") -> Response:
    db, merchant_id = request.services.db, MerchantId(known.merchant_id)
    return show(
        request,
        caller,
        "merchant",
        409 if message else 200,
        here="merchants",
        merchant=known,
        emails=await store.emails_of(db, merchant_id),
        balances=[(mode, balance) for mode in MODES for balance in await list_balances(db, MerchantEnv(merchant_id, mode))],
        projects=await store.projects_of(db, merchant_id, PROJECTS_SHOWN),
        history=await store.actions_of_merchant(db, merchant_id, ACTIONS_SHOWN),
        amount=format_amount,
        done=done,
        message=message,
    )
