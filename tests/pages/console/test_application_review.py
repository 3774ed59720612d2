"""Operators approve live write permissions of applications and verify who is behind them, and again after changes."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import pytest

from tests.cast import HIDDEN, Actor, Application, application, consent
from tests.oauth.test_device import START
from tests.oauth.test_registration import settings
from tests.pages.console.operator_pages import signed_in_operator
from tests.running import Service

WRITES = "account:read payments:write"
DEVICE = "urn:ietf:params:oauth:grant-type:device_code"
STATE = "SELECT approved_at IS NOT NULL AS approved, verified_at IS NOT NULL AS verified FROM oauth_clients WHERE id = $1"
KEPT = "SELECT action, operator, reason, merchant_id::text FROM operator_actions WHERE client_id = $1 ORDER BY at, id"


@pytest.fixture(scope="module")
def service(make_service: Callable[..., Service]) -> Service:
    """A service that reviews applications."""
    return make_service(TOLLHOUSE_REVIEW_APPLICATIONS="on")


@pytest.fixture
async def olga(service: Service) -> AsyncIterator[Actor]:
    """An operator."""
    async with signed_in_operator(service) as actor:
        yield actor


@pytest.fixture
async def app(bob: Actor) -> Application:
    """Bob's application."""
    grants = ["authorization_code", "refresh_token", DEVICE]
    return await application(bob, grant_types=grants)


async def saved(app: Application, **changes: Any) -> dict[str, Any]:
    """The application after its owner changed it, in a session that signed in just now."""
    now = (await app.owner.dashboard("GET", f"/oauth/clients/{app.client_id}")).ok().body["client"]
    body = {name: now[name] for name in (*settings(), "version")} | changes
    return (await app.owner.dashboard("PUT", f"/oauth/clients/{app.client_id}", body)).ok().body


async def state(app: Application) -> tuple[bool, bool]:
    [row] = await app.owner.sql(STATE, app.client_id)
    return row["approved"], row["verified"]


async def review(olga: Actor, app: Application, decision: str = "approve", seen: int = 1, status: int = 303) -> str:
    page = f"/operator/applications/{app.client_id}"
    answer = (await olga.form(f"{page}/{decision}", {"seen": str(seen), "remark": "Called them"})).ok(status)
    return answer.location if status == 303 else ""


async def requested(alice: Actor, app: Application, scope: str = WRITES, mode: str = "live") -> str:
    return (await alice.send("GET", app.authorize_path(scope, mode=mode))).ok(303).location


async def test_live_writes_wait_for_an_operator(olga: Actor, alice: Actor, app: Application) -> None:
    page = await requested(alice, app)
    shown = (await alice.send("GET", page)).ok(403).text
    assert "This application is not approved yet" in shown
    assert 'name="scope"' not in shown
    for decision, granted in (("allow", WRITES.split()), ("allow", ["account:read"])):
        assert "not approved yet" in (await consent_of(alice, page, shown, granted, decision)).ok(403).text
    returned = (await consent_of(alice, page, shown, [], "deny")).ok(303)
    assert returned.query["error"] == "invalid_scope"
    assert "until an operator approves it" in returned.query["error_description"]
    # Reads, and test mode, need nobody.
    for scope, mode in (("account:read", "live"), (WRITES, "test")):
        assert "code" in (await consent(alice, await requested(alice, app, scope, mode), [*scope.split()])).ok(303).query
    waiting = (await olga.send("GET", "/operator/applications", params={"only": "to_approve"})).ok().text
    assert app.client_id in waiting
    assert "It waits for approval" in (await olga.send("GET", f"/operator/applications/{app.client_id}")).ok().text
    assert "?action=" in await review(olga, app)
    assert "code" in (await consent(alice, await requested(alice, app), list[str](WRITES.split()))).ok(303).query
    assert app.client_id not in (await olga.send("GET", "/operator/applications", params={"only": "to_approve"})).ok().text
    await review(olga, app, status=409)
    rows = await app.owner.sql(KEPT, app.client_id)
    assert [tuple(row) for row in rows] == [("application_approved", olga.email, "Called them", app.owner.merchant_id)]
    assert "Application approved for live write permissions" in (await app.owner.send("GET", "/settings/audit")).ok().text


async def consent_of(alice: Actor, page: str, shown: str, granted: Sequence[str], decision: str) -> Any:
    """Answer a page that was shown before."""
    hidden = HIDDEN.findall(shown)
    return await alice.form(page, [*hidden, *(("scope", scope) for scope in granted), ("decision", decision)])


async def test_devices_get_the_error_at_once(olga: Actor, alice: Actor, app: Application) -> None:
    await alice.sql("UPDATE oauth_clients SET device_writes_allowed_at = now() WHERE id = $1", app.client_id)
    body = {"scope": WRITES, "mode": "live"}
    assert "approves" in (await app.protocol(START, body)).refused("invalid_scope", 400).body["error_description"]
    await review(olga, app)
    (await app.protocol(START, body)).ok()


