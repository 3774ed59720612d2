"""The one clock. `now` enters a request or a job once and is passed on from there."""

from datetime import UTC, datetime, timedelta
from typing import NewType

Timestamp = NewType("Timestamp", str)
"""RFC 3339 in UTC with `Z` and milliseconds, as every answer shows a time."""


def now() -> datetime:
    """The present moment, in UTC, cut to the milliseconds that answers show."""
    moment = datetime.now(UTC)
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


def stamp(moment: datetime) -> Timestamp:
    """`2026-11-21T02:39:00.123Z`."""
    return Timestamp(moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z")


def stamp_or_none(moment: datetime | None) -> Timestamp | None:
    """The stamp of a moment that may not have come yet."""
    return None if moment is None else stamp(moment)


def seconds(count: float) -> timedelta:
    """A span of `count` seconds."""
    return timedelta(seconds=count)
