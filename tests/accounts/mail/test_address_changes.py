"""A change of the address by which a person signs in: confirmed at the new one, and undone at the old one."""

import asyncio
import re
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from tests.accounts.mail.address_steps import EMAIL, TURN_BACK, change, fresh, last_mail, start
from tests.accounts.mail.mail_worker import MailWorker
from tests.accounts.merchants.authenticator import elsewhere, enrol, grow_old, log_in
from tests.accounts.passkeys.soft_authenticator import add, added, new_passkey
from tests.accounts.passkeys.soft_authenticator import sign_in as sign_in_by_passkey
from tests.accounts.team.invited import invite
from tests.cast import PASSWORD, Actor, Answer, application, sign_up
from tests.forms import FOREIGN, seen, wrong
from tollhouse.accounts.approvals import store as approvals_store
from tollhouse.accounts.identity import slice as jobs
from tollhouse.kernel.ids import MerchantId

NEW = "a quite different staple"
OPEN_INVITATIONS = "SELECT email FROM invitations WHERE ended_at IS NULL AND email = ANY ($1)"
OWN = {"Sec-Fetch-Site": "same-origin"}
PAGE = "/settings/security/address"
HOLDERS = "SELECT email FROM users WHERE email_key = $1"
AUDITED = "SELECT deed FROM audit_lines WHERE merchant_id = $1::uuid AND deed LIKE 'address.%' ORDER BY created_at, id"


@pytest.fixture
async def dora(mail_worker: MailWorker) -> AsyncIterator[Actor]:
    """Somebody whose address is verified."""
    async with sign_up(mail_worker.service, "dora", "Dora's Deli") as actor:
        await mail_worker.sql("UPDATE users SET verified_at = now() WHERE email = $1", actor.email)
        yield actor


@pytest.fixture
async def carl(mail_worker: MailWorker) -> AsyncIterator[Actor]:
    """Somebody else."""
    async with sign_up(mail_worker.service, "carl", "Carl's Cars") as actor:
        yield actor


async def forgot(mail_worker: MailWorker, actor: Actor, email: str) -> list[str]:
    """Ask for a reset of the password of this address; who got an email about it."""
    await mail_worker.sql("DELETE FROM failed_attempts")
    await mail_worker.send()
    before = len(mail_worker.postbox.received)
    (await actor.form("/forgot", {"email": email})).ok()
    await mail_worker.send()
    return [mail.recipient for mail in mail_worker.postbox.received[before:] if mail.subject == "Reset your password"]


async def sign_in(actor: Actor, email: str, password: str = PASSWORD) -> Answer:
    """By JSON, in no browser."""
    return await actor.anonymously("POST", "/api/v2/merchant/login", {"email": email, "password": password})


async def test_an_address_is_changed_by_a_button_and_announced_at_both(mail_worker: MailWorker, dora: Actor) -> None:
    email = fresh()
    path = await start(mail_worker, dora, email)
    notice = await last_mail(mail_worker, dora.email, "A change of your email address was requested")
    assert "/address/" not in notice.text, "it acts by no link"
    waiting = (await dora.dashboard("GET", EMAIL)).ok().body
    assert (waiting["email"], waiting["new_email"], waiting["undo_until"]) == (dora.email, email, None)
    assert f"{email} is not confirmed yet" in await seen(dora, PAGE)
    for _ in range(2):
        looked = (await dora.anonymously("GET", path)).ok()
        assert dora.email in looked.text
        assert email in looked.text
        assert looked.headers["Referrer-Policy"] == "no-referrer"
        assert looked.headers["Cache-Control"] == "no-store"
    (await dora.send("POST", path, data={}, headers=FOREIGN)).refused("cross_origin_forbidden", 403)
    (await sign_in(dora, email)).refused("invalid_credentials", 401)
    for answer in await asyncio.gather(*(dora.form(path, {}) for _ in range(4))):
        assert "is confirmed" in answer.ok().text
    (await sign_in(dora, dora.email)).refused("invalid_credentials", 401)
    (await sign_in(dora, email.upper())).ok()
    assert (await dora.dashboard("GET", "/session")).ok().body["user"]["email"] == email
    changed = (await dora.dashboard("GET", EMAIL)).ok().body
    assert (changed["email"], changed["verified"], changed["new_email"]) == (email, True, None)
    assert changed["undo_until"] is not None
    await mail_worker.send()
    subjects = [mail.subject for mail in mail_worker.postbox.to(dora.email)]
    assert subjects.count("Your email address was changed") == 1
    audited = [row["deed"] for row in await mail_worker.sql(AUDITED, dora.merchant_id)]
    assert audited == ["address.requested", "address.changed"]


