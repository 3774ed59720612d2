"""Clients of others: the official ones for Python and TypeScript, the inspector, and the conformance tests of the protocol."""

import json
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from mcp import ClientSession
from mcp.client.auth import OAuthClientProvider
from mcp.client.auth.oauth2 import AuthorizationCodeResult
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken

from tests.cast import Actor, Application, application, consent
from tests.payments.shop import COFFEE

pytestmark = pytest.mark.long
CALLBACK = "http://localhost:3030/callback"
GRANTED = ["account:read", "payments:read"]


class Storage:
    """What the client keeps: it is registered already, as a developer does it in the dashboard."""

    def __init__(self, client_id: str, issuer: str) -> None:
        self.tokens: OAuthToken | None = None
        self.client = OAuthClientInformationFull(
            client_id=client_id, redirect_uris=[CALLBACK], token_endpoint_auth_method="none", issuer=issuer
        )

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        raise AssertionError("nobody registers here")


@pytest.fixture
async def app(bob: Actor) -> Application:
    """A public application with every scope: clients request what the metadata of `/mcp` list, and the merchant selects."""
    return await application(bob, "public", redirect_uris=[CALLBACK])


async def follow(merchant: Actor, url: str, granted: list[str]) -> dict[str, str]:
    """What a merchant's browser does: the parameters of the callback."""
    started = (await merchant.send("GET", url)).ok(303)
    answer = (await consent(merchant, started.location, granted)).ok(303)
    assert answer.location.startswith(CALLBACK)
    return {name: values[0] for name, values in parse_qs(urlsplit(answer.location).query).items()}


async def test_the_python_client_connects_and_calls(app: Application, alice: Actor) -> None:
    url = f"{alice.service.url}/mcp"
    opened: list[str] = []

    async def redirect(address: str) -> None:
        opened.append(address)

    async def callback() -> AuthorizationCodeResult:
        sent = await follow(alice, opened[-1], GRANTED)
        return AuthorizationCodeResult(code=sent["code"], state=sent["state"], iss=sent["iss"])

    metadata = OAuthClientMetadata(redirect_uris=[CALLBACK], token_endpoint_auth_method="none")
    storage = Storage(app.client_id, alice.service.url)
    provider = OAuthClientProvider(url, metadata, storage, redirect, callback)
    async with (
        httpx2.AsyncClient(auth=provider) as http,
        streamable_http_client(url, http_client=http) as streams,
        ClientSession(*streams) as session,
    ):
        await session.initialize()
        names = [tool.name for tool in (await session.list_tools()).tools]
        assert names == ["find_operation", "read", "propose", "act"]
        result = await session.call_tool("read", {"operation": "account"})
        assert not result.is_error
        assert result.structured_content["data"]["merchant_id"] == alice.merchant_id
    assert parse_qs(urlsplit(opened[0]).query)["resource"] == [url]
    assert storage.tokens is not None
