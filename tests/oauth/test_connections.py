"""Connections in the dashboard API, for owners and merchants."""

from datetime import timedelta

import pytest

from tests.cast import Actor, Application, application
from tollhouse.kernel.limits import CONNECTIONS_PER_PAGE

CLIENTS, GRANTS = "/oauth/clients", "/oauth/grants"
SCOPE = "account:read offline_access"


@pytest.fixture
async def app(bob: Actor) -> Application:
    """Bob's application."""
    return await application(bob)


async def connections(app: Application, page: str = "") -> list[dict[str, object]]:
    """The connections of the owner's application."""
    return (await app.owner.dashboard("GET", f"{CLIENTS}/{app.client_id}/connections{page}")).ok().body["connections"]


async def assert_token_invalid(app: Application, access_token: str) -> None:
    """The access token is rejected."""
    (await app.api(access_token, "GET", "/account")).refused("invalid_token", 401)


@pytest.mark.covers("O-201", "O-205", "O-207")
async def test_owner_and_merchant_see_the_same_connection(app: Application, alice: Actor) -> None:
    tokens = await app.connect(alice, SCOPE)
    answer = (await app.owner.dashboard("GET", f"{CLIENTS}/{app.client_id}/connections?page=1")).ok()
    assert set(answer.body) == {"connections", "has_more", "next_cursor"}
    assert answer.body["has_more"] is False
    one = answer.body["connections"][0]
    assert one["merchant_id"] == alice.merchant_id
    assert one["business_name"] == "Alice's Coffee"
    assert one["last_used_at"] is None
    granted = (await alice.dashboard("GET", GRANTS)).ok()
    grant = granted.body["grants"][0]
    assert grant["client_id"] == app.client_id
    assert grant["application"] == {
        "name": "Northwind Ledger",
        "description": "Bookkeeping for small studios.",
        "website_url": "https://northwind.example",
        "status": "enabled",
        "verified": False,
    }
    shared = {
        "grant_id", "scopes", "mode", "livemode", "status", "created_at", "expires_at", "revoked_at", "ended_reason",
        "last_used_at", "limits", "recipients", "limits_expire_at", "proposals_only",
    }  # fmt: skip
    assert set(one) == shared | {"merchant_id", "business_name"}
    assert set(grant) == shared | {"client_id", "application"}
    assert {name: one[name] for name in shared} == {name: grant[name] for name in shared}
    assert one["scopes"] == SCOPE.split()
    assert (one["mode"], one["livemode"], one["status"], one["revoked_at"]) == ("test", False, "active", None)
    for secret in (tokens["access_token"], tokens["refresh_token"], "hash"):
        assert secret not in answer.text + granted.text


async def all_pages(actor: Actor, path: str, noun: str, limit: int) -> list[dict[str, object]]:
    """The whole list, from cursor to cursor."""
    found, cursor = list[dict[str, object]](), ""
    while True:
        body = (await actor.dashboard("GET", f"{path}?limit={limit}{cursor}")).ok().body
        assert set(body) == {noun, "has_more", "next_cursor"}
        assert body["has_more"] == (body["next_cursor"] is not None)
        found += body[noun]
        if not body["has_more"]:
            return found
        assert len(body[noun]) == limit
        cursor = f"&cursor={body['next_cursor']}"


async def test_lists_are_complete_unless_a_page_is_asked_for(alice: Actor, bob: Actor) -> None:
    apps = [await application(bob, name=f"Application {number}") for number in range(3)]
    for app in (*apps, apps[0]):
        await app.connect(alice, SCOPE)
    for actor, path, noun in ((alice, GRANTS, "grants"), (bob, CLIENTS, "clients")):
        body = (await actor.dashboard("GET", path)).ok().body
        assert set(body) == {noun}
        assert len(body[noun]) >= 3
        for limit in (1, 2, 100):
            assert await all_pages(actor, path, noun, limit) == body[noun]
        assert (await actor.dashboard("GET", f"{path}?limit=1&page=2")).ok().body[noun] == body[noun][1:2]
        assert (await actor.dashboard("GET", f"{path}?page=1")).ok().body[noun] == body[noun]
        assert (await actor.dashboard("GET", f"{path}?page=9")).ok().body[noun] == []
        cursor = (await actor.dashboard("GET", f"{path}?limit=1")).ok().body["next_cursor"]
        for wrong in ("page=0", "limit=101", "cursor=x", f"page=2&cursor={cursor}", "before=1", "page=200&limit=100"):
            assert (await actor.dashboard("GET", f"{path}?{wrong}")).status == 422, wrong
        stranger = bob if actor is alice else alice
        (await stranger.dashboard("GET", f"{path}?cursor={cursor}")).refused("validation_failed", 422)