@pytest.mark.long
async def test_the_change_is_undone_without_sign_in_once(mail_worker: MailWorker, dora: Actor, carl: Actor) -> None:
    """What was made before stays, what was made since the request ends, and nothing that the thief knows opens it."""
    app, later = await application(carl, connection_webhook_url="https://app.example/hook"), await application(carl)
    kept_tokens = await app.connect(dora, "account:read offline_access")
    kept_key = await dora.key()
    invited, also_invited, email = fresh(), fresh(), fresh()
    (await invite(dora, invited)).ok(201)
    undo = await change(mail_worker, dora, email)
    async with elsewhere(dora) as thief:
        (await thief.dashboard("POST", "/login", {"email": email, "password": PASSWORD})).ok()
        key = (await thief.dashboard("POST", "/api-keys", {"name": "Mine", "mode": "test"})).ok(201).body["api_key"]
        tokens = await later.connect(thief, "account:read offline_access")
        code = await later.code(thief, "account:read")
        await enrol(thief)
        stolen = await added(thief)
        (await invite(thief, also_invited, "administrator")).ok(201)
        for _ in range(2):
            assert dora.email in (await dora.anonymously("GET", undo)).ok().text
        (await thief.dashboard("GET", "/session")).ok()
        answers = await asyncio.gather(*(dora.form(undo, {}) for _ in range(3)))
        assert all(f"has the address {dora.email} again" in answer.ok().text for answer in answers)
        for signed_in in (thief, dora):
            (await signed_in.dashboard("GET", "/session")).refused("authentication_required", 401)
    for one, status in ((kept_key, 200), (key, 401)):
        headers = {"X-API-Key": one}
        assert (await dora.anonymously("GET", "/api/v2/integration/account", headers=headers)).status == status
    (await app.api(kept_tokens["access_token"], "GET", "/account")).ok()
    (await later.api(tokens["access_token"], "GET", "/account")).refused("invalid_token", 401)
    (await later.refresh(tokens["refresh_token"])).refused("invalid_grant", 400)
    (await later.exchange(code)).refused("invalid_grant", 400)
    for address in (dora.email, email):
        (await sign_in(dora, address)).refused("invalid_credentials", 401)
    (await dora.form((await last_mail(mail_worker, dora.email, "Reset your password")).path, {"password": NEW})).ok(303)
    (await log_in(dora, password=NEW)).ok()
    assert [row["email"] for row in await mail_worker.sql(OPEN_INVITATIONS, [invited, also_invited])] == [invited]
    (await sign_in_by_passkey(dora, stolen)).refused("invalid_passkey", 401)
    assert await mail_worker.sql(HOLDERS, email) == []
    await mail_worker.send()
    subjects = [mail.subject for mail in mail_worker.postbox.to(email)]
    assert subjects.count("The change of your email address was undone") == 1
    (await dora.form(undo, {})).ok()
    (await log_in(dora, password=NEW)).ok()


async def test_undoing_a_change_keeps_the_passkeys_of_before(mail_worker: MailWorker, dora: Actor) -> None:
    kept = new_passkey(dora)
    codes = (await add(dora, kept)).ok(201).body["backup_codes"]
    undo = await change(mail_worker, dora, fresh())
    stolen = await added(dora)
    (await dora.form(undo, {})).ok()
    (await sign_in_by_passkey(dora, stolen)).refused("invalid_passkey", 401)
    (await sign_in_by_passkey(dora, kept)).ok()
    (await dora.form((await last_mail(mail_worker, dora.email, "Reset your password")).path, {"password": NEW})).ok(303)
    (await log_in(dora, password=NEW)).refused("second_factor_required", 401)
    (await log_in(dora, codes[0], NEW)).ok()
    (await sign_in_by_passkey(dora, kept)).ok()


