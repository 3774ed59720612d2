"""The list of a person's sessions: what each one is, and how it is ended."""

import re
from uuid import uuid4

import pytest

from tests.accounts.merchants.authenticator import elsewhere, enrol
from tests.cast import PASSWORD, Actor
from tests.forms import seen, signed_out
from tollhouse.accounts.identity.browsers import browser_of, system_of

LIST = "/settings/sessions"
SESSION = "/api/v2/merchant/session"
END = re.compile(rf'action="{LIST}/([0-9a-f-]{{36}})/end"')
AWAY = """
    UPDATE sessions SET address = '192.0.2.7', last_seen_at = now() - interval '2 minutes'
    WHERE user_id = (SELECT id FROM users WHERE email = $1)
"""
LINUX = "Mozilla/5.0 (X11; Linux x86_64)"
FIREFOX = f"{LINUX} Gecko/20100101 Firefox/140.0"
CHROME = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/150.0.0.0 Safari/537.36"
SAFARI = (
    "Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) AppleWebKit/605.1.15 Version/19.0 Mobile/15E148 Safari/604.1"
)


async def sign_in(actor: Actor) -> None:
    (await actor.dashboard("POST", "/login", {"email": actor.email, "password": PASSWORD})).ok()


async def test_each_session_is_listed_and_one_is_ended(alice: Actor) -> None:
    assert "You have no other sessions" in await seen(alice, LIST)
    async with elsewhere(alice, FIREFOX) as other:
        await sign_in(other)
        shown = await seen(alice, LIST)
        assert "Firefox on Linux" in shown
        assert "127.0.0.1" in shown
        assert shown.count("Current session") == 1
        [session_id] = END.findall(shown)
        for _ in range(2):
            assert (await alice.form(f"{LIST}/{session_id}/end", {})).ok(303).location == f"{LIST}?done=ended"
        (await other.dashboard("GET", "/session")).refused("authentication_required", 401)
    assert "Signed out." in (left := await seen(alice, f"{LIST}?done=ended"))
    assert END.findall(left) == []


async def test_all_others_are_ended_at_once(alice: Actor) -> None:
    async with elsewhere(alice) as one, elsewhere(alice, SAFARI) as two:
        await sign_in(one)
        await sign_in(two)
        assert len(END.findall(await seen(two, LIST))) == 2
        (await two.form(f"{LIST}/others/end", {})).ok(303)
        (await two.dashboard("GET", "/session")).ok()
        for ended in (alice, one):
            (await ended.dashboard("GET", "/session")).refused("authentication_required", 401)


async def test_nobody_ends_a_session_of_somebody_else(alice: Actor, mallory: Actor) -> None:
    [row] = await alice.sql(
        "SELECT public_id FROM sessions WHERE user_id = (SELECT id FROM users WHERE email = $1)", alice.email
    )
    for session_id in (row["public_id"], uuid4()):
        (await mallory.form(f"{LIST}/{session_id}/end", {})).ok(303)
    (await mallory.form(f"{LIST}/nothing/end", {})).refused("not_found", 404)
    (await mallory.form(f"{LIST}/others/end", {})).ok(303)
    (await alice.dashboard("GET", "/session")).ok()
    foreign = {"Sec-Fetch-Site": "cross-site"}
    (await alice.send("POST", f"{LIST}/others/end", headers=foreign)).refused("cross_origin_forbidden", 403)
    for path in (LIST, "/settings/security"):
        assert (await alice.anonymously("GET", path)).ok(303).location == signed_out(path)


async def test_where_a_session_was_seen_last_is_shown(alice: Actor) -> None:
    await alice.sql(AWAY, alice.email)
    assert "192.0.2.7" not in await seen(alice, LIST)  # it was seen here just now
    async with elsewhere(alice, "<script>alert(1)</script>") as other:
        await sign_in(other)
        assert "Unknown device" in (await alice.send("GET", LIST)).ok().text
        await alice.sql("UPDATE sessions SET expires_at = now() - interval '1 ms' WHERE user_agent LIKE '<script>%'")
    assert END.findall(await seen(alice, LIST)) == []


@pytest.mark.parametrize(
    ("user_agent", "browser", "system"),
    [
        (FIREFOX, "Firefox", "Linux"),
        (CHROME, "Chrome", "Windows"),
        (CHROME + " Edg/150.0.0.0", "Edge", "Windows"),
        (SAFARI, "Safari", "iPhone"),
        ("curl/8.5.0", "curl", ""),
        ("Python/3.11 aiohttp/3.14.0", "Python", ""),
        ("Mozilla/5.0", "", ""),
        ("<b>", "", ""),
        ("", "", ""),
    ],
)
def test_a_browser_in_words(user_agent: str, browser: str, system: str) -> None:
    assert (browser_of(user_agent), system_of(user_agent)) == (browser, system)


async def test_signing_in_ends_the_session_whose_cookie_came_along(alice: Actor, bob: Actor) -> None:
    def held(actor: Actor) -> dict[str, str]:
        [secret] = [cookie.value for cookie in actor.http.cookie_jar if cookie.key == "tollhouse_session"]
        return {"Cookie": f"tollhouse_session={secret}"}

    first = held(alice)
    await sign_in(alice)
    (await alice.anonymously("GET", SESSION, headers=first)).refused("authentication_required", 401)
    (await alice.dashboard("GET", "/session")).ok()
    second = held(alice)
    (await alice.form("/signin", {"email": bob.email, "password": PASSWORD})).ok(303)
    (await alice.anonymously("GET", SESSION, headers=second)).refused("authentication_required", 401)
    third = held(alice)
    body = {"email": f"{uuid4()}@example.com", "password": PASSWORD, "business_name": "Another"}
    (await alice.dashboard("POST", "/signup", body)).ok(201)
    (await alice.anonymously("GET", SESSION, headers=third)).refused("authentication_required", 401)
    (await bob.dashboard("GET", "/session")).ok()


async def test_a_wrong_password_ends_no_session(alice: Actor) -> None:
    (await alice.dashboard("POST", "/login", {"email": alice.email, "password": "a wrong password"})).ok(401)
    (await alice.dashboard("GET", "/session")).ok()


async def test_switching_a_second_factor_on_ends_the_other_sessions(alice: Actor) -> None:
    async with elsewhere(alice) as other:
        await sign_in(other)
        await enrol(alice)
        (await alice.dashboard("GET", "/session")).ok()
        (await other.dashboard("GET", "/session")).refused("authentication_required", 401)
