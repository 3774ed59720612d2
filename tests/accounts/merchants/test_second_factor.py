"""The second factor: switched on by a first code, asked for at sign-in, each code good for one door."""

import asyncio
import html
from datetime import UTC, datetime

import pyotp
import pytest
from pyotp.totp import TOTP

from tests.accounts.merchants.authenticator import BACKUP_CODE, ROOT, elsewhere, enrol, grow_old, log_in, set_up
from tests.cast import PASSWORD, Actor, application
from tests.command import tollhouse
from tests.forms import seen, signed_out
from tollhouse.accounts.identity.second_factor import step_of


async def half_in(actor: Actor, **fields: str) -> str:
    """Give the password by the form; where it goes on."""
    return (await actor.form("/signin", {"email": actor.email, "password": PASSWORD} | fields)).ok(303).location


async def test_from_setting_it_up_to_signing_in(alice: Actor) -> None:
    assert "Set up two-factor authentication" in await seen(alice, ROOT)
    authenticator = await enrol(alice)
    shown = await seen(alice, ROOT)
    assert "10 left" in shown
    assert "Set up two-factor authentication" not in shown
    async with elsewhere(alice) as other:
        assert await half_in(other) == "/signin/2fa"
        assert (await other.send("GET", "/test/home")).ok(303).location == signed_out("/test/home")
        assert "Enter your code" in await seen(other, "/signin/2fa")
        refused = (await other.form("/signin/2fa", {"code": "000000"})).ok(401)
        assert "This code is incorrect" in refused.text
        came_in = (await other.form("/signin/2fa", {"code": authenticator.code()})).ok(303)
        assert came_in.location == "/"
        assert {cookie.key for cookie in other.http.cookie_jar if "device" not in cookie.key} == {"tollhouse_session"}
        (await other.send("GET", "/test/home")).ok()
    async with elsewhere(alice) as other:
        code = await authenticator.next_code(alice)
        body = {"email": alice.email, "password": PASSWORD, "code": f"{code[:3]} {code[3:]}"}
        (await other.dashboard("POST", "/login", body)).ok()
        (await other.dashboard("GET", "/session")).ok()


async def test_by_json_each_error_has_its_code(alice: Actor) -> None:
    (await log_in(alice, "123456")).ok()  # nothing is asked for, so nothing is looked at
    authenticator = await enrol(alice)
    (await log_in(alice)).refused("second_factor_required", 401)
    (await log_in(alice, "")).refused("invalid_code", 401)
    (await log_in(alice, "12345x")).refused("invalid_code", 401)
    (await log_in(alice, "\u0661\u0662\u0663\u0664\u0665\u0666")).refused("invalid_code", 401)
    (await log_in(alice, authenticator.code(), "a wrong password")).refused("invalid_credentials", 401)
    (await log_in(alice, None, "a wrong password")).refused("invalid_credentials", 401)
    (await log_in(alice, authenticator.code())).ok()


@pytest.mark.parametrize(("late_s", "counts"), [(-31, False), (-30, True), (0, True), (29, True), (59, True), (60, False)])
def test_clocks_may_differ_by_one_period(late_s: int, counts: bool) -> None:
    totp, period = TOTP(pyotp.random_base32()), 59_000_000
    now = datetime.fromtimestamp(period * 30 + late_s, UTC)
    assert step_of(totp, totp.generate_otp(period), now) == (period if counts else None)


async def test_a_code_opens_one_door_and_none_before_it_does(alice: Actor) -> None:
    authenticator = await enrol(alice)
    code = authenticator.code()
    responses = await asyncio.gather(*(log_in(alice, code) for _ in range(6)))
    assert sorted(answer.status for answer in responses) == [200, 401, 401, 401, 401, 401]
    (await log_in(alice, authenticator.code(-1))).refused("invalid_code", 401)
    (await log_in(alice, await authenticator.next_code(alice))).ok()