async def test_what_is_over_or_forged_changes_nothing(mail_worker: MailWorker, dora: Actor, carl: Actor) -> None:
    email = fresh()
    path = await start(mail_worker, dora, email)
    other = await start(mail_worker, carl, fresh())
    secret, foreign = path.rpartition("/")[2], other.rpartition("/")[2]
    for kind in ("confirm", "undo"):
        for bad in (f"{secret[:22]}{foreign[22:]}", "none", f"{secret}A", *([secret] if kind == "undo" else [])):
            assert "This link does not work" in await seen(dora, f"/address/{kind}/{bad}", 410)
            (await dora.form(f"/address/{kind}/{bad}", {})).ok(410)
    await mail_worker.sql(TURN_BACK, timedelta(hours=24))
    (await dora.form(path, {})).ok(410)
    assert (await dora.dashboard("GET", EMAIL)).ok().body["new_email"] is None
    undo = await change(mail_worker, dora, email)
    await mail_worker.sql(TURN_BACK, timedelta(hours=72))
    assert "can be undone for 72 hours" in await seen(dora, undo, 410)
    (await dora.form(undo, {})).ok(410)
    (await sign_in(dora, email)).ok()


async def test_resets_go_to_the_old_address_for_72_hours(mail_worker: MailWorker, dora: Actor) -> None:
    """For whichever of both addresses they are asked for. A link at the old one works until then, and not longer."""
    email = fresh()
    undo = await change(mail_worker, dora, email)
    assert await forgot(mail_worker, dora, email) == [dora.email]
    assert await forgot(mail_worker, dora, dora.email) == [dora.email]
    reset = (await last_mail(mail_worker, dora.email, "Reset your password")).path
    (await dora.form(reset, {"password": NEW})).ok(303)
    (await sign_in(dora, email, NEW)).ok()
    assert await forgot(mail_worker, dora, email) == [dora.email]
    reset = (await last_mail(mail_worker, dora.email, "Reset your password")).path
    await mail_worker.sql(TURN_BACK, timedelta(hours=72))
    (await dora.form(reset, {"password": PASSWORD})).ok(410)
    assert await forgot(mail_worker, dora, email) == [email]
    assert await forgot(mail_worker, dora, dora.email) == []
    (await dora.form(undo, {})).ok(410)


async def test_the_old_address_is_nobody_elses_for_72_hours(mail_worker: MailWorker, dora: Actor, carl: Actor) -> None:
    undo = await change(mail_worker, dora, fresh())
    body = {"email": dora.email, "password": PASSWORD, "business_name": "Another"}
    (await carl.anonymously("POST", "/api/v2/merchant/signup", body)).refused("email_taken", 409)
    taken = await start(mail_worker, carl, dora.email)
    assert "Another account uses this email address" in (await carl.form(taken, {})).ok(409).text
    assert (await carl.dashboard("GET", "/session")).ok().body["user"]["email"] == carl.email
    (await dora.form(undo, {})).ok()
    assert [row["email"] for row in await mail_worker.sql(HOLDERS, dora.email)] == [dora.email]


async def test_nobody_learns_who_has_an_account(mail_worker: MailWorker, dora: Actor, carl: Actor) -> None:
    answers = [await dora.dashboard("POST", EMAIL, {"email": email}) for email in (carl.email, fresh())]
    (first, second) = [answer.ok(202).body for answer in answers]
    assert first.keys() == second.keys()
    path = await start(mail_worker, dora, carl.email)
    assert "Another account uses this email address" in (await dora.form(path, {})).ok(409).text
    assert (await dora.dashboard("GET", "/session")).ok().body["user"]["email"] == dora.email
    assert (
        await mail_worker.sql("SELECT FROM address_changes WHERE confirmed_at IS NOT NULL AND new_key = $1", carl.email)
        == []
    )


