"""The trap that Python clients step into when a merchant grants fewer scopes than were asked, and the way out.

A client that remembers what it asked for, and not what it was granted, sends all of that with the refresh. To ask for more
than was granted is `invalid_scope` (RFC 6749 section 6), which does not spend the refresh token.
"""

import asyncio
from typing import Any
from urllib.parse import urlsplit

import pytest
from authlib.integrations.base_client.errors import OAuthError
from oauthlib.oauth2 import InvalidScopeError

from tests.cast import Actor, Application, application, consent
from tests.clients.driven import CALLBACK, Registration
from tests.clients.python_clients import AuthlibClient, RequestsOAuthlibClient

pytestmark = pytest.mark.long

ASKED = "account:read payments:write offline_access"
GRANTED = ["account:read", "offline_access"]


@pytest.fixture
async def app(bob: Actor) -> Application:
    """Bob's confidential application."""
    return await application(bob, redirect_uris=[CALLBACK])


async def reduced(client: AuthlibClient | RequestsOAuthlibClient, app: Application, merchant: Actor) -> str:
    """The callback of a consent to less than was asked."""
    await client.discover(Registration(merchant.service.url, app.client_id, app.client_secret, "basic"))
    parts = urlsplit(await client.authorize(ASKED))
    started = (await merchant.send("GET", f"{parts.path}?{parts.query}")).ok(303)
    return (await consent(merchant, started.location, GRANTED)).ok(303).location


def fetch(client: RequestsOAuthlibClient, callback: str) -> dict[str, Any]:
    """Exchange as a developer would write it who has not read about the trap."""
    return client.session.fetch_token(
        client.metadata["token_endpoint"], authorization_response=callback, auth=client.auth, include_client_id=False
    )


async def test_requests_oauthlib_takes_fewer_scopes_for_an_error(app: Application, alice: Actor) -> None:
    """It raises a Warning, after the code was used: the tokens are in the warning, and nowhere else."""
    client = RequestsOAuthlibClient()
    callback = await reduced(client, app, alice)
    with pytest.raises(Warning, match="Scope has changed") as raised:
        await asyncio.to_thread(fetch, client, callback)
    tokens: dict[str, Any] = vars(raised.value)["token"]
    (await app.api(tokens["access_token"], "GET", "/account")).ok()


@pytest.mark.covers("O-132", "O-143")
async def test_requests_oauthlib_with_the_switch_and_the_granted_scope(
    app: Application, alice: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OAUTHLIB_RELAX_TOKEN_SCOPE", "1")
    client = RequestsOAuthlibClient()
    callback = await reduced(client, app, alice)
    tokens = await asyncio.to_thread(fetch, client, callback)
    url = client.metadata["token_endpoint"]
    with pytest.raises(InvalidScopeError, match="only granted scopes"):
        await asyncio.to_thread(client.session.refresh_token, url, auth=client.auth)
    client.session.scope = tokens["scope"]
    fresh = await asyncio.to_thread(client.session.refresh_token, url, auth=client.auth)
    assert fresh["refresh_token"] != tokens["refresh_token"]
    (await app.api(fresh["access_token"], "GET", "/account")).ok()


@pytest.mark.covers("O-132", "O-143")
async def test_authlib_with_the_granted_scope(app: Application, alice: Actor) -> None:
    """It takes fewer scopes quietly, and then refreshes with all that were asked."""
    client = AuthlibClient()
    tokens = await client.exchange(await reduced(client, app, alice))
    url = client.metadata["token_endpoint"]
    client.session.scope = ASKED
    with pytest.raises(OAuthError, match="only granted scopes"):
        await asyncio.to_thread(client.session.refresh_token, url)
    client.session.scope = tokens["scope"]
    fresh = await asyncio.to_thread(client.session.refresh_token, url)
    (await app.api(fresh["access_token"], "GET", "/account")).ok()
