"""Bank days: weekends and the closing days of T2 are none."""

from datetime import UTC, date, datetime

import pytest

from tollhouse.kernel.bank_codes import bank_days_between, before_bank_days, easter, is_bank_day


def test_easter() -> None:
    assert [easter(year) for year in (2024, 2025, 2026, 2038)] == [
        date(2024, 3, 31),
        date(2025, 4, 20),
        date(2026, 4, 5),
        date(2038, 4, 25),
    ]


@pytest.mark.parametrize(
    ("day", "open_"),
    [("2026-04-02", True), ("2026-04-03", False), ("2026-04-06", False), ("2026-05-01", False), ("2026-12-24", True),
     ("2026-12-25", False), ("2026-11-21", False), ("2027-01-01", False)],
)  # fmt: skip
def test_closing_days(day: str, open_: bool) -> None:
    assert is_bank_day(date.fromisoformat(day)) is open_


@pytest.mark.parametrize("today", [date(2026, 11, 18), date(2026, 11, 22), date(2026, 12, 28), date(2026, 4, 7)])
def test_what_is_overdue_is_more_bank_days_ago(today: date) -> None:
    limit = before_bank_days(datetime(today.year, today.month, today.day, 23, tzinfo=UTC), 3).date()
    ages = [bank_days_between(date.fromordinal(limit.toordinal() + shift), today) for shift in (-1, 0)]
    assert ages[0] > 3 >= ages[1]
