"""Passkeys on the pages: of the account, of sign-in, of the second factor and of recent authentication."""

import json
import re

from tests.accounts.merchants.authenticator import BACKUP_CODE, elsewhere, enrol, grow_old
from tests.accounts.passkeys.forms import add_by_page, options_of, shown_options, use_on_page
from tests.accounts.passkeys.soft_authenticator import added, new_passkey
from tests.cast import PASSWORD, Actor
from tests.forms import seen
from tests.pages.console.operator_pages import signed_in_operator, visitor
from tests.running import Service

BROWSER = {"Accept": "text/html", "Sec-Fetch-Site": "same-origin"}
ROOT = "/settings/security"
CONSOLE = "/operator/security"
PASSKEY = re.compile(r"/passkeys/([0-9a-f-]{36})/remove")


async def test_from_the_page_of_the_account_to_the_last_passkey(alice: Actor) -> None:
    assert "No passkeys yet." in await seen(alice, ROOT)
    passkey = new_passkey(alice)
    shown = (await add_by_page(alice, passkey, name="Work laptop")).ok().text
    assert len(BACKUP_CODE.findall(shown)) == 10
    listed = await seen(alice, ROOT)
    assert "Work laptop" in listed
    assert "Never used" in listed
    assert "10 left" in listed
    assert "also requires a passkey or a backup code" in listed
    assert (await add_by_page(alice, new_passkey(alice), name="Phone")).ok(303).location == f"{ROOT}?done=added"
    [first, _] = PASSKEY.findall((await alice.send("GET", ROOT)).text)
    renamed = await alice.form(f"{ROOT}/passkeys/{first}/rename", {"name": "Old laptop"})
    assert renamed.ok(303).location == f"{ROOT}?done=renamed"
    assert "Old laptop" in await seen(alice, ROOT)
    (await alice.form(f"{ROOT}/passkeys/{first}/rename", {"name": " "})).ok(422)
    for passkey_id in PASSKEY.findall((await alice.send("GET", ROOT)).text):
        assert (await alice.form(f"{ROOT}/passkeys/{passkey_id}/remove", {})).ok(303).location == f"{ROOT}?done=removed"
        assert (await alice.form(f"{ROOT}/passkeys/{passkey_id}/remove", {})).ok(303).location == ROOT
    assert "Set up two-factor authentication" in await seen(alice, ROOT)
    mails = await alice.sql("SELECT about, facts FROM mails WHERE recipient = $1 ORDER BY created_at, id", alice.email)
    sent = [(mail["about"], json.loads(mail["facts"] or "{}").get("last")) for mail in mails if "passkey" in mail["about"]]
    assert sent == [("passkey_added", None)] * 2 + [("passkey_removed", None), ("passkey_removed", "yes")]


async def test_what_is_wrong_with_a_new_one_is_on_its_page(alice: Actor) -> None:
    refused = await add_by_page(alice, new_passkey(alice, rp_id="evil.example"))
    assert "Passkeys work only at" in refused.ok(401).text
    assert "1 to 60 characters" in (await add_by_page(alice, new_passkey(alice), name="")).ok(422).text
    for credential in ("", "{}", "[" * 5_000):
        (await alice.form(f"{ROOT}/passkeys", {"name": "x", "credential": credential})).ok(422)


async def test_signing_in_opens_the_page_that_was_asked_for(alice: Actor) -> None:
    passkey = await added(alice)
    async with elsewhere(alice) as other:
        signed_in = await use_on_page(other, passkey, "/signin?to=/test/payments", to="/test/payments")
        assert signed_in.ok(303).location == "/test/payments"
        (await other.send("GET", "/test/payments")).ok()
    async with elsewhere(alice) as other:
        refused = (await use_on_page(other, new_passkey(alice), "/signin", to="/test/payments")).ok(401)
        assert "This passkey cannot be used here." in refused.text
        assert options_of(refused.text)["allowCredentials"] == []
        (await other.form("/signin", {"passkey": "{}"})).ok(422)


async def test_as_the_second_factor_it_is_of_the_same_account(alice: Actor, carol: Actor) -> None:
    passkey, of_carol = await added(alice), await added(carol)
    async with elsewhere(alice) as other:
        there = (await other.form("/signin", {"email": alice.email, "password": PASSWORD})).ok(303).location
        assert there == "/signin/2fa"
        assert "Use your passkey, or enter a backup code." in await seen(other, there)
        (await use_on_page(other, of_carol, there)).ok(401)
        (await other.send("GET", "/test/home")).ok(303)
        assert (await use_on_page(other, passkey, there)).ok(303).location == "/"
        assert (await other.dashboard("GET", "/session")).ok().body["user"]["email"] == alice.email


