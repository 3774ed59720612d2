"""Payment links and pages at a steady rate, of a merchant behind one proxy, with every failure written down."""

import asyncio
import time
from contextlib import AsyncExitStack
from typing import Self

import aiohttp

from chaos.service import CREATED, Merchant

LINKS_PER_S, READS_PER_S = 4.0, 6.0
PATHS = ("/signin", "/.well-known/oauth-authorization-server", "/api/v2/merchant/api-keys", "/test/payments")
FAILED = 400


class Load:
    """`async with Load(name, port, host) as load`: a merchant that signed up. The service expects `host`."""

    def __init__(self, name: str, port: int, host: str) -> None:
        self.name = name
        self.links = self.requests = self.repeated = 0
        self.problems: list[str] = []
        self.latencies_ms: list[float] = []
        self._url, self._host = f"http://127.0.0.1:{port}", host
        self._stopping = False
        self._began = time.time()

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as last:
            self._http = await last.enter_async_context(
                aiohttp.ClientSession(headers={"Host": self._host}, cookie_jar=aiohttp.CookieJar(unsafe=True))
            )
            self._merchant = Merchant(self._url, self._http)
            await self._merchant.begin()
            self._last = last.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._last.aclose()

    async def run(self) -> None:
        """Send requests until `stop`."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._repeat(group, LINKS_PER_S, create=True))
            group.create_task(self._repeat(group, READS_PER_S, create=False))

    def stop(self) -> None:
        """Send no more."""
        self._stopping = True

    async def count_links(self) -> int:
        """The payment links that the service has."""
        return await self._merchant.links()

    async def _repeat(self, group: asyncio.TaskGroup, per_s: float, *, create: bool) -> None:
        began, sent = time.perf_counter(), 0
        while not self._stopping:
            sent += 1
            group.create_task(self._create(sent) if create else self._read(PATHS[sent % len(PATHS)]))
            await asyncio.sleep(max(0.0, began + sent / per_s - time.perf_counter()))

    async def _create(self, number: int) -> None:
        self.links += 1
        body = {"display_name": f"Coffee {number}", "amount": "4.20", "currency": "EUR"}
        headers = {"X-API-Key": self._merchant.api_key, "Idempotency-Key": f"link-{number}"}
        await self._send("POST", "/api/v2/integration/payment-links", CREATED, headers, body)

    async def _read(self, path: str) -> None:
        await self._send("GET", path, 0, {}, None)

    async def _send(self, method: str, path: str, wanted: int, headers: dict[str, str], body: object) -> None:
        began = time.perf_counter()
        self.requests += 1
        try:
            await self._send_once(method, path, wanted, headers, body)
        except aiohttp.ClientConnectorError as error:  # nobody listens: no request may meet that
            self._note(method, path, f"{type(error).__name__} {error}")
        except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError):
            self.repeated += 1  # the proxy closed an idle connection just then; a POST has its idempotency key
            await self._send_again(method, path, wanted, headers, body)
        except (aiohttp.ClientError, TimeoutError) as error:
            self._note(method, path, f"{type(error).__name__} {error}")
        self.latencies_ms.append((time.perf_counter() - began) * 1000)

    async def _send_again(self, method: str, path: str, wanted: int, headers: dict[str, str], body: object) -> None:
        try:
            await self._send_once(method, path, wanted, headers, body)
        except (aiohttp.ClientError, TimeoutError) as error:
            self._note(method, path, f"{type(error).__name__} {error}")

    def _note(self, method: str, path: str, problem: str) -> None:
        self.problems.append(f"{method} {path} at {time.time() - self._began:.0f} s: {problem}")

    async def _send_once(self, method: str, path: str, wanted: int, headers: dict[str, str], body: object) -> None:
        async with self._http.request(method, self._url + path, json=body, headers=headers) as response:
            text = await response.text()
            if response.status >= FAILED or (wanted and response.status != wanted):
                self._note(method, path, f"{response.status} {' '.join(text.split())[:150]}")
