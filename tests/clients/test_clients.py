"""Every client, by every way to authenticate that it has: discovery, code with PKCE, refresh, revocation."""

import json
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.cast import Actor, Answer, Application, application, consent
from tests.clients.driven import CALLBACK, Client, ClientWithExtras, Method, RefusedError, Registration, node_client
from tests.clients.python_clients import AuthlibClient, RequestsOAuthlibClient
from tests.oauth.signatures import Signer

pytestmark = pytest.mark.long

ASKED = "account:read payments:read payments:write offline_access"
GRANTED = "account:read payments:read offline_access"
GRANT_TYPES = ["authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:device_code"]
LIMITS = [{"kind": "refunds", "currency": "EUR", "per_day": "50.00"}]
DETAILS = json.dumps([{"type": "tollhouse_limits", "limits": LIMITS}])
METHODS: tuple[Method, ...] = ("basic", "body", "none")
PYTHON = {"authlib": AuthlibClient, "requests-oauthlib": RequestsOAuthlibClient}
NPM = pytest.mark.xdist_group("npm")


@pytest.fixture(
    params=[
        "authlib",
        "requests-oauthlib",
        pytest.param("oauth4webapi", marks=NPM),
        pytest.param("openid-client", marks=NPM),
        pytest.param("simple-oauth2", marks=NPM),
        pytest.param("badgateway", marks=NPM),
    ]
)
async def client(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Client]:
    """One of the clients."""
    monkeypatch.setenv("OAUTHLIB_RELAX_TOKEN_SCOPE", "1")
    if request.param in PYTHON:
        yield PYTHON[request.param]()
        return
    request.getfixturevalue("npm_packages")
    async with node_client(request.param) as driven:
        yield driven


@pytest.fixture(params=METHODS)
async def registration(request: pytest.FixtureRequest, bob: Actor) -> tuple[Application, Registration]:
    """Bob's application, confidential or public, and what its developer configures."""
    kind = "public" if request.param == "none" else "confidential"
    app = await application(bob, kind, redirect_uris=[CALLBACK])
    return app, Registration(bob.service.url, app.client_id, app.client_secret, request.param)


async def callback_of(merchant: Actor, url: str, granted: str, decision: str = "allow") -> str:
    """Where the merchant's browser ends up."""
    parts = urlsplit(url)
    started = (await merchant.send("GET", f"{parts.path}?{parts.query}")).ok(303)
    return (await consent(merchant, started.location, granted.split(), decision)).ok(303).location


async def account(app: Application, tokens: dict[str, Any]) -> Answer:
    """What the access token opens."""
    return await app.api(tokens["access_token"], "GET", "/account")


@pytest.mark.covers("O-1", "O-2", "O-55", "O-74", "O-82", "O-86", "O-147", "O-149")
async def test_the_whole_way(client: Client, registration: tuple[Application, Registration], alice: Actor) -> None:
    app, registered = registration
    assert await client.discover(registered) == registered.issuer
    callback = await callback_of(alice, await client.authorize(ASKED), GRANTED)

    first = await client.exchange(callback)
    assert _scopes(first) == set(GRANTED.split())
    opened = (await account(app, first)).ok().body
    assert (set(opened["scopes"]), opened["mode"]) == (set(GRANTED.split()), "test")

    second = await client.refresh()
    assert _scopes(second) == set(GRANTED.split())
    third = await client.refresh()
    assert len({tokens["refresh_token"] for tokens in (first, second, third)}) == 3
    for tokens in (first, second, third):
        (await account(app, tokens)).ok()

    await client.revoke()
    for tokens in (first, second, third):
        (await account(app, tokens)).refused("invalid_token", 401)
    with pytest.raises(RefusedError) as refused:
        await client.refresh()
    assert refused.value.code == "invalid_grant"


@pytest.fixture(params=["authlib", pytest.param("oauth4webapi", marks=NPM), pytest.param("openid-client", marks=NPM)])
async def able(request: pytest.FixtureRequest) -> AsyncIterator[tuple[ClientWithExtras, bool]]:
    """One of the clients that can do more, and whether it binds its tokens to a key."""
    if request.param == "authlib":
        yield AuthlibClient(), False
        return
    request.getfixturevalue("npm_packages")
    async with node_client(request.param) as driven:
        yield driven, True


