"""The operators' pages about merchants: find one, see what is its, suspend it and let it go on."""

from collections.abc import Awaitable, Callable
from typing import Annotated, Literal
from uuid import UUID

from msgspec import Meta, Struct
from starlette.responses import Response

from tollhouse.callers.model import Operator
from tollhouse.callers.operators import operator_page
from tollhouse.catalogue.currencies import format_amount
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId, Mode
from tollhouse.kernel.refusals import NotFound
from tollhouse.ledger import balances
from tollhouse.operator import actions, store
from tollhouse.operator.desk import DoneQuery, reason_in, show
from tollhouse.operator.model import Deed, Hand, Merchant, MerchantStatus, OperatorRefusedError
from tollhouse.platform.db import Tx
from tollhouse.web.answers import see_other
from tollhouse.web.ask import Ask
from tollhouse.web.operations import PAGES, Operations
from tollhouse.web.paging import PageQuery, turn

OPERATIONS = Operations(PAGES)
PROJECTS_SHOWN = 50
DEEDS_SHOWN = 50
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
    do: Callable[[Tx, MerchantId, Hand], Awaitable[Deed]]


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
async def merchants(ask: Ask, caller: Operator, query: MerchantsQuery) -> Response:
    """Merchants, newest first."""
    found = await store.merchants(
        ask.house.db, status=query.status, search=query.search.strip(), limit=query.fetch, offset=query.offset
    )
    shown, more = query.cut(found)
    return show(
        ask,
        caller,
        "merchants",
        here="merchants",
        merchants=shown,
        query=query,
        turn=turn(query, more=more),
    )


@OPERATIONS.add("GET", "/operator/merchants/{merchant_id}", guard=operator_page)
async def merchant(ask: Ask, caller: Operator, merchant_id: UUID, query: DoneQuery) -> Response:
    """One merchant: its people, balances and projects, and what operators did to it."""
    return await _merchant(ask, caller, await _known(ask, merchant_id), done=query.deed)


@OPERATIONS.add("GET", "/operator/merchants/{merchant_id}/suspend", guard=operator_page)
async def suspend_page(ask: Ask, caller: Operator, merchant_id: UUID) -> Response:
    """Ask whether a merchant is to be suspended, and why."""
    return await _ask(ask, caller, merchant_id, SUSPEND)


@OPERATIONS.add("POST", "/operator/merchants/{merchant_id}/suspend", guard=operator_page)
async def suspend(ask: Ask, caller: Operator, merchant_id: UUID) -> Response:
    """Suspend a merchant."""
    return await _do(ask, caller, merchant_id, SUSPEND)


@OPERATIONS.add("GET", "/operator/merchants/{merchant_id}/reactivate", guard=operator_page)
async def reactivate_page(ask: Ask, caller: Operator, merchant_id: UUID) -> Response:
    """Ask whether a merchant is to go on, and why."""
    return await _ask(ask, caller, merchant_id, REACTIVATE)


@OPERATIONS.add("POST", "/operator/merchants/{merchant_id}/reactivate", guard=operator_page)
async def reactivate(ask: Ask, caller: Operator, merchant_id: UUID) -> Response:
    """Let a suspended merchant go on."""
    return await _do(ask, caller, merchant_id, REACTIVATE)


async def _ask(ask: Ask, caller: Operator, merchant_id: UUID, act: Act) -> Response:
    known = await _known(ask, merchant_id)
    if known.status != act.of:
        return await _merchant(ask, caller, known, message=act.too_late)
    return _question(ask, caller, known, act)


async def _do(ask: Ask, caller: Operator, merchant_id: UUID, act: Act) -> Response:
    known = await _known(ask, merchant_id)
    reason, fault = reason_in(ask)
    if fault:
        return _question(ask, caller, known, act, reason=reason, fault=fault)
    hand = Hand(caller.email, ask.now, reason)
    try:
        deed = await ask.house.db.transact(lambda tx: act.do(tx, MerchantId(merchant_id), hand))
    except OperatorRefusedError:
        return await _merchant(ask, caller, await _known(ask, merchant_id), message=act.too_late)
    return see_other(f"/operator/merchants/{merchant_id}?deed={deed.action_id}")


def _question(ask: Ask, caller: Operator, known: Merchant, act: Act, *, reason: str = "", fault: str = "") -> Response:
    return show(
        ask,
        caller,
        "act",
        422 if fault else 200,
        here="merchants",
        name=known.business_name,
        back=f"/operator/merchants/{known.merchant_id}",
        act=act,
        reason=reason,
        faults={"reason": fault} if fault else {},
    )


async def _known(ask: Ask, merchant_id: UUID) -> Merchant:
    found = await store.merchant(ask.house.db, merchant_id)
    if found is None:
        raise NotFound
    return found


async def _merchant(ask: Ask, caller: Operator, known: Merchant, *, done: str = "", message: str = "") -> Response:
    db, merchant_id = ask.house.db, MerchantId(known.merchant_id)
    return show(
        ask,
        caller,
        "merchant",
        409 if message else 200,
        here="merchants",
        merchant=known,
        emails=await store.emails_of(db, merchant_id),
        balances=[(mode, balance) for mode in MODES for balance in await balances.of(db, MerchantEnv(merchant_id, mode))],
        projects=await store.projects_of(db, merchant_id, PROJECTS_SHOWN),
        deeds=await store.deeds_of(db, merchant_id, DEEDS_SHOWN),
        amount=format_amount,
        done=done,
        message=message,
    )
