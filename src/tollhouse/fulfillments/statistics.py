"""Statistics of deliveries: how many, how well, how fast, at what cost."""

from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any, Literal
from uuid import UUID

import msgspec
from msgspec import Struct

from tollhouse.catalogue.currencies import format_amount
from tollhouse.fulfillments import statistics_store
from tollhouse.http.bodies import RequestFacts
from tollhouse.kernel import messages
from tollhouse.kernel.clock import Timestamp, moment_of, stamp
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import FieldError, ValidationFailed
from tollhouse.kernel.ids import Mode
from tollhouse.kernel.money import format_minor
from tollhouse.platform.db import Pool, Row

GroupBy = Literal["day", "product", "status"]
LONGEST, USUAL = timedelta(days=366), timedelta(days=30)
RATE_DECIMALS = 4


class StatisticsQuery(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`?from=&to=` are times or dates (midnight UTC), at most 366 days apart. Left out: the 30 days up to now."""

    start: str | None = msgspec.field(name="from", default=None)
    to: str | None = None
    group_by: GroupBy | None = None
    product_id: str | None = None
    project_id: UUID | None = None

    def rule_errors(self, facts: RequestFacts) -> Iterator[FieldError]:
        """Every parameter that is refused."""
        return self._faults(*self._span(facts.now))

    def _faults(self, start: datetime | None, end: datetime | None) -> Iterator[FieldError]:
        for name, moment, typed in (("from", start, self.start), ("to", end, self.to)):
            if moment is None and typed is not None:
                yield FieldError(name, "invalid_time", messages.A_TIME_OR_DAY)
        if start is not None and end is not None:
            if start >= end:
                yield FieldError("from", "out_of_range", messages.BEFORE_END)
            elif end - start > LONGEST:
                yield FieldError("from", "out_of_range", messages.AT_MOST_A_YEAR)

    def span(self, now: datetime) -> tuple[datetime, datetime]:
        """From when, within, to when, without. Raises `ValidationFailed`."""
        start, end = self._span(now)
        field_errors = list(self._faults(start, end))
        if start is None or end is None or field_errors:
            raise ValidationFailed(*field_errors)
        return start, end

    def _span(self, now: datetime) -> tuple[datetime | None, datetime | None]:
        end = now if self.to is None else moment_of(self.to)
        start = None if self.start is None else moment_of(self.start)
        return (end - USUAL if start is None and self.start is None and end is not None else start), end


class Figures(Struct, frozen=True, kw_only=True):
    """What is counted. `pending` are those that have not ended; `success_rate` is of those that were delivered or failed.

    `cost` is what was charged, by currency. Times are from the order to the delivery, in whole seconds, rounded up.
    """

    count: int = 0
    completed: int = 0
    partially_completed: int = 0
    failed: int = 0
    canceled: int = 0
    pending: int = 0
    quantity_delivered: int = 0
    cost: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    cost_minor: dict[str, int] = msgspec.field(default_factory=dict[str, int])
    success_rate: str | None = None
    p50_seconds: int | None = None
    p95_seconds: int | None = None


class Group(Figures, frozen=True, kw_only=True):
    """The figures of one day, product or status."""

    key: str


class Statistics(Struct, frozen=True, kw_only=True):
    """GET /fulfillments/statistics."""

    object: Literal["fulfillment_statistics"] = "fulfillment_statistics"
    start: Timestamp = msgspec.field(name="from")
    to: Timestamp
    group_by: GroupBy | None
    totals: Figures
    groups: list[Group]
    mode: Mode
    livemode: bool


async def of(db: Pool, env: MerchantEnv, query: StatisticsQuery, now: datetime) -> Statistics:
    """The statistics of what was ordered in that span, read in one snapshot. Raises `ValidationFailed`."""
    start, end = query.span(now)
    wanted = (start, end, query.product_id, query.project_id, query.group_by)
    counts, costs = await statistics_store.read(db, env, wanted)
    charged: dict[str | None, dict[str, int]] = defaultdict(dict)
    for row in costs:
        charged[None if row["whole"] else row["key"]][row["currency"]] = row["charged"]
    whole = next((row for row in counts if row["whole"]), None)
    groups = [row for row in counts if not row["whole"] and query.group_by is not None]
    return Statistics(
        start=stamp(start),
        to=stamp(end),
        group_by=query.group_by,
        totals=Figures() if whole is None else Figures(**_figures(whole, charged[None])),
        groups=[Group(key=row["key"], **_figures(row, charged[row["key"]])) for row in groups],
        mode=env.mode,
        livemode=env.livemode,
    )


def _figures(row: Row, charged: dict[str, int]) -> dict[str, Any]:
    names = ("count", "completed", "partially_completed", "failed", "canceled", "pending", "quantity_delivered")
    good = row["completed"] + row["partially_completed"]
    return {
        **{name: row[name] for name in names},
        "cost": {code: format_amount(minor, code) for code, minor in charged.items()},
        "cost_minor": charged,
        "success_rate": _rate(good, good + row["failed"]),
        "p50_seconds": row["p50_seconds"],
        "p95_seconds": row["p95_seconds"],
    }


def _rate(good: int, ended: int) -> str | None:
    """A share as a decimal string of four digits."""
    return format_minor((good * 10**RATE_DECIMALS * 2 + ended) // (2 * ended), RATE_DECIMALS) if ended else None
