"""The members of a merchant: a session acts for one merchant, in the present role, and an open merchant has an owner."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import pytest
from yarl import URL

from tests.cast import HIDDEN, PASSWORD, Actor, application, consent, join, member, set_role

LEAVE = "UPDATE members SET removed_at = now() WHERE merchant_id = $1::uuid AND user_id = $2"
ROLE = "UPDATE members SET role = $3 WHERE merchant_id = $1::uuid AND user_id = $2"


async def user_id(actor: Actor) -> str:
    """The ID of the person."""
    return str((await actor.sql("SELECT id FROM users WHERE email = $1", actor.email))[0]["id"])


async def remove(actor: Actor) -> None:
    """Remove the person from the merchant that the session acts for."""
    await actor.sql(LEAVE, actor.merchant_id, await user_id(actor))


async def acts_for(actor: Actor) -> str:
    """The merchant of the session."""
    return (await actor.dashboard("GET", "/session")).ok().body["merchant"]["merchant_id"]


async def test_who_signs_up_owns_the_merchant(alice: Actor) -> None:
    session = (await alice.dashboard("GET", "/session")).ok().body
    assert session["role"] == "owner"
    [one] = session["members"]
    assert (one["email"], one["role"]) == (alice.email, "owner")
    assert session["merchants"] == [{"merchant_id": alice.merchant_id, "business_name": "Alice's Coffee", "role": "owner"}]


async def test_a_member_acts_for_the_merchant_in_its_role(alice: Actor) -> None:
    async with member(alice, "finance") as fred:
        session = (await fred.dashboard("GET", "/session")).ok().body
        assert session["merchant"]["merchant_id"] == alice.merchant_id
        assert session["role"] == "finance"
        assert [one["role"] for one in session["members"]] == ["owner", "finance"]
        assert [one["merchant_id"] for one in session["merchants"]] == [alice.merchant_id]
        await set_role(fred, "read_only")
        assert (await fred.dashboard("GET", "/session")).ok().body["role"] == "read_only"


async def test_a_session_ends_with_the_membership(alice: Actor, bob: Actor) -> None:
    await join(bob, alice, "administrator")
    assert await acts_for(bob) == alice.merchant_id
    own = bob.merchant_id
    bob.merchant_id = alice.merchant_id
    await remove(bob)
    (await bob.dashboard("GET", "/session")).refused("authentication_required", 401)
    assert (await bob.send("GET", "/test/home")).ok(303).location.startswith("/signin")
    body = {"email": bob.email, "password": PASSWORD}
    assert (await bob.dashboard("POST", "/login", body)).ok().body["merchant"]["merchant_id"] == own


async def test_a_new_session_acts_for_the_merchant_of_the_last_one(alice: Actor, bob: Actor) -> None:
    body = {"email": bob.email, "password": PASSWORD}
    own = bob.merchant_id
    await join(bob, alice, "support")
    assert (await bob.dashboard("POST", "/login", body)).ok().body["merchant"]["merchant_id"] == alice.merchant_id
    await bob.sql("UPDATE sessions SET merchant_id = $1::uuid WHERE user_id = $2", own, await user_id(bob))
    answer = (await bob.dashboard("POST", "/login", body)).ok().body
    assert answer["merchant"]["merchant_id"] == own
    assert {one["merchant_id"] for one in answer["merchants"]} == {own, alice.merchant_id}


async def test_who_belongs_to_no_merchant_cannot_sign_in(alice: Actor) -> None:
    async with member(alice, "developer") as dan:
        await remove(dan)
        body = {"email": dan.email, "password": PASSWORD}
        (await dan.dashboard("POST", "/login", body)).refused("no_membership", 403)
        shown = await dan.form("/signin", {"email": dan.email, "password": PASSWORD})
        assert "not a member" in shown.ok(403).text
        (await dan.dashboard("GET", "/session")).refused("authentication_required", 401)


async def test_a_merchant_keeps_an_owner(alice: Actor) -> None:
    owner = await user_id(alice)
    for statement, values in (
        (LEAVE, ()),
        (ROLE, ("administrator",)),
        ("DELETE FROM members WHERE merchant_id = $1::uuid AND user_id = $2", ()),
    ):
        await alice.sql("UPDATE sessions SET merchant_id = NULL WHERE user_id = $1", owner)
        with pytest.raises(asyncpg.CheckViolationError, match="has an owner"):
            await alice.sql(statement, alice.merchant_id, owner, *values)
    async with member(alice, "owner") as olga:
        await alice.sql(ROLE, alice.merchant_id, owner, "read_only")
        with pytest.raises(asyncpg.CheckViolationError, match="has an owner"):
            await remove(olga)


@asynccontextmanager
async def _transaction(dsn: str) -> AsyncIterator[tuple[Any, Any]]:
    """A connection with a transaction that has begun."""
    connection = await asyncpg.connect(dsn)
    try:
        transaction = connection.transaction()
        await transaction.start()
        yield connection, transaction
    finally:
        await connection.close()


@pytest.mark.parametrize("first_commits", [True, False], ids=["first", "second"])
async def test_of_two_owners_who_leave_at_once_one_stays(alice: Actor, *, first_commits: bool) -> None:
    async with member(alice, "owner") as olga:
        ids = [await user_id(alice), await user_id(olga)]
        dsn = alice.service.dsn
        async with _transaction(dsn) as one, _transaction(dsn) as other:
            for (connection, _), who in zip((one, other), ids, strict=True):
                await connection.execute(LEAVE, UUID(alice.merchant_id), UUID(who))
            (_, early), (_, late) = (one, other) if first_commits else (other, one)
            await early.commit()
            with pytest.raises(asyncpg.CheckViolationError, match="has an owner"):
                await late.commit()
        left = "SELECT count(*) AS n FROM members WHERE merchant_id = $1::uuid AND role = 'owner' AND removed_at IS NULL"
        assert (await alice.sql(left, alice.merchant_id))[0]["n"] == 1


async def test_two_owners_who_leave_in_the_same_moment(alice: Actor) -> None:
    async with member(alice, "owner") as olga:
        both = [alice.sql(LEAVE, alice.merchant_id, await user_id(one)) for one in (alice, olga)]
        results = await asyncio.gather(*both, return_exceptions=True)
        assert sum(isinstance(result, asyncpg.CheckViolationError) for result in results) == 1, results


async def test_a_closed_merchant_needs_no_owner(alice: Actor) -> None:
    await alice.sql("UPDATE merchants SET suspended_at = now(), closed_at = now() WHERE id = $1::uuid", alice.merchant_id)
    await remove(alice)


async def test_the_version_before_signs_up_and_in(alice: Actor) -> None:
    """It writes no members and no merchant of a session: the database adds both."""
    [row] = await alice.sql("SELECT gen_random_uuid() AS merchant, gen_random_uuid() AS id")
    await alice.sql("INSERT INTO merchants (id, business_name, created_at) VALUES ($1, 'Old', now())", row["merchant"])
    await alice.sql(
        "INSERT INTO users (id, merchant_id, email, email_key, password_hash, created_at) "
        "VALUES ($1::uuid, $2, $1::uuid::text, $1::uuid::text, 'x', now())",
        row["id"],
        row["merchant"],
    )
    await alice.sql(
        "INSERT INTO sessions (id_hash, user_id, created_at, last_seen_at, expires_at) "
        "VALUES (sha256($1::text::bytea), $1::uuid, now(), now(), now())",
        str(row["id"]),
    )
    [found] = await alice.sql(
        "SELECT m.role, s.merchant_id FROM members m JOIN sessions s USING (merchant_id, user_id) WHERE user_id = $1",
        row["id"],
    )
    assert (found["role"], found["merchant_id"]) == ("owner", row["merchant"])


async def test_a_session_changes_its_merchant(alice: Actor, bob: Actor, carol: Actor) -> None:
    own = bob.merchant_id
    await join(bob, alice, "support")
    before = bob.http.cookie_jar.filter_cookies(URL(bob.service.url))
    answer = await bob.dashboard("POST", "/session/merchant", {"merchant_id": own})
    assert answer.ok().body["merchant"]["merchant_id"] == own
    assert answer.body["role"] == "owner"
    assert await acts_for(bob) == own
    after = bob.http.cookie_jar.filter_cookies(URL(bob.service.url))
    assert before != after
    for stranger in (carol.merchant_id, str(uuid4())):
        (await bob.dashboard("POST", "/session/merchant", {"merchant_id": stranger})).refused("not_found", 404)
    assert await acts_for(bob) == own
    for merchant_id in (own, alice.merchant_id):
        [row] = await bob.sql(
            "SELECT author FROM audit_lines WHERE merchant_id = $1::uuid AND deed = 'session.switched'", merchant_id
        )
        assert row["author"] == await user_id(bob)
    await bob.sql(LEAVE, alice.merchant_id, await user_id(bob))
    (await bob.dashboard("POST", "/session/merchant", {"merchant_id": alice.merchant_id})).refused("not_found", 404)


async def test_the_merchant_is_chosen_before_consent(alice: Actor, bob: Actor, carol: Actor) -> None:
    app, own = await application(carol), bob.merchant_id
    await join(bob, alice, "administrator")
    started = (await bob.send("GET", app.authorize_path("account:read"))).ok(303)
    shown = (await bob.send("GET", started.location)).ok()
    assert "Which merchant account?" in shown.text
    assert "Alice&#39;s Coffee" in shown.text
    assert 'name="decision"' not in shown.text
    hidden = dict(HIDDEN.findall(shown.text))
    for wrong in (carol.merchant_id, ""):
        (await bob.form(started.location + "/merchant", {**hidden, "merchant_id": wrong})).refused("not_found", 404)
    refused = await bob.form(started.location + "/merchant", {"merchant_id": own, "form_token": "x"})
    refused.refused("forbidden", 403)
    chosen = (await bob.form(started.location + "/merchant", {**hidden, "merchant_id": own})).ok(303)
    assert await acts_for(bob) == own
    answer = await consent(bob, chosen.location, ["account:read"])
    token = (await app.exchange(answer.ok(303).query["code"])).ok().body["access_token"]
    assert (await app.api(token, "GET", "/account")).ok().body["merchant_id"] == own


async def test_an_owner_requires_second_factors_of_all(alice: Actor) -> None:
    async with member(alice, "finance") as fred, member(alice, "administrator") as ada:
        required = {"second_factors_required": True}
        (await ada.dashboard("PUT", "/team", required)).refused("role_forbidden", 403)
        (await alice.dashboard("PUT", "/team", required)).refused("second_factor_missing", 403)
        await alice.sql("UPDATE merchants SET second_factors_required_at = now() WHERE id = $1::uuid", alice.merchant_id)
        (await fred.dashboard("GET", "/api-keys")).refused("second_factor_missing", 403)
        (await fred.send("GET", "/test/home", headers={"Accept": "text/html"})).ok(403)
        (await fred.send("GET", "/settings/security")).ok()
        (await fred.dashboard("GET", "/session")).ok()


async def test_settings_of_the_team_are_validated(alice: Actor) -> None:
    limits = [{"currency": "EUR", "amount": "50.00"}, {"currency": "USD", "amount": "20.00"}]
    saved = (await alice.dashboard("PUT", "/team", {"support_refunds": limits})).ok().body
    seconded: dict[str, Any] = {"second_member_above": [], "second_member_changes": []}
    assert saved == {"support_refunds": limits, "second_factors_required": False} | seconded
    assert (await alice.dashboard("PUT", "/team", {})).ok().body == saved
    for wrong, field in (
        ([{"currency": "XXX", "amount": "1.00"}], "support_refunds.0.currency"),
        ([{"currency": "EUR", "amount": "0"}], "support_refunds.0.amount"),
        ([{"currency": "EUR", "amount": "1.001"}], "support_refunds.0.amount"),
        ([*limits, limits[0]], "support_refunds.2.currency"),
    ):
        assert field in (await alice.dashboard("PUT", "/team", {"support_refunds": wrong})).field_errors()
    assert (await alice.dashboard("GET", "/team")).ok().body == saved
