"""A TCP server that says exactly what a test writes, and counts who came."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Self

Manners = Callable[[bytes, asyncio.StreamWriter], Awaitable[None]]


class RawServer:
    """`async with RawServer(manners) as server`: `manners` gets the request as it came, and the way back."""

    def __init__(self, manners: Manners, tls: ssl.SSLContext | None = None) -> None:
        self._manners = manners
        self._tls = tls
        self.requests: list[bytes] = []
        self.peers: list[str] = []
        self._open: set[asyncio.StreamWriter] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self._tls)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for writer in list(self._open):
            writer.transport.abort()
        await asyncio.sleep(0)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        self.peers.append(writer.get_extra_info("peername")[0])
        with suppress(OSError, asyncio.IncompleteReadError, ssl.SSLError):
            head = await reader.readuntil(b"\r\n\r\n")
            length = next(int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
            self.requests.append(head + await reader.readexactly(length))
            await self._manners(self.requests[-1], writer)
        self._open.discard(writer)
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
    while True:
        writer.write(b"x")
        await writer.drain()
        await asyncio.sleep(0.02)
