"""Statistics of deliveries: counts, success rate, duration and cost, and their charts."""

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec
from msgspec import Struct

from tollhouse.http.bodies import ValidationContext
from tollhouse.http.charts import LineChart, Strip, line_chart, strip
from tollhouse.http.local_formats import Formats
from tollhouse.kernel import messages
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.clock import Timestamp, parse_time_or_date, stamp
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import FieldError, ValidationFailed
from tollhouse.kernel.examples import example
from tollhouse.kernel.ids import Mode
from tollhouse.kernel.money import format_minor
from tollhouse.platform.database.pool import Pool
from tollhouse.transfers.fulfillments import store
from tollhouse.transfers.fulfillments.store import FulfillmentPart

GroupBy = Literal["day", "product", "status"]
"""How figures are grouped.

day: By day.
product: By product.
status: By status.
"""
PERIOD_MAX, PERIOD_DEFAULT = timedelta(days=366), timedelta(days=30)
DAY = timedelta(days=1)
RATE_DECIMALS = 4
DAY_S = timedelta(days=1)
DAYS_DRAWN_MAX = 62
"""Longer periods are drawn by week."""
SEGMENTS_MAX = 6
"""The segments of a strip; with more groups the last segment is the sum of the rest."""
SUMMED = ("count", "completed", "partially_completed", "failed", "canceled", "pending", "quantity_delivered")


