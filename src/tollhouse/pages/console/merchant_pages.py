"""The operators' pages about merchants: list, detail, suspend and reactivate."""

from typing import Annotated, Literal
from uuid import UUID

from msgspec import Meta
from starlette.responses import Response

from tollhouse.accounts.approvals import store as decisions_store
from tollhouse.accounts.identity.model import Operator
from tollhouse.accounts.identity.operators import operator_page
from tollhouse.http.lists import PageQuery
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import NotFound
from tollhouse.kernel.ids import MerchantId, Mode
from tollhouse.kernel.text import Translatable
from tollhouse.ledger.books.store import list_balances
from tollhouse.pages.console import actions, store
from tollhouse.pages.console.layout import ActionQuery, render
from tollhouse.pages.console.suspension import Load, ShowError, StatusChange, Suspendable, confirm_page, submit
from tollhouse.payments.refunds import chargeback_notes_store

OPERATIONS = Operations(PAGES)
PROJECTS_SHOWN = 50
ACTIONS_SHOWN = 50
CHARGEBACKS_SHOWN = 20
MODES: tuple[Mode, ...] = ("live", "test")


class MerchantsQuery(PageQuery, frozen=True):
    """Filters of the merchant list; `search` matches names, email addresses and ids."""

    search: Annotated[str, Meta(max_length=254)] = ""
    status: Literal["", "active", "suspended"] = ""


SUSPEND = StatusChange(
    "Suspend merchant",
    "danger",
    frozenset({"active"}),
    (
        "All requests with its API keys and from connected applications fail.",
        "Its payment links accept no new payments. Payments in progress are still booked.",
        "Merchants cannot connect to its applications, and its applications cannot get tokens or move money.",
        "Its projects, refunds, withdrawals and payouts cannot be approved, exported or paid out.",
        (
            "Its connections are kept. Its users can view the dashboard, sign out, revoke keys, disconnect "
            "applications, and change their passwords."
        ),
    ),
    "This merchant was already suspended. No changes were made. The history below shows who suspended it and why.",
    actions.suspend,
)
REACTIVATE = StatusChange(
    "Reactivate merchant",
    "primary",
    frozenset({"suspended"}),
    ("Its API keys, its applications, the applications connected to it, and its payment links work again.",),
    "This merchant is not suspended. No changes were made. The history below shows who reactivated it and why.",
    actions.reactivate,
)


@OPERATIONS.add("GET", "/operator/merchants", guard=operator_page)
async def merchants(request: Request, caller: Operator, query: MerchantsQuery) -> Response:
    """Merchants, newest first."""
    found = await store.merchants(
        request.services.db, status=query.status, search=query.search.strip(), limit=query.fetch, offset=query.offset
    )
    rows, more = query.cut(found)
    return await render(
        request, caller, "merchants", here="merchants", merchants=rows, query=query, page_links=query.links(rows, more=more)
    )


@OPERATIONS.add("GET", "/operator/merchants/{merchant_id}", guard=operator_page)
async def merchant(request: Request, caller: Operator, merchant_id: UUID, query: ActionQuery) -> Response:
    """One merchant with its users, balances, projects and history."""
    return await _merchant(request, caller, merchant_id, done=query.action)


@OPERATIONS.add("GET", "/operator/merchants/{merchant_id}/suspend", guard=operator_page)
async def suspend_page(request: Request, caller: Operator, merchant_id: UUID) -> Response:
    """Confirm that a merchant is suspended, and enter the reason."""
    return await confirm_page(request, caller, SUSPEND, *_subject(request, caller, merchant_id))


@OPERATIONS.add("POST", "/operator/merchants/{merchant_id}/suspend", guard=operator_page)
async def suspend(request: Request, caller: Operator, merchant_id: UUID) -> Response:
    """Suspend a merchant."""
    return await submit(request, caller, SUSPEND, *_subject(request, caller, merchant_id))


@OPERATIONS.add("GET", "/operator/merchants/{merchant_id}/reactivate", guard=operator_page)
async def reactivate_page(request: Request, caller: Operator, merchant_id: UUID) -> Response:
    """Confirm that a merchant is reactivated, and enter the reason."""
    return await confirm_page(request, caller, REACTIVATE, *_subject(request, caller, merchant_id))


@OPERATIONS.add("POST", "/operator/merchants/{merchant_id}/reactivate", guard=operator_page)
async def reactivate(request: Request, caller: Operator, merchant_id: UUID) -> Response:
    """Reactivate a suspended merchant."""
    return await submit(request, caller, REACTIVATE, *_subject(request, caller, merchant_id))


def _subject(request: Request, caller: Operator, merchant_id: UUID) -> tuple[Load, ShowError]:
    async def load() -> Suspendable:
        found = await store.merchant(request.services.db, merchant_id)
        if found is None:
            raise NotFound
        return Suspendable("merchants", MerchantId(merchant_id), found.business_name, found.status)

    async def show_error(message: Translatable) -> Response:
        return await _merchant(request, caller, merchant_id, message=message)

    return load, show_error


async def _merchant(
    request: Request, caller: Operator, merchant_id: UUID, *, done: str = "", message: Translatable = ""
) -> Response:
    db = request.services.db
    found = await store.merchant(db, merchant_id)
    if found is None:
        raise NotFound
    owner = MerchantId(merchant_id)
    return await render(
        request,
        caller,
        "merchant",
        409 if message else 200,
        here="merchants",
        merchant=found,
        emails=await store.emails_of(db, owner),
        balances=[(mode, balance) for mode in MODES for balance in await list_balances(db, MerchantEnv(owner, mode))],
        projects=await store.projects_of(db, owner, PROJECTS_SHOWN),
        waiting=await decisions_store.list_open(db, "adjustment", owner),
        chargebacks=await chargeback_notes_store.list_open(db, owner, CHARGEBACKS_SHOWN),
        history=await store.actions_of_merchant(db, owner, ACTIONS_SHOWN),
        amount=request.services.catalogue.format_amount,
        done=done,
        message=message,
    )
