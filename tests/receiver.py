"""A receiver of webhooks on loopback: records what arrives, and answers as a test tells it to."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Self, cast

import msgspec
from aiohttp import web
from multidict import CIMultiDictProxy

WITHIN_S = 30


@dataclass
class Received:
    """One delivery as it came in."""

    path: str
    headers: "CIMultiDictProxy[str]"
    raw: bytes

    @property
    def body(self) -> Any:
        """The JSON body."""
        return msgspec.json.decode(self.raw)


class Receiver:
    """`async with Receiver() as receiver`: `receiver.url` is where to send."""

    def __init__(self, port: int = 0, tls: ssl.SSLContext | None = None) -> None:
        self.port = port
        self._tls = tls
        self.received: list[Received] = []
        self.answer: Callable[[web.Request], Awaitable[web.StreamResponse]] | None = None
        self._arrived = asyncio.Condition()

    @property
    def url(self) -> str:
        """Where to send."""
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}/hook"

    async def __aenter__(self) -> Self:
        app = web.Application()
        app.router.add_route("*", "/{tail:.*}", self._take)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self.port, ssl_context=self._tls).start()
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(self, *_: object) -> None:
        """Hang up, also where somebody was just let in."""
        for site in list(self._runner.sites):
            await site.stop()
        await _let_turn()  # then who was let in is known, and can be seen out
        self._hang_up()
        await self._runner.cleanup()
        await _let_turn()  # then they are out

    def _hang_up(self) -> None:
        """Close the connections that the server does not know yet, because their TLS handshake is under way."""
        transports: Any = getattr(asyncio.get_running_loop(), "_transports", {})
        for transport in list(transports.values()):
            address = transport.get_extra_info("sockname")
            if isinstance(address, tuple) and cast("tuple[str, int]", address)[1] == self.port:
                transport.abort()

    def of_type(self, event_type: str) -> list[Received]:
        """What arrived of this event type."""
        return [received for received in self.received if received.headers.get("X-Service-Event-Type") == event_type]

    async def wait(self, event_type: str | None = None, count: int = 1) -> list[Received]:
        """Until `count` deliveries (of that type) have arrived; fails after 30 s."""

        def found() -> list[Received]:
            return self.received if event_type is None else self.of_type(event_type)

        async with self._arrived:
            await asyncio.wait_for(self._arrived.wait_for(lambda: len(found()) >= count), WITHIN_S)
        return found()

    async def _take(self, request: web.Request) -> web.StreamResponse:
        raw = await request.read()
        async with self._arrived:
            self.received.append(Received(request.path, request.headers, raw))
            self._arrived.notify_all()
        return await self.answer(request) if self.answer else web.Response(status=200)


async def _let_turn() -> None:
    """As often as the loop needs to see somebody in or out."""
    for _turn in range(20):
        await asyncio.sleep(0)
