"""A TCP server that says exactly what a test writes, and counts who came."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Self

import pytest

Manners = Callable[[bytes, asyncio.StreamWriter], Awaitable[None]]
LOOPS = [pytest.param({}, id="asyncio", marks=pytest.mark.long), pytest.param({"use_uvloop": True}, id="uvloop")]
"""Options of the loop of every platform, and of the worker's."""


class RawServer:
    """`async with RawServer(manners) as server`: `manners` gets the request as it came, and the way back.

    A connection that the kernel accepted and that is served only when the server is closed already is dropped.
    """

    def __init__(self, manners: Manners, tls: ssl.SSLContext | None = None, *, host: str = "127.0.0.1") -> None:
        self._manners = manners
        self._tls = tls
        self._host = host
        self.requests: list[bytes] = []
        self.peers: list[str] = []
        self._open: dict[asyncio.StreamWriter, asyncio.Task[None]] = {}
        self._closed = False

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, self._host, 0, ssl=self._tls, backlog=1_024)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        self._closed = True
        tasks = list(self._open.values())
        for writer, task in list(self._open.items()):
            writer.transport.abort()
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._closed:
            writer.transport.abort()
            return
        self._open[writer] = asyncio.ensure_future(self._serve(reader, writer))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.peers.append(writer.get_extra_info("peername")[0])
        try:
            with suppress(OSError, asyncio.IncompleteReadError, ssl.SSLError):
                head = await reader.readuntil(b"\r\n\r\n")
                length = next(int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
                self.requests.append(head + await reader.readexactly(length))
                await self._manners(self.requests[-1], writer)
        finally:
            del self._open[writer]
            writer.close()


def says(*parts: bytes, pause_s: float = 0) -> Manners:
    """Write these parts, with a pause after each."""

    async def manners(_request: bytes, writer: asyncio.StreamWriter) -> None:
        for part in parts:
            writer.write(part)
            await writer.drain()
            await asyncio.sleep(pause_s)

    return manners


async def stays_silent(_request: bytes, _writer: asyncio.StreamWriter) -> None:
    """Take the request and never answer."""
    await asyncio.Event().wait()


async def drips_for_ever(_request: bytes, writer: asyncio.StreamWriter) -> None:
    """A complete 2xx head, then a body that never ends."""
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
    while not writer.is_closing():  # uvloop raises no OSError at a closed one
        writer.write(b"x")
        await writer.drain()
        await asyncio.sleep(0.02)
