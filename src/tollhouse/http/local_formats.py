"""Money, numbers and times in a language. Amounts are decimal strings and stay exact."""

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, tzinfo
from decimal import Decimal
from functools import cache, lru_cache, partial

from babel import Locale
from babel.dates import format_date, format_timedelta
from babel.numbers import format_decimal, get_currency_name, get_currency_symbol, get_decimal_symbol, get_group_symbol
from markupsafe import Markup

from tollhouse.http.languages import ENGLISH, LANGUAGES
from tollhouse.kernel import clock
from tollhouse.kernel.clock import stamp
from tollhouse.kernel.money import short
from tollhouse.kernel.periods import Unit

DECIMAL = re.compile(r"(?P<sign>[+\N{MINUS SIGN}-]?)(?P<whole>[0-9]+)(?:\.(?P<part>[0-9]+))?(?P<unit>[kM]?)")
SIGNS = {"-": "\N{MINUS SIGN}"}
CACHED_DAYS_MAX = 256
PART_DIGITS_MIN = 2
"""The digits behind the point that an amount with a code keeps; further zeros are left out."""
MONTHS = "LLL yyyy"
TIME_OF_DAY, TO_THE_SECOND = "%H:%M", "%H:%M:%S"
SECOND, HOUR = timedelta(seconds=1), timedelta(hours=1)
DATA = Markup('<data class="tab" value="%s" title="%s %s">%s</data>')
TIME = Markup('<time datetime="%s" title="%s">%s</time>')


