"""The charts of the home page, volume over time and by method, and their tables."""

from msgspec import Struct

from tollhouse.catalogue.currencies import Currency
from tollhouse.catalogue.methods import label_of as method_label
from tollhouse.dashboard.home_model import PeriodTotals
from tollhouse.http.charts import NARROW, WIDE, BarChart, Segment, Size, bar_chart, format_percent, strip
from tollhouse.http.local_formats import Formats
from tollhouse.kernel.periods import Period
from tollhouse.kernel.text import Translatable


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
    """The charts in both sizes, and the rows of their tables."""

    wide: BarChart
    narrow: BarChart
    parts: tuple[PartRow, ...]
    strips: tuple[tuple[str, Size, tuple[Segment, ...]], ...]
    methods: tuple[MethodRow, ...]
    unit: str


def draw_charts(now: PeriodTotals, before: PeriodTotals, period: Period, currency: Currency, own: Formats) -> OverviewCharts:
    """Draw the charts of one currency in the reader's formats."""
    sums = now.by_part(currency.code, len(period.now.starts))
    earlier = [one.gross_minor for one in before.by_part(currency.code, len(period.before.starts))][: len(sums)]
    names = [own.part(start, period.unit) for start in period.now.starts]
    gross = [currency.format(one.gross_minor) for one in sums]
    written = own.short_amount(currency.decimals)

    def chart(size: Size) -> BarChart:
        words = [f"{name}: {own.amount(amount)} {currency.code}" for name, amount in zip(names, gross, strict=True)]
        return bar_chart([one.gross_minor for one in sums], names, words, earlier, size, written)

    methods = now.by_method(currency.code)
    shares = [one.gross_minor for one in methods]
    return OverviewCharts(
        wide=chart(WIDE),
        narrow=chart(NARROW),
        parts=tuple(
            PartRow(
                names[place],
                one.succeeded,
                gross[place],
                currency.format(earlier[place]) if place < len(earlier) else "",
            )
            for place, one in enumerate(sums)
        ),
        strips=tuple((which, size, strip(shares, size.width)) for which, size in (("wide", WIDE), ("narrow", NARROW))),
        methods=tuple(
            MethodRow(
                method_label(one.method_id),
                one.payments,
                currency.format(one.gross_minor),
                format_percent(one.gross_minor, sum(shares)),
            )
            for one in methods
        ),
        unit=period.unit,
    )
