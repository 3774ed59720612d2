"""Effects of an owner's changes on the application, pending requests, codes, grants and tokens."""

import asyncio
from typing import Any
from uuid import uuid4

import pytest

from tests.cast import HIDDEN, Actor, Answer, Application, application

CLIENTS = "/oauth/clients"
SCOPE = "account:read payments:read offline_access"


@pytest.fixture
async def app(bob: Actor) -> Application:
    """Bob's application."""
    return await application(bob)


async def record(app: Application) -> dict[str, Any]:
    """The application as its owner sees it."""
    return (await app.owner.dashboard("GET", f"{CLIENTS}/{app.client_id}")).ok().body["client"]


async def save(app: Application, **changes: Any) -> Answer:
    """Save the current settings with some changes."""
    now = await record(app)
    names = ("name", "client_type", "description", "website_url", "redirect_uris", "scopes", "version")
    return await app.owner.dashboard("PUT", f"{CLIENTS}/{app.client_id}", {name: now[name] for name in names} | changes)


async def change(app: Application, what: str, **body: Any) -> Answer:
    """Pause, resume or rotate, by default with the current version."""
    sent = {"version": (await record(app))["version"], **body}
    return await app.owner.dashboard("POST", f"{CLIENTS}/{app.client_id}/{what}", sent)


async def is_token_valid(app: Application, access_token: str) -> bool:
    """Whether the access token is accepted."""
    answer = await app.api(access_token, "GET", "/account")
    if answer.status != 200:
        answer.refused("invalid_token", 401)
    return answer.status == 200


@pytest.mark.covers("O-191", "O-193", "O-200")
async def test_update_replaces_all_settings(app: Application) -> None:
    new = {
        "name": "Southwind",
        "client_type": "confidential",
        "redirect_uris": ["https://southwind.example/cb"],
        "scopes": ["account:read"],
        "version": 1,
    }
    saved = (await app.owner.dashboard("PUT", f"{CLIENTS}/{app.client_id}", new)).ok().body
    assert "client_secret" not in saved
    assert saved == await record(app)
    assert saved | new | {"version": 2, "description": "", "website_url": None} == saved
    assert saved["updated_at"] >= saved["created_at"]
    before = await record(app)
    for version, problem in ((None, "missing"), ("2", "invalid_type"), (True, "invalid_type"), (2.0, "invalid_type")):
        assert (await save(app, version=version)).field_errors() == {"version": problem}
    for version in (2**63, 2**70):
        assert (await save(app, version=version)).field_errors() == {"version": "invalid_value"}
    for version in (0, -1, 2**31, 2**63 - 1):
        (await save(app, version=version)).refused("application_changed", 409)
    assert (await save(app, client_type="public", name="")).field_errors() == {"name": "invalid_length"}
    assert (await save(app, client_type="public")).field_errors() == {"client_type": "fixed"}
    (await save(app, version=1)).refused("application_changed", 409)
    (await save(app, version=3)).refused("application_changed", 409)
    assert await record(app) == before


@pytest.mark.covers("O-192")
async def test_second_update_of_a_version_is_stale(app: Application) -> None:
    responses = await asyncio.gather(*(save(app, name=f"N{n}", version=1) for n in range(8)))
    assert sorted(answer.status for answer in responses) == [200] + [409] * 7
    assert (await record(app))["version"] == 2


@pytest.mark.covers("O-62", "O-116", "O-194")
async def test_update_invalidates_unfinished_authorizations_and_keeps_grants(app: Application, alice: Actor) -> None:
    tokens = await app.connect(alice, SCOPE)
    code = await app.code(alice, SCOPE)
    path = (await alice.send("GET", app.authorize_path(SCOPE))).ok(303).location
    (await alice.send("GET", path)).ok()
    (await save(app)).ok()
    (await app.exchange(code)).refused("invalid_grant", 400)
    assert "settings of the application were changed" in (await alice.send("GET", path)).ok(409).text
    assert await is_token_valid(app, tokens["access_token"])
    (await app.refresh(tokens["refresh_token"])).ok()
    await app.connect(alice, SCOPE)


@pytest.mark.covers("O-168", "O-169", "O-170", "O-140")
async def test_removed_scope_is_removed_from_grants_permanently(app: Application, alice: Actor, carol: Actor) -> None:
    tokens = await app.connect(alice, SCOPE)
    emptied = await app.connect(carol, "payments:read")
    full = (await record(app))["scopes"]
    (await save(app, scopes=["account:read", "offline_access"])).ok()
    assert (await app.api(tokens["access_token"], "GET", "/account")).ok().body["scopes"] == [
        "account:read",
        "offline_access",
    ]
    (await app.api(tokens["access_token"], "GET", "/payment-links")).refused("missing_scope", 403)
    assert not await is_token_valid(app, emptied["access_token"])
    (await save(app, scopes=full)).ok()
    assert (await app.api(tokens["access_token"], "GET", "/account")).ok().body["scopes"] == [
        "account:read",
        "offline_access",
    ]
    (await app.refresh(tokens["refresh_token"], scope="payments:read")).refused("invalid_scope", 400)
    fresh = (await app.refresh(tokens["refresh_token"])).ok().body
    assert fresh["scope"] == "account:read offline_access"
    (await save(app, scopes=["account:read"])).ok()
    assert await is_token_valid(app, fresh["access_token"])
    (await app.refresh(fresh["refresh_token"])).refused("invalid_grant", 400)
    (await save(app, scopes=full)).ok()
    (await app.refresh(fresh["refresh_token"])).refused("invalid_grant", 400)
    assert await is_token_valid(app, fresh["access_token"])