async def test_of_several_at_once_one_wins(mail_worker: MailWorker, dora: Actor, carl: Actor) -> None:
    """Requests of one person: the last one counts. Two people who confirm one address, and one who signs up with it."""
    paths = [await start(mail_worker, dora, fresh()) for _ in range(2)]
    (await dora.form(paths[0], {})).ok(410)
    await mail_worker.sql("DELETE FROM failed_attempts")
    email = fresh()
    ways = [await start(mail_worker, actor, email) for actor in (dora, carl)]
    body = {"email": email, "password": PASSWORD, "business_name": "Another"}
    answers = await asyncio.gather(
        *(dora.form(path, {}) for path in ways), dora.anonymously("POST", "/api/v2/merchant/signup", body)
    )
    assert sorted(answer.status for answer in answers[:2]) in ([200, 409], [409, 409])
    assert [answer.status for answer in answers].count(409) == 2
    assert len(await mail_worker.sql(HOLDERS, email)) == 1
    waiting = await mail_worker.sql(
        "SELECT FROM address_changes WHERE withdrawn_at IS NULL AND confirmed_at IS NULL AND old_key = $1", dora.email
    )
    assert len(waiting) <= 1


async def test_a_confirmation_and_its_withdrawal_at_once(mail_worker: MailWorker, dora: Actor) -> None:
    email = fresh()
    path = await start(mail_worker, dora, email)
    answer, withdrawn = await asyncio.gather(dora.form(path, {}), dora.dashboard("DELETE", EMAIL))
    withdrawn.ok(204)
    assert (answer.status == 200) == bool(await mail_worker.sql(HOLDERS, email))
    assert answer.status in {200, 410}


async def test_a_second_change_waits_until_the_first_is_final(mail_worker: MailWorker, dora: Actor) -> None:
    await change(mail_worker, dora, fresh())
    refused = (await dora.dashboard("POST", EMAIL, {"email": fresh()})).refused("address_changed_recently", 409)
    assert refused.body["details"]["until"]
    shown = await seen(dora, PAGE)
    assert f"Your address was changed from {dora.email}" in shown
    assert f'action="{PAGE}/change"' not in shown
    assert "in the last 72 hours" in (await dora.form(f"{PAGE}/change", {"email": fresh()})).ok(409).text
    await mail_worker.sql(TURN_BACK, timedelta(hours=72))
    await mail_worker.sql("DELETE FROM failed_attempts")
    (await dora.dashboard("POST", EMAIL, {"email": fresh()})).ok(202)


async def test_the_form_and_what_it_refuses(mail_worker: MailWorker, dora: Actor) -> None:
    for bad in ("nobody", "", dora.email.upper()):
        assert "email" in wrong((await dora.form(f"{PAGE}/change", {"email": bad})).ok(422))
        assert (await dora.dashboard("POST", EMAIL, {"email": bad})).field_errors().keys() == {"email"}
    email = fresh()
    assert (await dora.form(f"{PAGE}/change", {"email": email})).ok(303).location == f"{PAGE}?done=requested"
    assert "A link was sent to the new address" in await seen(dora, f"{PAGE}?done=requested")
    path = (await last_mail(mail_worker, email, "Confirm your new email address")).path
    assert (await dora.form(f"{PAGE}/withdraw", {})).ok(303).location == f"{PAGE}?done=withdrawn"
    (await dora.form(path, {})).ok(410)
    for _ in range(2):
        (await dora.dashboard("POST", EMAIL, {"email": fresh()})).ok(202)
    (await dora.dashboard("POST", EMAIL, {"email": fresh()})).refused("rate_limited", 429)
    assert "Retry-After" in (await dora.form(f"{PAGE}/change", {"email": fresh()})).ok(429).headers


async def test_it_needs_the_password_and_an_active_session(mail_worker: MailWorker, dora: Actor) -> None:
    await grow_old(dora)
    (await dora.dashboard("POST", EMAIL, {"email": fresh()})).refused("recent_authentication_required", 403)
    shown = await dora.send("POST", f"{PAGE}/change", data={"email": fresh()}, headers={**OWN, "Accept": "text/html"})
    assert "stepup_password" in shown.ok(403).text
    assert await mail_worker.sql("SELECT FROM address_changes WHERE old_key = $1", dora.email) == []
    (await dora.anonymously("POST", f"/api/v2/merchant{EMAIL}", {"email": fresh()})).refused("authentication_required", 401)


async def test_a_new_password_withdraws_the_request_of_whoever_knew_the_old_one(
    mail_worker: MailWorker, dora: Actor
) -> None:
    path = await start(mail_worker, dora, fresh())
    assert await forgot(mail_worker, dora, dora.email) == [dora.email]
    (await dora.form((await last_mail(mail_worker, dora.email, "Reset your password")).path, {"password": NEW})).ok(303)
    (await dora.form(path, {})).ok(410)


