"""The page on which a merchant says who it is, as a browser without scripts gets and posts it."""

import re
from datetime import UTC, datetime

import asyncpg
import pytest

from tests.cast import Actor
from tests.forms import hidden, post, refuses_foreign_forms, seen, signed_out, wrong
from tollhouse.kernel.clock import zone_of
from tollhouse.pages.dashboard.account.business import REGIONS, zone_choices

PATH = "/settings/business"
BERLIN = {"business_name": "Alice's Tea", "time_zone": "Europe/Berlin"}


async def form(actor: Actor) -> dict[str, str]:
    """What the form posts without showing it."""
    return hidden((await actor.send("GET", PATH)).ok())


async def test_a_name_and_a_time_zone_are_saved(alice: Actor) -> None:
    fields = await form(alice) | BERLIN
    for _ in range(2):
        assert (await post(alice, PATH, **fields)).location == f"{PATH}?done=saved"
    page = await seen(alice, f"{PATH}?done=saved")
    assert "Settings saved." in page
    assert '<option value="Europe/Berlin" selected>Berlin (UTC+' in page
    assert (await alice.get("/account")).ok().body["business_name"] == "Alice's Tea"
    assert "Times are in the time zone Europe/Berlin." in await seen(alice, "/test/home")


async def test_what_is_wrong_is_said_at_its_field(alice: Actor) -> None:
    page = await post(alice, PATH, 422, **await form(alice) | {"business_name": " ", "time_zone": "Mars/Olympus"})
    assert wrong(page).keys() == {"business_name", "time_zone"}
    assert (await alice.get("/account")).ok().body["business_name"] == "Alice's Coffee"


async def test_the_second_of_two_gets_an_error_and_loses_nothing(alice: Actor) -> None:
    first = await form(alice)
    await post(alice, PATH, **first | BERLIN)
    page = await post(alice, PATH, 409, **first | BERLIN | {"business_name": "Mine"})
    assert "Current settings: Alice&#39;s Tea, Europe/Berlin." in page.text
    assert 'value="Mine"' in page.text
    await post(alice, PATH, **hidden(page) | BERLIN | {"business_name": "Mine"})
    assert (await alice.get("/account")).ok().body["business_name"] == "Mine"


async def test_only_one_who_is_signed_in_changes_it(alice: Actor) -> None:
    assert (await alice.anonymously("GET", PATH)).ok(303).location == signed_out(PATH)
    await refuses_foreign_forms(alice, PATH)
    assert "This account is suspended." in await seen(alice, PATH)


async def test_the_database_keeps_no_name_that_is_no_zones(alice: Actor) -> None:
    for name in ("", "Europe/Berlin'", "../etc/passwd", "a b"):
        with pytest.raises(asyncpg.CheckViolationError):
            await alice.sql("UPDATE merchants SET time_zone = $1 WHERE id = $2::uuid", name, alice.merchant_id)


LEGAL = {
    "legal_name": "Alice Coffee GmbH",
    "address_line1": "Marktstraße 4",
    "postal_code": "90403",
    "city": "Nürnberg",
    "country": "DE",
    "tax_id": "DE123456789",
    "register_entry": "Amtsgericht Nürnberg, HRB 12345",
}


async def test_legal_details_are_saved_and_recorded(alice: Actor) -> None:
    await post(alice, PATH, **await form(alice) | BERLIN | LEGAL)
    page = await seen(alice, PATH)
    for value in LEGAL.values():
        assert f'value="{value}"' in page
    assert '<option value="DE" selected>Germany</option>' in page
    assert "Marktstraße 4" in await seen(alice, "/settings/audit")
    await post(alice, PATH, **await form(alice) | BERLIN)
    assert "Marktstraße 4" not in await seen(alice, PATH), "every part is optional"


async def test_a_concurrent_change_of_legal_details_is_detected(alice: Actor) -> None:
    first = await form(alice)
    await post(alice, PATH, **first | BERLIN | LEGAL)
    page = await post(alice, PATH, 409, **first | BERLIN | LEGAL | {"city": "Fürth"})
    assert "City: Nürnberg." in page.text
    assert 'value="Fürth"' in page.text
    await post(alice, PATH, **hidden(page) | BERLIN | LEGAL | {"city": "Fürth"})
    assert 'value="Fürth"' in await seen(alice, PATH)


async def test_legal_details_are_bounded(alice: Actor) -> None:
    limits = {"legal_name": 120, "address_line1": 100, "address_line2": 100, "postal_code": 20, "city": 80, "tax_id": 40}
    limits |= {"register_entry": 100}
    page = await post(alice, PATH, 422, **await form(alice) | BERLIN | {name: "x" * (n + 1) for name, n in limits.items()})
    assert wrong(page).keys() == limits.keys()
    await post(alice, PATH, **await form(alice) | BERLIN | {name: "x" * n for name, n in limits.items()})
    unreadable = {"city": "a\u202eb", "country": "ZZ", "tax_id": "\u0007"}
    assert wrong(await post(alice, PATH, 422, **await form(alice) | BERLIN | unreadable)).keys() == unreadable.keys()
    for name, chars in limits.items():
        statement = f"UPDATE merchants SET {name} = $2 WHERE id = $1::uuid"  # noqa: S608 - a name of the list above
        with pytest.raises(asyncpg.CheckViolationError):
            await alice.sql(statement, alice.merchant_id, "x" * (chars + 1))


async def test_time_zones_are_grouped_and_have_their_offset(alice: Actor) -> None:
    page = await seen(alice, "/settings/business")
    europe = page.partition('<optgroup label="Europe">')[2].partition("</optgroup>")[0]
    assert re.search(r'<option value="Europe/Berlin">Berlin \(UTC\+[12]\)</option>', europe)
    assert '<option value="Asia/Kathmandu">Kathmandu (UTC+5:45)</option>' in page
    assert '<option value="America/Argentina/Salta">Argentina, Salta (UTC\N{MINUS SIGN}3)</option>' in page
    assert '<option value="UTC" selected>UTC</option>' in page
    unknown = await alice.form("/settings/business", BERLIN | {"time_zone": "Mars/Base"})
    assert '<option value="Mars/Base" selected>Mars/Base</option>' in unknown.ok(422).text


async def test_no_name_that_somebody_sends_is_kept_as_a_zone(alice: Actor) -> None:
    await seen(alice, PATH)
    known = zone_of.cache_info().currsize
    for number in range(3):
        await post(alice, PATH, 422, **BERLIN | {"time_zone": f"Mars/Base{number}"})
    assert zone_of.cache_info().currsize == known


def test_every_zone_has_a_named_region() -> None:
    groups = [heading for heading, _ in zone_choices("UTC", datetime.now(UTC))]
    assert groups == ["UTC", *REGIONS.values()]