@pytest.fixture(params=["basic", "body", "keys", "none"])
async def chosen(request: pytest.FixtureRequest, bob: Actor) -> Registration:
    """What a developer configures who chooses what there is."""
    method: Method = request.param
    signer, settings = Signer(), {"redirect_uris": [CALLBACK], "grant_types": GRANT_TYPES, "require_par": True}
    if method == "keys":
        settings |= {"token_endpoint_auth_method": "private_key_jwt", "jwks": {"keys": [signer.public]}}
    app = await application(bob, "public" if method == "none" else "confidential", **settings)
    key = signer.key.as_dict(private=True) | {"kid": signer.kid} if method == "keys" else None
    return Registration(bob.service.url, app.client_id, app.client_secret, method, key=key, extras=True)


async def test_what_an_application_may_choose(
    able: tuple[ClientWithExtras, bool], chosen: Registration, alice: Actor
) -> None:
    """A resource, pushed requests, limits, signed authentication, bound tokens, introspection."""
    client, is_bound = able
    assert await client.discover(chosen) == chosen.issuer
    url = await client.authorize(ASKED, DETAILS)
    assert "request_uri=" in url
    assert "redirect_uri=" not in url
    first = await client.exchange(await callback_of(alice, url, GRANTED))
    assert first["token_type"].lower() == ("dpop" if is_bound else "bearer")
    for _ in range(2):
        opened = await client.read(f"{chosen.issuer}/api/v2/integration/account")
        assert opened["merchant_id"] == alice.merchant_id
        await client.refresh()
    if chosen.method != "none":
        said = await client.introspect()
        assert said["active"] is True
        assert (said["aud"], said["sub"]) == (f"{chosen.issuer}/api/v2/integration", alice.merchant_id)
        assert ("cnf" in said) is is_bound
    await client.revoke()
    if chosen.method != "none":
        assert await client.introspect() == {"active": False}


async def test_devices(able: tuple[ClientWithExtras, bool], chosen: Registration, alice: Actor) -> None:
    client, is_bound = able
    await client.discover(chosen)
    codes = await client.start(ASKED, DETAILS)
    page = (await alice.form("/device", {"user_code": codes["user_code"]})).ok(303).location
    (await consent(alice, page, [*GRANTED.split()])).ok(303)
    tokens = await client.poll()
    assert tokens["token_type"].lower() == ("dpop" if is_bound else "bearer")
    opened = await client.read(f"{chosen.issuer}/api/v2/integration/account")
    assert opened["merchant_id"] == alice.merchant_id
    await client.refresh()


@pytest.mark.covers("O-59")
async def test_a_denial_is_understood(client: Client, registration: tuple[Application, Registration], alice: Actor) -> None:
    await client.discover(registration[1])
    callback = await callback_of(alice, await client.authorize(ASKED), "", "deny")
    with pytest.raises(RefusedError) as refused:
        await client.exchange(callback)
    assert refused.value.code == "access_denied"


@pytest.mark.covers("O-91", "O-92")
@pytest.mark.parametrize("registration", ["basic", "body"], indirect=True)
async def test_a_secret_that_was_rotated_is_understood(
    client: Client, registration: tuple[Application, Registration], alice: Actor
) -> None:
    app, registered = registration
    await client.discover(registered)
    callback = await callback_of(alice, await client.authorize(ASKED), GRANTED)
    path = f"/oauth/clients/{app.client_id}/rotate-secret"
    (await app.owner.dashboard("POST", path, {"version": 1, "revoke_grants": False})).ok()
    with pytest.raises(RefusedError) as refused:
        await client.exchange(callback)
    assert refused.value.code == "invalid_client"


def _scopes(tokens: dict[str, Any]) -> set[str]:
    reported = tokens["scope"]
    return set(reported.split(" ") if isinstance(reported, str) else reported)
