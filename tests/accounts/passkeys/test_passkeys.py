"""Passkeys by JSON: adding, signing in, confirming, and what refuses what others made of them."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from tests.accounts.merchants.authenticator import elsewhere, enrol, grow_old, log_in
from tests.accounts.passkeys.soft_authenticator import (
    BACKED_UP,
    BACKUP_ELIGIBLE,
    PRESENT,
    VERIFIED,
    add,
    added,
    confirm,
    creation_options,
    new_passkey,
    sign_in,
)
from tests.cast import PASSWORD, Actor, sign_up
from tests.forms import seen
from tests.running import Service
from tollhouse.kernel.limits import PASSKEYS_MAX


def cases(*rows: tuple[dict[str, Any], str]) -> tuple[tuple[dict[str, Any], str], ...]:
    """What is changed, and the code of the error."""
    return rows


async def passkeys_of(actor: Actor) -> list[dict[str, Any]]:
    """The list of the person's passkeys."""
    return (await actor.dashboard("GET", "/passkeys")).ok().body["passkeys"]


async def events_of(actor: Actor) -> list[str]:
    """The types of the last audit events of the person."""
    rows = await actor.sql("SELECT deed FROM audit_lines WHERE merchant_id = $1 ORDER BY created_at, id", actor.merchant_id)
    return [row["deed"] for row in rows]


async def test_from_adding_to_signing_in(alice: Actor) -> None:
    options = await creation_options(alice)
    assert options["rp"] == {"id": "localhost", "name": "Tollhouse"}
    assert options["user"]["name"] == alice.email
    assert options["authenticatorSelection"]["userVerification"] == "required"
    assert options["authenticatorSelection"]["residentKey"] == "required"
    assert options["attestation"] == "none"
    passkey = new_passkey(alice)
    made = (await add(alice, passkey, "  Work laptop ")).ok(201).body
    assert made["name"] == "Work laptop"
    assert made["last_used_at"] is None
    assert made["works_here"] is True
    assert len(made.pop("backup_codes")) == 10
    assert await passkeys_of(alice) == [made]
    async with elsewhere(alice) as other:
        session = (await sign_in(other, passkey)).ok().body
        assert session["user"]["email"] == alice.email
        (await other.dashboard("GET", "/session")).ok()
    assert (await passkeys_of(alice))[0]["last_used_at"] is not None
    assert (await events_of(alice))[-2:] == ["passkey.added", "session.begun"]


@pytest.mark.parametrize("algorithm", [-7, -8, -257])
async def test_each_algorithm(alice: Actor, algorithm: int) -> None:
    passkey = await added(alice, algorithm=algorithm)
    async with elsewhere(alice) as other:
        (await sign_in(other, passkey)).ok()


async def test_a_passkey_turns_two_factor_authentication_on(alice: Actor) -> None:
    async with elsewhere(alice) as other:
        (await other.dashboard("POST", "/login", {"email": alice.email, "password": PASSWORD})).ok()
        codes = (await add(alice)).ok(201).body["backup_codes"]
        (await other.dashboard("GET", "/session")).refused("authentication_required", 401)
    assert "backup_codes" not in (await add(alice, name="Phone")).ok(201).body
    (await log_in(alice)).refused("second_factor_required", 401)
    (await log_in(alice, "123456")).refused("invalid_code", 401)
    (await log_in(alice, codes[0])).ok()
    (await log_in(alice, codes[0])).refused("invalid_code", 401)
    first, second = await passkeys_of(alice)
    (await alice.dashboard("DELETE", f"/passkeys/{first['passkey_id']}")).ok(204)
    (await log_in(alice)).refused("second_factor_required", 401)
    (await alice.dashboard("DELETE", f"/passkeys/{second['passkey_id']}")).ok(204)
    (await log_in(alice)).ok()
    assert not await alice.sql(
        "SELECT FROM backup_codes b JOIN users u ON u.id = b.holder_id WHERE u.email = $1", alice.email
    )


async def test_beside_an_authenticator(alice: Actor) -> None:
    authenticator = await enrol(alice)
    assert "backup_codes" not in (await add(alice)).ok(201).body
    (await alice.form("/settings/security/off", {"code": authenticator.code()})).ok(303)
    (await log_in(alice, await authenticator.next_code(alice))).refused("invalid_code", 401)
    (await log_in(alice, authenticator.backup_codes[0])).ok()
    again = await enrol(alice)
    (await log_in(alice, authenticator.backup_codes[1])).refused("invalid_code", 401)
    [passkey] = await passkeys_of(alice)
    (await alice.dashboard("DELETE", f"/passkeys/{passkey['passkey_id']}")).ok(204)
    (await log_in(alice, again.backup_codes[0])).ok()


