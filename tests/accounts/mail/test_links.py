"""Verifying an address and choosing a new password, by links that were mailed."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import timedelta
from typing import Any

import pytest

from tests.accounts.mail.mail_worker import MailWorker
from tests.accounts.merchants.authenticator import elsewhere, enrol, log_in
from tests.cast import PASSWORD, Actor, application, sign_up
from tests.forms import FOREIGN, seen, wrong
from tollhouse.accounts.identity import sessions_store
from tollhouse.accounts.identity import slice as jobs
from tollhouse.kernel import clock

NEW = "a quite different staple"
OWN_TO_EACH = {"date", "x-request-id"}
GUESSES = 4
BANNER = "is not verified yet"
ADDRESS = "/settings/security/address"
TURN_BACK = "UPDATE mails SET created_at = created_at - $1::interval, useful_until = useful_until - $1::interval"
VERIFIED = "SELECT email, verified_at FROM users WHERE verified_at IS NOT NULL"
AUDITED = "SELECT deed FROM audit_lines WHERE merchant_id = $1::uuid"
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:{}.0) Gecko/20100101 Firefox/{}.0"


@pytest.fixture
async def dora(mail_worker: MailWorker) -> AsyncIterator[Actor]:
    """Somebody who has just signed up."""
    async with sign_up(mail_worker.service, "dora", "Dora's Deli") as actor:
        yield actor


@pytest.fixture
async def carl(mail_worker: MailWorker) -> AsyncIterator[Actor]:
    """Somebody else."""
    async with sign_up(mail_worker.service, "carl", "Carl's Cars") as actor:
        yield actor


async def forgot(mail_worker: MailWorker, actor: Actor, email: str = "") -> str:
    """The path of the link that is mailed to who forgot a password."""
    (await actor.form("/forgot", {"email": email or actor.email})).ok()
    mail = await mail_worker.last_to(actor)
    assert mail.subject == "Reset your password"
    return mail.path


async def turn_back(mail_worker: MailWorker, span: timedelta) -> None:
    """Of every link, the clock."""
    await mail_worker.sql(TURN_BACK, span)


async def test_an_address_is_verified_by_a_button_and_not_by_looking(mail_worker: MailWorker, dora: Actor) -> None:
    path = (await mail_worker.last_to(dora)).path
    assert BANNER in await seen(dora, "/test/home")
    for _ in range(2):
        looked = (await dora.anonymously("GET", path)).ok()
        assert dora.email in looked.text
        assert looked.headers["Referrer-Policy"] == "no-referrer"
        assert looked.headers["Cache-Control"] == "no-store"
    assert BANNER in await seen(dora, "/test/home")
    (await dora.send("POST", path, data={}, headers=FOREIGN)).refused("cross_origin_forbidden", 403)
    for answer in await asyncio.gather(*(dora.form(path, {}) for _ in range(4))):
        assert "is verified" in answer.ok().text
    assert "is verified" in await seen(dora, path)
    assert BANNER not in await seen(dora, "/test/home")
    [used] = await mail_worker.sql("SELECT used_at FROM mails WHERE used_at IS NOT NULL")
    assert [tuple(row) for row in await mail_worker.sql(VERIFIED)] == [(dora.email, used["used_at"])]


async def test_a_link_is_over_after_its_time_and_opens_nothing_else(
    mail_worker: MailWorker, dora: Actor, carl: Actor
) -> None:
    path = (await mail_worker.last_to(dora)).path
    secret = path.rpartition("/")[2]
    of_carl = (await mail_worker.last_to(carl)).path.rpartition("/")[2]
    foreign = f"{secret[:22]}{of_carl[22:]}"
    for bad in (f"/reset/{secret}", *(f"/verify/{one}" for one in (foreign, "none", f"{secret}A", "%C3%A9" * 64))):
        assert "This link does not work" in await seen(dora, bad, 410)
        (await dora.form(bad, {"password": NEW})).ok(410)
    await turn_back(mail_worker, timedelta(days=3))
    (await dora.form(path, {})).ok(410)
    (await dora.send("GET", path)).ok(410)
    await mail_worker.sql("UPDATE users SET email = 'other@example.com' WHERE email = $1", carl.email)
    (await carl.form(f"/verify/{of_carl}", {})).ok(410)
    assert await mail_worker.sql(VERIFIED) == []


async def test_another_link_is_mailed_but_not_without_end(mail_worker: MailWorker, dora: Actor) -> None:
    (await dora.form(ADDRESS, {})).ok(303)
    assert "Verification email sent" in await seen(dora, f"{ADDRESS}?done=sent")
    first, second = await mail_worker.mail_to(dora)
    assert first.path != second.path
    for _ in range(2):
        (await dora.form(ADDRESS, {})).ok(303)
    slowed = (await dora.form(ADDRESS, {})).ok(429)
    assert int(slowed.headers["Retry-After"]) > 0
    (await dora.form(second.path, {})).ok()
    (await dora.form(ADDRESS, {})).ok(303)
    assert len(await mail_worker.mail_to(dora)) == 4
    assert "Resend verification email" not in await seen(dora, ADDRESS)


async def test_without_a_relay_no_page_says_that_an_email_was_sent(alice: Actor) -> None:
    assert (await alice.form(ADDRESS, {})).ok(303).location == f"{ADDRESS}?done=logged"
    pages = [
        await seen(alice, f"{ADDRESS}?done=logged"),
        await seen(alice, "/forgot"),
        await seen(alice, "/settings/notifications"),
    ]
    pages.append((await alice.form("/forgot", {"email": alice.email})).ok().text)
    for page in pages:
        assert not re.search(r"[Ww]e (have )?sent|[Ww]e (will )?send|email sent|spam", page)
        assert "server log" in page or "This server sends no email" in page


async def test_nobody_learns_who_has_an_account(mail_worker: MailWorker, dora: Actor) -> None:
    await mail_worker.send()
    responses: list[Any] = []
    for email in (dora.email, "x" * dora.email.index("@") + "@example.com"):
        asked = [(await dora.form("/forgot", {"email": email})) for _ in range(4)]
        assert [response.status for response in asked] == [200, 200, 200, 429]
        ids = [response.headers["X-Request-Id"] for response in asked]
        shown = [one.text.replace(email, "…").replace(own, "…") for one, own in zip(asked, ids, strict=True)]
        responses.append(
            (shown, {name: asked[0].headers[name] for name in asked[0].headers if name.lower() not in OWN_TO_EACH})
        )
    assert responses[0] == responses[1]
    assert [mail["about"] for mail in await mail_worker.state()] == ["verify", *["reset"] * 6]
    received = len(mail_worker.postbox.received)
    await mail_worker.send()
    assert len(mail_worker.postbox.received) == received + 3
    assert {mail.recipient for mail in mail_worker.postbox.received[received:]} == {dora.email}
    assert [mail["about"] for mail in await mail_worker.state()] == ["verify", *["reset"] * 3], (
        "of the other one nothing is left"
    )


async def test_a_password_is_chosen_by_a_link_once(mail_worker: MailWorker, dora: Actor) -> None:
    path = await forgot(mail_worker, dora, dora.email.upper())
    other = await forgot(mail_worker, dora)
    assert dora.email in await seen(dora, path)
    assert "password" in wrong((await dora.form(path, {"password": "short"})).ok(422))
    responses = await asyncio.gather(*(dora.form(one, {"password": NEW}) for one in (path, other, path)))
    assert sorted(answer.status for answer in responses) == [303, 410, 410]
    [location] = [answer.location for answer in responses if answer.status == 303]
    assert "Sign in with your new password" in await seen(dora, location)
    (await dora.dashboard("GET", "/session")).refused("authentication_required", 401)
    (await log_in(dora)).refused("invalid_credentials", 401)
    (await log_in(dora, password=NEW)).ok()
    (await dora.form(other, {"password": PASSWORD})).ok(410)
    mails = [mail.subject for mail in await mail_worker.mail_to(dora)]
    assert mails.count("Your password was changed") == 1
    assert [row["email"] for row in await mail_worker.sql(VERIFIED)] == [dora.email], "whoever has the link reads the mail"


async def test_a_reset_of_an_unverified_address_revokes_all_before(
    mail_worker: MailWorker, dora: Actor, carl: Actor
) -> None:
    """Mallory signed up with Dora's address. Dora resets the password, and nothing of Mallory's opens the account."""
    key = await dora.key()
    app = await application(carl, connection_webhook_url="https://app.example/hook")
    tokens = await app.connect(dora, "account:read offline_access")
    code = await app.code(dora, "account:read")
    await enrol(dora)
    path = await forgot(mail_worker, dora)
    (await dora.form(path, {"password": NEW})).ok(303)
    by_key = await dora.anonymously("GET", "/api/v2/integration/account", headers={"X-API-Key": key})
    by_key.refused("invalid_api_key", 401)
    (await app.api(tokens["access_token"], "GET", "/account")).refused("invalid_token", 401)
    (await app.refresh(tokens["refresh_token"])).refused("invalid_grant", 400)
    (await app.exchange(code)).refused("invalid_grant", 400)
    (await dora.dashboard("GET", "/session")).refused("authentication_required", 401)
    (await log_in(dora, password=NEW)).ok()
    said = [row["deed"] for row in await mail_worker.sql(AUDITED, dora.merchant_id)]
    assert {"api_key.revoked", "grant.ended", "second_factor.removed"} <= set(said)
    announced = "SELECT e.type FROM webhook_events e JOIN oauth_grants g ON g.id = e.source_id WHERE g.client_id = $1"
    assert [row["type"] for row in await mail_worker.sql(announced, app.client_id)] == ["connection.ended"]


async def test_a_reset_of_a_verified_address_leaves_keys_and_connections(
    mail_worker: MailWorker, dora: Actor, carl: Actor
) -> None:
    key = await dora.key()
    app = await application(carl)
    tokens = await app.connect(dora, "account:read offline_access")
    await mail_worker.sql("UPDATE users SET verified_at = now() WHERE email = $1", dora.email)
    (await dora.form(await forgot(mail_worker, dora), {"password": NEW})).ok(303)
    (await dora.anonymously("GET", "/api/v2/integration/account", headers={"X-API-Key": key})).ok()
    (await app.api(tokens["access_token"], "GET", "/account")).ok()


async def test_a_reset_link_lives_for_half_an_hour(mail_worker: MailWorker, dora: Actor) -> None:
    path = await forgot(mail_worker, dora)
    await turn_back(mail_worker, timedelta(minutes=30))
    (await dora.send("GET", path)).ok(410)
    (await dora.form(path, {"password": NEW})).ok(410)
    (await log_in(dora)).ok()


async def test_a_second_factor_stays_and_what_was_half_open_is_shut(mail_worker: MailWorker, dora: Actor) -> None:
    authenticator = await enrol(dora)
    await mail_worker.sql("UPDATE users SET verified_at = now() WHERE email = $1", dora.email)
    async with elsewhere(dora) as thief:
        (await thief.form("/signin", {"email": dora.email, "password": PASSWORD})).ok(303)
        (await dora.form(await forgot(mail_worker, dora), {"password": NEW})).ok(303)
        (await log_in(dora, password=NEW)).refused("second_factor_required", 401)
        answer = await thief.form("/signin/2fa", {"code": authenticator.backup_codes[0]})
        assert answer.ok(303).location == "/signin"
        (await thief.dashboard("GET", "/session")).refused("authentication_required", 401)
        (await thief.form("/signin", {"email": dora.email, "password": NEW})).ok(303)
        assert (await thief.form("/signin/2fa", {"code": authenticator.backup_codes[0]})).ok(303).location == "/"


async def test_a_password_that_was_right_a_moment_ago_opens_nothing(mail_worker: MailWorker, dora: Actor) -> None:
    """Proved before the reset, opened behind it."""
    [row] = await mail_worker.sql("SELECT id, password_hash FROM users WHERE email = $1", dora.email)
    (await dora.form(await forgot(mail_worker, dora), {"password": NEW})).ok(303)
    now = clock.now()
    async with mail_worker.services.db.transaction() as tx:
        assert not await sessions_store.insert(tx, b"x" * 32, row["id"], row["password_hash"], now, now, None, "", None)


async def test_a_password_is_changed_by_who_knows_it(mail_worker: MailWorker, dora: Actor) -> None:
    async with elsewhere(dora) as other:
        (await other.dashboard("POST", "/login", {"email": dora.email, "password": PASSWORD})).ok()
        fields = {"seen": "", "present": "not my password", "password": NEW}
        assert wrong((await dora.form("/settings/password", fields)).ok(401)) == {"present": "Incorrect password."}
        assert "password" in wrong((await dora.form("/settings/password", fields | {"password": "short"})).ok(422))
        fields["present"] = PASSWORD
        responses = await asyncio.gather(*(dora.form("/settings/password", fields) for _ in range(2)))
        assert {answer.status for answer in responses} <= {303, 409, 401}
        assert [answer.location for answer in responses if answer.status == 303] == ["/settings/password?done=changed"]
        assert (await dora.form("/settings/password", fields)).status == 409
        assert "All other sessions were signed out" in await seen(dora, "/settings/password?done=changed")
        (await other.dashboard("GET", "/session")).refused("authentication_required", 401)
    (await log_in(dora, password=NEW)).ok()
    assert [mail.subject for mail in await mail_worker.mail_to(dora)].count("Your password was changed") == 1


async def test_a_guess_at_the_present_password_counts(dora: Actor) -> None:
    fields = {"present": "not my password", "password": NEW}
    for _ in range(GUESSES):
        (await dora.form("/settings/password", fields)).ok(401)
    slowed = (await dora.form("/settings/password", fields | {"present": PASSWORD})).ok(429)
    assert int(slowed.headers["Retry-After"]) > 0
    (await log_in(dora)).ok()


async def test_a_new_device_is_reported_once(mail_worker: MailWorker, dora: Actor) -> None:
    assert [mail.subject for mail in await mail_worker.mail_to(dora)] == ["Verify your email address"]
    async with AsyncExitStack() as browsers:
        them = [await browsers.enter_async_context(elsewhere(dora, FIREFOX.format(n, n))) for n in (140, 141, 142)]
        body = {"email": dora.email, "password": PASSWORD}
        for answer in await asyncio.gather(*(one.dashboard("POST", "/login", body) for one in them)):
            answer.ok()
        (await them[0].form("/signin", body)).ok(303)
    (await log_in(dora)).ok()
    _, reported = await mail_worker.mail_to(dora)
    assert reported.subject == "New sign-in to your account"
    assert "Firefox on Linux, 127.0.0.1" in reported.text
    assert f"{mail_worker.service.url}/settings/sessions" in reported.text
    await mail_worker.sql("UPDATE known_devices SET last_seen_at = last_seen_at - interval '90 days'")
    await jobs.delete_devices(mail_worker.services)
    (await log_in(dora)).ok()
    assert len(await mail_worker.mail_to(dora)) == 3


async def test_a_second_factor_is_reported_when_it_goes_on_and_off(mail_worker: MailWorker, dora: Actor) -> None:
    (await dora.form("/language", {"language": "de", "back": "/"})).ok(303)
    await mail_worker.send()  # after each step: what is due together is sent at once, in no order
    authenticator = await enrol(dora)
    await mail_worker.send()
    (await dora.form("/settings/security/off", {"code": "000000"})).ok(401)
    (await dora.form("/settings/security/off", {"code": authenticator.backup_codes[0]})).ok(303)
    assert [mail.subject for mail in await mail_worker.mail_to(dora)][1:] == [
        "Zwei-Faktor-Authentifizierung aktiviert",
        "Zwei-Faktor-Authentifizierung deaktiviert",
    ]