@pytest.mark.long
@pytest.mark.covers("O-168")
async def test_concurrent_exchanges_never_keep_a_removed_scope(app: Application, alice: Actor) -> None:
    """Concurrent exchanges, refreshes and updates: no grant has the removed scope."""
    full = (await record(app))["scopes"]
    for _ in range(4):
        tokens = [await app.connect(alice, SCOPE) for _ in range(3)]
        codes = [await app.code(alice, SCOPE) for _ in range(5)]
        responses = await asyncio.gather(
            *(app.exchange(code) for code in codes),
            save(app, scopes=["account:read", "offline_access"]),
            *(app.refresh(token["refresh_token"]) for token in tokens),
        )
        assert {answer.status for answer in responses} <= {200, 400}
        for answer in responses:
            if answer.status == 200 and "access_token" in answer.body:
                account = (await app.api(answer.body["access_token"], "GET", "/account")).ok().body
                assert account["scopes"] == ["account:read", "offline_access"]
        (await save(app, scopes=full)).ok()
        stored = await alice.sql(
            "SELECT count(*) AS n FROM oauth_grants WHERE client_id = $1 AND scope_mask & 4 <> 0", app.client_id
        )
        assert stored[0]["n"] == 0


@pytest.mark.covers("O-26", "O-63", "O-99", "O-117", "O-141", "O-171", "O-195", "O-199")
async def test_pausing_revokes_grants_and_resuming_restores_none(app: Application, alice: Actor) -> None:
    tokens = await app.connect(alice, SCOPE)
    code = await app.code(alice, SCOPE)
    path = (await alice.send("GET", app.authorize_path(SCOPE))).ok(303).location
    paused = (await change(app, "status", enabled=False)).ok().body
    assert paused["status"] == "paused"
    assert paused["version"] == 2
    assert paused["active_connections"] == 0
    assert not await is_token_valid(app, tokens["access_token"])
    (await alice.send("GET", app.authorize_path(SCOPE))).refused("invalid_client", 401)
    (await alice.send("GET", path)).ok(409)
    (await change(app, "status", enabled=True, version=1)).refused("application_changed", 409)
    resumed = (await change(app, "status", enabled=True)).ok().body
    assert resumed["status"] == "enabled"
    assert resumed["version"] == 3
    assert not await is_token_valid(app, tokens["access_token"])
    (await app.refresh(tokens["refresh_token"])).refused("invalid_grant", 400)
    (await app.exchange(code)).refused("invalid_grant", 400)
    (await alice.send("GET", path)).ok(409)
    assert await is_token_valid(app, (await app.connect(alice, SCOPE))["access_token"])


@pytest.mark.covers("O-98", "O-138", "O-139", "O-196")
@pytest.mark.parametrize("revoke_grants", [False, True])
async def test_rotation_replaces_the_secret_immediately(app: Application, alice: Actor, *, revoke_grants: bool) -> None:
    tokens = await app.connect(alice, SCOPE)
    old = app.client_secret
    (await change(app, "rotate-secret", revoke_grants=revoke_grants, version=9)).refused("application_changed", 409)
    rotated = (await change(app, "rotate-secret", revoke_grants=revoke_grants)).ok().body
    assert rotated["version"] == 2
    assert rotated["client_secret"] != old
    assert rotated["secret_hint"] == rotated["client_secret"][-4:]
    (await app.refresh(tokens["refresh_token"])).refused("invalid_client", 401)
    app.client_secret = rotated["client_secret"]
    refreshed = await app.refresh(tokens["refresh_token"])
    assert refreshed.status == (400 if revoke_grants else 200)
    assert await is_token_valid(app, tokens["access_token"]) is not revoke_grants
    assert "client_secret" not in await record(app)


@pytest.mark.covers("O-196")
async def test_public_application_cannot_rotate(bob: Actor) -> None:
    spa = await application(bob, "public")
    assert (await change(spa, "rotate-secret", revoke_grants=False)).field_errors() == {"client_type": "no_secret"}


