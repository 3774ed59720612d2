"""What is chosen in the foot of a page beside its language: light or dark, and whether letters are shortcuts."""

import pytest

from tests.cast import Actor
from tests.forms import FOREIGN, seen
from tests.payments.shop import open_link, visit
from tollhouse.http.static_files import static

OFF = "Turn on keyboard shortcuts"
SCRIPT = static("shortcuts.js")


async def pick(actor: Actor, choice: str, value: str) -> str:
    """Choose at the foot of a page; where that leads."""
    answer = (await actor.form(f"/{choice}", {choice: value, "back": "/test/payments?status=failed"})).ok(303)
    assert answer.location is not None
    return answer.location


async def test_light_or_dark_is_kept_on_every_page(alice: Actor) -> None:
    link = await open_link(alice)
    assert "data-theme" not in await seen(alice, "/test/payments")
    assert await pick(alice, "theme", "dark") == "/test/payments?status=failed"
    checkout = link["url"].removeprefix(alice.service.url)
    for path in ("/test/payments", "/settings/business", checkout, "/docs", "/test/nowhere"):
        page = await alice.send("GET", path, headers={"Accept": "text/html"})
        assert '<html lang="en" data-theme="dark">' in page.text, path
        assert '<button name="theme" value="light">' in page.text, path
    assert "data-theme" not in (await visit(link, alice)).ok().text
    await pick(alice, "theme", "system")
    assert "data-theme" not in await seen(alice, "/test/payments")


async def test_shortcuts_can_be_switched_off(alice: Actor) -> None:
    page = await seen(alice, "/test/payments")
    assert SCRIPT in page
    assert 'id="shortcuts"' in page
    await pick(alice, "shortcuts", "off")
    page = await seen(alice, "/test/payments")
    assert SCRIPT not in page
    assert 'id="shortcuts"' not in page
    assert OFF in page
    await pick(alice, "shortcuts", "on")
    assert SCRIPT in await seen(alice, "/test/payments")


@pytest.mark.parametrize("choice", ["theme", "shortcuts"])
async def test_what_cannot_be_chosen_is_not_kept(alice: Actor, choice: str) -> None:
    answer = (await alice.form(f"/{choice}", {choice: '"><script>', "back": "//evil.example"})).ok(303)
    assert answer.location == "/"
    assert "Set-Cookie" not in answer.headers
    foreign = await alice.send("POST", f"/{choice}", data={choice: "dark"}, headers=FOREIGN)
    foreign.refused("cross_origin_forbidden", 403)
    page = (await alice.send("GET", "/signin", headers={"Cookie": f"tollhouse_{choice}=%22%3E"})).ok().text
    assert "data-theme" not in page


async def test_a_tab_says_that_it_is_only_a_test(alice: Actor) -> None:
    link = await open_link(alice)
    for path in ("/test/payments", link["url"].removeprefix(alice.service.url)):
        page = await seen(alice, path)
        assert "<title>TEST · " in page, path
        assert f'href="{static("mark-test.svg")}"' in page, path
    for path in ("/live/payments", "/settings/business", "/docs"):
        page = await seen(alice, path)
        assert "<title>TEST" not in page, path
        assert f'href="{static("mark.svg")}"' in page, path