class StatisticsQuery(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`?from=&to=` are times or dates (midnight UTC), at most 366 days apart. Default: the last 30 days."""

    start: str | None = msgspec.field(name="from", default=None)
    to: str | None = None
    group_by: GroupBy | None = None
    product_id: str | None = None
    project_id: UUID | None = None

    def rule_errors(self, context: ValidationContext) -> Iterator[FieldError]:
        """Every error of the parameters."""
        return self._field_errors(*self._period(context.now))

    def _field_errors(self, start: datetime | None, end: datetime | None) -> Iterator[FieldError]:
        for name, moment, text in (("from", start, self.start), ("to", end, self.to)):
            if moment is None and text is not None:
                yield FieldError(name, "invalid_time", messages.A_TIME_OR_DAY)
        if start is not None and end is not None:
            if start >= end:
                yield FieldError("from", "out_of_range", messages.BEFORE_END)
            elif end - start > PERIOD_MAX:
                yield FieldError("from", "out_of_range", messages.AT_MOST_A_YEAR)

    def period(self, now: datetime) -> tuple[datetime, datetime]:
        """The start (inclusive) and end (exclusive) of the period. Raises `ValidationFailed`."""
        start, end = self._period(now)
        field_errors = list(self._field_errors(start, end))
        if start is None or end is None or field_errors:
            raise ValidationFailed(*field_errors)
        return start, end

    def _period(self, now: datetime) -> tuple[datetime | None, datetime | None]:
        end = now if self.to is None else parse_time_or_date(self.to)
        start = None if self.start is None else parse_time_or_date(self.start)
        return (end - PERIOD_DEFAULT if start is None and self.start is None and end is not None else start), end


class FulfillmentFigures(Struct, frozen=True, kw_only=True):
    """The figures of a group. `pending` counts fulfillments that have not ended; `success_rate` ignores canceled ones.

    `cost` is the charged amount by currency. Durations are from order to delivery, in whole seconds, rounded up; those above
    100 seconds to two digits. Of each period, 50 and 95 of 100 deliveries took at most `p50_seconds` and `p95_seconds`.
    """

    count: Annotated[int, example(12)] = 0
    """Number of fulfillments."""
    completed: Annotated[int, example(10)] = 0
    """Number of completed ones."""
    partially_completed: Annotated[int, example(1)] = 0
    """Number of those that were delivered in part."""
    failed: Annotated[int, example(1)] = 0
    """Number of failed ones."""
    canceled: Annotated[int, example(0)] = 0
    """Number of canceled ones."""
    pending: Annotated[int, example(0)] = 0
    """Number of those that have not ended."""
    quantity_delivered: Annotated[int, example(105)] = 0
    """Units that were delivered."""
    cost: Annotated[dict[str, str], example({"EUR": "44.10"})] = msgspec.field(default_factory=dict[str, str])
    """What was charged, by currency."""
    cost_minor: Annotated[dict[str, int], example({"EUR": 4410})] = msgspec.field(default_factory=dict[str, int])
    success_rate: Annotated[str | None, example("0.9167")] = None
    """Share of ended fulfillments that were delivered, from 0 to 1; null if none ended."""
    p50_seconds: Annotated[int | None, example(2)] = None
    """Half of the deliveries took at most so many seconds."""
    p95_seconds: Annotated[int | None, example(5)] = None
    """95 of 100 deliveries took at most so many seconds."""


class FulfillmentGroup(FulfillmentFigures, frozen=True, kw_only=True):
    """The figures of one day, product or status."""

    key: Annotated[str, example("2026-11-21")]
    """Day, product or status of the group."""


class FulfillmentStatistics(Struct, frozen=True, kw_only=True):
    """GET /fulfillments/statistics."""

    object: Literal["fulfillment_statistics"] = "fulfillment_statistics"
    start: Timestamp = msgspec.field(name="from")
    """Start of the statistics."""
    to: Timestamp
    """End of the statistics, which is not included."""
    group_by: GroupBy | None
    """How the figures are grouped; null for totals only."""
    totals: FulfillmentFigures
    """Figures of the whole period."""
    groups: list[FulfillmentGroup]
    """Figures of each group."""
    mode: Mode
    livemode: bool


class FulfillmentTally:
    """The sums of the parts of a group."""

    def __init__(self) -> None:
        self.statuses = Counter[str]()
        self.charged = Counter[str]()
        self.took = Counter[int]()
        self.units = 0

    def add(self, part: FulfillmentPart) -> None:
        """Add a part."""
        self.statuses[part.status] += part.count
        self.charged[part.currency] += part.charged_minor
        self.took[part.seconds] += part.deliveries
        self.units += part.units

    def seconds(self, percent: int) -> int | None:
        """How long this share of the deliveries took at most; None without deliveries."""
        rank = -(-self.took.total() * percent // 100)
        ranks = itertools.accumulate(self.took[seconds] for seconds in sorted(self.took))
        return next((seconds for seconds, last in zip(sorted(self.took), ranks, strict=True) if last >= rank > 0), None)

    def figures(self, catalogue: Catalogue) -> dict[str, Any]:
        """The members of `FulfillmentFigures`."""
        counts = self.statuses
        successful = counts["completed"] + counts["partially_completed"]
        charged = {code: minor for code, minor in sorted(self.charged.items()) if minor}
        return {
            "count": counts.total(),
            **{name: counts[name] for name in ("completed", "partially_completed", "failed", "canceled")},
            "pending": counts["pending"] + counts["processing"],
            "quantity_delivered": self.units,
            "cost": {code: catalogue.format_amount(minor, code) for code, minor in charged.items()},
            "cost_minor": charged,
            "success_rate": _rate(successful, successful + counts["failed"]),
            "p50_seconds": self.seconds(50),
            "p95_seconds": self.seconds(95),
        }


async def compute(
    db: Pool, env: MerchantEnv, query: StatisticsQuery, now: datetime, catalogue: Catalogue
) -> FulfillmentStatistics:
    """The statistics of a period. Raises `ValidationFailed`."""
    start, end = query.period(now)
    bounds = [start, *(_midnights(start, end) if query.group_by == "day" else ()), end]
    totals, groups = FulfillmentTally(), defaultdict[str, FulfillmentTally](FulfillmentTally)
    for part in await store.list_parts(db, env, bounds, query.product_id, query.project_id):
        totals.add(part)
        match query.group_by:
            case "day":
                groups[f"{bounds[part.number - 1].astimezone(UTC):%Y-%m-%d}"].add(part)
            case "product":
                groups[part.product_id].add(part)
            case "status":
                groups[part.status].add(part)
            case None:
                pass
    return FulfillmentStatistics(
        start=stamp(start),
        to=stamp(end),
        group_by=query.group_by,
        totals=FulfillmentFigures(**totals.figures(catalogue)),
        groups=[FulfillmentGroup(key=key, **groups[key].figures(catalogue)) for key in sorted(groups)],
        mode=env.mode,
        livemode=env.livemode,
    )


def _midnights(start: datetime, end: datetime) -> Iterator[datetime]:
    """The beginnings of days in UTC between these moments."""
    day = start.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0) + DAY
    while day < end:
        yield day
        day += DAY


def _rate(successful: int, ended: int) -> str | None:
    """A ratio as a decimal string with four decimals."""
    return format_minor((successful * 10**RATE_DECIMALS * 2 + ended) // (2 * ended), RATE_DECIMALS) if ended else None


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
        last -= DAY_S
    days = (last - first).days + 1
    if days <= 1 or not any(units.values()):
        return None
    step = 1 if days <= DAYS_DRAWN_MAX else 7
    starts = [first + DAY_S * place for place in range(0, days, step)]
    sums = [sum(units.get(start + DAY_S * place, 0) for place in range(step)) for start in starts]
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
