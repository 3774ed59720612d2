"""Narrowing a connection: only fewer permissions, at once, whatever happens at the same time."""

import asyncio
from typing import Any

import pytest

from tests.accounts.audit_log.reading import changed, newest
from tests.cast import Actor, Answer, Application, application, suspend
from tests.forms import post, seen

SCOPE = "account:read payments:read payments:write offline_access"
ROUNDS = 20


@pytest.fixture
async def app(bob: Actor) -> Application:
    """Bob's application."""
    return await application(bob)


async def grant_of(alice: Actor) -> dict[str, Any]:
    """The newest grant of the merchant."""
    return (await alice.dashboard("GET", "/oauth/grants")).ok().body["grants"][0]


async def change(alice: Actor, grant_id: str, **members: Any) -> Answer:
    """Change a connection."""
    return await alice.dashboard("PATCH", f"/oauth/grants/{grant_id}", members)


async def test_tokens_lose_removed_permissions_at_once(app: Application, alice: Actor) -> None:
    tokens = await app.connect(alice, SCOPE)
    token = tokens["access_token"]
    (await app.api(token, "GET", "/payment-links")).ok()
    grant_id = (await grant_of(alice))["grant_id"]
    narrowed = (await change(alice, grant_id, scopes=["offline_access", "account:read"])).ok().body
    assert narrowed == await grant_of(alice)
    assert narrowed["scopes"] == ["account:read", "offline_access"]
    (await app.api(token, "GET", "/payment-links")).refused("missing_scope", 403)
    assert (await app.api(token, "GET", "/account")).ok().body["scopes"] == ["account:read", "offline_access"]
    (await app.refresh(tokens["refresh_token"], scope="payments:read")).refused("invalid_scope", 400)
    renewed = (await app.refresh(tokens["refresh_token"])).ok().body
    assert renewed["scope"] == "account:read offline_access"
    [connection] = (await app.owner.dashboard("GET", f"/oauth/clients/{app.client_id}/connections")).ok().body["connections"]
    assert connection["scopes"] == narrowed["scopes"]
    kept = changed(await newest(alice, "grant.changed"))
    assert kept == {"scopes": (SCOPE.split(), ["account:read", "offline_access"])}


async def test_without_offline_access_nothing_is_refreshed(app: Application, alice: Actor) -> None:
    tokens = await app.connect(alice, SCOPE)
    (await change(alice, (await grant_of(alice))["grant_id"], scopes=["account:read"])).ok()
    (await app.refresh(tokens["refresh_token"])).refused("invalid_grant", 400)
    (await app.api(tokens["access_token"], "GET", "/account")).ok()


async def test_nothing_changes_without_members(app: Application, alice: Actor) -> None:
    await app.connect(alice, SCOPE)
    before = await grant_of(alice)
    assert (await change(alice, before["grant_id"])).ok().body == before
    assert (await change(alice, before["grant_id"], scopes=SCOPE.split())).ok().body == before


@pytest.mark.parametrize(
    ("scopes", "field", "code"),
    [
        ([], "scopes", "api_scope_required"),
        (["offline_access"], "scopes", "api_scope_required"),
        (["account:read", "lost:read"], "scopes.1", "unknown_scope"),
        (["account:read", "reports:read"], "scopes.1", "not_granted"),
        ("account:read", "scopes", "invalid_type"),
    ],
)
async def test_refused_scopes(app: Application, alice: Actor, scopes: object, field: str, code: str) -> None:
    await app.connect(alice, SCOPE)
    before = await grant_of(alice)
    refused = (await change(alice, before["grant_id"], scopes=scopes)).refused("validation_failed", 422)
    assert [(error["field"], error["code"]) for error in refused.body["errors"]] == [(field, code)]
    assert await grant_of(alice) == before


async def test_who_may_change_what(app: Application, alice: Actor, bob: Actor) -> None:
    tokens = await app.connect(alice, SCOPE)
    grant_id = (await grant_of(alice))["grant_id"]
    (await change(bob, grant_id, scopes=["account:read"])).refused("not_found", 404)
    (await change(alice, "no-uuid", scopes=["account:read"])).refused("not_found", 404)
    headers = {"Authorization": f"Bearer {tokens['access_token']}"}
    path = f"/api/v2/merchant/oauth/grants/{grant_id}"
    (await alice.anonymously("PATCH", path, {"scopes": ["account:read"]}, headers)).refused("authentication_required", 401)
    await suspend(alice)
    (await change(alice, grant_id, scopes=["account:read"])).refused("account_suspended", 403)
    await suspend(alice, suspended=False)
    (await alice.dashboard("DELETE", f"/oauth/grants/{grant_id}")).ok()
    (await change(alice, grant_id, scopes=["account:read"])).refused("connection_ended", 409)


async def test_narrowing_on_the_page(app: Application, alice: Actor) -> None:
    await app.connect(alice, SCOPE)
    page = f"/settings/connected-apps/{(await grant_of(alice))['grant_id']}"
    refused = await post(alice, f"{page}/permissions", 422, scope="offline_access")
    assert "Keep at least one permission" in refused.text
    done = await post(alice, f"{page}/permissions", scope="payments:read")
    assert "Permissions saved." in await seen(alice, done.location)
    assert (await grant_of(alice))["scopes"] == ["payments:read"]
    assert 'name="scope"' not in await seen(alice, page)
    late = await post(alice, f"{page}/permissions", 422, scope="payments:write")
    assert "The connection has changed" in late.text


@pytest.mark.long
async def test_narrowing_against_a_refresh(app: Application, alice: Actor) -> None:
    for _ in range(ROUNDS):
        tokens = await app.connect(alice, SCOPE)
        grant_id = (await grant_of(alice))["grant_id"]
        narrowed, refreshed = await asyncio.gather(
            change(alice, grant_id, scopes=["account:read", "offline_access"]), app.refresh(tokens["refresh_token"])
        )
        narrowed.ok()
        token = refreshed.ok().body["access_token"]
        assert (await app.api(token, "GET", "/account")).ok().body["scopes"] == ["account:read", "offline_access"]


@pytest.mark.long
async def test_narrowing_twice_never_gives_a_permission_back(app: Application, alice: Actor) -> None:
    for _ in range(ROUNDS):
        await app.connect(alice, SCOPE)
        grant_id = (await grant_of(alice))["grant_id"]
        reads, writes = ["account:read", "payments:read"], ["account:read", "payments:write"]
        answers = await asyncio.gather(change(alice, grant_id, scopes=reads), change(alice, grant_id, scopes=writes))
        assert sorted(answer.status for answer in answers) == [200, 422]
        assert (await grant_of(alice))["scopes"] in (reads, writes)


@pytest.mark.long
async def test_narrowing_against_every_end(app: Application, alice: Actor) -> None:
    for _ in range(ROUNDS):
        tokens = await app.connect(alice, SCOPE)
        grant_id = (await grant_of(alice))["grant_id"]
        narrowed, ended = await asyncio.gather(
            change(alice, grant_id, scopes=["account:read"]),
            app.owner.dashboard("DELETE", f"/oauth/clients/{app.client_id}/connections"),
        )
        ended.ok()
        if narrowed.status != 200:
            narrowed.refused("connection_ended", 409)
        (await app.api(tokens["access_token"], "GET", "/account")).refused("invalid_token", 401)
        assert (await grant_of(alice))["status"] == "revoked"
