"""Amounts, numbers and moments as they are written in a language. Money comes as a decimal string and stays exact."""

import re
from datetime import UTC, date, datetime
from decimal import Decimal

from babel import Locale
from babel.dates import format_date, format_datetime, format_time
from babel.numbers import format_decimal

DECIMAL = re.compile(r"-?[0-9]+(?:\.(?P<part>[0-9]+))?")
DAYS = {"en": "yyyy-MM-dd", "de": "dd.MM.yyyy"}
"""English is read all over the world, and only this order of day and month is read alike everywhere."""
LONG_DAYS = {"en": "d MMMM yyyy", "de": "d. MMMM yyyy"}
MOMENTS = {"en": "yyyy-MM-dd HH:mm:ss 'UTC'", "de": "dd.MM.yyyy, HH:mm:ss 'UTC'"}
SHARES = {"en": "0.00%", "de": "0.00\N{NO-BREAK SPACE}%"}


class Formats:
    """How one language writes. Times are in UTC, and say so."""

    def __init__(self, language: str) -> None:
        self._language = language
        self._locale = Locale.parse(language)

    def amount(self, decimal: str) -> str:
        """`1234.50` as 1,234.50 or 1.234,50: with each of its digits. What is no decimal stays as it is."""
        match = DECIMAL.fullmatch(decimal)
        if match is None:
            return decimal
        part = match["part"]
        return format_decimal(Decimal(decimal), "#,##0" if part is None else f"#,##0.{'0' * len(part)}", self._locale)

    def number(self, count: int) -> str:
        """A whole number, in groups of three."""
        return format_decimal(count, "#,##0", self._locale)

    def percent(self, share: str) -> str:
        """A share of one, such as `0.9876`, in percent."""
        return format_decimal(Decimal(share), SHARES[self._language], self._locale)

    def day(self, when: str | date) -> str:
        """A day, in figures."""
        return format_date(_day(when), DAYS[self._language], self._locale)

    def long_day(self, when: str | date) -> str:
        """A day, with the name of its month."""
        return format_date(_day(when), LONG_DAYS[self._language], self._locale)

    def moment(self, when: str | datetime) -> str:
        """A day and a time to the second."""
        return format_datetime(_moment(when), MOMENTS[self._language], UTC, self._locale)

    def hour(self, when: str | datetime) -> str:
        """A time of day to the minute."""
        return format_time(_moment(when), "HH:mm", UTC, self._locale)

    def second(self, when: str | datetime) -> str:
        """A time of day to the second."""
        return format_time(_moment(when), "HH:mm:ss", UTC, self._locale)


def _moment(when: str | datetime) -> datetime:
    return (datetime.fromisoformat(when) if isinstance(when, str) else when).astimezone(UTC)


def _day(when: str | date) -> date:
    if isinstance(when, str):
        return date.fromisoformat(when[:10])
    return when.astimezone(UTC).date() if isinstance(when, datetime) else when
