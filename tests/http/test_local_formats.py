"""How money and moments are written, and which language a browser gets."""

from datetime import UTC, date, datetime, timedelta

import pytest

from tollhouse.http.languages import preferred
from tollhouse.http.local_formats import Formats
from tollhouse.http.preferences import LOCAL_PATH
from tollhouse.kernel.clock import zone_of

ENGLISH, GERMAN = Formats("en"), Formats("de")
AFTERNOON = datetime(2026, 11, 22, 15, 42, 7, tzinfo=UTC)
NOON = datetime(2026, 11, 5, 12, 0, 7, tzinfo=UTC)


@pytest.mark.parametrize(
    ("decimal", "english", "german"),
    [
        ("0.05", "0.05", "0,05"),
        ("1234.50", "1,234.50", "1.234,50"),
        ("-1234567", "\N{MINUS SIGN}1,234,567", "\N{MINUS SIGN}1.234.567"),
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


@pytest.mark.parametrize(
    ("decimal", "code", "english", "german"),
    [
        ("24.90", "EUR", "€24.90", "24,90 €"),
        ("-1234567.50", "USD", "\N{MINUS SIGN}$1,234,567.50", "\N{MINUS SIGN}1.234.567,50 $"),
        ("+5.00", "GBP", "+£5.00", "+5,00 £"),
        ("1500", "JPY", "¥1,500", "1.500 ¥"),
        ("1234.50", "CHF", "1,234.50 CHF", "1.234,50 CHF"),
        ("71.240000", "USDC", "71.24 USDC", "71,24 USDC"),
        ("0.00420000", "BTC", "0.0042 BTC", "0,0042 BTC"),
        ("2.00000000", "ETH", "2.00 ETH", "2,00 ETH"),
        ("none", "EUR", "none EUR", "none EUR"),
    ],
)
def test_money_has_the_symbol_of_its_currency_or_its_code(decimal: str, code: str, english: str, german: str) -> None:
    assert (ENGLISH.money(decimal, code), GERMAN.money(decimal, code)) == (english, german)


def test_money_on_a_page_has_every_digit_and_the_code_on_hover() -> None:
    assert GERMAN.money_data("-1071.240000", "USDC") == (
        '<data class="tab" value="-1071.240000" title="\N{MINUS SIGN}1.071,240000 USDC">\N{MINUS SIGN}1.071,24 USDC</data>'
    )
    assert "&lt;b&gt;" in ENGLISH.money_data("<b>", "EUR")


@pytest.mark.parametrize(
    ("when", "english", "german", "ago"),
    [
        ("2026-11-22T15:42:07Z", "16:42", "16:42", "1 sec ago"),
        ("2026-11-22T15:41:37Z", "16:41", "16:41", "30 sec ago"),
        ("2026-11-22T15:30:07Z", "16:30", "16:30", "12 min ago"),
        ("2026-11-22T14:42:07Z", "15:42", "15:42", "15:42"),
        ("2026-11-22T16:42:07Z", "17:42", "17:42", "17:42"),
        ("2026-11-21T23:00:00Z", "00:00", "00:00", "00:00"),
        ("2026-11-21T22:59:00Z", "21 Nov, 23:59", "21. Nov., 23:59", "21 Nov, 23:59"),
        ("2026-11-22T23:00:00Z", "23 Nov, 00:00", "23. Nov., 00:00", "23 Nov, 00:00"),
        ("2025-12-31T23:00:00Z", "1 Jan, 00:00", "1. Jan., 00:00", "1 Jan, 00:00"),
        ("2025-12-31T22:59:00Z", "31 Dec 2025, 23:59", "31. Dez. 2025, 23:59", "31 Dec 2025, 23:59"),
    ],
)
def test_a_moment_is_as_long_as_it_must_be(when: str, english: str, german: str, ago: str) -> None:
    berlin = zone_of("Europe/Berlin")
    there = Formats("en", berlin, lambda: AFTERNOON)
    assert (there.short_moment(when), Formats("de", berlin, lambda: AFTERNOON).short_moment(when)) == (english, german)
    assert there.ago(when) == f'<time datetime="{when}" title="{there.moment(when)}">{ago}</time>'


def test_a_long_moment_has_the_weekday_and_the_zone() -> None:
    there = [Formats(language, zone_of("Europe/Berlin"), lambda: AFTERNOON) for language in ("en", "de")]
    at = "2026-11-24T16:42:00Z"
    assert [one.long_moment(at) for one in there] == ["Tuesday, 24 November, 17:42 CET", "Dienstag, 24. November, 17:42 CET"]
    assert there[1].long_moment("2027-03-05T00:00:00Z") == "Freitag, 5. März 2027, 01:00 CET"
    assert Formats("en", zone_of("Asia/Kathmandu"), lambda: AFTERNOON).long_moment(at).endswith(", 22:27 UTC+5:45")


def test_an_amount_for_the_form_of_a_bank_has_no_groups() -> None:
    assert (ENGLISH.plain_amount("1234.50"), GERMAN.plain_amount("1234.50")) == ("1234.50", "1234,50")


def test_the_time_goes_on_while_the_formats_are_kept() -> None:
    clock = iter((AFTERNOON, AFTERNOON + timedelta(days=1)))
    there = Formats("en", UTC, lambda: next(clock))
    assert [there.short_moment(AFTERNOON) for _ in "12"] == ["15:42", "22 Nov, 15:42"]


def test_numbers_days_and_times() -> None:
    assert (ENGLISH.number(12_345), GERMAN.number(12_345)) == ("12,345", "12.345")
    assert (ENGLISH.percent("0.9876"), GERMAN.percent("0.9876")) == ("98.76%", "98,76\N{NO-BREAK SPACE}%")
    assert (ENGLISH.day(NOON), GERMAN.day("2026-11-05T12:00:07.000Z")) == ("5 Nov 2026", "05.11.2026")
    assert (ENGLISH.long_day(date(2026, 11, 5)), GERMAN.long_day(NOON)) == ("5 November 2026", "5. November 2026")
    assert ENGLISH.moment("2026-11-05T12:00:07.123Z") == "5 Nov 2026, 12:00:07 UTC"
    assert GERMAN.moment(NOON) == "5. Nov. 2026, 12:00:07 UTC"
    assert (GERMAN.hour(NOON), GERMAN.second("2026-11-05T13:00:07+01:00")) == ("12:00 UTC", "12:00:07 UTC")
    assert (ENGLISH.short_day(NOON), GERMAN.short_day(NOON)) == ("5 Nov", "5. Nov.")
    assert (ENGLISH.month(NOON), GERMAN.month(date(2026, 3, 5))) == ("Nov 2026", "Mär 2026")
    assert (ENGLISH.o_clock(NOON), GERMAN.o_clock(NOON)) == ("12:00", "12:00")


@pytest.mark.parametrize(
    ("zone", "when", "shown", "day"),
    [
        ("UTC", "2026-11-05T23:30:00Z", "5 Nov 2026, 23:30:00 UTC", "5 Nov 2026"),
        ("Europe/London", "2026-01-05T23:30:00Z", "5 Jan 2026, 23:30:00 GMT (UTC)", "5 Jan 2026"),
        ("Europe/Berlin", "2026-11-05T23:30:00Z", "6 Nov 2026, 00:30:00 CET (UTC+1)", "6 Nov 2026"),
        ("Europe/Berlin", "2026-07-05T23:30:00Z", "6 Jul 2026, 01:30:00 CEST (UTC+2)", "6 Jul 2026"),
        ("Asia/Kathmandu", "2026-11-05T23:30:00Z", "6 Nov 2026, 05:15:00 UTC+5:45", "6 Nov 2026"),
        ("America/St_Johns", "2026-11-05T00:30:00Z", "4 Nov 2026, 21:00:00 NST (UTC\N{MINUS SIGN}3:30)", "4 Nov 2026"),
        ("Pacific/Kiritimati", "2026-11-05T12:30:00Z", "6 Nov 2026, 02:30:00 UTC+14", "6 Nov 2026"),
    ],
)
def test_clocks_of_a_zone_say_how_far_they_are_from_utc(zone: str, when: str, shown: str, day: str) -> None:
    there = Formats("en", zone_of(zone))
    assert (there.moment(when), there.day(when)) == (shown, day)
    assert (there.moment(datetime.fromisoformat(when)), there.day("2026-11-05")) == (shown, "5 Nov 2026")


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