async def test_confirming_with_a_passkey(alice: Actor) -> None:
    passkey = await added(alice)
    [listed] = await passkeys_of(alice)
    path = f"/passkeys/{listed['passkey_id']}"
    await grow_old(alice)
    (await alice.dashboard("DELETE", path)).refused("recent_authentication_required", 403)
    (await alice.dashboard("POST", "/passkeys/options")).refused("recent_authentication_required", 403)
    (await confirm(alice, passkey)).ok()
    (await alice.dashboard("POST", "/passkeys/options")).ok()
    await grow_old(alice)
    body = {"assertion": passkey.get((await alice.dashboard("POST", "/session/confirm/options")).ok().body)}
    sent_twice = body | {"password": PASSWORD}
    assert (await alice.dashboard("POST", "/session/confirm", sent_twice)).field_errors() == {"password": "conflicting"}
    assert (await alice.dashboard("POST", "/session/confirm", {})).field_errors() == {"password": "missing"}
    (await alice.dashboard("POST", "/session/confirm", body)).ok()
    (await alice.dashboard("DELETE", path)).ok(204)


async def test_a_challenge_is_of_one_ceremony_and_browser(alice: Actor, carol: Actor) -> None:
    passkey, of_carol = await added(alice), await added(carol)
    sign_in_options = (await alice.dashboard("POST", "/login/passkey/options")).ok().body
    body = {"assertion": passkey.get(sign_in_options)}
    (await alice.dashboard("POST", "/session/confirm", body)).refused("challenge_expired", 401)
    confirmation = (await alice.dashboard("POST", "/session/confirm/options")).ok().body
    assert [allowed["transports"] for allowed in confirmation["allowCredentials"]] == [["hybrid", "internal"]]
    async with elsewhere(alice) as other:
        for options in (confirmation, sign_in_options):
            body = {"assertion": passkey.get(options)}
            (await other.dashboard("POST", "/login/passkey", body)).refused("challenge_expired", 401)
        (await other.dashboard("POST", "/login/passkey/options")).ok()
        (await other.dashboard("POST", "/login/passkey", body)).refused("challenge_expired", 401)
    (await carol.dashboard("POST", "/session/confirm", {"assertion": of_carol.get(confirmation)})).refused(
        "challenge_expired", 401
    )
    made = new_passkey(alice)
    for challenge in ("", "AAAA", confirmation["challenge"], "A" * 75):
        credential = made.create(await creation_options(alice) | {"challenge": challenge})
        body = {"name": "x", "credential": credential}
        (await alice.dashboard("POST", "/passkeys", body)).refused("challenge_expired", 401)


async def test_a_challenge_is_used_once(alice: Actor) -> None:
    passkey = await added(alice)
    async with elsewhere(alice) as other:
        options = (await other.dashboard("POST", "/login/passkey/options")).ok().body
        body = {"assertion": passkey.get(options)}
        answers = await asyncio.gather(*(other.dashboard("POST", "/login/passkey", body) for _ in range(6)))
        assert sorted(answer.status for answer in answers) == [200, 401, 401, 401, 401, 401]
        assert {answer.body["error"] for answer in answers if answer.status == 401} == {"challenge_expired"}
        wrong = new_passkey(alice, credential_id=passkey.credential_id)
        options = (await other.dashboard("POST", "/login/passkey/options")).ok().body
        (await other.dashboard("POST", "/login/passkey", {"assertion": wrong.get(options)})).refused("invalid_passkey", 401)
        (await other.dashboard("POST", "/login/passkey", {"assertion": passkey.get(options)})).refused("challenge_expired")


async def test_the_same_credential_twice_at_once(alice: Actor, carol: Actor) -> None:
    passkey = new_passkey(alice)
    made = [passkey.create(await creation_options(actor)) for actor in (alice, alice, carol)]
    bodies = [{"name": "x", "credential": credential} for credential in made]
    answers = await asyncio.gather(
        *(actor.dashboard("POST", "/passkeys", body) for actor, body in zip((alice, alice, carol), bodies, strict=True))
    )
    assert sorted(answer.status for answer in answers) == [201, 409, 409]
    assert {answer.body.get("error") for answer in answers} == {None, "passkey_exists"}


