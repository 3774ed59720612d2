"""Periods and their parts: when days begin somewhere, and what a period is compared with."""

from datetime import UTC, date, datetime, timedelta, tzinfo

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tollhouse.kernel.clock import midnight, zone_names, zone_of
from tollhouse.kernel.errors import ValidationFailed
from tollhouse.kernel.periods import DAYS_MAX, Period, PeriodName, period

BERLIN = zone_of("Europe/Berlin")
NOW = datetime(2026, 11, 21, 2, 39, tzinfo=UTC)
ZONES = [
    "UTC",
    "Europe/Berlin",
    "America/Santiago",
    "Africa/Cairo",
    "Asia/Kathmandu",
    "Pacific/Kiritimati",
    "America/St_Johns",
]
NAMES: list[PeriodName] = ["today", "7d", "14d", "30d", "month", "quarter"]


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def custom(first: str, last: str, now: datetime = NOW, zone: tzinfo = UTC) -> Period:
    return period("custom", first, last, now, zone)


def test_today_is_compared_with_yesterday_until_the_same_time() -> None:
    found = period("today", "", "", NOW, BERLIN)
    assert found.unit == "hour"
    assert (found.now.starts[0], found.now.end) == (at("2026-11-20T23:00"), at("2026-11-21T23:00"))
    assert len(found.now.starts) == 24
    assert (found.before.starts[0], found.before.end) == (at("2026-11-19T23:00"), at("2026-11-20T02:39"))
    assert len(found.before.starts) == 4


@pytest.mark.parametrize(
    ("name", "first", "before", "until"),
    [
        ("7d", "2026-11-15", "2026-11-08", "2026-11-14T02:39"),
        ("14d", "2026-11-08", "2026-10-25", "2026-11-07T02:39"),
        ("30d", "2026-10-23", "2026-09-23", "2026-10-22T02:39"),
        ("month", "2026-11-01", "2026-10-01", "2026-10-21T02:39"),
        ("quarter", "2026-10-01", "2026-07-01", "2026-08-21T02:39"),
    ],
)
def test_a_period_that_has_not_ended_is_compared_with_as_much(name: PeriodName, first: str, before: str, until: str) -> None:
    found = period(name, "", "", NOW, UTC)
    days = (str(found.days.first), str(found.days.last), str(found.days.before))
    assert days == (first, "2026-11-21", before)
    assert found.before.end == at(until)
    assert found.unit == ("week" if name == "quarter" else "day")


def test_a_shorter_month_before_ends_where_this_one_begins() -> None:
    found = period("month", "", "", at("2026-03-31T10:00"), UTC)
    assert found.days.before == date(2026, 2, 1)
    assert found.before.end == at("2026-03-01T00:00") == found.now.starts[0]
    assert (len(found.before.starts), len(found.now.starts)) == (28, 31)


def test_january_is_compared_with_december() -> None:
    found = period("month", "", "", at("2026-01-05T10:00"), UTC)
    assert found.days.before == date(2025, 12, 1)
    assert period("quarter", "", "", at("2026-01-05T10:00"), UTC).days.before == date(2025, 10, 1)


def test_days_that_were_typed() -> None:
    found = custom("2026-11-01", "2026-11-10")
    assert found.days.before == date(2026, 10, 22)
    assert (found.before.end, found.now.end) == (at("2026-11-01T00:00"), at("2026-11-11T00:00"))
    assert custom("2026-11-01", "2027-01-01").days.last == date(2026, 11, 21)
    assert custom("2026-02-01", "2026-06-30").unit == "week"
    months = custom("2025-12-15", "2026-11-21")
    assert months.unit == "month"
    assert months.now.starts[1] == at("2026-01-01T00:00")


@pytest.mark.parametrize(
    ("first", "last", "wrong"),
    [
        ("", "", {"from", "to"}),
        ("2026-02-30", "2026-11-01", {"from"}),
        ("2026-11-01", "01.11.2026", {"to"}),
        ("0001-01-01", "9999-12-31", {"from", "to"}),
        ("2026-11-02", "2026-11-01", {"to"}),
        ("2026-11-22", "2026-11-30", {"from"}),
        ("2025-11-20", "2026-11-21", {"from"}),
    ],
)
def test_invalid_days_are_reported(first: str, last: str, wrong: set[str]) -> None:
    with pytest.raises(ValidationFailed) as refused:
        custom(first, last)
    assert {problem.field for problem in refused.value.field_errors} == wrong


def test_a_day_of_changed_clocks_has_its_own_hours() -> None:
    assert len(period("today", "", "", at("2026-10-25T12:00"), BERLIN).now.starts) == 25
    assert len(period("today", "", "", at("2026-03-29T12:00"), BERLIN).now.starts) == 23


def test_noon_is_compared_with_noon_though_clocks_were_changed_in_between() -> None:
    found = period("today", "", "", at("2026-03-29T10:00"), BERLIN)
    assert f"{found.before.end.astimezone(BERLIN):%Y-%m-%d %H:%M}" == "2026-03-28 12:00"


def test_where_clocks_skip_midnight_the_day_begins_when_they_do() -> None:
    santiago = zone_of("America/Santiago")
    begins = midnight(date(2026, 9, 6), santiago)
    assert (begins, begins.astimezone(santiago).hour) == (at("2026-09-06T04:00"), 1)


@settings(max_examples=60, deadline=None)
@example(at("2020-01-31T12:00"), "Europe/Berlin", 213)
@given(
    st.datetimes(datetime(2020, 1, 1), datetime(2030, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001 - the strategy's form
    st.sampled_from(ZONES),
    st.sampled_from([*NAMES, *range(1, DAYS_MAX)]),
)
def test_parts_follow_each_other_and_the_period_before_ends_first(now: datetime, zone: str, asked: PeriodName | int) -> None:
    there = zone_of(zone)
    today = now.astimezone(there).date()
    if isinstance(asked, int):
        found = custom(str(today - timedelta(days=asked)), str(today), now, there)
    else:
        found = period(asked, "", "", now, there)
    moments = [*found.before.bounds, *found.now.bounds]
    assert moments == sorted(moments)
    assert len(set(found.now.bounds)) == len(found.now.bounds)
    assert found.now.starts[0] == midnight(found.days.first, there)
    assert found.now.starts[0] <= now < found.now.end
    # A month begun at either end: 30 November to 1 July are nine parts, 2 July to 31 January, as many days, seven.
    assert len(found.before.starts) <= len(found.now.starts) + 2
    assert len(found.now.starts) <= 32


def test_zones_are_places_of_the_list() -> None:
    assert zone_names()[0] == "UTC"
    assert "Europe/Berlin" in zone_names()
    assert not {"US/Eastern", "Etc/GMT+1", "localtime"} & set(zone_names())
    for unknown in ("", "Mars/Olympus", "../../etc/passwd", "x" * 500):
        assert zone_of(unknown) == UTC