async def test_ended_and_active_connections_are_listed_apart(app: Application, alice: Actor) -> None:
    for _ in range(3):
        await app.connect(alice, SCOPE)
    grants = [str(grant["grant_id"]) for grant in await all_pages(alice, GRANTS, "grants", 100)]
    (await alice.dashboard("DELETE", f"{GRANTS}/{grants[1]}")).ok()
    await alice.sql("UPDATE oauth_grants SET expires_at = now() WHERE id::text = $1", grants[2])
    for status, expected in (("active", grants[:1]), ("ended", grants[1:]), ("", grants)):
        shown = (await alice.send("GET", f"/settings/connected-apps?status={status}")).ok().text
        assert {one for one in grants if f"/settings/connected-apps/{one}" in shown} == set(expected), status
    [client] = [one for one in await all_pages(app.owner, CLIENTS, "clients", 100) if one["client_id"] == app.client_id]
    assert client["active_connections"] == 1


@pytest.mark.covers("O-207")
async def test_last_use_is_updated_at_most_once_a_minute(app: Application, alice: Actor) -> None:
    tokens = await app.connect(alice, SCOPE)
    (await app.api(tokens["access_token"], "GET", "/payment-links")).refused("missing_scope", 403)
    assert (await connections(app))[0]["last_used_at"] is None
    (await app.api(tokens["access_token"], "GET", "/account")).ok()
    first = (await connections(app))[0]["last_used_at"]
    assert first is not None
    (await app.api(tokens["access_token"], "GET", "/account")).ok()
    assert (await connections(app))[0]["last_used_at"] == first
    grant_id = (await connections(app))[0]["grant_id"]
    await alice.sql(
        "UPDATE oauth_grant_activity SET last_used_at = last_used_at - $2::interval WHERE grant_id::text = $1",
        grant_id,
        timedelta(seconds=61),
    )
    (await app.api(tokens["access_token"], "GET", "/account")).ok()
    assert str((await connections(app))[0]["last_used_at"]) >= str(first)


@pytest.mark.covers("O-202", "O-208")
async def test_list_has_100_per_page_newest_first(app: Application, alice: Actor) -> None:
    await app.connect(alice, SCOPE)
    await alice.sql(
        "INSERT INTO oauth_grants (id, client_id, merchant_id, mode, scope_mask, grant_epoch, created_at, expires_at)"
        " SELECT gen_random_uuid(), client_id, merchant_id, mode, scope_mask, grant_epoch, created_at, expires_at"
        " FROM oauth_grants, generate_series(1, $2) WHERE client_id = $1",
        app.client_id,
        CONNECTIONS_PER_PAGE,
    )
    path = f"{CLIENTS}/{app.client_id}/connections"
    first = (await app.owner.dashboard("GET", f"{path}?page=1")).ok().body
    second = (await app.owner.dashboard("GET", f"{path}?page=2")).ok().body
    assert len(first["connections"]) == 100
    assert first["has_more"] is True
    assert len(second["connections"]) == 1
    assert second["has_more"] is False
    everyone = [one["grant_id"] for one in first["connections"] + second["connections"]]
    assert len(set(everyone)) == 101
    assert (await app.owner.dashboard("GET", f"{path}?page=3")).ok().body == {
        "connections": [],
        "has_more": False,
        "next_cursor": None,
    }
    for page in ("0", "-1", "x", "", "1.5"):
        assert set((await app.owner.dashboard("GET", f"{path}?page={page}")).field_errors()) == {"page"}
    (await app.owner.dashboard("GET", f"{path}?page=1000000000000")).refused("page_too_deep", 422)
    assert first["next_cursor"]
    by_cursor = (await app.owner.dashboard("GET", f"{path}?cursor={first['next_cursor']}")).ok().body
    assert by_cursor == second


@pytest.mark.covers("O-173", "O-203")
async def test_owner_disconnects_one_merchant(app: Application, alice: Actor, carol: Actor) -> None:
    first, second = await app.connect(alice, SCOPE), await app.connect(carol, SCOPE)
    latest, earlier = await connections(app)
    path = f"{CLIENTS}/{app.client_id}/connections/{earlier['grant_id']}"
    assert (await app.owner.dashboard("DELETE", path)).ok().body == {"disconnected": 1}
    assert (await app.owner.dashboard("DELETE", path)).ok().body == {"disconnected": 0}
    await assert_token_invalid(app, first["access_token"])
    (await app.refresh(first["refresh_token"])).refused("invalid_grant", 400)
    (await app.api(second["access_token"], "GET", "/account")).ok()
    assert [connection["status"] for connection in await connections(app)] == ["active", "revoked"]
    assert (await connections(app))[1]["revoked_at"] is not None
    other = await application(app.owner)
    for path in (
        f"{CLIENTS}/{other.client_id}/connections/{latest['grant_id']}",
        f"{CLIENTS}/{app.client_id}/connections/0196f7a0-0000-7000-8000-000000000000",
        f"{CLIENTS}/{app.client_id}/connections/x",
    ):
        (await app.owner.dashboard("DELETE", path)).refused("not_found", 404)