async def test_an_address_that_was_never_verified(mail_worker: MailWorker, carl: Actor) -> None:
    """It gets the link, too. Whoever reads it there may be a stranger, so a reset by it revokes everything, as ever."""
    key = await carl.key()
    undo = await change(mail_worker, carl, fresh())
    assert await forgot(mail_worker, carl, carl.email) == [carl.email]
    (await carl.form((await last_mail(mail_worker, carl.email, "Reset your password")).path, {"password": NEW})).ok(303)
    headers = {"X-API-Key": key}
    (await carl.anonymously("GET", "/api/v2/integration/account", headers=headers)).refused("invalid_api_key", 401)
    (await carl.form(undo, {})).ok()
    [row] = await mail_worker.sql("SELECT verified_at FROM users WHERE email = $1", carl.email)
    assert row["verified_at"] is None


async def test_a_process_that_dies_changes_nothing(mail_worker: MailWorker, dora: Actor) -> None:
    """The last statement of a confirmation and of an undoing fails: nothing before it counts, and the link still works."""
    email = fresh()

    async def dies_at(last: str, link: str, holder: str) -> None:
        await mail_worker.sql(f"ALTER TABLE mails ADD CONSTRAINT shut CHECK (about <> '{last}') NOT VALID")
        try:
            assert (await dora.form(link, {})).status == 500
            assert len(await mail_worker.sql(HOLDERS, holder)) == 1
            (await dora.dashboard("GET", "/session")).ok()
        finally:
            await mail_worker.sql("ALTER TABLE mails DROP CONSTRAINT shut")
        (await dora.form(link, {})).ok()
        assert await mail_worker.sql(HOLDERS, holder) == []

    await dies_at("undo_address", await start(mail_worker, dora, email), dora.email)
    undo = (await last_mail(mail_worker, dora.email, "Your email address was changed")).path
    await dies_at("address_undone", undo, email)


async def test_nobody_approves_what_belongs_to_a_former_address(mail_worker: MailWorker, dora: Actor) -> None:
    await change(mail_worker, dora, fresh())
    merchant_id = MerchantId(UUID(dora.merchant_id))
    async with mail_worker.services.db.transaction() as tx:
        assert await approvals_store.can_enter(tx, merchant_id, dora.email)


async def test_the_database_takes_no_impossible_change(mail_worker: MailWorker, dora: Actor) -> None:
    await start(mail_worker, dora, fresh())
    for setting in (
        "undone_at = now()",
        "confirmed_at = now()",
        "new_key = old_key",
        "confirmed_at = expires_at, undo_until = 'infinity'",
    ):
        with pytest.raises(asyncpg.CheckViolationError):
            await mail_worker.sql(f"UPDATE address_changes SET {setting} WHERE old_key = $1", dora.email)  # noqa: S608
    with pytest.raises(asyncpg.UniqueViolationError):
        await mail_worker.sql(
            "INSERT INTO address_changes (id, user_id, old_email, old_key, new_email, new_key, requested_at, expires_at)"
            " SELECT gen_random_uuid(), user_id, old_email, old_key, 'x', 'x', requested_at, expires_at"
            " FROM address_changes WHERE old_key = $1",
            dora.email,
        )


async def test_requests_that_nobody_confirmed_are_deleted(mail_worker: MailWorker, dora: Actor) -> None:
    await start(mail_worker, dora, fresh())
    await mail_worker.sql(TURN_BACK, timedelta(days=30))
    await jobs.delete_address_requests(mail_worker.services)
    assert await mail_worker.sql("SELECT FROM address_changes WHERE old_key = $1", dora.email) == []


async def test_the_emails_in_german(mail_worker: MailWorker, dora: Actor) -> None:
    (await dora.form("/language", {"language": "de", "back": "/"})).ok(303)
    email = fresh()
    (await dora.dashboard("POST", EMAIL, {"email": email})).ok(202)
    await mail_worker.send()
    [confirm] = mail_worker.postbox.to(email)
    (await dora.form(confirm.path, {})).ok()
    await mail_worker.send()
    mails: list[Any] = [confirm, *mail_worker.postbox.to(dora.email)[-2:]]
    assert not any(re.search(r"\b(the|your|was)\b", mail.subject + mail.text) for mail in mails)
