"""The sample merchant of the demo, made through the service's own interface as any client would."""

import asyncio
import hashlib
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from uuid import uuid4

import aiohttp
import msgspec
from msgspec import Struct

from tollhouse.instance.demo import programs
from tollhouse.instance.demo.programs import DemoError
from tollhouse.kernel import base64url

EMAIL = "demo@tollhouse.example"
PASSWORD = "tollhouse-demo"  # noqa: S105 - the demo prints it
SCOPES = ["account:read", "payments:read", "payments:write", "balances:read", "webhooks:read", "offline_access"]


class DemoCredentials(Struct, frozen=True):
    """What the demo made once and keeps in the data folder, because the service shows a secret only once."""

    api_key: str
    client_id: str
    client_secret: str
    verifier: str
    callback: str

    def authorize_url(self, base_url: str) -> str:
        """The address that asks a merchant to connect the sample application."""
        challenge = base64url.encode(hashlib.sha256(self.verifier.encode()).digest())
        asked = {
            "response_type": "code",
            "client_id": self.client_id,
            "redirect_uri": self.callback,
            "scope": " ".join(SCOPES),
            "state": "demo",
            "code_challenge": challenge,
            "code_challenge_method": "S256",
            "mode": "test",
        }
        return f"{base_url}/api/v2/oauth/authorize?{urlencode(asked)}"


async def load_or_create(http: aiohttp.ClientSession, base_url: str, file: Path, receiver_url: str) -> DemoCredentials:
    """The sample of an earlier run, or a new one. Raises `DemoError`."""
    merchant = f"{base_url}/api/v2/merchant"
    account = {"email": EMAIL, "password": PASSWORD, "business_name": "Harbour Games"}
    async with http.post(f"{merchant}/signup", json=account) as response:
        known = response.status == 409  # noqa: PLR2004 - the demo ran before
        if not known:
            await _body(response)
    if known:
        await _post(http, f"{merchant}/login", {"email": EMAIL, "password": PASSWORD})
    callback = f"{receiver_url}/callback"
    if file.exists():
        earlier = msgspec.json.decode(file.read_bytes(), type=DemoCredentials)
        if earlier.callback == callback:
            return earlier
    made = await _make(http, merchant, callback)
    if not known:
        await _fill(http, base_url)
    file.touch(mode=0o600)
    file.write_bytes(msgspec.json.encode(made))
    return made


async def create_payment_link(http: aiohttp.ClientSession, base_url: str, api_key: str, webhook_url: str) -> str:
    """A payment link whose events go to the receiver; its checkout address."""
    link = {"display_name": "1,000 harbour gems", "amount": "12.50", "currency": "EUR", "webhook_url": webhook_url}
    return (await _post(http, f"{base_url}/api/v2/integration/payment-links", link, api_key))["url"]


async def create_project(http: aiohttp.ClientSession, base_url: str) -> str:
    """A project for live payments, which an operator has to approve; its ID."""
    project = {
        "mode": "live",
        "name": "Harbour Games",
        "website_url": "https://harbour.example",
        "description": "Gems and boats for the game Harbour.",
    }
    return (await _post(http, f"{base_url}/api/v2/merchant/projects", project))["id"]


async def create_live_links(
    http: aiohttp.ClientSession, base_url: str, prices: Mapping[str, str], within_s: int
) -> dict[str, str]:
    """A live payment link for each price by method, such as `ethereum:ETH`, when all are available; their addresses."""
    api_key = (await _post(http, f"{base_url}/api/v2/merchant/api-keys", {"name": "demo", "mode": "live"}))["api_key"]
    integration, links = f"{base_url}/api/v2/integration", dict[str, str]()
    async with asyncio.timeout(within_s):
        while True:
            async with http.get(f"{integration}/payment-methods", headers={"X-API-Key": api_key}) as response:
                methods = (await _body(response))["payment_methods"]
            if prices.keys() <= {method["method_id"] for method in methods if method["available"]}:
                break
            await programs.pause()
    for method_id, amount in prices.items():
        link = {"display_name": "A harbour boat", "amount": amount, "currency": method_id.partition(":")[2]}
        links[method_id] = (await _post(http, f"{integration}/payment-links", link, api_key))["url"]
    return links


async def _fill(http: aiohttp.ClientSession, base_url: str) -> None:
    """A month of payments of different amounts, times and states, as the button of the dashboard creates them."""
    headers = {"Origin": base_url}
    form = {"key": str(uuid4())}
    async with http.post(f"{base_url}/test/sample-data", data=form, headers=headers) as response:
        if response.status >= 400:  # noqa: PLR2004
            raise DemoError(f"the sample data was refused: {response.status}")


async def _make(http: aiohttp.ClientSession, merchant: str, callback: str) -> DemoCredentials:
    api_key = (await _post(http, f"{merchant}/api-keys", {"name": "demo", "mode": "test"}))["api_key"]
    for step in ("generate", "activate"):
        await _post(http, f"{merchant}/webhook-secret/{step}", {"mode": "test"})
    application = {
        "name": "Northwind Ledger",
        "client_type": "confidential",
        "description": "Bookkeeping for small studios.",
        "website_url": "https://northwind.example",
        "redirect_uris": [callback],
        "scopes": SCOPES,
    }
    client = await _post(http, f"{merchant}/oauth/clients", application)
    return DemoCredentials(api_key, client["client_id"], client["client_secret"], secrets.token_urlsafe(48), callback)


async def _post(http: aiohttp.ClientSession, url: str, body: object, api_key: str | None = None) -> Any:
    async with http.post(url, json=body, headers=None if api_key is None else {"X-API-Key": api_key}) as response:
        return await _body(response)


async def _body(response: aiohttp.ClientResponse) -> Any:
    raw = await response.read()
    if response.status >= 400:  # noqa: PLR2004
        raise DemoError(f"{response.method} {response.url.path} answered {response.status}: {raw.decode(errors='replace')}")
    return msgspec.json.decode(raw)
