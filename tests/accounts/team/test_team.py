"""Members: roles change, people leave, ownership moves, and whatever happens at once, a merchant has an owner."""

from typing import Any

import msgspec
import pytest

from tests.accounts.merchants.authenticator import grow_old
from tests.accounts.passkeys.soft_authenticator import added
from tests.accounts.team.invited import at_once, id_of, team_of
from tests.cast import Actor, application, join, member, suspend
from tests.forms import post, seen

MAIL = "SELECT facts->>'new_role' AS role FROM mails WHERE about = 'team_role_changed' AND recipient = $1"


async def change(actor: Actor, email: str, role: str) -> Any:
    """Change a role."""
    return await actor.dashboard("PATCH", f"/members/{await id_of(actor, email)}", {"role": role})


async def test_a_member_with_what_the_team_sees(alice: Actor) -> None:
    async with member(alice, "finance") as fred:
        [owner, other] = (await fred.dashboard("GET", "/members")).ok().body["members"]
        assert (owner["email"], owner["role"], owner["second_factor"]) == (alice.email, "owner", False)
        assert owner["last_active_at"] is not None
        assert (other["email"], other["role"]) == (fred.email, "finance")
        page = await seen(alice, "/settings/members")
        assert fred.email in page
        assert "Finance" in page
        await added(fred)
        assert [one["second_factor"] for one in (await alice.dashboard("GET", "/members")).ok().body["members"]] == [
            False,
            True,
        ]


async def test_a_role_applies_from_the_next_request(alice: Actor) -> None:
    async with member(alice, "administrator") as adam:
        (await change(alice, adam.email, "read_only")).ok()
        assert (await adam.dashboard("GET", "/session")).ok().body["role"] == "read_only"
        (await change(adam, alice.email, "finance")).refused("role_forbidden", 403)
        [line] = await alice.sql(
            "SELECT name, changed::text AS changed FROM audit_lines "
            "WHERE merchant_id = $1::uuid AND deed = 'member.role_changed'",
            alice.merchant_id,
        )
        assert line["name"] == adam.email
        assert msgspec.json.decode(line["changed"]) == {"role": ["administrator", "read_only"]}
        [mail] = await alice.sql(MAIL, adam.email)
        assert mail["role"] == "read_only"


@pytest.mark.parametrize("role", ["administrator", "finance", "support", "developer", "read_only"])
async def test_nobody_touches_the_own_role_or_those_above(alice: Actor, role: str) -> None:
    async with member(alice, role) as fred, member(alice, "administrator", "ada") as ada:
        for email, to in ((alice.email, "finance"), (ada.email, "finance"), (fred.email, "owner")):
            (await change(fred, email, to)).refused("role_forbidden", 403)
        for email in (alice.email, ada.email):
            (await fred.dashboard("DELETE", f"/members/{await id_of(fred, email)}")).refused("role_forbidden", 403)
        path = f"/members/{await id_of(fred, ada.email)}/transfer-ownership"
        (await fred.dashboard("POST", path)).refused("role_forbidden", 403)
        page = await seen(fred, f"/settings/members/{await id_of(fred, alice.email)}")
        assert "Change role</h2>" not in page
        assert "Remove member" not in page


async def test_an_administrator_manages_those_below(alice: Actor) -> None:
    async with member(alice, "administrator") as adam, member(alice, "support") as sue:
        (await change(adam, sue.email, "finance")).ok()
        (await change(adam, sue.email, "administrator")).refused("role_forbidden", 403)
        (await adam.dashboard("DELETE", f"/members/{await id_of(adam, sue.email)}")).ok()
        (await sue.dashboard("GET", "/session")).refused("authentication_required", 401)


async def test_a_removed_person_has_no_access_and_leaves_keys_to_replace(alice: Actor, bob: Actor) -> None:
    await join(bob, alice, "developer")
    body = {"name": "Till", "mode": "test", "scopes": ["payments:read"]}
    key = (await bob.dashboard("POST", "/api-keys", body)).ok(201).body
    app = await application(bob, scopes=["payments:read"])
    user_id = await id_of(alice, bob.email)
    left = (await alice.dashboard("DELETE", f"/members/{user_id}")).ok().body
    assert [one["api_key_id"] for one in left["api_keys"]] == [key["api_key_id"]]
    assert [one["client_id"] for one in left["applications"]] == [app.client_id]
    (await bob.dashboard("GET", "/session")).refused("authentication_required", 401)
    (await alice.anonymously("GET", "/api/v2/integration/payment-links", headers={"X-API-Key": key["api_key"]})).ok()
    assert (await alice.dashboard("GET", f"/oauth/clients/{app.client_id}")).ok()
    page = await seen(alice, f"/settings/members/{user_id}")
    assert "Till" in page
    assert "Northwind Ledger" in page
    (await alice.dashboard("DELETE", f"/api-keys/{key['api_key_id']}")).ok()
    assert "Till" not in await seen(alice, f"/settings/members/{user_id}")
    (await alice.dashboard("DELETE", f"/members/{user_id}")).refused("not_found", 404)
    await post(alice, f"/settings/members/{user_id}/remove", 303)


