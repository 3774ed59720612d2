"""Staying signed in on a known device, the devices of a person, and the log of what happened to the access."""

import re
from typing import Any
from uuid import uuid4

import pytest

from tests.accounts.merchants.authenticator import elsewhere, enrol
from tests.cast import PASSWORD, Actor, suspend
from tests.forms import seen
from tollhouse.accounts.identity import slice as jobs
from tollhouse.http.services import Services

LIST, LOG = "/settings/sessions", "/settings/security/log"
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64) Gecko/20100101 Firefox/140.0"
UNUSED = """
    UPDATE sessions SET last_seen_at = now() - make_interval(hours => $2)
    WHERE user_id = (SELECT id FROM users WHERE email = $1)
"""
OVER = "UPDATE sessions SET expires_at = now() - interval '13 hours' WHERE user_id = (SELECT id FROM users WHERE email = $1)"
KEPT = "SELECT count(*) AS count FROM sessions WHERE user_id = (SELECT id FROM users WHERE email = $1)"
EVENTS = "/session/security-events"


async def stay(actor: Actor, code: str | None = None) -> None:
    """Sign in by the form, and tick that the session stays."""
    answer = await actor.form("/signin", {"email": actor.email, "password": PASSWORD, "stay": "1"})
    location = answer.ok(303).location
    if code is not None:
        assert location == "/signin/2fa?stay=1"
        assert '<input type="hidden" name="stay" value="1">' in await seen(actor, location)
        (await actor.form("/signin/2fa", {"code": code, "stay": "1"})).ok(303)


def cookies_of(actor: Actor) -> dict[str, str]:
    """What the browser has."""
    return {cookie.key: cookie.value for cookie in actor.http.cookie_jar}


async def is_signed_in(actor: Actor) -> bool:
    """Whether the session is active."""
    return (await actor.dashboard("GET", "/session")).status == 200


async def types(actor: Actor) -> list[str]:
    """What the log says, newest first."""
    return [event["type"] for event in (await actor.dashboard("GET", EVENTS)).ok().body["security_events"]]


@pytest.mark.parametrize("with_code", [False, True])
async def test_a_session_stays_on_its_device_alone(alice: Actor, with_code: bool) -> None:
    authenticator = await enrol(alice) if with_code else None
    async with elsewhere(alice) as other:
        await stay(other, None if authenticator is None else authenticator.backup_codes[0])
        for hours in (13, 24 * 29):
            await alice.sql(UNUSED, alice.email, hours)
            assert await is_signed_in(other)
        await alice.sql(UNUSED, alice.email, 13)
        [session] = [(name, value) for name, value in cookies_of(other).items() if name == "tollhouse_session"]
        stolen = {"Cookie": "=".join(session)}
        path = "/api/v2/merchant/session"
        (await alice.anonymously("GET", path, headers=stolen)).refused("authentication_required", 401)
        forged = {"Cookie": f"{stolen['Cookie']}; tollhouse_device_{'0' * 16}={uuid4().hex}.00"}
        (await alice.anonymously("GET", path, headers=forged)).refused("authentication_required", 401)
        assert await is_signed_in(other)
        await alice.sql(OVER, alice.email)
        assert not await is_signed_in(other)


async def test_other_sessions_end_after_12_hours(alice: Actor) -> None:
    async with elsewhere(alice) as other:
        (await other.form("/signin", {"email": alice.email, "password": PASSWORD})).ok(303)
        await alice.sql(UNUSED, alice.email, 13)
        assert not await is_signed_in(other)
    assert not await is_signed_in(alice)


async def test_a_new_password_ends_one_that_stays_and_old_rows_go(alice: Actor, services: Services) -> None:
    async with elsewhere(alice) as other:
        await stay(other)
        await alice.sql(UNUSED, alice.email, 13)
        await jobs.delete_sessions(services)
        assert (await alice.sql(KEPT, alice.email))[0]["count"] == 1
        assert await is_signed_in(other)
        fields = {"seen": "", "present": PASSWORD, "password": "a quite different staple"}
        async with elsewhere(alice) as third:
            (await third.dashboard("POST", "/login", {"email": alice.email, "password": PASSWORD})).ok()
            (await third.form("/settings/password", fields)).ok(303)
        assert not await is_signed_in(other)
    await alice.sql(UNUSED, alice.email, 13)
    await jobs.delete_sessions(services)
    assert (await alice.sql(KEPT, alice.email))[0]["count"] == 0


