"""Clients of others: the official ones for Python and TypeScript, and the inspector."""

import json
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx2
import pytest
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from pydantic import AnyUrl

from mcp import ClientSession
from tests.cast import Actor, Application, consent
from tests.mcp.programs import CALLBACK, Program, run

pytestmark = pytest.mark.long
INSPECTOR = "node_modules/.bin/mcp-inspector"
PUBLIC = "none"
"""How public applications authenticate."""
GRANTED = ["account:read", "payments:read"]


class Storage:
    """What the client keeps: it is registered already, as a developer does it in the dashboard."""

    def __init__(self, client_id: str, issuer: str) -> None:
        self.tokens: OAuthToken | None = None
        self.client = OAuthClientInformationFull(
            client_id=client_id, redirect_uris=[AnyUrl(CALLBACK)], token_endpoint_auth_method=PUBLIC, issuer=issuer
        )

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:  # noqa: ARG002 - its protocol
        raise AssertionError("nobody registers here")


async def follow(merchant: Actor, url: str, granted: list[str]) -> dict[str, str]:
    """What a merchant's browser does: the parameters of the callback."""
    started = (await merchant.send("GET", url)).ok(303)
    answer = (await consent(merchant, started.location, granted)).ok(303)
    assert answer.location.startswith(CALLBACK)
    return {name: values[0] for name, values in parse_qs(urlsplit(answer.location).query).items()}


async def test_the_python_client_connects_and_calls(public_app: Application, alice: Actor) -> None:
    url = f"{alice.service.url}/mcp"
    opened: list[str] = []

    async def redirect(address: str) -> None:
        opened.append(address)

    async def callback() -> AuthorizationCodeResult:
        sent = await follow(alice, opened[-1], GRANTED)
        return AuthorizationCodeResult(code=sent["code"], state=sent["state"], iss=sent["iss"])

    metadata = OAuthClientMetadata(redirect_uris=[AnyUrl(CALLBACK)], token_endpoint_auth_method=PUBLIC)
    storage = Storage(public_app.client_id, alice.service.url)
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
        assert result.structured_content is not None
        assert result.structured_content["data"]["merchant_id"] == alice.merchant_id
    assert parse_qs(urlsplit(opened[0]).query)["resource"] == [url]
    assert storage.tokens is not None


@pytest.mark.usefixtures("npm_packages")
async def test_the_typescript_client_connects_and_calls(public_app: Application, alice: Actor) -> None:
    async with Program("connect.mjs", f"{alice.service.url}/mcp", public_app.client_id, CALLBACK) as client:
        address = await client.line_with("/api/v2/oauth/authorize")
        assert parse_qs(urlsplit(address).query)["resource"] == [f"{alice.service.url}/mcp"]
        sent = await follow(alice, address, GRANTED)
        await client.write(f"{CALLBACK}?{urlencode(sent)}")
        seen = json.loads(await client.line_with('"tools"'))
    assert seen["tools"] == ["find_operation", "read", "propose", "act"]
    assert seen["result"]["structuredContent"]["data"]["merchant_id"] == alice.merchant_id


@pytest.mark.usefixtures("npm_packages")
async def test_the_inspector_lists_and_calls(alice: Actor) -> None:
    sent = ("--cli", f"{alice.service.url}/mcp", "--header", f"X-API-Key: {await alice.key()}")
    status, output, messages = await run(INSPECTOR, *sent, "--method", "tools/list", "--strict")
    assert status == 0, messages
    assert [tool["name"] for tool in json.loads(output)["tools"]] == ["find_operation", "read", "propose", "act"]
    call = ("--method", "tools/call", "--tool-name", "read", "--tool-arg", "operation=account")
    status, output, messages = await run(INSPECTOR, *sent, *call)
    assert status == 0, messages
    assert json.loads(output)["structuredContent"]["data"]["merchant_id"] == alice.merchant_id
