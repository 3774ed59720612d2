"""The other side of the demo: a page on which arriving webhooks can be watched, and the sample application's callback."""

from collections import deque
from typing import Any

import aiohttp
import msgspec
from aiohttp import web
from msgspec import Struct

from tollhouse.http.static_files import ROOT as STATIC
from tollhouse.http.static_files import static_files
from tollhouse.http.templates import Templates
from tollhouse.instance.demo.seed import DemoCredentials
from tollhouse.platform.server import listening

KEPT = 50


class ReceivedWebhook(Struct, frozen=True):
    """One webhook that came in."""

    event_id: str
    type: str
    mode: str
    signature: str
    body: str


class WebhookReceiver:
    """A small web server of a third party. It keeps the last fifty webhooks in memory."""

    def __init__(self, base_url: str, templates: Templates) -> None:
        self._base_url = base_url
        self._templates = templates
        self._arrivals: deque[ReceivedWebhook] = deque(maxlen=KEPT)
        self.sample: DemoCredentials | None = None
        self._runner: web.AppRunner | None = None

    async def start(self, port: int) -> None:
        """Listen on loopback."""
        app = web.Application()
        app.router.add_get("/", self._watch)
        app.router.add_post("/hook", self._take)
        app.router.add_get("/callback", self._callback)
        app.router.add_get(f"{STATIC}{{name:.+}}", _static_file)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=1)
        await self._runner.setup()
        await web.SockSite(self._runner, listening.bind("127.0.0.1", port)).start()

    async def stop(self) -> None:
        """Stop listening."""
        if self._runner is not None:
            await self._runner.cleanup()

    async def _take(self, request: web.Request) -> web.Response:
        raw = await request.read()
        self._arrivals.appendleft(
            ReceivedWebhook(
                request.headers.get("X-Service-Event-Id", ""),
                request.headers.get("X-Service-Event-Type", ""),
                request.headers.get("X-Service-Mode", ""),
                request.headers.get("X-Service-Signature", ""),
                msgspec.json.format(raw, indent=2).decode(),
            )
        )
        return web.Response(status=200)

    async def _watch(self, _request: web.Request) -> web.Response:
        return self._page("demo/watch.html", arrivals=list(self._arrivals))

    async def _callback(self, request: web.Request) -> web.Response:
        code, sample = request.query.get("code"), self.sample
        if code is None or sample is None:
            return self._page("demo/callback.html", steps=[("Answer", dict(request.query))])
        token_url = f"{self._base_url}/api/v2/oauth/token"
        exchange = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": sample.callback,
            "code_verifier": sample.verifier,
        }
        basic = aiohttp.BasicAuth(sample.client_id, sample.client_secret)
        async with aiohttp.ClientSession() as http:
            async with http.post(token_url, data=exchange, auth=basic) as response:
                tokens: dict[str, Any] = await response.json()
            steps: list[tuple[str, dict[str, Any]]] = [("Token response", {name: _short(tokens[name]) for name in tokens})]
            if "access_token" in tokens:
                bearer = {"Authorization": f"Bearer {tokens['access_token']}"}
                async with http.get(f"{self._base_url}/api/v2/integration/account", headers=bearer) as response:
                    steps.append(("GET /account", await response.json()))
        return self._page("demo/callback.html", steps=steps)

    def _page(self, template: str, **facts: Any) -> web.Response:
        return web.Response(
            text=self._templates.render(template, base_url=self._base_url, **facts), content_type="text/html"
        )


async def _static_file(request: web.Request) -> web.Response:
    sent = request.headers
    found = static_files().response(request.match_info["name"], sent.get("Accept-Encoding"), sent.get("If-None-Match"))
    if found is None:
        raise web.HTTPNotFound
    return web.Response(body=bytes(found.body), status=found.status_code, headers=found.headers)


def _short(value: Any) -> Any:
    """Enough of a secret to recognise it."""
    return f"{value[:12]}…" if isinstance(value, str) and len(value) > 60 else value  # noqa: PLR2004 - only secrets are longer
