"""Every client, by every way to authenticate that it has: discovery, code with PKCE, refresh, revocation."""

from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.cast import Actor, Answer, Application, application, consent
from tests.clients.driven import CALLBACK, Client, Method, RefusedError, Registration, node_client
from tests.clients.python_clients import AuthlibClient, RequestsOAuthlibClient

pytestmark = pytest.mark.long

ASKED = "account:read payments:read payments:write offline_access"
GRANTED = "account:read payments:read offline_access"
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


@NPM
@pytest.mark.parametrize("registration", ["basic", "body"], indirect=True)
@pytest.mark.usefixtures("npm_packages")
async def test_pushed_requests_resources_and_introspection(
    registration: tuple[Application, Registration], alice: Actor
) -> None:
    app, registered = registration
    async with node_client("oauth4webapi-extras") as client:
        assert await client.discover(registered) == registered.issuer
        url = await client.authorize(ASKED)
        assert "request_uri=" in url
        assert "redirect_uri=" not in url
        await client.exchange(await callback_of(alice, url, GRANTED))
        tokens = await client.refresh()
        (await account(app, tokens)).ok()
        said = await client.introspect()
        assert said["active"] is True
        assert (said["aud"], said["sub"]) == (f"{registered.issuer}/api/v2/integration", alice.merchant_id)
        await client.revoke()
        assert await client.introspect() == {"active": False}


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
