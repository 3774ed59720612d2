"""The one clock. `now` enters a request or a job once and is passed on from there."""

import re
from datetime import UTC, date, datetime, timedelta
from typing import NewType

import msgspec

DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
FIRST_YEAR, LAST_YEAR = 1970, 2999
FIRST_DAY, LAST_DAY = date(FIRST_YEAR, 1, 2), date(LAST_YEAR, 12, 30)
"""The days beside them are days of those years too, by whatever clocks."""
Timestamp = NewType("Timestamp", str)
"""RFC 3339 in UTC with `Z` and milliseconds, as every answer shows a time."""


def now() -> datetime:
    """The present moment, in UTC, cut to the milliseconds that answers show."""
    moment = datetime.now(UTC)
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


def stamp(moment: datetime) -> Timestamp:
    """`2026-11-21T02:39:00.123Z`."""
    return Timestamp(moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z")


def moment_of(text: str) -> datetime | None:
    """The moment of an RFC 3339 text or of a plain date, which is midnight UTC; None where it is neither, or far away."""
    try:
        found = msgspec.convert(f"{text}T00:00:00Z" if DATE.fullmatch(text) else text, datetime)
    except msgspec.ValidationError:
        return None
    return None if found.tzinfo is None or not FIRST_YEAR <= found.year <= LAST_YEAR else found.astimezone(UTC)


def day_of(text: str) -> date | None:
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


def seconds(count: float) -> timedelta:
    """A span of `count` seconds."""
    return timedelta(seconds=count)
