"""Manners of receivers that want to keep a worker or to fill it."""

import asyncio
import gzip
import socket
import struct

from proving.receiving import Manners, Visit, hangs

BLOCK = b"x" * 65_536
HEADER = b"X-More: " + BLOCK[:1_000] + b"\r\n"
BOMB = gzip.compress(bytes(50_000_000), 9)
DRIP_EVERY_S = 0.1
BEFORE_TLS = "silence before TLS"
RESET = struct.pack("ii", 1, 0)
OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
HINTS = b"HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n"


def says(*parts: bytes, then: bytes = b"", every_s: float = 0.0) -> Manners:
    """Take the request and say these parts; then the last one again and again."""

    async def manners(visit: Visit) -> None:
        await visit.request()
        for part in parts:
            await visit.say(part)
        while then:
            await visit.say(then)
            await asyncio.sleep(every_s)
        await visit.until_gone()

    return manners


async def resets(visit: Visit) -> None:
    """A complete head, then a reset instead of the body."""
    await visit.request()
    await visit.say(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n")
    visit.writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    visit.writer.transport.abort()


async def stalls(visit: Visit) -> None:
    """Never a word, not even of TLS."""
    await visit.until_gone()


QUICK_KINDS: dict[str, Manners] = {
    "endless body": says(OK + b"Content-Length: 1099511627776\r\n\r\n", then=BLOCK),
    "endless chunks": says(CHUNKED, then=b"10000\r\n" + BLOCK + b"\r\n"),
    "endless headers": says(OK, then=HEADER),
    "one endless header": says(OK + b"X-More: ", then=BLOCK),
    "endless status line": says(b"HTTP/1.1 200 ", then=BLOCK),
    "reset after the head": resets,
    "gzip bomb": says(OK + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(BOMB), BOMB),
    "nonsense": says(BLOCK),
}
"""These can be seen through at once."""
SLOW_KINDS: dict[str, Manners] = {
    "silence": hangs,
    BEFORE_TLS: stalls,
    "drip of a head": says(OK, then=b"X", every_s=DRIP_EVERY_S),
    "drip of a body": says(OK + b"Content-Length: 1000000\r\n\r\n", then=b"x", every_s=DRIP_EVERY_S),
    "drip of chunks": says(CHUNKED, then=b"1\r\nx\r\n", every_s=DRIP_EVERY_S),
    "drip of interim answers": says(then=HINTS, every_s=DRIP_EVERY_S),
    "flood of interim answers": says(then=HINTS * 100),
    "endless trailers": says(CHUNKED + b"0\r\n", then=HEADER),
    "endless chunk extension": says(CHUNKED + b"1;", then=BLOCK),
}
"""These may keep a call until its time is over, and not a moment longer."""
