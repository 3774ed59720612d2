"""The one clock, and time zones by their names. `now` enters a request or a job once and is passed on from there."""

import re
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from functools import cache
from typing import Any, NewType
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
TIME = re.compile(
    r"(?P<day>[0-9]{4}-[0-9]{2}-[0-9]{2})[Tt](?P<clock>(?:[01][0-9]|2[0-3]):[0-5][0-9]):(?P<second>[0-6][0-9])"
    r"(?P<part>\.[0-9]+)?(?P<zone>[Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])"
)
"""The `date-time` of RFC 3339 section 5.6. `T` and `Z` may be lower case; a space between date and time may not be."""
LEAP_SECOND = 60
FIRST_YEAR, LAST_YEAR = 1970, 2999
FIRST_DAY, LAST_DAY = date(FIRST_YEAR, 1, 2), date(LAST_YEAR, 12, 30)
"""The days beside them are days of those years too, by whatever clocks."""
Timestamp = NewType("Timestamp", str)
"""RFC 3339 in UTC with `Z` and milliseconds, as every answer shows a time."""

DEFAULT_ZONE = "UTC"
PARTS_OF_THE_WORLD = (
    "Africa/", "America/", "Antarctica/", "Arctic/", "Asia/", "Atlantic/", "Australia/", "Europe/", "Indian/", "Pacific/",
)  # fmt: skip


def now() -> datetime:
    """The present moment, in UTC, cut to the milliseconds that answers show."""
    moment = datetime.now(UTC)
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


def interval_by_age(age: timedelta, parts: int, shortest: timedelta, longest: timedelta) -> timedelta:
    """An interval that grows with an age: one of so many equal parts of it, but no shorter and no longer than these."""
    return min(max(age / parts, shortest), longest)


def stamp(moment: datetime) -> Timestamp:
    """`2026-11-21T02:39:00.123Z`."""
    return Timestamp(moment.astimezone(UTC).isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z")


def parse_time(text: str) -> datetime | None:
    """The moment of an RFC 3339 text, in UTC and cut to microseconds; None where it is none, or outside the years 1 to 9999.

    A leap second, which is the last one of a month in UTC, is the first moment of the next month.
    """
    match = TIME.fullmatch(text)
    if match is None:
        return None
    leap = int(match["second"]) == LEAP_SECOND
    second, part = ("59", "") if leap else (match["second"], (match["part"] or "")[:7])
    try:
        found = datetime.fromisoformat(f"{match['day']}T{match['clock']}:{second}{part}{match['zone'].upper()}")
        found = found.astimezone(UTC) + timedelta(seconds=leap)
    except (ValueError, OverflowError):
        return None
    return None if leap and found.strftime("%d %H:%M:%S") != "01 00:00:00" else found


def parse_time_or_date(text: str) -> datetime | None:
    """The moment of an RFC 3339 text or of a plain date, which is midnight UTC; None where it is neither, or far away."""
    found = parse_time(f"{text}T00:00:00Z" if DATE.fullmatch(text) else text)
    return found if found is not None and FIRST_YEAR <= found.year <= LAST_YEAR else None


def parse_date(text: str) -> date | None:
    """The day of a plain date; None where it is none, or far away."""
    if not DATE.fullmatch(text):
        return None
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return None
    return day if FIRST_DAY <= day <= LAST_DAY else None


def stamp_or_none(moment: datetime | None) -> Timestamp | None:
    """The stamp of a moment that may not have come yet."""
    return None if moment is None else stamp(moment)


def status_at(status: str, open_status: str, expires_at: datetime | None, at: datetime) -> Any:
    """The status at `at` of what is expired from `expires_at` on, as long as it is open: the SQL function `status_at`."""
    return "expired" if status == open_status and expires_at is not None and expires_at <= at else status


def seconds(count: float) -> timedelta:
    """A span of `count` seconds."""
    return timedelta(seconds=count)


@cache
def zone_names() -> tuple[str, ...]:
    """UTC, then the zones of the machine that are named after a place, by name. Old spellings are left out."""
    return (DEFAULT_ZONE, *sorted(name for name in available_timezones() if name.startswith(PARTS_OF_THE_WORLD)))


@cache
def zone_of(name: str) -> tzinfo:
    """The zone of this name; UTC where this machine does not know it (any more)."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return UTC


def midnight(day: date, zone: tzinfo) -> datetime:
    """The first moment of the day there, in UTC. Where clocks skip midnight, it is the moment they do."""
    return datetime.combine(day, time(), zone).astimezone(UTC)
