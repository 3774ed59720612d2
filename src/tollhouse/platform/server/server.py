"""The HTTP server of a web process: uvicorn, with our own protocol."""

import asyncio
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from types import FrameType
from typing import Literal, cast

import uvicorn
from starlette.types import ASGIApp
from uvicorn._types import ASGI3Application
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from tollhouse.platform.server.connection_limits import ConnectionLimits
from tollhouse.platform.server.listening import DRAINING, STOPPING
from tollhouse.platform.server.protocol import HttpProtocol
from tollhouse.platform.settings.config import Settings

STOP_WITHIN_S = 10


class _Server(uvicorn.Server):
    """A server that answers for a while after SIGTERM. A second signal ends it at once."""

    def __init__(self, config: uvicorn.Config, drain_s: int) -> None:
        super().__init__(config)
        self._drain_s = drain_s

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        with super().capture_signals():
            if self._drain_s:
                signal.signal(signal.SIGTERM, self._drain)
            yield

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self.lifespan.state.get(STOPPING, asyncio.Event()).set()
        await super().shutdown(sockets)

    async def on_tick(self, counter: int) -> bool:
        if DRAINING.is_over:
            self.should_exit = True
        return await super().on_tick(counter)

    def _drain(self, number: int, frame: FrameType | None) -> None:
        if DRAINING.has_begun:
            self.handle_exit(number, frame)
        else:
            DRAINING.begin(self._drain_s)


class _ServerWithin(uvicorn.Server):
    """A server beside other tasks of a process, which leaves its signals alone."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def make(application: ASGIApp, settings: Settings) -> uvicorn.Server:
    """A server of this application; `run` or `serve` gets its listening sockets."""
    return _Server(_configuration(application, settings), settings.drain_s)


def make_within(application: ASGIApp, settings: Settings) -> uvicorn.Server:
    """A server that is one task of a process; it ends when it is cancelled."""
    return _ServerWithin(_configuration(application, settings, lifespan="off"))


def _configuration(application: ASGIApp, settings: Settings, *, lifespan: Literal["auto", "off"] = "auto") -> uvicorn.Config:
    proxies = [str(network) for network in settings.trusted_proxies]
    behind_proxy = ProxyHeadersMiddleware(cast("ASGI3Application", application), proxies)
    protocol = partial(HttpProtocol, limits=ConnectionLimits(settings), behind_proxy=behind_proxy)
    return uvicorn.Config(
        application,
        http=cast("type[asyncio.Protocol]", protocol),
        timeout_keep_alive=cast("int", settings.keep_alive_timeout_s),
        proxy_headers=False,
        log_config=None,
        access_log=False,
        server_header=False,
        ws="none",
        lifespan=lifespan,
        timeout_graceful_shutdown=STOP_WITHIN_S,
    )
