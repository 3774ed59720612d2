"""The home page of the dashboard, in one environment and one currency."""

from datetime import timedelta
from typing import Any

from msgspec import Struct
from starlette.responses import Response

from tollhouse.catalogue import payment_settings
from tollhouse.catalogue.currencies import CURRENCIES, Currency
from tollhouse.catalogue.methods import name_of as method_name
from tollhouse.http.form_errors import NO_ERRORS, FormErrors, form_errors_of
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import formats_of, page
from tollhouse.identity.guards import signed_in_page
from tollhouse.identity.model import Person
from tollhouse.kernel.clock import stamp
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import ValidationFailed
from tollhouse.kernel.periods import Period, period
from tollhouse.ledger.store import Balance, list_balances
from tollhouse.overview import store
from tollhouse.overview.model import Change, Counted, HomeQuery, Payment, change_of
from tollhouse.overview.picture import draw
from tollhouse.platform.db import Tx

OPERATIONS = Operations(PAGES)
LATEST_SHOWN = 8
UNDELIVERED_SINCE, UNDELIVERED_SHOWN = timedelta(days=7), 1_000
USUAL = HomeQuery()


class Figure(Struct, frozen=True):
    """A key figure: of this period, of the one before, and how they compare. `count`: of how many it is the sum."""

    now: str
    before: str
    change: Change
    count: int = 0


@OPERATIONS.add("GET", "/{mode}/home", guard=signed_in_page)
async def home(request: Request, caller: Person, mode: str, query: HomeQuery) -> Response:
    """Key figures, what came in over time and by method, the latest payments; what is to be set up, and what fails."""
    env = caller.env(mode)
    looked_at, form_errors = _period(request, caller, query)
    async with request.services.db.connection() as tx:
        now = await store.counted(tx, env, looked_at.now)
        before = await store.counted(tx, env, looked_at.before)
        held = await list_balances(tx, env)
        currency, choices = await _currency(tx, env, query.currency, now, held)
        facts: dict[str, Any] = {
            "setup": await store.setup(tx, env),
            "undelivered": await store.undelivered(tx, env, request.now - UNDELIVERED_SINCE, UNDELIVERED_SHOWN),
            "latest": [_shown(one) for one in await store.latest(tx, env, request.now, LATEST_SHOWN)],
        }
    balance = next((one for one in held if one.currency == currency.code), Balance(currency.code))
    return page(
        request,
        "overview/home.html",
        form_errors.status,
        person=caller,
        mode=env.mode,
        here="home",
        query=query,
        form_errors=form_errors,
        days=looked_at.days,
        currency=currency.code,
        currencies=choices,
        figures=_figures(now, before, currency),
        available=currency.format(balance.available_minor),
        reserved=currency.format(balance.reserved_minor) if balance.reserved_minor else "",
        debt=currency.format(balance.debt_minor) if balance.debt_minor else "",
        picture=draw(now, before, looked_at, currency, formats_of(request)),
        most=UNDELIVERED_SHOWN,
        **facts,
    )


def _period(request: Request, person: Person, query: HomeQuery) -> tuple[Period, FormErrors]:
    """What is looked at; the usual period, where the days that were typed are none."""
    try:
        return period(query.period, query.since, query.until, request.now, person.zone), NO_ERRORS
    except ValidationFailed as error:
        usual = period(USUAL.period, "", "", request.now, person.zone)
        return usual, form_errors_of(error, ("from", "to"))


async def _currency(
    tx: Tx, env: MerchantEnv, asked: str, now: Counted, held: list[Balance]
) -> tuple[Currency, list[tuple[str, str]]]:
    """The currency that is shown, and those that can be chosen: what was asked for, else the one with most payments."""
    usual = (await payment_settings.of(tx, env)).default_currency
    codes = {usual, *now.currencies(), *(balance.currency for balance in held)} & CURRENCIES.keys()
    payments = {code: now.of(code).succeeded for code in codes}
    best = max(sorted(codes), key=lambda code: (payments[code], code == usual), default=next(iter(CURRENCIES)))
    chosen = asked if asked in codes else best
    return CURRENCIES[chosen], [(code, code) for code in sorted({*codes, chosen})]


def _figures(now: Counted, before: Counted, currency: Currency) -> dict[str, Figure]:
    sums, earlier = now.of(currency.code), before.of(currency.code)

    def money(minor: int, minor_before: int, count: int = 0) -> Figure:
        change = change_of(minor, minor_before)
        return Figure(currency.format(minor), currency.format(minor_before), change, count)

    def number_of(number: int, number_before: int) -> Figure:
        return Figure(str(number), str(number_before), change_of(number, number_before))

    return {
        "gross": money(sums.gross_minor, earlier.gross_minor),
        "succeeded": number_of(sums.succeeded, earlier.succeeded),
        "failed": number_of(sums.failed, earlier.failed),
        "refunded": money(sums.refunded_minor, earlier.refunded_minor, sums.refunds),
    }


def _shown(one: Payment) -> dict[str, str]:
    return {
        "id": str(one.id),
        "name": one.name,
        "amount": CURRENCIES[one.currency].format(one.amount_minor),
        "currency": one.currency,
        "method": method_name(one.method_id),
        "status": one.status,
        "at": stamp(one.created_at),
    }
