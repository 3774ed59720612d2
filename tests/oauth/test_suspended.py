"""A suspended application or owner: no new authorizations, tokens are rejected, grants are kept."""

import pytest

from tests.cast import CALLBACK, Actor, Application, application, consent

SCOPE = "account:read balance-payments:write balance-payments:read offline_access"
SUSPEND_APPLICATION = "UPDATE oauth_clients SET suspended_at = now() WHERE id = $1"
SUSPEND_OWNER = "UPDATE merchants SET suspended_at = now() WHERE id = (SELECT merchant_id FROM oauth_clients WHERE id = $1)"
REACTIVATE_APPLICATION = "UPDATE oauth_clients SET suspended_at = NULL WHERE id = $1"
REACTIVATE_OWNER = (
    "UPDATE merchants SET suspended_at = NULL WHERE id = (SELECT merchant_id FROM oauth_clients WHERE id = $1)"
)
RESERVE = {"currency": "EUR", "amount": "5.00", "capture": False}
EACH_WAY = pytest.mark.parametrize(
    ("suspend", "reactivate"),
    [(SUSPEND_APPLICATION, REACTIVATE_APPLICATION), (SUSPEND_OWNER, REACTIVATE_OWNER)],
    ids=["application", "owner"],
)


@pytest.fixture
async def app(bob: Actor) -> Application:
    """Bob's application."""
    return await application(bob)


@EACH_WAY
async def test_requests_are_rejected_and_grants_are_kept(
    app: Application, alice: Actor, suspend: str, reactivate: str
) -> None:
    tokens = await app.connect(alice, SCOPE)
    (await app.api(tokens["access_token"], "GET", "/account")).ok()
    await alice.sql(suspend, app.client_id)
    (await app.api(tokens["access_token"], "GET", "/account")).refused("application_suspended", 403)
    (await app.refresh(tokens["refresh_token"])).refused("invalid_client", 401)
    [grant] = (await alice.dashboard("GET", "/oauth/grants")).ok().body["grants"]
    assert grant["status"] == "active"
    await alice.sql(reactivate, app.client_id)
    (await app.api(tokens["access_token"], "GET", "/account")).ok()
    (await app.refresh(tokens["refresh_token"])).ok()


@EACH_WAY
async def test_no_new_authorization(app: Application, alice: Actor, suspend: str, reactivate: str) -> None:
    waiting = (await alice.send("GET", app.authorize_path(SCOPE))).ok(303).location
    shown = (await alice.send("GET", waiting)).ok()
    code = await app.code(alice, SCOPE)
    await alice.sql(suspend, app.client_id)
    (await alice.send("GET", app.authorize_path(SCOPE))).refused("invalid_client", 401)
    (await app.exchange(code)).refused("invalid_client", 401)
    stopped = (await alice.send("GET", waiting)).ok(409).text
    assert "This application does not accept new connections" in stopped
    assert "It is suspended." in stopped
    form_token = shown.text.partition('name="form_token" value="')[2].partition('"')[0]
    fields = [("form_token", form_token), ("scope", "account:read"), ("decision", "allow")]
    (await alice.form(waiting, fields)).ok(409)
    assert await alice.sql("SELECT FROM oauth_grants WHERE client_id = $1", app.client_id) == []
    await alice.sql(reactivate, app.client_id)
    (await alice.send("GET", app.authorize_path(SCOPE))).ok(303)


@EACH_WAY
async def test_no_money_moves_with_any_credential(app: Application, alice: Actor, suspend: str, reactivate: str) -> None:
    tokens = await app.connect(alice, SCOPE)
    (await alice.post("/test/balances/fund", {"currency": "EUR", "amount": "100.00"})).ok(201)
    pay = {**RESERVE, "oauth_client_id": app.client_id}
    payment_ids = [(await alice.post("/balance-payments", pay, key=f"reserve-{n}")).ok(201).body["id"] for n in range(2)]
    await alice.sql(suspend, app.client_id)
    by_token = await app.api(tokens["access_token"], "POST", "/balance-payments", RESERVE, key="by-token")
    by_token.refused("application_suspended", 403)
    captured = await app.api(
        tokens["access_token"], "POST", f"/balance-payments/{payment_ids[0]}/capture", {}, key="capture"
    )
    captured.refused("application_suspended", 403)
    (await alice.post("/balance-payments", pay, key="by-key")).refused("application_suspended", 403)
    at = f"/balance-payments/{payment_ids[0]}/capture"
    by_owner = await app.owner.dashboard("POST", f"/oauth/clients/{app.client_id}{at}", {})
    by_owner.refused("account_suspended" if suspend == SUSPEND_OWNER else "application_suspended", 403)
    assert (await alice.get(f"/balance-payments/{payment_ids[0]}")).ok().body["status"] == "reserved"
    await alice.sql(reactivate, app.client_id)
    (await app.api(tokens["access_token"], "POST", at, {}, key="capture-afterwards")).ok()


