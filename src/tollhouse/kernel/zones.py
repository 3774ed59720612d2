"""Time zones by their names, and when a day begins in one."""

from datetime import UTC, date, datetime, time, tzinfo
from functools import cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

DEFAULT_ZONE = "UTC"
PARTS_OF_THE_WORLD = (
    "Africa/", "America/", "Antarctica/", "Arctic/", "Asia/", "Atlantic/", "Australia/", "Europe/", "Indian/", "Pacific/",
)  # fmt: skip


@cache
def names() -> tuple[str, ...]:
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