async def test_a_backup_code_stands_in_once(alice: Actor) -> None:
    authenticator = await enrol(alice)
    first, second, *_ = authenticator.backup_codes
    responses = await asyncio.gather(*(log_in(alice, first) for _ in range(4)))
    assert sorted(answer.status for answer in responses) == [200, 401, 401, 401]
    (await log_in(alice, second.replace("-", " ").upper())).ok()
    assert "8 left" in await seen(alice, ROOT)
    await alice.sql(
        "UPDATE second_factors SET key_id = 'lost' WHERE holder_id = (SELECT id FROM users WHERE email = $1)", alice.email
    )
    (await log_in(alice, authenticator.code())).refused("invalid_code", 401)
    (await log_in(alice, authenticator.backup_codes[2])).ok()


async def test_new_backup_codes_make_the_old_ones_worthless(alice: Actor) -> None:
    authenticator = await enrol(alice)
    path = f"{ROOT}/backup-codes"
    assert "This code is incorrect" in (await alice.form(path, {"code": "000000"})).ok(401).text
    made = BACKUP_CODE.findall((await alice.form(path, {"code": authenticator.code()})).ok().text)
    assert len(set(made) - set(authenticator.backup_codes)) == 10
    (await log_in(alice, authenticator.backup_codes[0])).refused("invalid_code", 401)
    (await log_in(alice, made[0])).ok()


async def test_it_counts_from_the_first_code_on(alice: Actor) -> None:
    first = await set_up(alice)
    (await log_in(alice)).ok()
    second = await set_up(alice)
    assert "This code is incorrect" in (await alice.form(f"{ROOT}/confirm", {"code": first.code()})).ok(401).text
    (await log_in(alice)).ok()
    codes = await asyncio.gather(*(alice.form(f"{ROOT}/confirm", {"code": second.code()}) for _ in range(3)))
    assert sorted(answer.status for answer in codes) == [200, 303, 303]
    (await log_in(alice)).refused("second_factor_required", 401)
    for path in ("/setup", "/confirm"):
        assert (await alice.form(f"{ROOT}{path}", {"code": second.code()})).ok(303).location == ROOT
    assert (await alice.send("GET", f"{ROOT}/setup")).ok(303).location == ROOT


async def test_a_secret_waits_an_hour(alice: Actor) -> None:
    authenticator = await set_up(alice)
    await alice.sql("UPDATE second_factors SET created_at = created_at - interval '1 hour'")
    assert (await alice.send("GET", f"{ROOT}/setup")).ok(303).location == ROOT
    assert (await alice.form(f"{ROOT}/confirm", {"code": authenticator.code()})).ok(303).location == ROOT
    (await log_in(alice)).ok()


async def test_it_is_switched_off_by_a_code(alice: Actor) -> None:
    assert (await alice.send("GET", f"{ROOT}/off")).ok(303).location == ROOT
    authenticator = await enrol(alice)
    assert alice.email in await seen(alice, f"{ROOT}/off")
    assert "This code is incorrect" in (await alice.form(f"{ROOT}/off", {"code": "1"})).ok(401).text
    assert (await alice.form(f"{ROOT}/off", {"code": authenticator.code()})).ok(303).location == f"{ROOT}?done=off"
    assert "Two-factor authentication is off" in await seen(alice, f"{ROOT}?done=off")
    assert (await alice.form(f"{ROOT}/off", {"code": authenticator.code()})).ok(303).location == ROOT
    (await alice.form(f"{ROOT}/backup-codes", {"code": authenticator.code()})).ok(409)
    (await log_in(alice)).ok()
    again = await enrol(alice)
    (await log_in(alice, authenticator.backup_codes[0])).refused("invalid_code", 401)
    (await log_in(alice, again.backup_codes[0])).ok()


