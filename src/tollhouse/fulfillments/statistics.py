"""Statistics of deliveries: counts, success rate, duration and cost."""

from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec
from msgspec import Struct

from tollhouse.catalogue.catalogue import Catalogue
from tollhouse.fulfillments import statistics_store
from tollhouse.http.bodies import ValidationContext
from tollhouse.kernel import messages
from tollhouse.kernel.clock import Timestamp, parse_time_or_date, stamp
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import FieldError, ValidationFailed
from tollhouse.kernel.examples import example
from tollhouse.kernel.ids import Mode
from tollhouse.kernel.money import format_minor
from tollhouse.platform.db import Pool, Row

GroupBy = Literal["day", "product", "status"]
PERIOD_MAX, PERIOD_DEFAULT = timedelta(days=366), timedelta(days=30)
RATE_DECIMALS = 4


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

    `cost` is the charged amount by currency. Durations are from order to delivery, in whole seconds, rounded up.
    """

    count: Annotated[int, example(12)] = 0
    completed: Annotated[int, example(10)] = 0
    partially_completed: Annotated[int, example(1)] = 0
    failed: Annotated[int, example(1)] = 0
    canceled: Annotated[int, example(0)] = 0
    pending: Annotated[int, example(0)] = 0
    quantity_delivered: Annotated[int, example(105)] = 0
    cost: Annotated[dict[str, str], example({"EUR": "44.10"})] = msgspec.field(default_factory=dict[str, str])
    cost_minor: Annotated[dict[str, int], example({"EUR": 4410})] = msgspec.field(default_factory=dict[str, int])
    success_rate: Annotated[str | None, example("0.9167")] = None
    p50_seconds: Annotated[int | None, example(2)] = None
    p95_seconds: Annotated[int | None, example(5)] = None


class FulfillmentGroup(FulfillmentFigures, frozen=True, kw_only=True):
    """The figures of one day, product or status."""

    key: Annotated[str, example("2026-11-21")]


class FulfillmentStatistics(Struct, frozen=True, kw_only=True):
    """GET /fulfillments/statistics."""

    object: Literal["fulfillment_statistics"] = "fulfillment_statistics"
    start: Timestamp = msgspec.field(name="from")
    to: Timestamp
    group_by: GroupBy | None
    totals: FulfillmentFigures
    groups: list[FulfillmentGroup]
    mode: Mode
    livemode: bool


async def compute(
    db: Pool, env: MerchantEnv, query: StatisticsQuery, now: datetime, catalogue: Catalogue
) -> FulfillmentStatistics:
    """The statistics of a period, read in one snapshot. Raises `ValidationFailed`."""
    start, end = query.period(now)
    selection = (start, end, query.product_id, query.project_id, query.group_by)
    counts, costs = await statistics_store.get(db, env, selection)
    charged: dict[str | None, dict[str, int]] = defaultdict(dict)
    for row in costs:
        charged[None if row["whole"] else row["key"]][row["currency"]] = row["charged"]
    whole = next((row for row in counts if row["whole"]), None)
    groups = [row for row in counts if not row["whole"] and query.group_by is not None]
    return FulfillmentStatistics(
        start=stamp(start),
        to=stamp(end),
        group_by=query.group_by,
        totals=FulfillmentFigures() if whole is None else FulfillmentFigures(**_figures(whole, charged[None], catalogue)),
        groups=[FulfillmentGroup(key=row["key"], **_figures(row, charged[row["key"]], catalogue)) for row in groups],
        mode=env.mode,
        livemode=env.livemode,
    )


def _figures(row: Row, charged: dict[str, int], catalogue: Catalogue) -> dict[str, Any]:
    names = ("count", "completed", "partially_completed", "failed", "canceled", "pending", "quantity_delivered")
    successful = row["completed"] + row["partially_completed"]
    return {
        **{name: row[name] for name in names},
        "cost": {code: catalogue.format_amount(minor, code) for code, minor in charged.items()},
        "cost_minor": charged,
        "success_rate": _rate(successful, successful + row["failed"]),
        "p50_seconds": row["p50_seconds"],
        "p95_seconds": row["p95_seconds"],
    }


def _rate(successful: int, ended: int) -> str | None:
    """A ratio as a decimal string with four decimals."""
    return format_minor((successful * 10**RATE_DECIMALS * 2 + ended) // (2 * ended), RATE_DECIMALS) if ended else None