class Formats:
    """The formats of one language in one time zone. `now` says which day is today."""

    def __init__(self, language: str, zone: tzinfo = UTC, now: Callable[[], datetime] = clock.now) -> None:
        self._language = language
        self._patterns = LANGUAGES[language]
        self._locale = Locale.parse(language)
        self._zone = zone
        self._now = now
        self._point = get_decimal_symbol(self._locale)
        self._group = get_group_symbol(self._locale)
        self._symbol_first = self._locale.currency_formats["standard"].pattern.startswith("\N{CURRENCY SIGN}")
        self._symbol = cache(partial(get_currency_symbol, locale=self._locale))
        self._written = lru_cache(CACHED_DAYS_MAX)(partial(format_date, locale=self._locale))

    def amount(self, decimal: str) -> str:
        """`1234.50` as 1,234.50 or 1.234,50, with sign, digits and unit. Other texts stay unchanged."""
        match = DECIMAL.fullmatch(decimal)
        if match is None:
            return decimal
        return SIGNS.get(match["sign"], match["sign"]) + self._figure(match["whole"], match["part"]) + match["unit"]

    def money(self, decimal: str, code: str) -> str:
        """An amount with the symbol of its currency: €24.90 or 24,90 €. A currency without an own symbol has its code."""
        match = DECIMAL.fullmatch(decimal)
        if match is None:
            return f"{decimal} {code}"
        sign, symbol, part = SIGNS.get(match["sign"], match["sign"]), self._symbol(code), match["part"]
        if symbol != code and self._symbol_first:
            return f"{sign}{symbol}{self._figure(match['whole'], part)}"
        if symbol == code and part is not None:
            part = part[:PART_DIGITS_MIN] + part[PART_DIGITS_MIN:].rstrip("0")
        return f"{sign}{self._figure(match['whole'], part)} {symbol}"

    def plain_amount(self, decimal: str) -> str:
        """`1234.50` as 1234.50 or 1234,50, as forms of banks take it."""
        return decimal.replace(".", self._point)

    def money_data(self, decimal: str, code: str) -> Markup:
        """An amount as HTML, with the whole figure and the code on hover."""
        exact = decimal.lstrip("+").replace("\N{MINUS SIGN}", "-")
        return DATA % (exact, self.amount(decimal), code, self.money(decimal, code))

    def short_money(self, decimals: int, code: str) -> Callable[[int], str]:
        """Amounts in minor units for chart labels: €250, €1.5k or 1,5k €, 2M BTC."""
        plain, symbol = short(decimals), self._symbol(code)
        before, after = (symbol, "") if symbol != code and self._symbol_first else ("", f"\N{NO-BREAK SPACE}{symbol}")
        return lambda minor: f"{before}{self.amount(plain(minor))}{after}"

    def number(self, count: int) -> str:
        """A whole number with thousands separators."""
        return format_decimal(count, "#,##0", self._locale)

    def percent(self, share: str) -> str:
        """A share of one, such as `0.9876`, as a percentage."""
        return format_decimal(Decimal(share), self._patterns.percent, self._locale)

    def percentage(self, decimal: str) -> str:
        """A percentage such as `12.4` or `+12.4`: 12.4% or 12,4 %."""
        return self.amount(decimal) + self._patterns.percent.lstrip("0.")

    def currency_name(self, code: str, usual: str) -> str:
        """The name of a currency. `usual` is its English name, also for currencies that no state issues."""
        known = code if self._language == ENGLISH else get_currency_name(code, locale=self._locale)
        return usual if known == code else known

    def day(self, when: str | date) -> str:
        """A date, or the date of a time, in figures."""
        return format_date(self._day(when), self._patterns.day, self._locale)

    def long_day(self, when: str | date) -> str:
        """A date with the name of the month."""
        return format_date(self._day(when), self._patterns.long_day, self._locale)

    def short_day(self, when: str | date) -> str:
        """A date without the year, for chart labels."""
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
        """Date and time to the second, with the time zone: 21 Nov 2026, 16:42:07 CET (UTC+1)."""
        there = self._there(when)
        written = f"{self._written(there.date(), self._patterns.medium_day)}, {there:{TO_THE_SECOND}}"
        offset, name = utc_offset(there), _zone_name(there)
        return f"{written} {offset}" if name == offset else f"{written} {name} ({offset})"

    def short_moment(self, when: str | datetime) -> str:
        """16:42 today, 21 Nov, 16:42 in this year, else with the year."""
        there, now = self._there(when), self._now().astimezone(self._zone)
        if there.date() == now.date():
            return self.o_clock(there)
        day = self._patterns.short_day if there.year == now.year else self._patterns.medium_day
        return f"{self._written(there.date(), day)}, {self.o_clock(there)}"

    def long_moment(self, when: str | datetime) -> str:
        """Day, time and time zone in words, for customers: Tuesday, 24 November, 17:42 CET; in other years with the year."""
        there, now = self._there(when), self._now().astimezone(self._zone)
        day = self._patterns.long_day
        pattern = f"EEEE, {day.removesuffix(' yyyy') if there.year == now.year else day}"
        return f"{self._written(there.date(), pattern)}, {self.o_clock(there)} {_zone_name(there)}"

    def moment_data(self, when: str | datetime) -> Markup:
        """The short moment as HTML, with the second and the time zone on hover."""
        return self._time(when, self.short_moment(when))

    def ago(self, when: str | datetime) -> Markup:
        """A moment of a log as HTML: up to an hour, how long ago it was."""
        past = self._now() - self._there(when)
        if not timedelta() <= past < HOUR:
            return self.moment_data(when)
        written = format_timedelta(-max(past, SECOND), format="short", threshold=1, add_direction=True, locale=self._locale)
        return self._time(when, written.replace("min.", "min").replace("sec.", "sec"))

    def _time(self, when: str | datetime, shown: str) -> Markup:
        return TIME % (when if isinstance(when, str) else stamp(when), self.moment(when), shown)

    def hour(self, when: str | datetime) -> str:
        """Time to the minute."""
        return self._with_zone(when, TIME_OF_DAY)

    def second(self, when: str | datetime) -> str:
        """Time to the second."""
        return self._with_zone(when, TO_THE_SECOND)

    def o_clock(self, when: str | datetime) -> str:
        """Time to the minute without the UTC offset, which stands elsewhere."""
        return f"{self._there(when):{TIME_OF_DAY}}"

    def _figure(self, whole: str, part: str | None) -> str:
        grouped = f"{int(whole):,}".replace(",", self._group)
        return grouped if part is None else f"{grouped}{self._point}{part}"

    def _with_zone(self, when: str | datetime, pattern: str) -> str:
        there = self._there(when)
        return f"{there:{pattern}} {utc_offset(there)}"

    def _there(self, when: str | datetime) -> datetime:
        return (datetime.fromisoformat(when) if isinstance(when, str) else when).astimezone(self._zone)

    def _day(self, when: str | date) -> date:
        if isinstance(when, datetime) or (isinstance(when, str) and len(when) > len("2026-11-21")):
            return self._there(when).date()
        return date.fromisoformat(when) if isinstance(when, str) else when


def _zone_name(there: datetime) -> str:
    """The usual short name of the zone at this time, such as `CET`; where it has none, its UTC offset."""
    name = there.tzname() or ""
    return name if name.isalpha() else utc_offset(there)


def utc_offset(there: datetime) -> str:
    """The UTC offset of the zone at this time: `UTC`, `UTC+1`, `UTC+5:30`."""
    minutes = int((there.utcoffset() or timedelta()).total_seconds()) // 60
    if minutes == 0:
        return "UTC"
    sign = "+" if minutes > 0 else "\N{MINUS SIGN}"
    hours, rest = divmod(abs(minutes), 60)
    return f"UTC{sign}{hours}:{rest:02d}" if rest else f"UTC{sign}{hours}"
