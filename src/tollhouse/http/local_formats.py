"""Amounts, numbers and moments as they are written in a language. Money comes as a decimal string and stays exact."""

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
    """How one language writes, by the clocks of one zone. Each time of day says how far these are from UTC."""

    def __init__(self, language: str, zone: tzinfo = UTC) -> None:
        self._language = language
        self._patterns = LANGUAGES[language]
        self._locale = Locale.parse(language)
        self._zone = zone

    def amount(self, decimal: str) -> str:
        """`1234.50` as 1,234.50 or 1.234,50: with its sign, digits and unit. What is no decimal stays as it is."""
        match = DECIMAL.fullmatch(decimal)
        if match is None:
            return decimal
        part = match["part"]
        pattern = "#,##0" if part is None else f"#,##0.{'0' * len(part)}"
        return match["sign"] + format_decimal(Decimal(match["size"]), pattern, self._locale) + match["unit"]

    def short_amount(self, decimals: int) -> Callable[[int], str]:
        """How amounts in minor units are written beside a chart: 250, 1.5k or 1,5k, 2M."""
        plain = short(decimals)
        return lambda minor: self.amount(plain(minor))

    def number(self, count: int) -> str:
        """A whole number, in groups of three."""
        return format_decimal(count, "#,##0", self._locale)

    def percent(self, share: str) -> str:
        """A share of one, such as `0.9876`, in percent."""
        return format_decimal(Decimal(share), self._patterns.percent, self._locale)

    def currency_name(self, code: str, usual: str) -> str:
        """What a currency is called. `usual` is its name in English, and that of one which no state has made."""
        known = code if self._language == ENGLISH else get_currency_name(code, locale=self._locale)
        return usual if known == code else known

    def day(self, when: str | date) -> str:
        """A day, or the day of a moment, in figures."""
        return format_date(self._day(when), self._patterns.day, self._locale)

    def long_day(self, when: str | date) -> str:
        """The same, with the name of its month."""
        return format_date(self._day(when), self._patterns.long_day, self._locale)

    def short_day(self, when: str | date) -> str:
        """The same without its year, as it stands below a chart."""
        return format_date(self._day(when), self._patterns.short_day, self._locale)

    def month(self, when: str | date) -> str:
        """The month of a day or a moment."""
        return format_date(self._day(when), MONTHS, self._locale)

    def part(self, start: datetime, unit: Unit) -> str:
        """What an hour, day or month of a period is called: `14:00`, `21 Nov` or `Nov 2026`."""
        if unit == "hour":
            return self.o_clock(start)
        return self.month(start) if unit == "month" else self.short_day(start)

    def moment(self, when: str | datetime) -> str:
        """A day and a time to the second."""
        return self._with_zone(when, self._patterns.moment)

    def hour(self, when: str | datetime) -> str:
        """A time of day to the minute."""
        return self._with_zone(when, TIME_OF_DAY)

    def second(self, when: str | datetime) -> str:
        """A time of day to the second."""
        return self._with_zone(when, TO_THE_SECOND)

    def o_clock(self, when: str | datetime) -> str:
        """A time of day to the minute, where the zone is said beside it."""
        return format_datetime(self._there(when), TIME_OF_DAY, locale=self._locale)

    def _with_zone(self, when: str | datetime, pattern: str) -> str:
        there = self._there(when)
        return f"{format_datetime(there, pattern, locale=self._locale)} {_beside_utc(there)}"

    def _there(self, when: str | datetime) -> datetime:
        return (datetime.fromisoformat(when) if isinstance(when, str) else when).astimezone(self._zone)

    def _day(self, when: str | date) -> date:
        if isinstance(when, datetime) or (isinstance(when, str) and len(when) > len("2026-11-21")):
            return self._there(when).date()
        return date.fromisoformat(when) if isinstance(when, str) else when


def _beside_utc(there: datetime) -> str:
    """`UTC`, `UTC+1`, `UTC+5:30`: how far the clocks of its zone are from UTC then. It is the same in each language."""
    minutes = int((there.utcoffset() or timedelta()).total_seconds()) // 60
    if minutes == 0:
        return "UTC"
    sign = "+" if minutes > 0 else "\N{MINUS SIGN}"
    hours, rest = divmod(abs(minutes), 60)
    return f"UTC{sign}{hours}:{rest:02d}" if rest else f"UTC{sign}{hours}"
