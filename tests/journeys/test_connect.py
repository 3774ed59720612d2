"""A merchant connects an application; the application works, refreshes, and is cut off when a refresh token is replayed."""

import aiohttp

from tests.cast import PASSWORD, Actor, application, consent
from tests.running import Service

ACCOUNT_FIELDS = {
    "merchant_id",
    "business_name",
    "mode",
    "livemode",
    "api_key_id",
    "scopes",
    "active",
    "oauth_client_id",
    "oauth_grant_id",
}


async def test_a_merchant_connects_an_application(service: Service, alice: Actor, bob: Actor) -> None:
    app = await application(bob)

    # Alice's browser has no session when she arrives: she signs in on the way.
    alice.http.cookie_jar.clear()
    started = (await alice.send("GET", app.authorize_path("account:read payments:read payments:write offline_access"))).ok(
        303
    )
    to_sign_in = (await alice.send("GET", started.location)).ok(303)
    assert to_sign_in.location.startswith("/signin?request=")
    (await alice.send("GET", to_sign_in.location)).ok()
    request = to_sign_in.query["request"]
    signed_in = await alice.form("/signin", {"email": alice.email, "password": PASSWORD, "request": request})
    assert signed_in.ok(303).location == started.location

    # She allows less than was asked.
    answered = await consent(alice, started.location, ["account:read", "payments:read", "offline_access"])
    callback = answered.ok(303)
    assert callback.location.startswith("https://app.example/callback?keep=1&")
    assert callback.query["iss"] == service.url
    assert callback.query["state"].startswith("st-")

    tokens = (await app.exchange(callback.query["code"])).ok().body
    assert tokens["token_type"] == "Bearer"  # noqa: S105 - the type, not a token
    assert tokens["scope"] == "account:read payments:read offline_access"
    assert 0 < tokens["expires_in"] <= 900

    account = (await app.api(tokens["access_token"], "GET", "/account")).ok().body
    assert set(account) == ACCOUNT_FIELDS
    assert account["merchant_id"] == alice.merchant_id
    assert (account["business_name"], account["mode"], account["livemode"]) == ("Alice's Coffee", "test", False)
    assert (account["api_key_id"], account["active"], account["oauth_client_id"]) == (None, True, app.client_id)
    assert account["scopes"] == ["account:read", "payments:read", "offline_access"]

    missing = (await app.api(tokens["access_token"], "POST", "/payment-links", {})).refused("missing_scope", 403)
    assert missing.body["scope"] == "payments:write"

    refreshed = (await app.refresh(tokens["refresh_token"])).ok().body
    assert refreshed["refresh_token"] != tokens["refresh_token"]
    (await app.api(tokens["access_token"], "GET", "/account")).ok()
    (await app.api(refreshed["access_token"], "GET", "/account")).ok()

    # Somebody replays the old refresh token: the whole grant ends.
    (await app.refresh(tokens["refresh_token"])).refused("invalid_grant", 400)
    for token in (tokens["access_token"], refreshed["access_token"]):
        dead = (await app.api(token, "GET", "/account")).refused("invalid_token", 401)
        assert 'error="invalid_token"' in dead.headers["WWW-Authenticate"]
    (await app.refresh(refreshed["refresh_token"])).refused("invalid_grant", 400)


async def test_the_account_by_api_key(alice: Actor) -> None:
    account = (await alice.get("/account")).ok().body
    assert set(account) == ACCOUNT_FIELDS - {"oauth_client_id", "oauth_grant_id"}
    assert account["merchant_id"] == alice.merchant_id
    assert account["api_key_id"]
    assert "offline_access" not in account["scopes"]
    assert len(account["scopes"]) == 18
    live = (await alice.get("/account", mode="live")).ok().body
    assert (live["mode"], live["livemode"]) == ("live", True)


async def test_nobody_comes_in_with_the_wrong_credential(service: Service, alice: Actor) -> None:
    path = "/api/v2/integration/account"
    nothing = (await alice.anonymously("GET", path)).refused("authentication_required", 401)
    metadata = f"{service.url}/.well-known/oauth-protected-resource/api/v2/integration"
    assert nothing.headers["WWW-Authenticate"] == f'Bearer realm="tollhouse", resource_metadata="{metadata}"'
    key = await alice.key()
    both = {"X-API-Key": key, "Authorization": "Bearer that_x"}
    (await alice.anonymously("GET", path, headers=both)).refused("invalid_request", 400)
    wrong = key[:-1] + ("1" if key.endswith("0") else "0")
    (await alice.anonymously("GET", path, headers={"X-API-Key": wrong})).refused("invalid_api_key", 401)
    (await alice.anonymously("GET", path, headers={"Authorization": f"Bearer {key}"})).refused("invalid_token", 401)
    # The cookie counts for nothing at the Integration API, and a key for nothing at the dashboard.
    (await alice.send("GET", path)).refused("authentication_required", 401)
    session = "/api/v2/merchant/session"
    (await alice.anonymously("GET", session, headers={"X-API-Key": key})).refused("authentication_required", 401)
    async with aiohttp.ClientSession() as http, http.get(service.url + session) as answer:
        assert answer.status == 401
