"""A proxy between the SDK and the service that loses responses, or answers by itself, as a test tells it to."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import aiohttp
from aiohttp import web
from yarl import URL

HOP_BY_HOP = frozenset({"host", "connection", "transfer-encoding", "content-length", "keep-alive", "content-encoding"})
LOSE = "lose"


@dataclass(frozen=True)
class Passed:
    """A request that went through, and the status of its response."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    status: int


class Proxy:
    """`async with Proxy(service.url) as proxy`: `proxy.url` is what the SDK calls."""

    def __init__(self, target: str) -> None:
        self._target = target
        self.passed: list[Passed] = []
        self.plan: deque[str | web.Response | Callable[[], web.Response]] = deque()
        """What happens to the next requests: `LOSE` passes one on and drops its response; a response is given instead."""

    @property
    def url(self) -> str:
        """Where to send."""
        return f"http://127.0.0.1:{self._port}"

    async def __aenter__(self) -> Self:
        self._http = aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar())
        app = web.Application()
        app.router.add_route("*", "/{tail:.*}", self._pass)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self._port = self._runner.addresses[0][1]
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()
        await self._http.close()

    async def _pass(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        planned = self.plan.popleft() if self.plan else None
        if isinstance(planned, web.Response):
            self._note(request, body, planned.status)
            return planned
        headers = {name: value for name, value in request.headers.items() if name.lower() not in HOP_BY_HOP}
        url = URL(self._target + request.raw_path, encoded=True)
        async with self._http.request(request.method, url, headers=headers, data=body, allow_redirects=False) as answer:
            content = await answer.read()
            self._note(request, body, answer.status)
            if planned == LOSE and request.transport is not None:
                request.transport.abort()
            kept = {name: value for name, value in answer.headers.items() if name.lower() not in HOP_BY_HOP}
            return web.Response(status=answer.status, headers=kept, body=content)

    def _note(self, request: web.Request, body: bytes, status: int) -> None:
        self.passed.append(Passed(request.method, request.path, dict(request.headers), body, status))


def error_response(status: int, code: str, details: object = None, **headers: str) -> web.Response:
    """An error in the one body shape."""
    body: dict[str, object] = {"error": code, "error_description": "Not now.", "request_id": "r-1"}
    body |= {"doc_url": f"https://docs.example/{code}", "details": details}
    return web.json_response(body, status=status, headers={name.replace("_", "-"): text for name, text in headers.items()})
