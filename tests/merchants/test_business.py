"""The page on which a merchant says who it is, as a browser without scripts gets and posts it."""

import asyncpg
import pytest

from tests.cast import Actor
from tests.forms import hidden, post, refuses_foreign_forms, seen, signed_out, wrong

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
    assert '<option value="Europe/Berlin" selected>Europe/Berlin</option>' in page
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
