"""The served quickstart: signed-in people have a test key made for it, which one response shows in every command."""

import html
import re

import aiohttp
import pytest
from playwright.async_api import Browser, expect

from tests.browser import WIDE, Look, by_look, in_a_browser, visitor
from tests.cast import PASSWORD, Actor
from tests.forms import refuses_foreign_forms
from tollhouse.instance.docs.book import PLACEHOLDER
from tollhouse.pages.dashboard.account.key_presets import BY_NAME

PATH = "/docs/quickstart"
KEY = re.compile(r"th_test_[0-9A-Za-z]{20,}")
BLOCK = re.compile(r"<pre[^>]*><code>(.*?)</code></pre>", re.DOTALL)
FORM = f'<form method="post" action="{PATH}">'


def commands_of(page: str) -> str:
    """The commands as a reader copies them."""
    return html.unescape(re.sub(r"<[^>]+>", "", "\n".join(BLOCK.findall(page))))


async def test_signed_out_visitors_are_led_to_sign_in_and_back(alice: Actor) -> None:
    answer = (await alice.anonymously("GET", PATH)).ok()
    assert FORM not in answer.text
    assert "<code>th_test_…</code>" in answer.text
    assert 'href="/signin?to=%2Fdocs%2Fquickstart"' in answer.text
    assert KEY.search(answer.text) is None
    fields = {"email": alice.email, "password": PASSWORD, "to": PATH}
    async with aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as http:
        headers = {"Sec-Fetch-Site": "same-origin"}
        url = f"{alice.service.url}/signin"
        async with http.post(url, data=fields, headers=headers, allow_redirects=False) as response:
            assert (response.status, response.headers["Location"]) == (303, PATH)


async def test_one_response_has_a_key_in_every_command(alice: Actor) -> None:
    offered = (await alice.send("GET", PATH)).ok()
    assert FORM in offered.text
    assert (offered.headers["Cache-Control"], KEY.search(offered.text)) == ("no-store", None)
    made = (await alice.form(PATH, {})).ok()
    assert made.headers["Cache-Control"] == "no-store"
    [key] = set(KEY.findall(made.text))
    commands = commands_of(made.text)
    assert commands.count(f"X-API-Key: {key}") == 5
    assert [word for word in ("$KEY", PLACEHOLDER, "session.txt", "signup", "tollhouse serve") if word in commands] == []
    assert f"BASE={alice.service.settings.base_url}" in commands
    assert KEY.search((await alice.send("GET", PATH)).ok().text) is None
    headers = {"X-API-Key": key}
    (await alice.anonymously("GET", "/api/v2/integration/account", headers=headers)).ok()
    (await alice.anonymously("GET", "/api/v2/integration/withdrawals", headers=headers)).ok()


async def test_the_key_takes_payments_and_is_one_of_the_list(alice: Actor) -> None:
    (await alice.form(PATH, {})).ok()
    [listed] = (await alice.dashboard("GET", "/api-keys")).ok().body["api_keys"]
    assert (listed["name"], listed["mode"]) == ("Quickstart", "test")
    assert set(listed["scopes"]) == set(BY_NAME["payments"].scopes)


async def test_two_people_never_see_each_others_key(alice: Actor, carol: Actor) -> None:
    keys = [KEY.findall((await actor.form(PATH, {})).ok().text)[0] for actor in (alice, carol, alice)]
    assert len(set(keys)) == 3


async def test_only_forms_of_signed_in_people_make_keys(alice: Actor) -> None:
    await refuses_foreign_forms(alice, PATH)
    async with aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as http:
        url, headers = alice.service.url + PATH, {"Sec-Fetch-Site": "same-origin"}
        async with http.post(url, headers=headers, data={}, allow_redirects=False) as response:
            assert (response.status, response.headers["Location"]) == (303, "/signin?to=%2Fdocs%2Fquickstart")
    await alice.sql("UPDATE merchants SET suspended_at = now() WHERE id = $1::uuid", alice.merchant_id)
    assert FORM not in (await alice.send("GET", PATH)).ok().text
    (await alice.form(PATH, {})).ok(403)
    assert (await alice.dashboard("GET", "/api-keys")).ok().body["api_keys"] == []


@pytest.mark.long
@in_a_browser
@by_look(WIDE)
async def test_the_quickstart_with_a_key_in_a_browser(look: Look, alice: Actor, browser: Browser) -> None:
    async with visitor(browser, look, alice.service.url) as someone:
        await someone.page.goto(alice.service.url + PATH)
        await someone.see("quickstart-signed-out")
        await someone.page.get_by_role("main").get_by_role("link", name="Sign in").click()
        await someone.page.get_by_label("Email").fill(alice.email)
        await someone.page.get_by_label("Password", exact=True).fill(PASSWORD)
        await someone.page.get_by_role("button", name="Sign in", exact=True).click()
        await expect(someone.page).to_have_url(alice.service.url + PATH)
        await someone.see("quickstart-signed-in")
        await someone.page.get_by_role("button", name="Create test key").click()
        await expect(someone.page.get_by_text("The commands below contain it.")).to_be_visible()
        await someone.see("quickstart-with-key")
