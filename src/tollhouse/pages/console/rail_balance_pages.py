"""The operators' pages that compare rails with the ledger."""

from starlette.responses import Response

from tollhouse.accounts.identity.model import Operator
from tollhouse.accounts.identity.operators import operator_page
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.kernel.errors import NotFound
from tollhouse.ledger.accounting.labels import account_name
from tollhouse.ledger.books.model import rail as rail_account
from tollhouse.pages.console.layout import render
from tollhouse.rails.balances import store
from tollhouse.rails.balances.model import part_name

OPERATIONS = Operations(PAGES)
HISTORY_SHOWN = 50


@OPERATIONS.add("GET", "/operator/books/rails", guard=operator_page)
async def rail_balances(request: Request, caller: Operator) -> Response:
    """What each rail has outside, beside the ledger, and the rails that could not be measured."""
    failures = await store.list_failures(request.services.db)
    return await render(
        request,
        caller,
        "rail_balances",
        here="rail_balances",
        statuses=await store.list_latest(request.services.db),
        failures=sorted((rail, reason) for (rail, _), reason in failures.items()),
    )


@OPERATIONS.add("GET", "/operator/books/rails/{rail}/{currency}", guard=operator_page)
async def rail_balance(request: Request, caller: Operator, rail: str, currency: str) -> Response:
    """The newest measurement of a currency of a rail with all its parts, and the ones before."""
    history = await store.list_history(request.services.db, rail, "live", currency, HISTORY_SHOWN)
    if not history:
        raise NotFound
    return await render(
        request,
        caller,
        "rail_balance",
        here="rail_balances",
        balance=history[0],
        history=history,
        part_name=part_name,
        account=account_name(rail_account(rail).code),
    )