@pytest.mark.covers("O-173", "O-204", "O-117")
async def test_owner_disconnects_all_merchants(app: Application, alice: Actor, carol: Actor) -> None:
    tokens = [await app.connect(merchant, SCOPE) for merchant in (alice, alice, carol)]
    (await app.revoke(tokens[0]["access_token"])).ok()
    code = await app.code(alice, SCOPE)
    path = (await alice.send("GET", app.authorize_path(SCOPE))).ok(303).location
    ended = await app.owner.dashboard("DELETE", f"{CLIENTS}/{app.client_id}/connections")
    assert ended.ok().body == {"disconnected": 2}
    for token in tokens:
        await assert_token_invalid(app, token["access_token"])
    (await app.exchange(code)).refused("invalid_grant", 400)
    (await alice.send("GET", path)).ok(409)
    listed = await connections(app)
    assert [connection["status"] for connection in listed] == ["revoked"] * 3
    assert all(connection["revoked_at"] for connection in listed)
    client = (await app.owner.dashboard("GET", f"{CLIENTS}/{app.client_id}")).ok().body["client"]
    assert (client["status"], client["version"], client["active_connections"]) == ("enabled", 1, 0)
    fresh = await app.connect(alice, SCOPE)
    (await app.api(fresh["access_token"], "GET", "/account")).ok()
    assert [connection["status"] for connection in await connections(app)] == ["active"] + ["revoked"] * 3


@pytest.mark.covers("O-173", "O-205")
async def test_merchant_revokes_its_grant(app: Application, alice: Actor, carol: Actor) -> None:
    tokens = await app.connect(alice, SCOPE)
    grant_id = (await alice.dashboard("GET", GRANTS)).ok().body["grants"][0]["grant_id"]
    for stranger in (carol, app.owner):
        assert (await stranger.dashboard("GET", GRANTS)).ok().body == {"grants": []}
        (await stranger.dashboard("DELETE", f"{GRANTS}/{grant_id}")).refused("not_found", 404)
    (await alice.dashboard("DELETE", f"{GRANTS}/x")).refused("not_found", 404)
    (await app.api(tokens["access_token"], "GET", "/account")).ok()
    assert (await alice.dashboard("DELETE", f"{GRANTS}/{grant_id}")).ok().body == {"disconnected": 1}
    await assert_token_invalid(app, tokens["access_token"])
    assert (await alice.dashboard("DELETE", f"{GRANTS}/{grant_id}")).ok().body == {"disconnected": 0}
    assert (await alice.dashboard("GET", GRANTS)).ok().body["grants"][0]["status"] == "revoked"


@pytest.mark.covers("O-206")
async def test_expired_grants_stay_expired(app: Application, alice: Actor) -> None:
    tokens = await app.connect(alice, SCOPE)
    await alice.sql("UPDATE oauth_grants SET expires_at = now() - interval '1 ms' WHERE client_id = $1", app.client_id)
    await assert_token_invalid(app, tokens["access_token"])
    assert (await connections(app))[0]["status"] == "expired"
    grant_id = (await connections(app))[0]["grant_id"]
    assert (await alice.dashboard("DELETE", f"{GRANTS}/{grant_id}")).ok().body == {"disconnected": 0}
    ended = await app.owner.dashboard("DELETE", f"{CLIENTS}/{app.client_id}/connections")
    assert ended.ok().body == {"disconnected": 0}
    one = (await connections(app))[0]
    assert (one["status"], one["revoked_at"]) == ("expired", None)


@pytest.mark.covers("O-182")
async def test_session_is_required(app: Application, alice: Actor) -> None:
    token = (await app.connect(alice, SCOPE))["access_token"]
    for method, path in (("GET", GRANTS), ("DELETE", f"{GRANTS}/x"), ("GET", f"{CLIENTS}/{app.client_id}/connections")):
        for headers in ({}, {"Authorization": f"Bearer {token}"}):
            answer = await alice.anonymously(method, f"/api/v2/merchant{path}", headers=headers)
            answer.refused("authentication_required", 401)
    foreign = {"Sec-Fetch-Site": "cross-site"}
    answer = await alice.send("DELETE", f"/api/v2/merchant{GRANTS}/x", headers=foreign)
    answer.refused("cross_origin_forbidden", 403)