async def test_the_json_sign_in_takes_it_too(alice: Actor) -> None:
    async with elsewhere(alice, FIREFOX) as other:
        body = {"email": alice.email, "password": PASSWORD, "stay_signed_in": True}
        (await other.dashboard("POST", "/login", body)).ok()
        await alice.sql(UNUSED, alice.email, 13)
        assert await is_signed_in(other)
        listed: list[dict[str, Any]] = (await other.dashboard("GET", "/sessions")).ok().body["sessions"]
        [mine] = [one for one in listed if one["is_current"]]
        assert (mine["browser"], mine["system"], mine["stays_signed_in"]) == ("Firefox", "Linux", True)
        assert "Stays signed in until" in await seen(other, LIST)


async def test_devices_are_listed_and_signed_out_by_json(alice: Actor, mallory: Actor) -> None:
    async with elsewhere(alice, FIREFOX) as other:
        (await other.dashboard("POST", "/login", {"email": alice.email, "password": PASSWORD})).ok()
        listed = (await alice.dashboard("GET", "/sessions")).ok().body["sessions"]
        assert len(listed) == 2
        [theirs] = [one for one in listed if not one["is_current"]]
        assert not theirs["stays_signed_in"]
        (await mallory.dashboard("DELETE", f"/sessions/{theirs['session_id']}")).ok(204)
        assert await is_signed_in(other)
        (await alice.dashboard("DELETE", f"/sessions/{theirs['session_id']}")).ok(204)
        assert not await is_signed_in(other)
        (await other.dashboard("POST", "/login", {"email": alice.email, "password": PASSWORD})).ok()
        (await alice.dashboard("DELETE", "/sessions")).ok(204)
        assert not await is_signed_in(other)
    assert not await is_signed_in(alice)
    assert await is_signed_in(mallory)


async def test_sign_out_everywhere_is_a_button_also_of_the_suspended(alice: Actor) -> None:
    async with elsewhere(alice) as other:
        await stay(other)
        await suspend(alice)
        assert (await alice.form(f"{LIST}/all/end", {})).ok(303).location == "/signin?done=everywhere"
        assert "signed out everywhere" in await seen(alice, "/signin?done=everywhere")
        assert not await is_signed_in(other)
    assert not await is_signed_in(alice)


async def test_the_log_of_a_person(alice: Actor, mallory: Actor) -> None:
    async with elsewhere(alice) as thief:
        (await thief.dashboard("POST", "/login", {"email": alice.email, "password": "a guess of mine"})).refused(
            "invalid_credentials", 401
        )
        (await thief.dashboard("POST", "/login", {"email": "nobody@example.com", "password": "a guess of mine"})).refused(
            "invalid_credentials", 401
        )
    await enrol(alice)
    assert await types(alice) == ["second_factor.on", "session.refused", "account.opened"]
    assert "session.refused" not in await types(mallory)
    page = await seen(alice, LOG)
    assert "Sign-in with an incorrect password" in page
    assert "127.0.0.1" in page
    first = (await alice.dashboard("GET", f"{EVENTS}?limit=2")).ok().body
    assert [event["type"] for event in first["security_events"]] == ["second_factor.on", "session.refused"]
    rest = (await alice.dashboard("GET", f"{EVENTS}?limit=2&cursor={first['next_cursor']}")).ok().body
    assert ([event["type"] for event in rest["security_events"]], rest["has_more"]) == (["account.opened"], False)
    assert len(re.findall(r'<div class="what">', await seen(alice, f"{LOG}?limit=2"))) == 2
    (await alice.dashboard("GET", f"{EVENTS}?limit=0")).refused("validation_failed", 422)
