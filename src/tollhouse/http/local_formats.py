"""Amounts, numbers and times in a language. Amounts are decimal strings and stay exact."""

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, tzinfo
from decimal import Decimal

from babel import Locale
from babel.dates import format_date, format_datetime
from babel.numbers import format_decimal, get_currency_name

from tollhouse.http.languages import ENGLISH, LANGUAGES
from tollhouse.kernel.money import short
from tollhouse.kernel.periods import Unit

DECIMAL = re.compile(r"(?P<sign>[+\N{MINUS SIGN}-]?)(?P<size>[0-9]+(?:\.(?P<part>[0-9]+))?)(?P<unit>[kM]?)")
MONTHS = "LLL yyyy"
TIME_OF_DAY, TO_THE_SECOND = "HH:mm", "HH:mm:ss"


class Formats:
    """The formats of one language in one time zone. Times show their UTC offset."""

    def __init__(self, language: str, zone: tzinfo = UTC) -> None:
        self._language = language
        self._patterns = LANGUAGES[language]
        self._locale = Locale.parse(language)
        self._zone = zone

    def amount(self, decimal: str) -> str:
        """`1234.50` as 1,234.50 or 1.234,50, with sign, digits and unit. Other texts stay unchanged."""
        match = DECIMAL.fullmatch(decimal)
        if match is None:
            return decimal
        part = match["part"]
        pattern = "#,##0" if part is None else f"#,##0.{'0' * len(part)}"
        return match["sign"] + format_decimal(Decimal(match["size"]), pattern, self._locale) + match["unit"]

    def short_amount(self, decimals: int) -> Callable[[int], str]:
        """Amounts in minor units for chart labels: 250, 1.5k or 1,5k, 2M."""
        plain = short(decimals)
        return lambda minor: self.amount(plain(minor))

    def number(self, count: int) -> str:
        """A whole number with thousands separators."""
        return format_decimal(count, "#,##0", self._locale)

    def percent(self, share: str) -> str:
        """A share of one, such as `0.9876`, as a percentage."""
        return format_decimal(Decimal(share), self._patterns.percent, self._locale)

    def currency_name(self, code: str, usual: str) -> str:
        """The name of a currency. `usual` is its English name, also for currencies that no state issues."""
        known = code if self._language == ENGLISH else get_currency_name(code, locale=self._locale)
        return usual if known == code else known

    def day(self, when: str | date) -> str:
        """A date, or the date of a time, in figures."""
        return format_date(self._day(when), self._patterns.day, self._locale)

    def long_day(self, when: str | date) -> str:
        """The same with the name of the month."""
        return format_date(self._day(when), self._patterns.long_day, self._locale)

    def short_day(self, when: str | date) -> str:
        """The same without the year, for chart labels."""
        return format_date(self._day(when), self._patterns.short_day, self._locale)

    def month(self, when: str | date) -> str:
        """The month of a date or a time."""
        return format_date(self._day(when), MONTHS, self._locale)

    def part(self, start: datetime, unit: Unit) -> str:
        """The label of an hour, day or month: `14:00`, `21 Nov` or `Nov 2026`."""
        if unit == "hour":
            return self.o_clock(start)
        return self.month(start) if unit == "month" else self.short_day(start)

    def moment(self, when: str | datetime) -> str:
        """Date and time to the second."""
        return self._with_zone(when, self._patterns.moment)

    def hour(self, when: str | datetime) -> str:
        """Time to the minute."""
        return self._with_zone(when, TIME_OF_DAY)

    def second(self, when: str | datetime) -> str:
        """Time to the second."""
        return self._with_zone(when, TO_THE_SECOND)

    def o_clock(self, when: str | datetime) -> str:
        """Time to the minute without the UTC offset, which stands elsewhere."""
        return format_datetime(self._there(when), TIME_OF_DAY, locale=self._locale)

    def _with_zone(self, when: str | datetime, pattern: str) -> str:
        there = self._there(when)
        return f"{format_datetime(there, pattern, locale=self._locale)} {_utc_offset(there)}"

    def _there(self, when: str | datetime) -> datetime:
        return (datetime.fromisoformat(when) if isinstance(when, str) else when).astimezone(self._zone)

    def _day(self, when: str | date) -> date:
        if isinstance(when, datetime) or (isinstance(when, str) and len(when) > len("2026-11-21")):
            return self._there(when).date()
        return date.fromisoformat(when) if isinstance(when, str) else when


def _utc_offset(there: datetime) -> str:
    """The UTC offset of the zone at this time: `UTC`, `UTC+1`, `UTC+5:30`."""
    minutes = int((there.utcoffset() or timedelta()).total_seconds()) // 60
    if minutes == 0:
        return "UTC"
    sign = "+" if minutes > 0 else "\N{MINUS SIGN}"
    hours, rest = divmod(abs(minutes), 60)
    return f"UTC{sign}{hours}:{rest:02d}" if rest else f"UTC{sign}{hours}"
