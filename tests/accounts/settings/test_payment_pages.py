"""The dashboard's page of how a merchant is paid, as a browser without scripts gets and posts it."""

import html
import re
from typing import Any

import pytest

from tests.cast import Actor, Answer
from tests.forms import post, refuses_foreign_forms, seen, wrong

PATH = "/test/settings/payments"
VALUE = re.compile(r'<input class="input" id="([^"]+)" name="[^"]+" type="[a-z]+" value="([^"]*)"')
CHOSEN = re.compile(
    r'<select class="select" id="([a-z_]+)" name="[^>]*>(?:<option[^>]*>[^<]*</option>)*?<option value="([^"]*)" selected>'
)
TICKED = re.compile(r'name="method" value="([^"]+)" id="m-\d+" checked>')
VERSION = re.compile(r'name="version" value="(\d+)"')


async def form(actor: Actor, path: str = PATH) -> dict[str, Any]:
    """The form as a browser would post it back."""
    return fields(await actor.send("GET", path))


def fields(page: Answer) -> dict[str, Any]:
    """What stands in the form of a page; the methods that are ticked as a list."""
    text = page.text
    found: dict[str, Any] = {name: html.unescape(value) for name, value in [*VALUE.findall(text), *CHOSEN.findall(text)]}
    [version] = VERSION.findall(text)
    return found | {"method": TICKED.findall(text), "version": version}


async def send(actor: Actor, typed: dict[str, Any], status: int = 303, path: str = PATH) -> Answer:
    """Post it, a field for each method that is ticked."""
    pairs = [(name, value) for name, value in typed.items() if name != "method"]
    return (await actor.form(path, [*pairs, *(("method", method) for method in typed["method"])])).ok(status)


async def settings(actor: Actor, mode: str = "test") -> dict[str, Any]:
    return (await actor.get("/settings", mode=mode)).ok().body


async def test_posted_as_it_is_the_form_changes_nothing_but_the_version(alice: Actor) -> None:
    before = await settings(alice)
    assert (await send(alice, await form(alice))).location == f"{PATH}?done=saved"
    after = await settings(alice)
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"version", "updated_at"}
    assert "Settings saved." in await seen(alice, f"{PATH}?done=saved")


async def test_everything_can_be_set_and_is_shown_again(alice: Actor) -> None:
    typed = await form(alice) | {
        "default_currency": "USD",
        "link_expiry": "1",
        "link_expiry_unit": "hours",
        "underpayment_tolerance": "1.25",
        "overpayment": "refund_required",
        "late_payments": "accept",
        "late_monitoring_days": "3",
        "success_url": "https://shop.example/?a=1&b=2",
        "branding.display_name": 'The "Shop"',
        "branding.accent_color": "#1a6b4f",
        "confirmations.bitcoin": "3",
        "confirmations.ethereum": "finalized",
        "method": ["sandbox:EUR"],
    }
    await send(alice, typed)
    kept = await settings(alice)
    assert (kept["default_currency"], kept["link_expiry_minutes"], kept["underpayment_tolerance_bps"]) == ("USD", 60, 125)
    assert (kept["overpayment"], kept["late_payments"], kept["late_monitoring_days"]) == ("refund_required", "accept", 3)
    assert kept["branding"]["display_name"] == 'The "Shop"'
    assert kept["confirmations"] == {"bitcoin": 3, "ethereum": "finalized"}
    assert [payment_method["method_id"] for payment_method in kept["payment_methods"] if payment_method["enabled"]] == [
        "sandbox:EUR"
    ]
    assert await form(alice) == typed | {"version": "2"}
    assert (await settings(alice, "live"))["version"] == 1


async def test_what_is_wrong_is_said_at_its_field(alice: Actor) -> None:
    bad = {
        "link_expiry": "4",
        "underpayment_tolerance": "half",
        "late_monitoring_days": "",
        "default_currency": "XXX",
        "success_url": "ftp://shop.example",
        "branding.logo_url": "http://shop.example/logo.png",
        "branding.accent_color": "green",
        "branding.support_email": "nobody",
        "confirmations.bitcoin": "many",
    }
    page = await send(alice, await form(alice) | bad | {"link_expiry_unit": "minutes"}, 422)
    assert wrong(page).keys() == bad.keys()
    assert wrong(page)["link_expiry"] == "Enter a whole number: from 5 minutes to 365 days."
    assert wrong(page)["underpayment_tolerance"] == "Enter a percentage from 0 to 5, with at most two decimals."
    assert wrong(page)["branding.accent_color"] == "This must be a color such as #1a6b4f."
    assert 'value="half"' in page.text
    assert (await settings(alice))["version"] == 1


@pytest.mark.parametrize(
    ("typed", "minutes", "bps"),
    [
        ({"link_expiry": "2", "link_expiry_unit": "days", "underpayment_tolerance": "0,5"}, 2880, 50),
        ({"link_expiry": "365", "link_expiry_unit": "days", "underpayment_tolerance": "5.00"}, 525_600, 500),
        ({"link_expiry": "5", "link_expiry_unit": "minutes", "underpayment_tolerance": "0"}, 5, 0),
    ],
)
async def test_units_are_those_of_people(alice: Actor, typed: dict[str, str], minutes: int, bps: int) -> None:
    await send(alice, await form(alice) | typed)
    kept = await settings(alice)
    assert (kept["link_expiry_minutes"], kept["underpayment_tolerance_bps"]) == (minutes, bps)


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ({"link_expiry": "366", "link_expiry_unit": "days"}, "link_expiry"),
        ({"link_expiry": "1.5"}, "link_expiry"),
        ({"link_expiry_unit": "years"}, "link_expiry"),
        ({"underpayment_tolerance": "5.01"}, "underpayment_tolerance"),
        ({"underpayment_tolerance": "0.125"}, "underpayment_tolerance"),
        ({"underpayment_tolerance": "-1"}, "underpayment_tolerance"),
        ({"underpayment_tolerance": "NaN"}, "underpayment_tolerance"),
        ({"underpayment_tolerance": "1e99"}, "underpayment_tolerance"),
    ],
)
async def test_what_is_out_of_range_is_said_at_its_field(alice: Actor, typed: dict[str, str], name: str) -> None:
    assert wrong(await send(alice, await form(alice) | typed, 422)).keys() == {name}


async def test_the_percentage_is_written_in_the_language_of_the_page(alice: Actor) -> None:
    page = await alice.send("GET", PATH, headers={"Accept-Language": "de"})
    assert fields(page)["underpayment_tolerance"] == "0,5"


async def test_the_second_of_two_gets_an_error_and_loses_nothing(alice: Actor) -> None:
    typed = await form(alice) | {"link_expiry": "60", "link_expiry_unit": "minutes"}
    for _ in range(2):
        await send(alice, typed)
    assert (await settings(alice))["version"] == 2
    page = await send(alice, typed | {"link_expiry": "90"}, 409)
    assert "The settings were changed in the meantime." in page.text
    assert 'value="90"' in page.text
    await send(alice, fields(page))
    assert (await settings(alice))["link_expiry_minutes"] == 90


async def test_nobody_else_changes_them(alice: Actor) -> None:
    await seen(alice, "/prod/settings/payments", 404)
    await post(alice, "/prod/settings/payments", 404)
    await refuses_foreign_forms(alice, PATH)
