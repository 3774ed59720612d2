"""The home page: what has happened in a period, its charts and their tables, and what is to do."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any, Literal

from msgspec import Struct
from starlette.responses import Response

from tollhouse.accounts.environments import payment_settings
from tollhouse.accounts.identity.guards import signed_in_page
from tollhouse.accounts.identity.model import Person
from tollhouse.http.charts import LineChart, Sparkline, Strip, format_percent, line_chart, sparkline, strip
from tollhouse.http.forms import NO_ERRORS, FormErrors, form_errors_of
from tollhouse.http.local_formats import Formats
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import formats_of
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.catalogue.currencies import Currency
from tollhouse.kernel.clock import stamp
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import ValidationFailed
from tollhouse.kernel.periods import Period, period
from tollhouse.kernel.text import Text, Translatable
from tollhouse.ledger.books.store import Balance, list_balances
from tollhouse.ledger.books.views import balance_view
from tollhouse.pages.dashboard.go_live import go_live_state
from tollhouse.pages.dashboard.home import home_store as store
from tollhouse.pages.dashboard.home.home_store import (
    Change,
    HomeQuery,
    LatestPayment,
    PeriodTotals,
    compare,
    compare_tenths,
    format_tenths,
    sum_up,
)
from tollhouse.pages.dashboard.layout import render
from tollhouse.payments.disputes import store as disputes_store
from tollhouse.platform.database.pool import Tx
from tollhouse.rails.sandbox.sample_data import SAMPLES


class PartRow(Struct, frozen=True):
    """A row of the volume table. `before` is empty if the previous period has no such part."""

    name: str
    payments: int
    gross: str
    before: str


class MethodRow(Struct, frozen=True):
    """A row of the method table. An empty name combines all others."""

    name: Translatable
    payments: int
    gross: str
    percent: str


class OverviewCharts(Struct, frozen=True):
    """The charts, and the rows of their tables."""

    volume: LineChart
    parts: tuple[PartRow, ...]
    mix: Strip
    methods: tuple[MethodRow, ...]
    unit: str


def draw_charts(
    now: PeriodTotals, before: PeriodTotals, period: Period, currency: Currency, formats: Formats, catalogue: Catalogue
) -> OverviewCharts:
    """Draw the charts of one currency in the reader's formats."""
    sums = now.by_part(currency.code, len(period.now.starts))
    earlier = [part.gross_minor for part in before.by_part(currency.code, len(period.before.starts))][: len(sums)]
    names = [formats.part(start, period.unit) for start in period.now.starts]
    methods = now.by_method(currency.code)
    shares = [method.gross_minor for method in methods]
    return OverviewCharts(
        volume=line_chart(
            [part.gross_minor for part in sums],
            names,
            earlier,
            described=lambda minor: formats.money(currency.format(minor), currency.code),
            written=formats.short_money(currency.decimals, currency.code),
        ),
        parts=tuple(
            PartRow(
                names[index],
                part.succeeded,
                currency.format(part.gross_minor),
                currency.format(earlier[index]) if index < len(earlier) else "",
            )
            for index, part in enumerate(sums)
        ),
        mix=strip(shares),
        methods=tuple(
            MethodRow(
                catalogue.label_of(method.method_id),
                method.payments,
                currency.format(method.gross_minor),
                format_percent(method.gross_minor, sum(shares)),
            )
            for method in methods
        ),
        unit=period.unit,
    )


OPERATIONS = Operations(PAGES)
LATEST_SHOWN = 6
UNDELIVERED_SINCE, COUNTED_MAX = timedelta(days=7), 1_000
DEFAULT_QUERY = HomeQuery()
NOTICES = {"sample-data": Text("%(count)s sample payments were created.", count=len(SAMPLES))}


FigureKind = Literal["money", "number", "percentage"]


class Figure(Struct, frozen=True):
    """A key figure of this and the previous period, empty where there is none. `count` is how many items it totals."""

    kind: FigureKind
    now: str
    before: str
    change: Change
    spark: Sparkline
    count: int = 0


