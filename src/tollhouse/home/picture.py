"""What was counted, as the page draws it: columns over time, a strip of methods, and the tables that say the same."""

from collections.abc import Callable
from datetime import datetime

from msgspec import Struct

from tollhouse.catalogue.currencies import Currency
from tollhouse.catalogue.methods import METHODS
from tollhouse.home.model import Counted
from tollhouse.home.periods import Period, Unit
from tollhouse.kernel.money import format_minor
from tollhouse.web.charts import NARROW, WIDE, BarChart, Part, Size, bar_chart, strip, tenths_of_percent
from tollhouse.web.local_formats import Formats

SCALES = ((6, "M"), (3, "k"))


class PartRow(Struct, frozen=True):
    """One part of the period, in the table beside the chart. `before` is empty where the period before has no such part."""

    name: str
    payments: int
    gross: str
    before: str


class MethodRow(Struct, frozen=True):
    """One method, in the table beside the strip. No name: all others."""

    name: str
    payments: int
    gross: str
    percent: str


class Picture(Struct, frozen=True):
    """Everything that is drawn, in both sizes, and said."""

    wide: BarChart
    narrow: BarChart
    parts: tuple[PartRow, ...]
    strips: tuple[tuple[str, Size, tuple[Part, ...]], ...]
    methods: tuple[MethodRow, ...]
    unit: str


def draw(now: Counted, before: Counted, period: Period, currency: Currency, own: Formats) -> Picture:
    """The picture of one currency, as its reader writes days and amounts."""
    sums = now.by_part(currency.code, len(period.now.starts))
    earlier = [one.gross_minor for one in before.by_part(currency.code, len(period.before.starts))][: len(sums)]
    names = [_name(start, period.unit, own) for start in period.now.starts]
    gross = [currency.format(one.gross_minor) for one in sums]
    short = _short(currency.decimals)

    def written(minor: int) -> str:
        return own.amount(short(minor))

    def chart(size: Size) -> BarChart:
        words = [f"{name}: {own.amount(amount)} {currency.code}" for name, amount in zip(names, gross, strict=True)]
        return bar_chart([one.gross_minor for one in sums], names, words, earlier, size, written)

    methods = now.by_method(currency.code)
    shares = [one.gross_minor for one in methods]
    return Picture(
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
                method_name(one.method_id),
                one.payments,
                currency.format(one.gross_minor),
                tenths_of_percent(one.gross_minor, sum(shares)),
            )
            for one in methods
        ),
        unit=period.unit,
    )


def _name(start: datetime, unit: Unit, own: Formats) -> str:
    """What a part is called below its column."""
    if unit == "hour":
        return own.o_clock(start)
    return own.month(start) if unit == "month" else own.short_day(start)


def method_name(method_id: str) -> str:
    """The method's name. One that has left the catalogue is shown by its id."""
    known = METHODS.get(method_id)
    return method_id if known is None else known.name


def _short(decimals: int) -> Callable[[int], str]:
    """How an amount is written beside a chart: `250`, `1.5k`, `2M`."""

    def written(minor: int) -> str:
        for places, sign in SCALES:
            if minor >= 10 ** (places + decimals):
                return _trimmed(minor, places + decimals) + sign
        return _trimmed(minor, decimals)

    return written


def _trimmed(minor: int, decimals: int) -> str:
    text = format_minor(minor, decimals)
    return text.rstrip("0").rstrip(".") if "." in text else text
