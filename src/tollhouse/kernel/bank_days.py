"""Bank days: days on which banks settle transfers in euros. The others are the closing days of T2 (ECB)."""

from datetime import UTC, date, datetime, timedelta

from tollhouse.kernel.zones import midnight

DAY = timedelta(days=1)
SATURDAY = 5
CLOSED = frozenset({(1, 1), (5, 1), (12, 25), (12, 26)})
"""Month and day. Good Friday and Easter Monday are closing days as well."""


def is_bank_day(day: date) -> bool:
    """Whether banks settle on this day."""
    if day.weekday() >= SATURDAY or (day.month, day.day) in CLOSED:
        return False
    sunday = easter(day.year)
    return day not in {sunday - 2 * DAY, sunday + DAY}


def bank_days_between(first: date, last: date) -> int:
    """The number of bank days after the first day, until the last one."""
    return sum(is_bank_day(first + nth * DAY) for nth in range(1, (last - first).days + 1))


def before_bank_days(now: datetime, count: int) -> datetime:
    """The beginning of the day, in UTC, before which anything is more than this many bank days ago."""
    day = now.astimezone(UTC).date()
    while count > 0:
        count -= is_bank_day(day)
        day -= DAY
    while not is_bank_day(day):
        day -= DAY
    return midnight(day, UTC)


def easter(year: int) -> date:
    """Easter Sunday of the Gregorian calendar (Meeus, Jones and Butcher)."""
    a, b, c = year % 19, year // 100, year % 100
    h = (19 * a + b - b // 4 - (b - (b + 8) // 25 + 1) // 3 + 15) % 30
    k = (32 + 2 * (b % 4) + 2 * (c // 4) - h - c % 4) % 7
    m = (a + 11 * h + 22 * k) // 451
    month, day = divmod(h + k - 7 * m + 114, 31)
    return date(year, month, day + 1)
