"""The dashboard's pages about what applications reserve and take of a merchant's balance, for the merchant who pays."""

from typing import Literal
from uuid import UUID

from starlette.responses import Response

from tollhouse.balance_payments import store
from tollhouse.balance_payments.model import Status
from tollhouse.balance_payments.store import PaymentFilter
from tollhouse.balance_payments.views import payment_view
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.paging import PageQuery, statuses_of, turn
from tollhouse.http.request import Request
from tollhouse.http.responses import page
from tollhouse.identity.guards import signed_in_page
from tollhouse.identity.model import Person
from tollhouse.kernel.errors import NotFound

OPERATIONS = Operations(PAGES)
STATUSES = statuses_of(Status)


class PaymentsPage(PageQuery, frozen=True, forbid_unknown_fields=True):
    """`?status=&page=` of a page of balance payments. Empty is no filter."""

    status: Literal["", "reserved", "captured", "released", "expired", "partially_refunded", "refunded"] = ""


@OPERATIONS.add("GET", "/{mode}/balance-payments", guard=signed_in_page)
async def payments(request: Request, caller: Person, mode: str, query: PaymentsPage) -> Response:
    """What applications reserved and took, newest first; of one status, where the address says so."""
    env, db = caller.env(mode), request.services.db
    wanted = PaymentFilter(status=[query.status] if query.status else None)
    shown, more = query.cut(await store.listed(db, env, None, wanted, request.now, query.window))
    return page(
        request,
        "balance_payments/list.html",
        person=caller,
        mode=env.mode,
        here="balance-payments",
        payments=[payment_view(one, request.now) for one in shown],
        names=await store.names(db, {one.client_id for one in shown}),
        query=query,
        statuses=STATUSES,
        turn=turn(query, more=more),
    )


@OPERATIONS.add("GET", "/{mode}/balance-payments/{payment_id}", guard=signed_in_page)
async def payment(request: Request, caller: Person, mode: str, payment_id: UUID) -> Response:
    """One payment: to whom, how much of it was taken, given back, refunded."""
    env, db = caller.env(mode), request.services.db
    found = await store.one(db, env, None, payment_id)
    if found is None:
        raise NotFound
    return page(
        request,
        "balance_payments/one.html",
        person=caller,
        mode=env.mode,
        here="balance-payments",
        payment=payment_view(found, request.now),
        name=(await store.names(db, [found.client_id]))[found.client_id],
    )
