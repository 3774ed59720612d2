"""The mode of dashboard pages: where it comes from, what remembers it, and where the switch leads."""

import asyncio
import re
from uuid import uuid4

import pytest

from tests.cast import Actor
from tests.forms import seen
from tests.payments.shop import open_link, pay

ACCOUNT_PAGES = (
    "/developers/apps",
    "/developers/apps/new",
    "/settings/audit",
    "/settings/business",
    "/settings/connected-apps",
    "/settings/password",
    "/settings/security",
    "/settings/security/address",
    "/settings/sessions",
)
MENU = re.compile(r'href="/(live|test)/developers/webhooks"')
SWITCH = re.compile(r'<nav class="seg mode"[^>]*>.*?<a href="([^"]+)">.*?(Live|Test)</a>.*?</nav>', re.DOTALL)
NAVIGATION = {"Accept": "text/html"}


async def opens(actor: Actor) -> str:
    """Where `/` leads."""
    return (await actor.send("GET", "/")).ok(303).location


async def mode_shown(actor: Actor, path: str) -> str:
    """The mode of the menu, which is one."""
    [mode] = set(MENU.findall(await seen(actor, path)))
    return mode


async def switch(actor: Actor, path: str) -> str:
    """Where the switch of this page leads. The page that it leads to is there, in the other mode, and leads back."""
    [(there, mode)] = SWITCH.findall(await seen(actor, path))
    assert await mode_shown(actor, there) == mode.lower()
    return there


async def remembered(actor: Actor) -> str | None:
    """The mode in the database."""
    [row] = await actor.sql("SELECT dashboard_mode FROM users WHERE merchant_id = $1::uuid", actor.merchant_id)
    return row["dashboard_mode"]


async def test_the_last_mode_is_remembered(alice: Actor) -> None:
    assert await opens(alice) == "/test/home"
    assert await remembered(alice) is None, "nothing is written where no mode was asked for"
    await seen(alice, "/live/balances")
    assert await opens(alice) == "/live/home"
    for path in ACCOUNT_PAGES:
        assert await mode_shown(alice, path) == "live", path
    await seen(alice, "/test/payments")
    for path in ACCOUNT_PAGES:
        assert await mode_shown(alice, path) == "test", path


@pytest.mark.parametrize("path", ACCOUNT_PAGES)
async def test_a_page_of_the_account_has_each_mode_before_its_path(alice: Actor, path: str) -> None:
    await seen(alice, "/live/home")
    assert await switch(alice, path) == f"/test{path}"
    assert await mode_shown(alice, path) == "test"
    assert await switch(alice, f"/test{path}") == f"/live{path}"
    assert await mode_shown(alice, path) == "live"


async def test_nothing_else_has_a_mode_before_its_path(alice: Actor) -> None:
    for path in ("/live/signin", "/live/operator", "/live/api/v2/merchant/session", "/live/live/home", "/live/docs"):
        await seen(alice, path, 404)
    for path in ("/else/settings/business", "/live/test/settings/business", "/live/settings"):
        await seen(alice, path, 404)


async def test_an_object_switches_to_its_list(alice: Actor) -> None:
    link = await open_link(alice)
    await pay(link)
    [payment] = (await alice.get("/transactions")).ok().body["transactions"]
    assert await switch(alice, f"/test/payments/{payment['id']}") == "/live/payments"
    assert await switch(alice, f"/test/payments/{payment['id']}/refund") == "/live/payments"
    assert await switch(alice, f"/test/payment-links/{link['id']}") == "/live/payment-links"
    assert await switch(alice, "/test/payment-links/new") == "/live/payment-links/new"
    assert await switch(alice, "/test/payments?status=succeeded") == "/live/payments"
    assert await switch(alice, "/live/developers/keys") == "/test/developers/keys"
    assert await switch(alice, "/live/settings/payments") == "/test/settings/payments"


async def test_a_page_that_answers_a_form_has_its_switch(alice: Actor) -> None:
    page = (await alice.form("/test/developers/keys", {"name": "shop"})).ok().text
    assert SWITCH.findall(page) == [("/live/developers/keys", "Live")]
    page = (await alice.form("/settings/password", {"current": "wrong", "new": "x"})).text
    assert SWITCH.findall(page) == [("/live/settings/password", "Live")]


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Purpose": "prefetch;prerender"},
        {"Sec-Purpose": "prefetch"},
        {"Purpose": "prefetch"},
        {"X-Moz": "prefetch"},
        {"Sec-Fetch-Dest": "empty"},
        {"Sec-Fetch-Dest": "image"},
    ],
    ids=lambda headers: " ".join(f"{name}-{value}" for name, value in headers.items()),
)
async def test_only_an_opened_page_is_remembered(alice: Actor, headers: dict[str, str]) -> None:
    page = await alice.send("GET", "/live/home", headers=NAVIGATION | headers)
    assert 'href="/live/payments"' in page.ok().text
    assert await remembered(alice) is None
    (await alice.send("GET", "/live/home", headers=NAVIGATION | {"Sec-Fetch-Dest": "document"})).ok()
    assert await remembered(alice) == "live"


async def test_what_is_no_page_is_not_remembered(alice: Actor) -> None:
    (await alice.send("HEAD", "/live/home")).ok()
    (await alice.send("HEAD", "/live/settings/business")).ok()
    await seen(alice, f"/live/payments/{uuid4()}", 404)
    await seen(alice, "/live/nowhere", 404)
    (await alice.anonymously("GET", "/live/home")).ok(303)
    assert await remembered(alice) is None


async def test_the_mode_is_written_only_when_it_changes(alice: Actor) -> None:
    async def version() -> int:
        [row] = await alice.sql("SELECT xmin::text::int AS version FROM users WHERE email = $1", alice.email)
        return row["version"]

    await seen(alice, "/live/home")
    before = await version()
    for path in ("/live/home", "/live/payments", "/settings/business", "/live/settings/business"):
        await seen(alice, path)
    assert await version() == before


async def test_two_tabs_stay_in_their_modes(alice: Actor) -> None:
    paths = [f"/{mode}/{name}" for mode in ("live", "test") for name in ("home", "payments", "settings/business")] * 4
    modes = await asyncio.gather(*(mode_shown(alice, path) for path in paths))
    assert modes == [path.split("/")[1] for path in paths]
    assert await remembered(alice) in {"live", "test"}
    await seen(alice, "/live/home")
    assert await mode_shown(alice, "/settings/business") == "live", "the last page decides where the path has no mode"


async def test_each_person_has_a_mode(alice: Actor, carol: Actor) -> None:
    await seen(alice, "/live/home")
    assert await opens(alice) == "/live/home"
    assert await opens(carol) == "/test/home"


async def test_test_payments_do_not_open_live(alice: Actor) -> None:
    await pay(await open_link(alice))
    assert await opens(alice) == "/test/home"
    assert await mode_shown(alice, "/settings/business") == "test"


async def test_people_of_a_suspended_merchant_can_switch(alice: Actor) -> None:
    await alice.sql("UPDATE merchants SET suspended_at = now() WHERE id = $1::uuid", alice.merchant_id)
    assert await switch(alice, "/test/payments") == "/live/payments"
    assert await opens(alice) == "/live/home"
    assert await switch(alice, "/settings/business") == "/test/settings/business"
    assert await opens(alice) == "/test/home"