async def test_two_first_passkeys_at_once_make_one_set_of_codes(alice: Actor) -> None:
    made = [new_passkey(alice).create(await creation_options(alice)) for _ in range(4)]
    answers = await asyncio.gather(
        *(alice.dashboard("POST", "/passkeys", {"name": "x", "credential": credential}) for credential in made)
    )
    assert sorted("backup_codes" in answer.ok(201).body for answer in answers) == [False, False, False, True]


async def test_two_removals_at_once(alice: Actor) -> None:
    passkey = await added(alice)
    [listed] = await passkeys_of(alice)
    answers = await asyncio.gather(*(alice.dashboard("DELETE", f"/passkeys/{listed['passkey_id']}") for _ in range(4)))
    assert sorted(answer.status for answer in answers) == [204, 404, 404, 404]
    async with elsewhere(alice) as other:
        (await sign_in(other, passkey)).refused("invalid_passkey", 401)


async def test_hostile_registrations(alice: Actor) -> None:
    for changes, code in cases(
        ({"origin": "https://evil.example"}, "wrong_origin"),
        ({"crossOrigin": True}, "wrong_origin"),
        ({"topOrigin": "https://evil.example"}, "wrong_origin"),
        ({"type": "webauthn.get"}, "validation_failed"),
        ({"challenge": "AAAA"}, "challenge_expired"),
    ):
        (await add(alice, **changes)).refused(code)
    for facts, code in cases(
        ({"rp_id": "evil.example"}, "wrong_origin"),
        ({"flags": PRESENT}, "user_verification_required"),
        ({"flags": VERIFIED}, "user_verification_required"),
        ({"flags": PRESENT | VERIFIED | BACKED_UP}, "validation_failed"),
        ({"credential_id": b""}, "validation_failed"),
        ({"credential_id": b"x" * 1_024}, "validation_failed"),
    ):
        (await add(alice, new_passkey(alice, **facts))).refused(code)
    assert (await add(alice, name=" ")).field_errors() == {"name": "invalid_value"}
    assert (await add(alice, name="x" * 61)).field_errors() == {"name": "invalid_value"}
    assert await passkeys_of(alice) == []


@pytest.mark.parametrize("member", ["clientDataJSON", "attestationObject"])
async def test_malformed_members_are_named(alice: Actor, member: str) -> None:
    for wrong in ("", "AAAA", "A" * 8_193, "=", "gYGBgYGB" * 500):
        credential = new_passkey(alice).create(await creation_options(alice))
        credential["response"][member] = wrong
        answer = (await alice.dashboard("POST", "/passkeys", {"name": "x", "credential": credential})).refused(
            "validation_failed", 422
        )
        assert list(answer.field_errors()) == [f"credential.response.{member}"]


async def test_hostile_sign_ins(alice: Actor, carol: Actor) -> None:
    passkey, of_carol = await added(alice), await added(carol)
    async with elsewhere(alice) as other:
        for changes, code in cases(
            ({"origin": "https://evil.example"}, "wrong_origin"),
            ({"crossOrigin": True}, "wrong_origin"),
            ({"type": "webauthn.create"}, "validation_failed"),
        ):
            (await sign_in(other, passkey, **changes)).refused(code)
        for facts, code in cases(
            ({"rp_id": "evil.example"}, "wrong_origin"),
            ({"flags": PRESENT}, "user_verification_required"),
            ({"flags": PRESENT | VERIFIED | BACKUP_ELIGIBLE}, "invalid_passkey"),
            ({"user_handle": of_carol.user_handle}, "invalid_passkey"),
        ):
            changed = new_passkey(alice, credential_id=passkey.credential_id, key=passkey.key, **facts)
            (await sign_in(other, changed)).refused(code)
        unknown = (await sign_in(other, new_passkey(alice))).refused("invalid_passkey", 401)
        forged = (await sign_in(other, new_passkey(alice, credential_id=passkey.credential_id))).refused(
            "invalid_passkey", 401
        )
        assert unknown.body["error_description"] == forged.body["error_description"]
        (await other.dashboard("GET", "/session")).refused("authentication_required", 401)
        (await sign_in(other, passkey)).ok()
    (await confirm(alice, of_carol)).refused("invalid_passkey", 401)
    assert (await events_of(alice))[-1] == "passkey.refused"


