"""The operators' page about the platform's positions in currencies: their values, prices and limits."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from fractions import Fraction

from msgspec import Struct
from starlette.responses import Response

from tollhouse.approvals.model import OperatorContext
from tollhouse.catalogue.catalogue import Catalogue
from tollhouse.console import actions, store
from tollhouse.console.layout import ActionQuery, read_reason, render
from tollhouse.console.model import OperatorAction
from tollhouse.conversions import positions_store, prices
from tollhouse.conversions.model import NO_POSITION, CurrencyPosition
from tollhouse.conversions.prices import EURO, PostedPrice
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import see_other
from tollhouse.http.services import Work
from tollhouse.identity.model import Operator
from tollhouse.identity.operators import operator_page
from tollhouse.kernel import messages
from tollhouse.kernel.clock import parse_time
from tollhouse.kernel.ids import parse_id
from tollhouse.kernel.money import parse_amount
from tollhouse.kernel.text import Text, Translatable
from tollhouse.platform.db import Pool

OPERATIONS = Operations(PAGES)
FIELDS = ("currency", "limit", "reason")


class ShownPosition(Struct, frozen=True):
    """A position with its limit, the posted price and the value in euro cents. `is_stale`: the price has expired."""

    currency: str
    position_minor: int
    limit_minor: int | None
    price: PostedPrice | None
    value_minor: int | None
    is_stale: bool

    @property
    def is_full(self) -> bool:
        """Whether the position has reached its limit."""
        return self.limit_minor is not None and abs(self.position_minor) >= self.limit_minor


@OPERATIONS.add("GET", "/operator/books/positions", guard=operator_page)
async def positions(request: Request, caller: Operator, query: ActionQuery) -> Response:
    """Positions of live mode, and the form that sets a limit."""
    return await _positions(request, caller, done=query.action)


@OPERATIONS.add("POST", "/operator/books/positions/limit", guard=operator_page)
async def set_limit(request: Request, caller: Operator) -> Response:
    """Set the limit of a currency, or remove it."""
    form, catalogue = request.form(), request.services.catalogue
    values = {name: (form.one(name) or "").strip() for name in ("currency", "limit")}
    reason, error = read_reason(request)
    currency = catalogue.currencies.get(values["currency"])
    known = currency is not None and currency.operations.conversions
    limit_minor = parse_amount(values["limit"], currency.decimals) if currency is not None and values["limit"] else None
    field_errors: dict[str, Translatable] = {"reason": error} if error else {}
    if currency is None or not known:
        field_errors["currency"] = messages.A_CHOICE
    elif values["limit"] and limit_minor is None:
        field_errors["limit"] = Text(
            "Enter an amount above 0 with at most %(decimals)s decimals, such as 1000.", decimals=currency.decimals
        )
    if field_errors or currency is None:
        return await _positions(request, caller, 422, values=values | {"reason": reason}, field_errors=field_errors)
    context = OperatorContext(caller.email, request.now, reason)
    code = currency.code

    async def change(work: Work) -> OperatorAction:
        subject_id = await positions_store.set_limit(work.tx, code, limit_minor)
        return await actions.record_action(
            work, context, "position_limit_changed", None, subject_id=subject_id, currency=code, amount_minor=limit_minor
        )

    done = await request.transact(change)
    return see_other(f"/operator/books/positions?action={done.action_id}")


async def list_positions(db: Pool, catalogue: Catalogue, now: datetime) -> list[ShownPosition]:
    """The positions of all currencies that were converted or have a price or a limit."""
    kept = await positions_store.list_positions(db)
    posted = {one.currency: one for one in await prices.list_posted(db)}
    codes = sorted((kept.keys() | posted.keys()) & catalogue.currencies.keys())
    return [shown(code, kept.get(code, NO_POSITION), posted.get(code), catalogue, now) for code in codes]


def shown(
    code: str, kept: CurrencyPosition, price: PostedPrice | None, catalogue: Catalogue, now: datetime
) -> ShownPosition:
    """A position as it is shown. The value is rounded to cents; euros are their own value."""
    euro = catalogue.currencies[EURO]
    value_minor, is_stale = kept.position_minor if code == EURO else None, False
    if price is not None and code != EURO:
        major = Fraction(kept.position_minor, 10 ** catalogue.currencies[code].decimals)
        value_minor = round(major / Fraction(price.per_euro) * 10**euro.decimals)
        posted_at = parse_time(price.at)
        lifetime = timedelta(seconds=catalogue.pair(EURO, code).maximum_age_s)
        is_stale = posted_at is None or now - posted_at > lifetime
    return ShownPosition(code, kept.position_minor, kept.limit_minor, price, value_minor, is_stale)


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
        currencies=[(code, code) for code, one in sorted(catalogue.currencies.items()) if one.operations.conversions],
        values=dict.fromkeys(FIELDS, "") | {"currency": EURO} | dict(values or {}),
        field_errors=field_errors or {},
        history=[] if action is None or action.action.action != "position_limit_changed" else [action],
        done=done,
        amount=catalogue.format_amount,
    )
