"""The period that a person looks at, in its parts, and the period before: pure rules about days and clocks.

Days begin when they do in the merchant's time zone. A period that has not ended yet is compared with as much of the one
before: what came until noon today with what came until noon yesterday.
"""

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta, tzinfo
from itertools import takewhile
from typing import Literal

from msgspec import Struct

from tollhouse.kernel import messages
from tollhouse.kernel.clock import midnight, parse_date
from tollhouse.kernel.errors import FieldError, ValidationFailed

PeriodName = Literal["today", "7d", "14d", "30d", "month", "quarter", "custom"]
Unit = Literal["hour", "day", "week", "month"]
DAYS: dict[str, int] = {"today": 1, "7d": 7, "14d": 14, "30d": 30}
DAYS_MAX = 366
BY_DAY_MAX, BY_WEEK_MAX = 31, 184


class DateRange(Struct, frozen=True):
    """The first and last day that are looked at, and the first of as many before."""

    first: date
    last: date
    before: date


class Span(Struct, frozen=True):
    """Moments that each begin a part, and the one that ends the last of them, without. No parts: nothing to look at."""

    starts: tuple[datetime, ...]
    end: datetime

    @property
    def bounds(self) -> list[datetime]:
        """The starts and the end."""
        return [*self.starts, self.end]


class Period(Struct, frozen=True):
    """What is looked at, part by part, and what it is compared with. `days` is in the merchant's time zone."""

    days: DateRange
    unit: Unit
    now: Span
    before: Span


def period(name: PeriodName, since: str, until: str, now: datetime, zone: tzinfo) -> Period:
    """The period of this name at this moment; `since` and `until` are the days of a custom one.

    Raises `ValidationFailed`.
    """
    today = now.astimezone(zone).date()
    days = _custom(since, until, today) if name == "custom" else _named(name, today)
    count = (days.last - days.first).days + 1
    unit = _unit(count)
    end = midnight(days.last + timedelta(days=1), zone)
    reached = min(now, end)
    shift = days.first - days.before
    # By the clocks on the wall, so that noon is compared with noon where they were changed in between.
    as_far = (reached.astimezone(zone).replace(tzinfo=None) - shift).replace(tzinfo=zone).astimezone(UTC)
    before_end = max(min(as_far, midnight(days.first, zone)), midnight(days.before, zone))
    starts = tuple(_starts(days.first, days.last, unit, zone))
    earlier = _starts(days.before, days.before + timedelta(days=count - 1), unit, zone)
    return Period(
        days, unit, Span(starts, end), Span(tuple(takewhile(lambda start: start < before_end, earlier)), before_end)
    )


def _named(name: str, today: date) -> DateRange:
    if name in DAYS:
        count = timedelta(days=DAYS[name])
        first = today + timedelta(days=1) - count
        return DateRange(first, today, first - count)
    months = 1 if name == "month" else 3
    first = today.replace(month=today.month - (today.month - 1) % months, day=1)
    before = first
    for _ in range(months):
        before = (before - timedelta(days=1)).replace(day=1)
    return DateRange(first, today, before)


def _custom(since: str, until: str, today: date) -> DateRange:
    """The days that were typed. What is still to come is left out. Raises `ValidationFailed` with every fault."""
    first, last = parse_date(since), parse_date(until)
    field_errors = [
        FieldError(name, "invalid_value", messages.A_DAY) for name, day in (("from", first), ("to", last)) if day is None
    ]
    if first is None or last is None:
        raise ValidationFailed(*field_errors)
    if first > last:
        raise ValidationFailed(FieldError("to", "out_of_range", messages.NOT_BEFORE_FIRST_DAY))
    if first > today:
        raise ValidationFailed(FieldError("from", "out_of_range", messages.NOT_IN_FUTURE))
    last = min(last, today)
    count = last - first + timedelta(days=1)
    if count.days > DAYS_MAX:
        raise ValidationFailed(FieldError("from", "out_of_range", messages.AT_MOST_A_YEAR))
    return DateRange(first, last, first - count)


def _unit(count: int) -> Unit:
    if count == 1:
        return "hour"
    if count <= BY_DAY_MAX:
        return "day"
    return "week" if count <= BY_WEEK_MAX else "month"


def _starts(first: date, last: date, unit: Unit, zone: tzinfo) -> Iterator[datetime]:
    """When the parts of these days begin, in UTC. A day of changed clocks has 23 or 25 hours."""
    if unit == "hour":
        start, end = midnight(first, zone), midnight(last + timedelta(days=1), zone)
        while start < end:
            yield start
            start += timedelta(hours=1)
        return
    day = first
    while day <= last:
        yield midnight(day, zone)
        if unit == "month":
            day = (day.replace(day=1) + timedelta(days=32)).replace(day=1)
        else:
            day += timedelta(days=1 if unit == "day" else 7)
