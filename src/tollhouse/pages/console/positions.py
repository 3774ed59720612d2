"""The platform's positions in currencies and their limits: the operators' page, and the actions of page and command."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from fractions import Fraction
from functools import partial

import msgspec
from msgspec import Struct
from starlette.responses import Response

from tollhouse.accounts.approvals import record
from tollhouse.accounts.approvals.model import OperatorAction, OperatorContext, OperatorRefusedError
from tollhouse.accounts.identity.model import Operator
from tollhouse.accounts.identity.operators import operator_page
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.services import Work
from tollhouse.kernel import messages
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.catalogue.currencies import Currency
from tollhouse.kernel.clock import parse_time
from tollhouse.kernel.money import parse_amount
from tollhouse.kernel.text import Text, Translatable
from tollhouse.pages.console.layout import ActionQuery, FormState, decide, find_action, render
from tollhouse.platform.database.pool import Pool
from tollhouse.transfers.conversions import prices, prices_store
from tollhouse.transfers.conversions.model import NO_POSITION, CurrencyPosition
from tollhouse.transfers.conversions.prices import EURO, PostedPrice

REJECTIONS: Mapping[str, Translatable] = {"sources_differ": "Sources differ", "price_jump": "Price jumped"}


class ShownPosition(Struct, frozen=True):
    """A position with its limit, the posted price and the value in euro cents. `is_stale`: the price has expired.

    `rejection` is why the price of the configured source is not used, if it is not.
    """

    currency: str
    position_minor: int
    limit_minor: int | None
    price: PostedPrice | None
    value_minor: int | None
    is_stale: bool
    rejection: str | None = None

    @property
    def is_full(self) -> bool:
        """Whether the position has reached its limit."""
        return self.limit_minor is not None and abs(self.position_minor) >= self.limit_minor


async def list_positions(db: Pool, catalogue: Catalogue, now: datetime) -> list[ShownPosition]:
    """The positions of all currencies that were converted or have a price or a limit."""
    kept = await prices_store.list_positions(db)
    posted = {price.currency: price for price in await prices.list_posted(db)}
    rejections = await prices_store.list_rejections(db)
    codes = sorted((kept.keys() | posted.keys() | rejections.keys()) & catalogue.currencies.keys())
    found = [shown(code, kept.get(code, NO_POSITION), posted.get(code), catalogue, now) for code in codes]
    return [
        msgspec.structs.replace(position, rejection=REJECTIONS.get(rejections.get(position.currency, "")))
        for position in found
    ]


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


def currencies(catalogue: Catalogue) -> Mapping[str, Currency]:
    """The currencies that have positions, by code: those that can be converted, by merchants or for payments."""
    return {
        code: currency
        for code, currency in sorted(catalogue.currencies.items())
        if currency.operations.conversions or currency.operations.payments
    }


def read_limit(currency: Currency, text: str) -> int:
    """A limit in minor units, above zero. Raises `OperatorRefusedError` for other texts."""
    limit_minor = parse_amount(text, currency.decimals)
    if limit_minor is None:
        raise OperatorRefusedError(
            Text("Enter an amount above 0 with at most %(decimals)s decimals, such as 1000.", decimals=currency.decimals)
        )
    return limit_minor


async def set_limit(work: Work, currency: Currency, limit_minor: int | None, context: OperatorContext) -> OperatorAction:
    """Set the limit of a currency, or remove it if it is None."""
    subject_id = await prices_store.set_position_limit(work.tx, currency.code, limit_minor)
    return await record.record_action(
        work,
        context,
        "position_limit_changed",
        None,
        subject_id=subject_id,
        currency=currency.code,
        amount_minor=limit_minor,
    )


OPERATIONS = Operations(PAGES)
FIELDS = ("currency", "limit")


@OPERATIONS.add("GET", "/operator/books/positions", guard=operator_page)
async def positions(request: Request, caller: Operator, query: ActionQuery) -> Response:
    """Positions of live mode, and the form that sets a limit."""
    return await _positions(request, caller, query.state)


@OPERATIONS.add("POST", "/operator/books/positions/limit", guard=operator_page)
async def change_limit(request: Request, caller: Operator) -> Response:
    """Set the limit of a currency, or remove it."""
    form, catalogue = request.form(), request.services.catalogue
    values = {name: (form.one(name) or "").strip() for name in FIELDS}
    currency = currencies(catalogue).get(values["currency"])
    wrong: dict[str, Translatable] = {} if currency is not None else {"currency": messages.A_CHOICE}
    limit_minor = None
    if currency is not None and values["limit"]:
        try:
            limit_minor = read_limit(currency, values["limit"])
        except OperatorRefusedError as refused:
            wrong["limit"] = refused.message

    async def action(work: Work, context: OperatorContext) -> OperatorAction:
        return await set_limit(work, catalogue.currencies[values["currency"]], limit_minor, context)

    show, entered = partial(_positions, request, caller), {"values": values}
    return await decide(request, caller, show, action, "/operator/books/positions", entered=entered, wrong=wrong)


async def _positions(request: Request, caller: Operator, state: FormState) -> Response:
    catalogue = request.services.catalogue
    return await render(
        request,
        caller,
        "positions",
        state,
        here="positions",
        positions=await list_positions(request.services.db, catalogue, request.now),
        feed=None if catalogue.price_feed is None else await prices_store.get_feed(request.services.db),
        currencies=[(code, code) for code in currencies(catalogue)],
        values=dict.fromkeys(FIELDS, "") | {"currency": EURO},
        history=await find_action(request, state, kind="position_limit_changed"),
        amount=catalogue.format_amount,
    )