async def test_a_member_of_two_merchants_leaves_one(alice: Actor, bob: Actor, carol: Actor) -> None:
    await join(bob, alice, "support")
    (await carol.dashboard("DELETE", f"/members/{await id_of(alice, bob.email)}")).refused("not_found", 404)
    answer = await bob.form(f"/settings/members/{await id_of(bob, bob.email)}/remove", {})
    assert answer.ok(303).location == "/signin"
    assert bob.email not in await team_of(alice)
    answer = (await bob.dashboard("POST", "/login", {"email": bob.email, "password": "correct horse battery"})).ok()
    assert answer.body["merchant"]["merchant_id"] == bob.merchant_id


async def test_the_last_owner_stays_until_another_one_is_there(alice: Actor) -> None:
    own = await id_of(alice, alice.email)
    (await alice.dashboard("DELETE", f"/members/{own}")).refused("last_owner", 409)
    (await change(alice, alice.email, "read_only")).refused("last_owner", 409)
    async with member(alice, "finance") as fred:
        (await change(alice, fred.email, "owner")).ok()
        (await change(alice, alice.email, "finance")).ok()
        assert await team_of(fred) == {alice.email: "finance", fred.email: "owner"}


async def test_owners_who_leave_at_once_leave_one(alice: Actor) -> None:
    async with member(alice, "owner", "olga") as olga:
        paths = {actor.email: f"/members/{await id_of(alice, actor.email)}" for actor in (alice, olga)}
        answers = await at_once([alice.dashboard("DELETE", paths[alice.email]), olga.dashboard("DELETE", paths[olga.email])])
        assert sorted(answer.status for answer in answers) == [200, 409]
        [left] = await alice.sql(
            "SELECT count(*) AS n FROM members WHERE merchant_id = $1::uuid AND role = 'owner' AND removed_at IS NULL",
            alice.merchant_id,
        )
        assert left["n"] == 1


async def test_owners_who_remove_each_other_at_once(alice: Actor) -> None:
    async with member(alice, "owner", "olga") as olga:
        paths = {actor.email: f"/members/{await id_of(alice, actor.email)}" for actor in (alice, olga)}
        answers = await at_once([alice.dashboard("DELETE", paths[olga.email]), olga.dashboard("DELETE", paths[alice.email])])
        assert sorted(answer.status for answer in answers) in ([200, 401], [200, 403])


async def test_ownership_moves_once(alice: Actor) -> None:
    async with member(alice, "finance", "fred") as fred, member(alice, "support", "sue") as sue:
        paths = [f"/members/{await id_of(alice, actor.email)}/transfer-ownership" for actor in (fred, sue)]
        answers = await at_once(alice.dashboard("POST", path) for path in paths)
        assert sorted(answer.status for answer in answers) == [200, 403]
        roles = await team_of(alice)
        assert roles[alice.email] == "administrator"
        assert sorted(roles.values()).count("owner") == 1


async def test_changes_of_owners_need_recent_authentication_and_no_suspension(alice: Actor) -> None:
    async with member(alice, "finance") as fred, member(alice, "owner", "olga") as olga:
        path = f"/members/{await id_of(alice, fred.email)}"
        await grow_old(alice)
        (await alice.dashboard("PATCH", path, {"role": "owner"})).refused("recent_authentication_required", 403)
        (await alice.dashboard("POST", f"{path}/transfer-ownership")).refused("recent_authentication_required", 403)
        (await alice.dashboard("DELETE", f"/members/{await id_of(alice, olga.email)}")).refused(
            "recent_authentication_required", 403
        )
        await suspend(alice)
        (await alice.dashboard("PATCH", path, {"role": "owner"})).refused("account_suspended", 403)
        (await alice.dashboard("DELETE", path)).ok()


async def test_the_pages_do_the_same(alice: Actor) -> None:
    async with member(alice, "finance") as fred:
        path = f"/settings/members/{await id_of(alice, fred.email)}"
        (await alice.form(f"{path}/role", {"role": "support"})).ok(303)
        assert "Role changed." in await seen(alice, f"{path}?done=changed")
        (await alice.form(f"{path}/role", {"role": "king"})).ok(400)
        own = f"/settings/members/{await id_of(alice, alice.email)}"
        assert "only owner" in (await alice.form(f"{own}/remove", {})).ok(409).text
        assert (await alice.form("/settings/members", {"email": "x", "role": "support"})).ok(422)
        assert (await alice.form("/settings/members", {"email": fred.email, "role": "support"})).ok(409)
        assert (await alice.form("/settings/members", {"email": "nina@example.com", "role": "support"})).ok(303)
        assert "nina@example.com" in await seen(alice, "/settings/members?done=invited")
        assert (await alice.form(f"{path}/transfer", {})).ok(303)
        assert (await team_of(alice))[alice.email] == "administrator"
        (await alice.form(f"{path}/transfer", {})).ok(403)
