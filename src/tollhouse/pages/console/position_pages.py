"""The operators' page about the platform's positions in currencies: their values, prices and limits."""

from collections.abc import Mapping

from starlette.responses import Response

from tollhouse.accounts.approvals.model import OperatorContext, OperatorRefusedError
from tollhouse.accounts.identity.model import Operator
from tollhouse.accounts.identity.operators import operator_page
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import see_other
from tollhouse.kernel import messages
from tollhouse.kernel.ids import parse_id
from tollhouse.kernel.text import Translatable
from tollhouse.pages.console import store
from tollhouse.pages.console.layout import ActionQuery, read_reason, render
from tollhouse.pages.console.positions import currencies, list_positions, read_limit, set_limit
from tollhouse.transfers.conversions import feed_store
from tollhouse.transfers.conversions.prices import EURO

OPERATIONS = Operations(PAGES)
FIELDS = ("currency", "limit", "reason")


@OPERATIONS.add("GET", "/operator/books/positions", guard=operator_page)
async def positions(request: Request, caller: Operator, query: ActionQuery) -> Response:
    """Positions of live mode, and the form that sets a limit."""
    return await _positions(request, caller, done=query.action)


@OPERATIONS.add("POST", "/operator/books/positions/limit", guard=operator_page)
async def change_limit(request: Request, caller: Operator) -> Response:
    """Set the limit of a currency, or remove it."""
    form, catalogue = request.form(), request.services.catalogue
    values = {name: (form.one(name) or "").strip() for name in ("currency", "limit")}
    reason, error = read_reason(request)
    currency = currencies(catalogue).get(values["currency"])
    field_errors: dict[str, Translatable] = {"reason": error} if error else {}
    limit_minor = None
    if currency is None:
        field_errors["currency"] = messages.A_CHOICE
    elif values["limit"]:
        try:
            limit_minor = read_limit(currency, values["limit"])
        except OperatorRefusedError as refused:
            field_errors["limit"] = refused.message
    if field_errors or currency is None:
        return await _positions(request, caller, 422, values=values | {"reason": reason}, field_errors=field_errors)
    context = OperatorContext(caller.email, request.now, reason)
    done = await request.transact(lambda work: set_limit(work, currency, limit_minor, context))
    return see_other(f"/operator/books/positions?action={done.action_id}")


async def _positions(
    request: Request,
    caller: Operator,
    status: int = 200,
    *,
    done: str = "",
    values: Mapping[str, str] | None = None,
    field_errors: Mapping[str, Translatable] | None = None,
) -> Response:
    catalogue = request.services.catalogue
    action = None if (action_id := parse_id(done)) is None else await store.action(request.services.db, action_id)
    return await render(
        request,
        caller,
        "positions",
        status,
        here="positions",
        positions=await list_positions(request.services.db, catalogue, request.now),
        feed=None if catalogue.price_feed is None else await feed_store.get(request.services.db),
        currencies=[(code, code) for code in currencies(catalogue)],
        values=dict.fromkeys(FIELDS, "") | {"currency": EURO} | dict(values or {}),
        field_errors=field_errors or {},
        history=[] if action is None or action.action.action != "position_limit_changed" else [action],
        done=done,
        amount=catalogue.format_amount,
    )