async def test_the_page_of_the_code_takes_nobody_without_the_password(alice: Actor, bob: Actor) -> None:
    authenticator = await enrol(alice)
    await enrol(bob)
    async with elsewhere(bob) as other:
        assert (await other.send("GET", "/signin/2fa?request=abc")).ok(303).location == "/signin?request=abc"
        assert (await other.form("/signin/2fa", {"code": authenticator.code()})).ok(303).location == "/signin"
        await half_in(other)
        [cookie] = other.http.cookie_jar
        assert (cookie.key, cookie["httponly"], cookie["max-age"]) == ("tollhouse_signin", True, "600")
        (await other.form("/signin/2fa", {"code": authenticator.code()})).ok(401)
        holder, until, mac = cookie.value.split(".")
        [alices] = await alice.sql("SELECT replace(id::text, '-', '') AS hex FROM users WHERE email = $1", alice.email)
        for forged in (
            f"{alices['hex']}.{until}.{mac}",
            f"{holder}.{int(until) + 1}.{mac}",
            f"{holder}.{until}.{mac[:-2]}",
            f"{holder}.{until}.{'0' * 64}",
            f"{holder}.{until}",
            "x.y.z",
        ):
            headers = {"Cookie": f"tollhouse_signin={forged}"}
            assert (await alice.anonymously("GET", "/signin/2fa", headers=headers)).ok(303).location == "/signin"
        stolen = {"Cookie": f"tollhouse_operator_signin={cookie.value}"}
        assert (await alice.anonymously("GET", "/operator/signin/2fa", headers=stolen)).ok(303)
        foreign = {"Sec-Fetch-Site": "cross-site"}
        (await other.send("POST", "/signin/2fa", data={"code": "1"}, headers=foreign)).refused("cross_origin_forbidden", 403)


async def test_one_comes_back_to_the_authorization_request(alice: Actor, bob: Actor) -> None:
    authenticator = await enrol(alice)
    app = await application(bob)
    async with elsewhere(alice) as other:
        there = (await other.send("GET", app.authorize_path("account:read"))).ok(303).location
        request = there.rpartition("/")[2].rpartition("=")[2]
        page = await half_in(other, request=request)
        assert page == f"/signin/2fa?request={request}"
        assert f'name="request" value="{request}"' in html.unescape(await seen(other, page))
        fields = {"code": authenticator.code(), "request": request}
        assert (await other.form("/signin/2fa", fields)).ok(303).location == f"/oauth/consent/{request}"


async def test_the_operator_lets_in_who_lost_every_code(alice: Actor) -> None:
    words = ("operator", "merchants", "drop-second-factor", "--email", alice.email.upper())
    assert (await tollhouse(alice.service, *words, "--reason", "Called us")).talk.endswith(
        "does not use two-factor authentication."
    )
    await enrol(alice)
    done = await tollhouse(alice.service, *words, "--reason", "Called us", "--json")
    assert (done.status, done.json["action"], done.json["reason"]) == (0, "second_factor_removed", "Called us")
    assert done.json["merchant_id"] == alice.merchant_id
    (await alice.dashboard("GET", "/session")).refused("authentication_required", 401)
    (await log_in(alice)).ok()


async def test_setting_it_up_wants_a_proof_and_shows_nothing_before(alice: Actor) -> None:
    await set_up(alice)
    await grow_old(alice)
    asked = (await alice.send("GET", f"{ROOT}/setup")).ok(303).location
    assert asked == "/stepup?to=%2Fsettings%2Fsecurity%2Fsetup&cancel=%2Fsettings%2Fsecurity"
    for path in ("/setup", "/confirm"):
        (await alice.form(f"{ROOT}{path}", {"code": "123456"})).refused("recent_authentication_required", 403)


async def test_people_of_a_suspended_merchant_may_guard_their_account(alice: Actor) -> None:
    await alice.sql("UPDATE merchants SET suspended_at = now() WHERE id = $1::uuid", alice.merchant_id)
    await enrol(alice)
    (await alice.form("/settings/sessions/others/end", {})).ok(303)
