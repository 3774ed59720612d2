"""Introspection (RFC 7662): an application sees its own tokens, as they are now, and nothing of others."""

from uuid import uuid4

import pytest

from tests.cast import Actor, Answer, Application, application

INTROSPECT = "/api/v2/oauth/introspect"
SCOPE = "account:read payments:read offline_access"
INACTIVE = {"active": False}
KEY = "a-key-of-a-refresh-0001"


@pytest.fixture
async def app(bob: Actor) -> Application:
    """Bob's application."""
    return await application(bob)


async def introspect(app: Application, token: str, **more: str) -> Answer:
    """Introspect a token."""
    return await app.protocol(INTROSPECT, {"token": token, **more})


async def is_active(app: Application, token: str) -> bool:
    """Whether the token is active; if not, nothing else is said."""
    found = (await introspect(app, token)).ok().body
    assert found["active"] or found == INACTIVE
    return found["active"]


async def test_own_tokens_are_described(app: Application, alice: Actor) -> None:
    tokens = await app.connect(alice, SCOPE)
    answer = (await introspect(app, tokens["access_token"])).ok()
    assert answer.headers["Cache-Control"] == "no-store"
    found = answer.body
    described = {
        "active": True,
        "scope": SCOPE,
        "client_id": app.client_id,
        "token_type": "Bearer",
        "exp": found["iat"] + 900,
        "iat": found["iat"],
        "sub": alice.merchant_id,
        "aud": f"{alice.service.url}/api/v2/integration",
        "iss": alice.service.url,
    }
    assert found == described
    for hint in ("access_token", "refresh_token", "x"):
        of_refresh = (await introspect(app, tokens["refresh_token"], token_type_hint=hint)).ok().body
        assert of_refresh.pop("exp") == pytest.approx(found["iat"] + 30 * 86_400, abs=1)
        assert of_refresh == {name: described[name] for name in ("active", "scope", "client_id", "sub", "aud", "iss")}
    mcp = await app.connect(alice, "account:read", resource=f"{alice.service.url}/mcp")
    assert (await introspect(app, mcp["access_token"])).ok().body["aud"] == f"{alice.service.url}/mcp"


async def test_scopes_are_those_of_now(app: Application, alice: Actor) -> None:
    tokens = await app.connect(alice, SCOPE)
    narrow = (await app.refresh(tokens["refresh_token"], scope="account:read offline_access")).ok().body
    assert (await introspect(app, narrow["access_token"])).ok().body["scope"] == "account:read offline_access"
    await alice.sql("UPDATE oauth_clients SET scope_mask = scope_mask & ~(1 << 18) WHERE id = $1", app.client_id)
    assert (await introspect(app, tokens["access_token"])).ok().body["scope"] == "account:read payments:read"
    assert not await is_active(app, narrow["refresh_token"])


async def test_tokens_of_others_and_ended_ones_are_not_active(app: Application, bob: Actor, alice: Actor) -> None:
    other = await application(bob)
    tokens = await app.connect(alice, SCOPE)
    for token in (tokens["access_token"], tokens["refresh_token"]):
        assert await is_active(app, token)
        assert not await is_active(other, token)
    code, key = await app.code(alice, SCOPE), await alice.key()
    for token in ("x", "é", tokens["access_token"][:-1], code, app.client_secret or "", key, "thrt_" + "0" * 100):
        assert not await is_active(app, token)
    fresh = (await app.refresh(tokens["refresh_token"])).ok().body
    assert not await is_active(app, tokens["refresh_token"])
    assert await is_active(app, tokens["access_token"])
    (await app.revoke(fresh["refresh_token"])).ok()
    for token in (tokens["access_token"], fresh["access_token"], fresh["refresh_token"]):
        assert not await is_active(app, token)


async def test_expired_tokens_are_not_active(app: Application, alice: Actor) -> None:
    tokens = await app.connect(alice, SCOPE)
    of_client = "WHERE grant_id IN (SELECT id FROM oauth_grants WHERE client_id = $1)"
    await alice.sql(f"UPDATE oauth_access_tokens SET expires_at = now() {of_client}", app.client_id)  # noqa: S608
    assert not await is_active(app, tokens["access_token"])
    assert await is_active(app, tokens["refresh_token"])
    await alice.sql("UPDATE oauth_grants SET expires_at = now() WHERE client_id = $1", app.client_id)
    assert not await is_active(app, tokens["refresh_token"])


async def test_introspection_is_no_use(app: Application, alice: Actor) -> None:
    tokens = await app.connect(alice, SCOPE)
    fresh = (await app.refresh(tokens["refresh_token"], key=KEY)).ok().body
    assert await is_active(app, fresh["access_token"])
    assert not await is_active(app, tokens["refresh_token"])
    (await app.refresh(tokens["refresh_token"], key=KEY)).ok()


async def test_only_confidential_applications_introspect(app: Application, bob: Actor, alice: Actor) -> None:
    public = await application(bob, "public")
    token = (await public.connect(alice, "account:read"))["access_token"]
    for sent in (token, "x", ""):
        refused = (await introspect(public, sent)).refused("invalid_client", 401)
        assert refused.headers["WWW-Authenticate"].startswith("Basic ")
    (await introspect(app, token, client_secret="")).refused("invalid_client", 401)
    (await introspect(app, "")).refused("invalid_request", 400)
    (await app.protocol(INTROSPECT, {"token": token, "client_id": str(uuid4())})).refused("invalid_client", 401)
    (await bob.anonymously("GET", INTROSPECT)).refused("method_not_allowed", 405)
    (await bob.anonymously("POST", INTROSPECT, {"token": token})).refused("invalid_request", 400)