async def test_without_passkeys_the_page_of_the_code_offers_none(alice: Actor) -> None:
    await enrol(alice)
    async with elsewhere(alice) as other:
        await other.form("/signin", {"email": alice.email, "password": PASSWORD})
        assert "data-passkey" not in (await other.send("GET", "/signin/2fa")).ok().text


async def test_a_form_that_came_too_late_is_kept_until_the_passkey(alice: Actor) -> None:
    passkey = await added(alice)
    await grow_old(alice)
    made = {"name": "Till", "preset": "read"}
    page = (await alice.send("POST", "/live/developers/keys", data=made, headers=BROWSER)).ok(403).text
    assertion = json.dumps(passkey.get(options_of(page)))
    fields = made | {"stepup_passkey": assertion, "stepup_password": ""}
    assert "th_live_" in (await alice.form("/live/developers/keys", fields)).ok().text
    await grow_old(alice)
    location = (await alice.send("GET", f"{ROOT}/passkeys/new")).ok(303).location
    signed_in = await use_on_page(alice, passkey, location, "stepup_passkey", to=f"{ROOT}/passkeys/new")
    assert signed_in.ok(303).location == f"{ROOT}/passkeys/new"
    await grow_old(alice)
    (await alice.form("/stepup", {"stepup_passkey": assertion})).ok(401)


async def test_a_passkey_stands_in_for_a_code(alice: Actor) -> None:
    authenticator = await enrol(alice)
    passkey = await added(alice)
    assertion = json.dumps(passkey.get(await shown_options(alice, ROOT)))
    shown = (await alice.form(f"{ROOT}/backup-codes", {"code": "", "passkey": assertion})).ok().text
    assert not set(BACKUP_CODE.findall(shown)) & set(authenticator.backup_codes)
    assert (await use_on_page(alice, passkey, f"{ROOT}/off")).ok(303).location == f"{ROOT}?done=off"
    listed = await seen(alice, f"{ROOT}?done=off")
    assert "The authenticator app was removed." in listed
    assert "10 left" in listed


async def test_a_passkey_of_another_host_says_so(alice: Actor) -> None:
    passkey = await added(alice)
    await alice.sql("UPDATE passkeys SET rp_id = 'old.example' WHERE credential_id = $1", passkey.credential_id)
    assert "Does not work here" in await seen(alice, ROOT)


async def test_an_operator_adds_one_signs_in_and_confirms(service: Service) -> None:
    async with signed_in_operator(service) as olga, visitor(service, olga.email) as other:
        passkey = new_passkey(olga)
        assert len(BACKUP_CODE.findall((await add_by_page(olga, passkey, CONSOLE)).ok().text)) == 10
        signed_in = await use_on_page(other, passkey, "/operator/signin", to="/operator/projects")
        assert signed_in.ok(303).location == "/operator/projects"
        (await other.send("GET", "/operator")).ok()
        half_in = {"email": olga.email, "password": PASSWORD}
        assert (await other.form("/operator/signin", half_in)).ok(303).location == "/operator/signin/2fa?to=%2Foperator"
        assert (await use_on_page(other, passkey, "/operator/signin/2fa")).ok(303).location == "/operator"
        await olga.sql("UPDATE operator_sessions SET created_at = created_at - interval '15 minutes'")
        assert (await use_on_page(other, passkey, "/operator/stepup", "stepup_passkey")).ok(303).location == "/operator"


async def test_passkeys_of_people_and_operators_are_apart(service: Service, alice: Actor) -> None:
    of_alice = await added(alice)
    async with signed_in_operator(service) as olga, visitor(service, olga.email) as other:
        passkey = new_passkey(olga)
        (await add_by_page(olga, passkey, CONSOLE)).ok()
        (await use_on_page(other, of_alice, "/operator/signin")).ok(401)
        (await use_on_page(other, passkey, "/signin")).ok(401)
        assertion = json.dumps(of_alice.get(await shown_options(other, "/signin")))
        (await other.form("/operator/signin", {"passkey": assertion})).ok(401)