async def test_owner_can_release_reservations(app: Application, alice: Actor) -> None:
    await app.connect(alice, SCOPE)
    (await alice.post("/test/balances/fund", {"currency": "EUR", "amount": "100.00"})).ok(201)
    pay = {**RESERVE, "oauth_client_id": app.client_id}
    payment_id = (await alice.post("/balance-payments", pay, key="reserve")).ok(201).body["id"]
    await alice.sql(SUSPEND_APPLICATION, app.client_id)
    released = await app.owner.dashboard("POST", f"/oauth/clients/{app.client_id}/balance-payments/{payment_id}/release", {})
    assert released.ok().body["status"] == "released"


async def test_owner_can_read_and_revoke_but_not_change(app: Application, alice: Actor) -> None:
    tokens = await app.connect(alice, SCOPE)
    await app.connect(alice, SCOPE, mode="live")
    path = f"/oauth/clients/{app.client_id}"
    before = (await app.owner.dashboard("GET", path)).ok().body["client"]
    assert "suspended_at" not in before
    await alice.sql(SUSPEND_APPLICATION, app.client_id)
    shown = (await app.owner.dashboard("GET", path)).ok().body["client"]
    assert shown.pop("suspended_at")
    assert shown == before
    names = ("name", "client_type", "description", "website_url", "redirect_uris", "scopes", "version")
    settings = {name: before[name] for name in names}
    refused = ("application_suspended", 403)
    (await app.owner.dashboard("PUT", path, settings)).refused(*refused)
    (await app.owner.dashboard("POST", f"{path}/status", {"enabled": False, "version": 1})).refused(*refused)
    rotation = {"revoke_grants": False, "version": 1}
    (await app.owner.dashboard("POST", f"{path}/rotate-secret", rotation)).refused(*refused)
    at = f"/developers/apps/{app.client_id}"
    for tab in ("", "/settings", "/secret", "/danger"):
        assert "An operator suspended this application" in (await app.owner.send("GET", at + tab)).ok().text
    for tab in ("/settings", "/secret", "/pause", "/resume"):
        (await app.owner.form(at + tab, {"version": "1", "name": "Other", "redirect_uris": CALLBACK})).ok(403)
    assert (await app.owner.dashboard("GET", path)).ok().body["client"]["version"] == 1
    [one, other] = (await app.owner.dashboard("GET", f"{path}/connections")).ok().body["connections"]
    (await app.owner.dashboard("DELETE", f"{path}/connections/{one['grant_id']}")).ok()
    (await app.revoke(tokens["access_token"])).ok()
    assert other["status"] == "active"
    assert (await app.owner.dashboard("DELETE", path)).ok().body["status"] == "revoked"


async def test_suspension_of_the_merchant_comes_before_the_application(app: Application, alice: Actor) -> None:
    tokens = await app.connect(alice, SCOPE)
    await alice.sql(SUSPEND_APPLICATION, app.client_id)
    await alice.sql("UPDATE merchants SET suspended_at = now() WHERE id = $1::uuid", alice.merchant_id)
    (await app.api(tokens["access_token"], "GET", "/account")).refused("account_suspended", 403)


async def test_suspended_merchant_cannot_connect(app: Application, alice: Actor) -> None:
    waiting = (await alice.send("GET", app.authorize_path(SCOPE))).ok(303).location
    shown = (await alice.send("GET", waiting)).ok()
    form_token = shown.text.partition('name="form_token" value="')[2].partition('"')[0]
    await alice.sql("UPDATE merchants SET suspended_at = now() WHERE id = $1::uuid", alice.merchant_id)
    fields = [("form_token", form_token), ("scope", "account:read"), ("decision", "allow")]
    (await alice.form(waiting, fields)).ok(403)
    await alice.sql("UPDATE merchants SET suspended_at = NULL WHERE id = $1::uuid", alice.merchant_id)
    assert (await consent(alice, waiting, ["account:read"])).ok(303).query["code"]