@pytest.mark.covers("O-99", "O-172", "O-197", "O-198")
async def test_revoked_application_is_read_only(app: Application, alice: Actor) -> None:
    tokens = await app.connect(alice, SCOPE)
    path = f"{CLIENTS}/{app.client_id}"
    revoked = (await app.owner.dashboard("DELETE", path)).ok().body
    assert revoked["status"] == "revoked"
    assert revoked["revoked_at"] is not None
    assert revoked == await record(app)
    assert revoked in (await app.owner.dashboard("GET", CLIENTS)).ok().body["clients"]
    assert not await is_token_valid(app, tokens["access_token"])
    (await app.refresh(tokens["refresh_token"])).refused("invalid_client", 401)
    grant_id = (await app.owner.dashboard("GET", f"{path}/connections")).ok().body["connections"][0]["grant_id"]
    for answer in (
        await save(app),
        await save(app, version=1),
        await change(app, "status", enabled=True),
        await change(app, "rotate-secret", revoke_grants=False),
        await app.owner.dashboard("DELETE", path),
        await app.owner.dashboard("DELETE", f"{path}/connections"),
        await app.owner.dashboard("DELETE", f"{path}/connections/{grant_id}"),
    ):
        answer.refused("application_revoked", 409)


@pytest.mark.covers("O-185")
async def test_application_of_another_owner_is_not_found(app: Application, mallory: Actor) -> None:
    settings = await record(app)
    body = {name: settings[name] for name in ("name", "client_type", "redirect_uris", "scopes", "version")}
    for client_id in (app.client_id, "thc_" + "x" * 22, "x", "%00", "%FF"):
        path = f"{CLIENTS}/{client_id}"
        for answer in (
            await mallory.dashboard("GET", path),
            await mallory.dashboard("PUT", path, body),
            await mallory.dashboard("POST", f"{path}/status", {"enabled": False, "version": 1}),
            await mallory.dashboard("POST", f"{path}/rotate-secret", {"revoke_grants": True, "version": 1}),
            await mallory.dashboard("DELETE", path),
            await mallory.dashboard("GET", f"{path}/connections"),
            await mallory.dashboard("DELETE", f"{path}/connections"),
            await mallory.dashboard("DELETE", f"{path}/connections/{uuid4()}"),
        ):
            answer.refused("not_found", 404)
        if client_id == "%00":
            continue  # no address at all
        for method, end in (("PUT", ""), ("POST", "/status"), ("POST", "/rotate-secret")):
            assert "version" in (await mallory.dashboard(method, path + end, {})).field_errors()
    assert await record(app) == settings


@pytest.mark.covers("O-195", "O-200")
@pytest.mark.parametrize("what", ["status", "rotate-secret"])
async def test_status_and_rotation_bodies_are_validated(app: Application, what: str) -> None:
    right: dict[str, Any] = {"enabled": False} if what == "status" else {"revoke_grants": False}
    flag = next(iter(right))
    path = f"{CLIENTS}/{app.client_id}/{what}"
    assert (await app.owner.dashboard("POST", path, right)).field_errors() == {"version": "missing"}
    for version in ("1", True, 1.5, None):
        assert set((await app.owner.dashboard("POST", path, {**right, "version": version})).field_errors()) == {"version"}
    assert set((await app.owner.dashboard("POST", path, {**right, "version": 2**63})).field_errors()) == {"version"}
    for version in (0, 2**31):
        (await app.owner.dashboard("POST", path, {**right, "version": version})).refused("application_changed", 409)
    assert set((await app.owner.dashboard("POST", path, {flag: "no", "version": 1})).field_errors()) == {flag}
    assert set((await app.owner.dashboard("POST", path, {**right, "version": 1, "x": 1})).field_errors()) == {"x"}


@pytest.mark.covers("O-61", "O-194")
async def test_concurrent_update_and_consent_leave_no_valid_code(app: Application, alice: Actor) -> None:
    for _ in range(3):
        path = (await alice.send("GET", app.authorize_path(SCOPE))).ok(303).location
        hidden = HIDDEN.findall((await alice.send("GET", path)).ok().text)
        fields = [*hidden, ("scope", "account:read"), ("decision", "allow")]
        answer, saved = await asyncio.gather(alice.form(path, fields), save(app))
        saved.ok()
        assert answer.status in {303, 409}
        if answer.status == 303:
            (await app.exchange(answer.query["code"])).refused("invalid_grant", 400)


async def test_ended_grants_keep_their_status(app: Application, alice: Actor) -> None:
    """Revoking, replaying or narrowing an ended grant changes nothing."""
    tokens = await app.connect(alice, SCOPE)
    replaced = (await app.refresh(tokens["refresh_token"])).ok().body
    (await change(app, "status", enabled=False)).ok()
    for table, column in (("oauth_grants", "created_at"), ("oauth_grant_cutoffs", "revoked_at")):
        turned_back = f"UPDATE {table} SET {column} = {column} - interval '1 hour' WHERE client_id = $1"  # noqa: S608
        await alice.sql(turned_back, app.client_id)

    path = f"{CLIENTS}/{app.client_id}/connections"
    ended = (await app.owner.dashboard("GET", path)).ok().body["connections"]
    (await app.refresh(tokens["refresh_token"])).refused("invalid_grant", 400)
    (await app.revoke(replaced["refresh_token"])).ok()
    (await app.revoke(replaced["access_token"])).ok()
    (await save(app, scopes=["reports:read"])).ok()
    assert (await app.owner.dashboard("GET", path)).ok().body["connections"] == ended
