"""The charts of the home page, volume over time and by method, and their tables."""

from msgspec import Struct

from tollhouse.http.charts import LineChart, Strip, format_percent, line_chart, strip
from tollhouse.http.local_formats import Formats
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.catalogue.currencies import Currency
from tollhouse.kernel.periods import Period
from tollhouse.kernel.text import Translatable
from tollhouse.pages.dashboard.home_model import PeriodTotals


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
    earlier = [one.gross_minor for one in before.by_part(currency.code, len(period.before.starts))][: len(sums)]
    names = [formats.part(start, period.unit) for start in period.now.starts]
    methods = now.by_method(currency.code)
    shares = [one.gross_minor for one in methods]
    return OverviewCharts(
        volume=line_chart(
            [one.gross_minor for one in sums],
            names,
            earlier,
            described=lambda minor: formats.money(currency.format(minor), currency.code),
            written=formats.short_money(currency.decimals, currency.code),
        ),
        parts=tuple(
            PartRow(
                names[index],
                one.succeeded,
                currency.format(one.gross_minor),
                currency.format(earlier[index]) if index < len(earlier) else "",
            )
            for index, one in enumerate(sums)
        ),
        mix=strip(shares),
        methods=tuple(
            MethodRow(
                catalogue.label_of(one.method_id),
                one.payments,
                currency.format(one.gross_minor),
                format_percent(one.gross_minor, sum(shares)),
            )
            for one in methods
        ),
        unit=period.unit,
    )
