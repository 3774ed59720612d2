"""Invitations: once, for seven days, for one address, and never to more than who invites may do."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from tests.accounts.merchants.authenticator import elsewhere, enrol, grow_old
from tests.accounts.team.invited import accept, at_once, id_of, invite, secret_of, somebody, team_of
from tests.cast import PASSWORD, Actor, member, sign_up, suspend
from tests.forms import seen
from tests.running import Service, with_limits
from tollhouse.accounts.team.slice import delete_old_invitations
from tollhouse.http.services import Services

NEW = {"password": "a quite different staple"}
AGED = (
    "UPDATE invitations SET created_at = created_at - $2::interval, expires_at = expires_at - $2::interval WHERE email = $1"
)
RECORDED = "SELECT deed FROM audit_lines WHERE merchant_id = $1::uuid AND deed LIKE 'member.%' ORDER BY created_at, id"
MAILS = "SELECT about, recipient, facts::text AS facts FROM mails WHERE recipient = $1 AND about <> 'new_device' ORDER BY id"


async def test_a_new_person_joins_without_a_merchant_of_the_own(alice: Actor, services: Services) -> None:
    email = somebody()
    made = (await invite(alice, email, "finance")).ok(201).body
    assert (made["email"], made["role"], made["status"], made["invited_by"]) == (email, "finance", "open", alice.email)
    secret = await secret_of(services, email)
    async with elsewhere(alice) as nina:
        page = await seen(nina, f"/invitation/{secret}")
        assert "Alice's Coffee" in page
        assert "Choose a password" in page
        (await accept(nina, secret, password="short")).refused("validation_failed", 422)  # noqa: S106
        (await accept(nina, secret, **NEW)).ok(204)
        session = (await nina.dashboard("GET", "/session")).ok().body
        assert session["merchant"]["merchant_id"] == alice.merchant_id
        assert (session["role"], len(session["merchants"])) == ("finance", 1)
        (await accept(nina, secret)).refused("invitation_over", 410)
        assert "does not work" in (await nina.send("GET", f"/invitation/{secret}")).ok(410).text
    assert (await alice.dashboard("GET", "/invitations")).ok().body == {"invitations": []}
    assert await team_of(alice) == {alice.email: "owner", email: "finance"}
    recorded = [row["deed"] for row in await alice.sql(RECORDED, alice.merchant_id)]
    assert recorded == ["member.invited", "member.joined"]
    [user] = await alice.sql("SELECT merchant_id, verified_at IS NOT NULL AS verified FROM users WHERE email = $1", email)
    assert (user["merchant_id"], user["verified"]) == (None, True)
    assert [row["about"] for row in await alice.sql(MAILS, alice.email)].count("member_joined") == 1


async def test_a_user_of_another_merchant_becomes_a_member_of_both(alice: Actor, bob: Actor, services: Services) -> None:
    (await invite(alice, bob.email.upper())).ok(201)
    secret = await secret_of(services, bob.email.upper())
    (await accept(bob, secret)).ok(204)
    session = (await bob.dashboard("GET", "/session")).ok().body
    assert session["merchant"]["merchant_id"] == alice.merchant_id
    assert {one["merchant_id"]: one["role"] for one in session["merchants"]} == {
        alice.merchant_id: "support",
        bob.merchant_id: "owner",
    }
    (await invite(alice, bob.email)).refused("already_member", 409)


async def test_somebody_without_a_session_signs_in_at_the_link(alice: Actor, bob: Actor, services: Services) -> None:
    authenticator = await enrol(bob)
    (await invite(alice, bob.email)).ok(201)
    secret = await secret_of(services, bob.email)
    async with elsewhere(bob) as other:
        assert "Enter the password" in await seen(other, f"/invitation/{secret}")
        (await accept(other, secret)).refused("invalid_credentials", 401)
        (await accept(other, secret, password="not the password")).refused("invalid_credentials", 401)  # noqa: S106
        (await accept(other, secret, password=PASSWORD)).refused("second_factor_required", 401)
        page = await other.form(f"/invitation/{secret}", {"password": PASSWORD})
        assert 'name="code"' in page.ok().text
        fields = {"password": PASSWORD, "code": authenticator.backup_codes[0]}
        assert (await other.form(f"/invitation/{secret}", fields)).ok(303).location == "/"
        session = (await other.dashboard("GET", "/session")).ok().body
        assert session["merchant"]["merchant_id"] == alice.merchant_id


async def test_only_the_invited_address_can_accept(alice: Actor, bob: Actor, mallory: Actor, services: Services) -> None:
    (await invite(alice, bob.email)).ok(201)
    secret = await secret_of(services, bob.email)
    (await accept(mallory, secret)).refused("invitation_of_another", 403)
    (await accept(mallory, secret, password=PASSWORD)).refused("invitation_of_another", 403)
    assert "another address" in await seen(mallory, f"/invitation/{secret}")
    for wrong in ("", "x", secret[:-4] + "AAAA", secret[::-1], secret * 2):
        (await accept(mallory, wrong)).refused("invitation_over", 410)
    (await accept(bob, secret)).ok(204)


@pytest.mark.parametrize(
    ("role", "may"),
    [
        ("administrator", {"finance", "support", "developer", "read_only"}),
        ("finance", set[str]()),
        ("support", set[str]()),
        ("developer", set[str]()),
        ("read_only", set[str]()),
    ],
)
async def test_nobody_invites_to_the_own_role_or_above(alice: Actor, role: str, may: set[str]) -> None:
    async with member(alice, role) as fred:
        for given in ("owner", "administrator", "finance", "support", "developer", "read_only"):
            answer = await invite(fred, somebody(), given)
            assert answer.status == 201 if given in may else answer.refused("role_forbidden", 403)
        made = (await invite(alice, somebody(), "administrator")).ok(201).body
        path = f"/invitations/{made['invitation_id']}"
        (await fred.dashboard("DELETE", path)).refused("role_forbidden", 403)
        (await fred.dashboard("POST", f"{path}/resend")).refused("role_forbidden", 403)
        (await invite(fred, made["email"], "read_only")).refused("role_forbidden", 403)


async def test_sent_again_only_the_newest_link_works(alice: Actor, bob: Actor, services: Services) -> None:
    made = (await invite(alice, bob.email)).ok(201).body
    first = await secret_of(services, bob.email)
    await alice.sql(AGED, bob.email, timedelta(days=8))
    (await accept(bob, first)).refused("invitation_over", 410)
    [listed] = (await alice.dashboard("GET", "/invitations")).ok().body["invitations"]
    assert listed["status"] == "expired"
    again = (await alice.dashboard("POST", f"/invitations/{made['invitation_id']}/resend")).ok().body
    assert again["status"] == "open"
    (await accept(bob, first)).refused("invitation_over", 410)
    (await accept(bob, await secret_of(services, bob.email))).ok(204)
    (await alice.dashboard("POST", f"/invitations/{made['invitation_id']}/resend")).refused("not_found", 404)


async def test_a_canceled_or_replaced_invitation_is_over(alice: Actor, bob: Actor, carol: Actor, services: Services) -> None:
    made = (await invite(alice, bob.email)).ok(201).body
    first = await secret_of(services, bob.email)
    (await carol.dashboard("DELETE", f"/invitations/{made['invitation_id']}")).refused("not_found", 404)
    (await alice.dashboard("DELETE", f"/invitations/{made['invitation_id']}")).ok()
    (await alice.dashboard("DELETE", f"/invitations/{made['invitation_id']}")).refused("not_found", 404)
    (await accept(bob, first)).refused("invitation_over", 410)
    (await invite(alice, bob.email, "finance")).ok(201)
    second = await secret_of(services, bob.email)
    (await invite(alice, bob.email, "read_only")).ok(201)
    (await accept(bob, second)).refused("invitation_over", 410)
    (await accept(bob, await secret_of(services, bob.email))).ok(204)
    assert (await team_of(alice))[bob.email] == "read_only"


async def test_accepted_at_once_it_is_used_once(alice: Actor, services: Services) -> None:
    for _ in range(5):
        email = somebody()
        (await invite(alice, email)).ok(201)
        secret = await secret_of(services, email)
        async with elsewhere(alice) as one, elsewhere(alice) as two:
            answers = await at_once(accept(actor, secret, **NEW) for actor in (one, two, one, two))
        [won] = [answer for answer in answers if answer.status == 204]
        assert {answer.body["error"] for answer in answers if answer is not won} <= {"invitation_over", "email_taken"}
        [row] = await alice.sql(
            "SELECT count(*) AS n FROM members m JOIN users u ON u.id = m.user_id WHERE u.email = $1", email
        )
        assert row["n"] == 1
        (await alice.dashboard("DELETE", f"/members/{await id_of(alice, email)}")).ok()


async def test_canceled_while_accepted_one_of_both_happens(alice: Actor, services: Services) -> None:
    for _ in range(5):
        email = somebody()
        made = (await invite(alice, email)).ok(201).body
        secret = await secret_of(services, email)
        async with elsewhere(alice) as nina:
            joined, canceled = await at_once(
                [accept(nina, secret, **NEW), alice.dashboard("DELETE", f"/invitations/{made['invitation_id']}")]
            )
        assert sorted((joined.status, canceled.status)) in ([200, 410], [204, 404])
        assert (email in await team_of(alice)) is (joined.status == 204)


async def test_an_invitation_ends_with_what_allowed_it(alice: Actor, services: Services) -> None:
    async with member(alice, "administrator") as adam:
        removed, demoted = somebody(), somebody()
        (await invite(adam, demoted)).ok(201)
        path = f"/members/{await id_of(alice, adam.email)}"
        (await alice.dashboard("PATCH", path, {"role": "finance"})).ok()
        async with elsewhere(alice) as nina:
            (await accept(nina, await secret_of(services, demoted), **NEW)).refused("invitation_over", 410)
        (await alice.dashboard("PATCH", path, {"role": "administrator"})).ok()
        (await invite(adam, removed)).ok(201)
        (await alice.dashboard("DELETE", path)).ok()
        async with elsewhere(alice) as nina:
            (await accept(nina, await secret_of(services, removed), **NEW)).refused("invitation_over", 410)


async def test_of_a_suspended_merchant_nobody_joins(alice: Actor, bob: Actor, services: Services) -> None:
    made = (await invite(alice, bob.email)).ok(201).body
    secret = await secret_of(services, bob.email)
    await suspend(alice)
    (await accept(bob, secret)).refused("account_suspended", 403)
    (await invite(alice, somebody())).refused("account_suspended", 403)
    (await alice.dashboard("DELETE", f"/invitations/{made['invitation_id']}")).ok()


async def test_inviting_needs_recent_authentication_and_a_right_address(alice: Actor) -> None:
    assert (await invite(alice, "nobody")).field_errors() == {"email": "invalid_email"}
    assert (await invite(alice, somebody(), "king")).refused("validation_failed", 422)
    await grow_old(alice)
    (await invite(alice, somebody())).refused("recent_authentication_required", 403)


async def test_the_answer_does_not_say_who_has_an_account(alice: Actor, bob: Actor) -> None:
    def shape(body: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in body.items() if name not in {"invitation_id", "email"}} | {
            "created_at": "", "expires_at": ""
        }  # fmt: skip

    known, unknown = (await invite(alice, bob.email)).ok(201).body, (await invite(alice, somebody())).ok(201).body
    assert shape(known) == shape(unknown)
    [mail] = [row for row in await alice.sql(MAILS, bob.email) if row["about"] == "invitation"]
    assert msgspec.json.decode(mail["facts"])["new_role"] == "support"


async def test_emails_are_limited(make_service: Callable[..., Service]) -> None:
    limited = await with_limits(make_service)
    async with sign_up(limited, "erin", "Erin's Eggs") as erin:
        email = somebody()
        for _ in range(3):
            (await invite(erin, email)).ok(201)
        (await invite(erin, email)).refused("rate_limited", 429)
        answers = [await invite(erin, somebody()) for _ in range(18)]
        assert answers[-1].refused("rate_limited", 429)


async def test_old_invitations_are_deleted(alice: Actor, services: Services) -> None:
    old, new = somebody(), somebody()
    for email in (old, new):
        (await invite(alice, email)).ok(201)
    await alice.sql(AGED, old, timedelta(days=38))
    await delete_old_invitations(services)
    left = await alice.sql("SELECT email FROM invitations WHERE email = ANY($1)", [old, new])
    assert [row["email"] for row in left] == [new]