async def test_a_page_that_was_open_does_not_survive_a_withdrawal(olga: Actor, alice: Actor, app: Application) -> None:
    await review(olga, app)
    page = await requested(alice, app)
    shown = (await alice.send("GET", page)).ok().text
    code = await app.code(alice, WRITES, mode="live")
    connected = await app.connect(alice, WRITES, mode="live")
    path = f"/operator/applications/{app.client_id}/withdraw-approval"
    (await olga.form(path, {"reason": " "})).ok(422)
    (await olga.form(path, {"reason": "Complaints"})).ok(303)
    (await olga.form(path, {"reason": "Complaints"})).ok(409)
    assert (await consent_of(alice, page, shown, WRITES.split(), "allow")).status == 409
    (await app.exchange(code)).refused("invalid_grant", 400)
    (await app.api(connected["access_token"], "GET", "/account")).ok()
    assert "not approved yet" in (await alice.send("GET", await requested(alice, app))).ok(403).text


async def test_which_changes_need_approval_again(olga: Actor, app: Application) -> None:
    await saved(app, redirect_uris=["https://app.example/a", "https://app.example/b"], scopes=["payments:write"])
    same = {"redirect_uris": ["https://app.example/a"], "scopes": ["payments:write"]}
    kept = [
        {"description": "Other", "policy_uri": "https://app.example/p", "tos_uri": None, "grant_types": None},
        {"redirect_uris": ["https://app.example/a"]},
    ]
    lost = [
        ({"name": "Other"}, (False, False)),
        ({"redirect_uris": ["https://app.example/a", "https://evil.example/"]}, (False, True)),
        ({"scopes": ["payments:write", "withdrawals:write"]}, (False, True)),
        ({"website_url": "https://other.example"}, (True, False)),
        ({"website_url": None}, (True, False)),
        ({"logo_uri": "https://other.example/logo.png"}, (True, False)),
    ]
    for change, after in [*((change, (True, True)) for change in kept), *lost]:
        now = (await app.owner.dashboard("GET", f"/oauth/clients/{app.client_id}")).ok().body["client"]
        approved, verified = await state(app)
        if not approved:
            await review(olga, app, "approve", now["version"])
        if not verified:
            await review(olga, app, "verify", now["version"])
        view = await saved(app, **change)
        assert await state(app) == after, change
        assert ("approved_at" in view, "verified_at" in view) == after
        if change not in kept:
            await saved(app, **(same if "name" not in change else {"name": "Northwind Ledger"}))


async def test_verified_is_shown_to_merchants_and_in_lists(olga: Actor, alice: Actor, app: Application) -> None:
    assert "(not verified)" in (await alice.send("GET", await requested(alice, app, mode="test"))).ok().text
    await review(olga, app, "verify")
    shown = (await alice.send("GET", await requested(alice, app, mode="test"))).ok().text
    assert "(verified)" in shown
    assert "(not verified)" not in shown
    await app.connect(alice, "payments:read", mode="test")
    [grant] = (await alice.send("GET", "/api/v2/merchant/oauth/grants")).ok().body["grants"]
    connected = (await alice.send("GET", f"/settings/connected-apps/{grant['grant_id']}")).ok().text
    assert "(verified)" in connected
    listed = (await olga.send("GET", "/operator/applications", params={"only": "verified"})).ok().text
    assert app.client_id in listed
    (await olga.form(f"/operator/applications/{app.client_id}/withdraw-verification", {"reason": "Moved"})).ok(303)
    assert app.client_id not in (await olga.send("GET", "/operator/applications", params={"only": "verified"})).ok().text
    assert await state(app) == (False, False)


async def test_an_approval_holds_for_what_the_operator_saw(olga: Actor, app: Application) -> None:
    await saved(app, name="Changed meanwhile")
    await review(olga, app, "approve", 1, 409)
    await review(olga, app, "verify", 1, 409)
    (await olga.form(f"/operator/applications/{app.client_id}/approve", {"seen": "x"})).ok(400)
    assert await state(app) == (False, False)


async def test_a_change_and_an_approval_at_once_leave_no_approved_change(olga: Actor, app: Application) -> None:
    now = (await app.owner.dashboard("GET", f"/oauth/clients/{app.client_id}")).ok().body["client"]
    for turn in range(6):
        body = {name: now[name] for name in (*settings(), "version")} | {"name": f"Name {turn}"}
        page = f"/operator/applications/{app.client_id}/approve"
        changed, approved = await asyncio.gather(
            app.owner.dashboard("PUT", f"/oauth/clients/{app.client_id}", body),
            olga.form(page, {"seen": str(now["version"])}),
        )
        now = changed.ok().body
        assert approved.status in {303, 409}
        assert await state(app) == (False, False)


async def test_nobody_approves_an_own_application_nor_after_a_reset(service: Service, bob: Actor, app: Application) -> None:
    async with signed_in_operator(service, "oscar") as oscar, signed_in_operator(service, "olivia") as olivia:
        await bob.sql("UPDATE users SET email = $1, email_key = $1 WHERE merchant_id = $2", oscar.email, bob.merchant_id)
        await review(oscar, app, status=409)
        await bob.sql("UPDATE users SET password_reset_at = now() WHERE merchant_id = $1", bob.merchant_id)
        await review(olivia, app, status=409)
    assert await state(app) == (False, False)
