"""How amounts and moments are written, which language a browser gets, and what counts as an amount that was typed."""

from datetime import UTC, date, datetime

import pytest

from tollhouse.http.forms import parse_form
from tollhouse.http.languages import preferred
from tollhouse.http.local_formats import Formats
from tollhouse.http.preferences import LOCAL_PATH
from tollhouse.kernel.zones import zone_of

ENGLISH, GERMAN = Formats("en"), Formats("de")
NOON = datetime(2026, 11, 5, 12, 0, 7, tzinfo=UTC)


@pytest.mark.parametrize(
    ("decimal", "english", "german"),
    [
        ("0.05", "0.05", "0,05"),
        ("1234.50", "1,234.50", "1.234,50"),
        ("-1234567", "-1,234,567", "-1.234.567"),
        ("90071992.54740991", "90,071,992.54740991", "90.071.992,54740991"),
        ("0.00000001", "0.00000001", "0,00000001"),
        ("+1234.50", "+1,234.50", "+1.234,50"),
        ("\N{MINUS SIGN}0.50", "\N{MINUS SIGN}0.50", "\N{MINUS SIGN}0,50"),
        ("1.5k", "1.5k", "1,5k"),
        ("none", "none", "none"),
    ],
)
def test_an_amount_keeps_each_of_its_digits(decimal: str, english: str, german: str) -> None:
    assert (ENGLISH.amount(decimal), GERMAN.amount(decimal)) == (english, german)


def test_numbers_days_and_times() -> None:
    assert (ENGLISH.number(12_345), GERMAN.number(12_345)) == ("12,345", "12.345")
    assert (ENGLISH.percent("0.9876"), GERMAN.percent("0.9876")) == ("98.76%", "98,76\N{NO-BREAK SPACE}%")
    assert (ENGLISH.day(NOON), GERMAN.day("2026-11-05T12:00:07.000Z")) == ("2026-11-05", "05.11.2026")
    assert (ENGLISH.long_day(date(2026, 11, 5)), GERMAN.long_day(NOON)) == ("5 November 2026", "5. November 2026")
    assert ENGLISH.moment("2026-11-05T12:00:07.123Z") == "2026-11-05 12:00:07 UTC"
    assert GERMAN.moment(NOON) == "05.11.2026, 12:00:07 UTC"
    assert (GERMAN.hour(NOON), GERMAN.second("2026-11-05T13:00:07+01:00")) == ("12:00 UTC", "12:00:07 UTC")
    assert (ENGLISH.short_day(NOON), GERMAN.short_day(NOON)) == ("5 Nov", "5. Nov.")
    assert (ENGLISH.month(NOON), GERMAN.month(date(2026, 3, 5))) == ("Nov 2026", "Mär 2026")
    assert (ENGLISH.o_clock(NOON), GERMAN.o_clock(NOON)) == ("12:00", "12:00")


@pytest.mark.parametrize(
    ("zone", "when", "shown", "day"),
    [
        ("UTC", "2026-11-05T23:30:00Z", "2026-11-05 23:30:00 UTC", "2026-11-05"),
        ("Europe/London", "2026-01-05T23:30:00Z", "2026-01-05 23:30:00 UTC", "2026-01-05"),
        ("Europe/Berlin", "2026-11-05T23:30:00Z", "2026-11-06 00:30:00 UTC+1", "2026-11-06"),
        ("Europe/Berlin", "2026-07-05T23:30:00Z", "2026-07-06 01:30:00 UTC+2", "2026-07-06"),
        ("Asia/Kathmandu", "2026-11-05T23:30:00Z", "2026-11-06 05:15:00 UTC+5:45", "2026-11-06"),
        ("America/St_Johns", "2026-11-05T00:30:00Z", "2026-11-04 21:00:00 UTC\N{MINUS SIGN}3:30", "2026-11-04"),
        ("Pacific/Kiritimati", "2026-11-05T12:30:00Z", "2026-11-06 02:30:00 UTC+14", "2026-11-06"),
    ],
)
def test_clocks_of_a_zone_say_how_far_they_are_from_utc(zone: str, when: str, shown: str, day: str) -> None:
    there = Formats("en", zone_of(zone))
    assert (there.moment(when), there.day(when)) == (shown, day)
    assert (there.moment(datetime.fromisoformat(when)), there.day("2026-11-05")) == (shown, "2026-11-05")


def test_a_currency_has_a_name_in_each_language() -> None:
    for code, usual, german in (("GBP", "Pound Sterling", "Britisches Pfund"), ("BTC", "Bitcoin", "Bitcoin")):
        assert (ENGLISH.currency_name(code, usual), GERMAN.currency_name(code, usual)) == (usual, german)


@pytest.mark.parametrize(
    ("accepted", "language"),
    [
        ("", "en"),
        ("de", "de"),
        ("de-AT,de;q=0.9,en;q=0.8", "de"),
        ("fr-FR, fr;q=0.9, de;q=0.5, en;q=0.4", "de"),
        ("en-US,en;q=0.9,de;q=0.8", "en"),
        ("en;q=0.5, de;q=0.7", "de"),
        ("*, de;q=0.5", "en"),
        ("de;q=0, fr", "en"),
        ("de;q=2, ;;, de;q=x", "en"),
        ("DE-de", "de"),
        (f"{'fr,' * 20}de", "en"),
    ],
)
def test_the_browser_says_which_language(accepted: str, language: str) -> None:
    assert preferred(accepted) == language


@pytest.mark.parametrize(
    ("address", "ours"),
    [
        ("/", True),
        ("/test/home?page=2", True),
        ("//evil.example", False),
        ("/\\evil.example", False),
        ("https://evil.example", False),
        ("/a b", False),
        ("/a\r\nSet-Cookie: x", False),
        ("", False),
    ],
)
def test_the_way_back_leads_to_our_own_pages(address: str, *, ours: bool) -> None:
    assert (LOCAL_PATH.fullmatch(address) is not None) is ours


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("10,50", "10.50"),
        ("0,125", "0.125"),
        ("1,0000", "1.0000"),
        ("1,000", "1,000"),
        ("1.000,50", "1.000,50"),
        ("1,2,3", "1,2,3"),
        ("10.50", "10.50"),
        (",5", ",5"),
    ],
)
def test_a_comma_that_groups_no_thousands_is_a_point(typed: str, meant: str) -> None:
    assert parse_form(f"amount={typed}".encode()).amount("amount") == meant