async def test_a_counter_that_goes_back(alice: Actor) -> None:
    passkey = await added(alice, sign_count=7)
    async with elsewhere(alice) as other:
        (await sign_in(other, passkey, counts=1)).ok()
        (await sign_in(other, passkey)).refused("passkey_copied", 401)
        passkey.sign_count = 0
        (await sign_in(other, passkey)).refused("passkey_copied", 401)
        assert (await events_of(alice))[-1] == "passkey.refused"
        passkey.sign_count = 9
        (await sign_in(other, passkey)).ok()
        copies = [
            passkey.get((await other.dashboard("POST", "/login/passkey/options")).ok().body, counts=at == 0)
            for at in range(4)
        ]
        answers = await asyncio.gather(*(other.dashboard("POST", "/login/passkey", {"assertion": copy}) for copy in copies))
        assert sorted(answer.status for answer in answers) == [200, 401, 401, 401]
        assert {answer.body.get("error") for answer in answers} == {None, "passkey_copied"}


async def test_renaming_is_of_the_owner_only(alice: Actor, carol: Actor) -> None:
    await added(alice, flags=PRESENT | VERIFIED | BACKUP_ELIGIBLE | BACKED_UP)
    [listed] = await passkeys_of(alice)
    assert listed["backed_up"] is True
    path = f"/passkeys/{listed['passkey_id']}"
    for method, body in (("PATCH", {"name": "Mine"}), ("DELETE", None)):
        (await carol.dashboard(method, path, body)).refused("not_found", 404)
    assert (await alice.dashboard("PATCH", path, {"name": " Phone "})).ok().body == listed | {"name": "Phone"}
    assert (await alice.dashboard("PATCH", path, {"name": ""})).field_errors() == {"name": "invalid_value"}
    assert (await events_of(alice))[-1] == "passkey.renamed"


async def test_at_most_so_many(alice: Actor) -> None:
    for _ in range(PASSKEYS_MAX):
        await added(alice)
    (await add(alice)).refused("too_many_passkeys", 409)


async def test_a_passkey_of_another_host_does_not_work_here(alice: Actor) -> None:
    passkey = await added(alice)
    await alice.sql("UPDATE passkeys SET rp_id = 'old.example' WHERE credential_id = $1", passkey.credential_id)
    assert (await passkeys_of(alice))[0]["works_here"] is False
    async with elsewhere(alice) as other:
        (await sign_in(other, passkey)).refused("invalid_passkey", 401)
    (await log_in(alice)).refused("second_factor_required", 401)


async def test_a_suspended_merchant_signs_in_and_protects_the_account(alice: Actor) -> None:
    passkey = await added(alice)
    await alice.sql("UPDATE merchants SET suspended_at = now() WHERE id = $1", alice.merchant_id)
    async with elsewhere(alice) as other:
        assert (await sign_in(other, passkey)).ok().body["merchant"]["status"] == "suspended"
        (await add(other)).ok(201)


@pytest.fixture
def strict(make_service: Callable[..., Service]) -> Service:
    """A service that counts failures."""
    return make_service(fresh=True, TOLLHOUSE_RATE_LIMITS="on", TOLLHOUSE_RATE_SIGNIN_ACCOUNT="4")


async def test_failures_are_limited(strict: Service) -> None:
    async with sign_up(strict, "dora", "Dora's Deli") as dora:
        passkey = await added(dora)
        forged = new_passkey(dora, credential_id=passkey.credential_id)
        async with elsewhere(dora) as other:
            codes = [(await sign_in(other, forged)).body["error"] for _ in range(6)]
            assert codes == ["invalid_passkey"] * 4 + ["rate_limited"] * 2
            (await sign_in(other, passkey)).refused("rate_limited", 429)
        (await log_in(dora)).refused("second_factor_required", 401)


async def test_a_new_device_is_announced(alice: Actor) -> None:
    passkey = await added(alice)
    async with elsewhere(alice, "Mozilla/5.0 (X11; Linux x86_64) Firefox/150.0") as other:
        (await sign_in(other, passkey)).ok()
    rows = await alice.sql("SELECT about FROM mails WHERE recipient = $1 ORDER BY created_at, id", alice.email)
    assert [row["about"] for row in rows][-2:] == ["passkey_added", "new_device"]
    assert "Security" in await seen(alice, "/settings/security")
