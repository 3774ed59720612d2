"""Statistics as their page draws them: units over time as columns, of games and products as a strip; and games summed up."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any

from msgspec import Struct

from tollhouse.catalogue.currencies import format_amount
from tollhouse.catalogue.products import PRODUCTS
from tollhouse.fulfillments.statistics import Group, Statistics
from tollhouse.http.charts import NARROW, WIDE, BarChart, Part, Size, bar_chart, strip
from tollhouse.http.local_formats import Formats

DAY = timedelta(days=1)
COLUMNS_MAX = 62
"""More days than these are drawn by the week."""
PIECES_MAX = 6
"""As many pieces has a strip; the last one is of all others, where there are more."""
SUMMED = ("count", "completed", "partially_completed", "failed", "canceled", "pending", "quantity_delivered")


class Columns(Struct, frozen=True):
    """Units by day or week, in both sizes."""

    wide: BarChart
    narrow: BarChart


class Strip(Struct, frozen=True):
    """Units by game or product, in both sizes."""

    sizes: tuple[tuple[str, Size, tuple[Part, ...]], ...]


def by_game(groups: Sequence[Group]) -> list[Group]:
    """Groups by product as groups by game. One whose product has left the catalogue is called by its id."""
    found: dict[str, list[Group]] = defaultdict(list)
    for group in groups:
        product = PRODUCTS.get(group.key)
        found[group.key if product is None else product.game].append(group)
    return [_together(game, parts) for game, parts in found.items()]


def most_first(groups: Sequence[Group]) -> list[Group]:
    """Those with the most units first."""
    return sorted(groups, key=lambda group: (-group.quantity_delivered, group.key))


def columns(found: Statistics, own: Formats) -> Columns | None:
    """The days of statistics by day; None where there is nothing to compare."""
    units = {date.fromisoformat(group.key): group.quantity_delivered for group in found.groups}
    first, last = (datetime.fromisoformat(moment).date() for moment in (found.start, found.to))
    if datetime.fromisoformat(found.to).astimezone(UTC).time() == datetime.min.time():
        last -= DAY
    days = (last - first).days + 1
    if days <= 1 or not any(units.values()):
        return None
    step = 1 if days <= COLUMNS_MAX else 7
    starts = [first + DAY * place for place in range(0, days, step)]
    sums = [sum(units.get(start + DAY * place, 0) for place in range(step)) for start in starts]
    names = [own.short_day(start) for start in starts]
    words = [f"{name}: {own.number(count)}" for name, count in zip(names, sums, strict=True)]
    wide, narrow = (bar_chart(sums, names, words, (), size, str) for size in (WIDE, NARROW))
    return Columns(wide, narrow)


def shares(groups: Sequence[Group]) -> Strip | None:
    """A piece for each of these groups, with the most first; None where nothing was delivered."""
    units = [group.quantity_delivered for group in groups]
    if not any(units):
        return None
    if len(units) > PIECES_MAX:
        units[PIECES_MAX - 1 :] = [sum(units[PIECES_MAX - 1 :])]
    return Strip(tuple((which, size, strip(units, size.width)) for which, size in (("wide", WIDE), ("narrow", NARROW))))


def _together(game: str, parts: Sequence[Group]) -> Group:
    cost: dict[str, int] = defaultdict(int)
    for part in parts:
        for code, minor in part.cost_minor.items():
            cost[code] += minor
    sums: dict[str, Any] = {name: sum(getattr(part, name) for part in parts) for name in SUMMED}
    return Group(
        key=game,
        cost={code: format_amount(minor, code) for code, minor in cost.items()},
        cost_minor=dict(cost),
        **sums,
    )