@OPERATIONS.add("GET", "/{mode}/home", guard=signed_in_page("read"))
async def home(request: Request, caller: Person, env: MerchantEnv, query: HomeQuery) -> Response:
    """Show volume, balance, key figures, latest payments, what needs attention, and the first steps."""
    selected, form_errors = _selected_period(request, caller, query)
    async with (await request.services.reports_db()).connection() as tx:
        now = await store.count_period(tx, env, selected.now)
        before = await store.count_period(tx, env, selected.before)
        balances = await list_balances(tx, env)
        currency, choices = await _selected_currency(tx, env, query.currency, now, balances, request.services.catalogue)
        context: dict[str, Any] = {
            "going_live": await go_live_state(tx, env, caller),
            "setup": await store.get_setup_progress(tx, env),
            "undelivered": await store.count_undelivered(tx, env, request.now - UNDELIVERED_SINCE, COUNTED_MAX),
            "disputes": await disputes_store.find_to_respond(tx, env, request.now, COUNTED_MAX),
            "to_decide": await store.count_to_decide(tx, env, COUNTED_MAX),
            "latest": [
                _payment_row(payment, request.services.catalogue)
                for payment in await store.list_latest_payments(tx, env, request.now, LATEST_SHOWN)
            ],
        }
    balance = next((balance for balance in balances if balance.currency == currency.code), Balance(currency.code))
    return render(
        request,
        caller,
        "home/home",
        here="home",
        query=query,
        form_errors=form_errors,
        notice=NOTICES.get(query.done, ""),
        days=selected.days,
        currency=currency.code,
        currencies=choices,
        figures=_figures(now, before, len(selected.now.starts), currency),
        balance=balance_view(balance, env, currency.decimals),
        can_withdraw=currency.operations.withdrawals and balance.available_minor > 0 and caller.can("money", env.mode),
        picture=draw_charts(now, before, selected, currency, formats_of(request), request.services.catalogue),
        most=COUNTED_MAX,
        base_url=request.services.settings.base_url,
        **context,
    )


def _selected_period(request: Request, person: Person, query: HomeQuery) -> tuple[Period, FormErrors]:
    """The selected period; the default one if the days are invalid."""
    try:
        return period(query.period, query.since, query.until, request.now, person.zone), NO_ERRORS
    except ValidationFailed as error:
        default = period(DEFAULT_QUERY.period, "", "", request.now, person.zone)
        return default, form_errors_of(error, ("from", "to"))


async def _selected_currency(
    tx: Tx, env: MerchantEnv, requested: str, now: PeriodTotals, balances: list[Balance], catalogue: Catalogue
) -> tuple[Currency, list[tuple[str, str]]]:
    """The currency to show and the choices: the requested one, else the one with most payments."""
    default = (await payment_settings.of(tx, env)).default_currency
    codes = {default, *now.currencies(), *(balance.currency for balance in balances)} & catalogue.currencies.keys()
    payments = {code: now.for_currency(code).succeeded for code in codes}
    best = max(sorted(codes), key=lambda code: (payments[code], code == default), default=next(iter(catalogue.currencies)))
    selected = requested if requested in codes else best
    return catalogue.currencies[selected], [(code, code) for code in sorted({*codes, selected})]


def _figures(now: PeriodTotals, before: PeriodTotals, parts: int, currency: Currency) -> dict[str, Figure]:
    by_part, earlier = now.by_part(currency.code, parts), before.for_currency(currency.code)
    totals = sum_up(by_part)

    def figure(kind: FigureKind, name: str, write: Callable[[int], str], count: int = 0) -> Figure:
        """The figure of this attribute of totals. Parts without one are drawn as the whole."""
        current, previous = getattr(totals, name), getattr(earlier, name)
        values = [getattr(part, name) for part in by_part]
        return Figure(
            kind,
            "" if current is None else write(current),
            "" if previous is None else write(previous),
            (compare_tenths if kind == "percentage" else compare)(current, previous),
            sparkline([current or 0 if value is None else value for value in values]),
            count,
        )

    return {
        "gross": figure("money", "gross_minor", currency.format),
        "succeeded": figure("number", "succeeded", str),
        "success_rate": figure("percentage", "success_tenths", format_tenths, totals.failed),
        "average": figure("money", "average_minor", currency.format),
        "refunded": figure("money", "refunded_minor", currency.format, totals.refunds),
    }


def _payment_row(payment: LatestPayment, catalogue: Catalogue) -> dict[str, Translatable]:
    return {
        "id": str(payment.id),
        "method_id": payment.method_id,
        "name": payment.name,
        "amount": catalogue.currencies[payment.currency].format(payment.amount_minor),
        "currency": payment.currency,
        "method": catalogue.label_of(payment.method_id),
        "status": payment.status,
        "at": stamp(payment.created_at),
    }
