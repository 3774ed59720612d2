"""The load under which memory is measured: customers, merchants and applications, pages and API, in both languages."""

import asyncio
import itertools
import time
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import aiohttp
import msgspec
from msgspec import Struct
from tests.cast import INTEGRATION, Actor
from tests.payments.shop import COFFEE

CLIENTS, MERCHANTS = 32, 8
OK = HTTPStatus.OK
PAGES = (
    "/test/home", "/test/payments", "/test/payment-links", "/test/ledger", "/test/reports", "/test/developers/events",
    "/test/developers/requests", "/settings/audit", "/docs/api", "/docs/webhooks", "/signin",
)  # fmt: skip
LANGUAGES = ("en", "de")


class Responses(Struct):
    """How many requests were answered, and how many of them with an error."""

    count: int = 0
    errors: int = 0


async def send_requests(actors: list[Actor], seconds: float) -> Responses:
    """Let all clients, divided among the merchants, send the next request when the last is answered."""
    responses, until = Responses(), time.perf_counter() + seconds
    for actor in actors:
        await actor.key()
    clients = (_client(actors[number % len(actors)], number, until, responses) for number in range(CLIENTS))
    await asyncio.gather(*clients)
    return responses


async def _client(actor: Actor, number: int, until: float, responses: Responses) -> None:
    headers = {"X-API-Key": await actor.key()}
    async with aiohttp.ClientSession(actor.service.url, cookie_jar=aiohttp.DummyCookieJar()) as http:

        async def answer(method: str, path: str, **more: Any) -> Any:
            async with http.request(method, path, **more) as response:
                body = await response.read()
                responses.count += 1
                responses.errors += not response.ok
                return msgspec.json.decode(body) if response.ok and response.content_type == "application/json" else None

        for turn in itertools.count(number):
            if time.perf_counter() > until:
                return
            language = {"Accept": "text/html", "Accept-Language": LANGUAGES[turn % len(LANGUAGES)]}
            keyed = headers | {"Idempotency-Key": str(uuid4())}
            link = await answer("POST", f"{INTEGRATION}/payment-links", headers=keyed, json=COFFEE)
            if link is not None:
                simulate = f"{INTEGRATION}/test/payment-links/{link['id']}/simulate"
                await answer("POST", simulate, headers=headers, json={"outcome": "succeed"})
                await answer("GET", urlsplit(str(link["url"])).path, headers=language)
            for path in ("/account", "/balances", "/transactions?limit=20"):
                await answer("GET", INTEGRATION + path, headers=headers)
            page = await actor.send("GET", PAGES[turn % len(PAGES)], headers=language)
            responses.count += 1
            responses.errors += page.status != OK
