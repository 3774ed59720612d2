"""Charts of the statistics: units by day as a line, by game or product as a strip."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any

from tollhouse.http.charts import LineChart, Strip, line_chart, strip
from tollhouse.http.local_formats import Formats
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.transfers.fulfillments.statistics import FulfillmentGroup, FulfillmentStatistics

DAY = timedelta(days=1)
DAYS_DRAWN_MAX = 62
"""Longer periods are drawn by week."""
SEGMENTS_MAX = 6
"""The segments of a strip; with more groups the last segment is the sum of the rest."""
SUMMED = ("count", "completed", "partially_completed", "failed", "canceled", "pending", "quantity_delivered")


def by_game(groups: Sequence[FulfillmentGroup], catalogue: Catalogue) -> list[FulfillmentGroup]:
    """Groups by product, merged by game. Products that have left the catalogue stay groups of their formats."""
    by_name: dict[str, list[FulfillmentGroup]] = defaultdict(list)
    for group in groups:
        product = catalogue.products.get(group.key)
        by_name[group.key if product is None else product.game].append(group)
    return [_merge(game, parts, catalogue) for game, parts in by_name.items()]


def sort_by_units(groups: Sequence[FulfillmentGroup]) -> list[FulfillmentGroup]:
    """The groups with the most units first."""
    return sorted(groups, key=lambda group: (-group.quantity_delivered, group.key))


def by_day(statistics: FulfillmentStatistics, formats: Formats) -> LineChart | None:
    """The line chart of groups by day; None for a single day or no units."""
    units = {date.fromisoformat(group.key): group.quantity_delivered for group in statistics.groups}
    first, last = (datetime.fromisoformat(moment).date() for moment in (statistics.start, statistics.to))
    if datetime.fromisoformat(statistics.to).astimezone(UTC).time() == datetime.min.time():
        last -= DAY
    days = (last - first).days + 1
    if days <= 1 or not any(units.values()):
        return None
    step = 1 if days <= DAYS_DRAWN_MAX else 7
    starts = [first + DAY * place for place in range(0, days, step)]
    sums = [sum(units.get(start + DAY * place, 0) for place in range(step)) for start in starts]
    names = [formats.short_day(start) for start in starts]
    return line_chart(sums, names, (), described=formats.number, written=str)


def shares(groups: Sequence[FulfillmentGroup]) -> Strip | None:
    """The strip chart of sorted groups; None where nothing was delivered."""
    units = [group.quantity_delivered for group in groups]
    if not any(units):
        return None
    if len(units) > SEGMENTS_MAX:
        units[SEGMENTS_MAX - 1 :] = [sum(units[SEGMENTS_MAX - 1 :])]
    return strip(units)


def _merge(game: str, parts: Sequence[FulfillmentGroup], catalogue: Catalogue) -> FulfillmentGroup:
    cost: dict[str, int] = defaultdict(int)
    for part in parts:
        for code, minor in part.cost_minor.items():
            cost[code] += minor
    sums: dict[str, Any] = {name: sum(getattr(part, name) for part in parts) for name in SUMMED}
    return FulfillmentGroup(
        key=game,
        cost={code: catalogue.format_amount(minor, code) for code, minor in cost.items()},
        cost_minor=dict(cost),
        **sums,
    )
