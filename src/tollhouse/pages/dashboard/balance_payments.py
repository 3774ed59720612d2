"""Dashboard pages of balance payments for the paying merchant: list and details."""

from typing import Literal
from uuid import UUID

from starlette.responses import Response

from tollhouse.accounts.identity.guards import signed_in_page
from tollhouse.accounts.identity.model import Person
from tollhouse.http.lists import LongPageQuery, status_options
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import page
from tollhouse.pages.dashboard.saved_filter_menu import load_saved_filters
from tollhouse.transfers.balance_payments import store
from tollhouse.transfers.balance_payments.model import BalancePaymentStatus
from tollhouse.transfers.balance_payments.store import BalancePaymentsQuery
from tollhouse.transfers.balance_payments.views import payment_view

OPERATIONS = Operations(PAGES)
STATUSES = status_options(BalancePaymentStatus)


class BalancePaymentsPageQuery(LongPageQuery, frozen=True, forbid_unknown_fields=True):
    """`?status=&page=` of the list. Empty is no filter."""

    status: Literal["", "reserved", "captured", "released", "expired", "partially_refunded", "refunded"] = ""


@OPERATIONS.add("GET", "/{mode}/balance-payments", guard=signed_in_page)
async def list_page(request: Request, caller: Person, mode: str, query: BalancePaymentsPageQuery) -> Response:
    """The list of payments to applications, newest first."""
    env, db = caller.env(mode), request.services.db
    filters = BalancePaymentsQuery(status=[query.status] if query.status else None)
    found, more = query.cut(await store.list_payments(db, env, None, filters, request.now, query.window))
    return page(
        request,
        "dashboard/balance_payments/list.html",
        person=caller,
        mode=env.mode,
        here="balance-payments",
        payments=[payment_view(one, request.now, request.services.catalogue) for one in found],
        application_names=await store.application_names(db, {one.client_id for one in found}),
        query=query,
        saved=await load_saved_filters(request, caller, env, "balance-payments", query),
        statuses=STATUSES,
        page_links=query.links(found, more=more),
    )


@OPERATIONS.add("GET", "/{mode}/balance-payments/{payment_id}", guard=signed_in_page)
async def details(request: Request, caller: Person, mode: str, payment_id: UUID) -> Response:
    """A payment: application, amounts, status."""
    env, db = caller.env(mode), request.services.db
    found = await store.get(db, env, None, payment_id)
    return page(
        request,
        "dashboard/balance_payments/one.html",
        person=caller,
        mode=env.mode,
        here="balance-payments",
        payment=payment_view(found, request.now, request.services.catalogue),
        name=(await store.application_names(db, [found.client_id]))[found.client_id],
    )
