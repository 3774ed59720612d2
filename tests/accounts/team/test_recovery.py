"""Who cannot sign in any more comes back through another owner: removed, and invited with a new address."""

from tests.accounts.merchants.authenticator import elsewhere, enrol, log_in
from tests.accounts.team.invited import accept, at_once, id_of, invite, secret_of, somebody, team_of
from tests.cast import PASSWORD, Actor, join, member
from tests.forms import seen
from tollhouse.http.services import Services

NEW = {"password": "a quite different staple"}


async def test_an_owner_gives_a_lost_membership_back_and_nothing_else(alice: Actor, bob: Actor, services: Services) -> None:
    """The old account is out at once, with whoever has it. Its other merchant account, address, password and factor stay."""
    own = bob.merchant_id
    authenticator = await enrol(bob)
    await join(bob, alice, "owner")
    path = f"/settings/members/{await id_of(alice, bob.email)}"
    assert "remove the old account here and invite a new email address" in await seen(alice, path)
    email = somebody()
    removed = [alice.form(f"{path}/remove", {}) for _ in range(2)]
    assert [answer.status for answer in await at_once(removed)] == [303, 303]
    (await bob.dashboard("GET", "/session")).refused("authentication_required", 401)
    (await invite(alice, email, "owner")).ok(201)
    async with elsewhere(alice) as anew:
        (await accept(anew, await secret_of(services, email), **NEW)).ok(204)
        session = (await anew.dashboard("GET", "/session")).ok().body
        assert [one["merchant_id"] for one in session["merchants"]] == [alice.merchant_id]
    assert await team_of(alice) == {alice.email: "owner", email: "owner"}
    (await log_in(bob, None, NEW["password"])).refused("invalid_credentials", 401)
    (await log_in(bob)).refused("second_factor_required", 401)
    async with elsewhere(bob) as again:
        body = {"email": bob.email, "password": PASSWORD, "code": await authenticator.next_code(bob)}
        (await again.dashboard("POST", "/login", body)).ok()
        assert (await again.dashboard("GET", "/session")).ok().body["merchant"]["merchant_id"] == own


async def test_an_administrator_recovers_no_owner(alice: Actor) -> None:
    async with member(alice, "administrator") as ada:
        path = f"/members/{await id_of(ada, alice.email)}"
        (await ada.dashboard("DELETE", path)).refused("role_forbidden", 403)
        (await invite(ada, somebody(), "owner")).refused("role_forbidden", 403)


async def test_of_two_owners_who_remove_each_other_one_stays(alice: Actor, bob: Actor) -> None:
    await join(bob, alice, "owner")
    pairs = [(alice, await id_of(alice, bob.email)), (bob, await id_of(alice, alice.email))]
    answers = await at_once(actor.dashboard("DELETE", f"/members/{other}") for actor, other in pairs)
    assert sorted(answer.status for answer in answers) == [200, 401]
    staying = "SELECT count(*) AS n FROM members WHERE merchant_id = $1::uuid AND role = 'owner' AND removed_at IS NULL"
    [row] = await alice.sql(staying, alice.merchant_id)
    assert row["n"] == 1
