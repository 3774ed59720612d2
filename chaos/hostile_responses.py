"""Hostile responses: receivers that block a worker or exhaust its memory."""

import asyncio
import gzip
import socket
import struct

from chaos.receivers import Behavior, Connection, hang

BLOCK = b"x" * 65_536
HEADER = b"X-More: " + BLOCK[:1_000] + b"\r\n"
BOMB = gzip.compress(bytes(1_000_000)) * 50
DRIP_EVERY_S = 0.1
BEFORE_TLS = "silence before TLS"
RESET = struct.pack("ii", 1, 0)
OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
HINTS = b"HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n"


def respond_with(*parts: bytes, then: bytes = b"", every_s: float = 0.0) -> Behavior:
    """Read the request and send these parts, then `then` repeatedly."""

    async def behavior(connection: Connection) -> None:
        await connection.request()
        for part in parts:
            await connection.send(part)
        while then:
            await connection.send(then)
            await asyncio.sleep(every_s)
        await connection.until_closed()

    return behavior


async def reset(connection: Connection) -> None:
    """Send a complete head, then reset the connection instead of sending the body."""
    await connection.request()
    await connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n")
    connection.writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    connection.writer.transport.abort()


async def stall(connection: Connection) -> None:
    """Send nothing, not even a TLS handshake."""
    await connection.until_closed()


QUICK_KINDS: dict[str, Behavior] = {
    "endless body": respond_with(OK + b"Content-Length: 1099511627776\r\n\r\n", then=BLOCK),
    "endless chunks": respond_with(CHUNKED, then=b"10000\r\n" + BLOCK + b"\r\n"),
    "endless headers": respond_with(OK, then=HEADER),
    "one endless header": respond_with(OK + b"X-More: ", then=BLOCK),
    "endless status line": respond_with(b"HTTP/1.1 200 ", then=BLOCK),
    "reset after the head": reset,
    "gzip bomb": respond_with(OK + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(BOMB), BOMB),
    "nonsense": respond_with(BLOCK),
}
"""Kinds that can be detected at once."""
SLOW_KINDS: dict[str, Behavior] = {
    "silence": hang,
    BEFORE_TLS: stall,
    "drip of a head": respond_with(OK, then=b"X", every_s=DRIP_EVERY_S),
    "drip of a body": respond_with(OK + b"Content-Length: 1000000\r\n\r\n", then=b"x", every_s=DRIP_EVERY_S),
    "drip of chunks": respond_with(CHUNKED, then=b"1\r\nx\r\n", every_s=DRIP_EVERY_S),
    "drip of interim answers": respond_with(then=HINTS, every_s=DRIP_EVERY_S),
    "flood of interim answers": respond_with(then=HINTS * 100),
    "endless trailers": respond_with(CHUNKED + b"0\r\n", then=HEADER),
    "endless chunk extension": respond_with(CHUNKED + b"1;", then=BLOCK),
}
"""Kinds that may occupy a call up to its timeout."""
