"""Those who hold connections without asking anything, as a process of their own: `python -m proving.attackers KIND PORT`.

Each calls from many addresses of loopback, and connects again when it is turned away. Runs until it is ended.
"""

import asyncio
import resource
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from itertools import cycle

from proving.receiving import hosts

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
AGAIN_AFTER_S = 1.0
EVERY_S = 0.05
PIECE = b"x" * 16_384
ADDRESSES = hosts(60, 250)


async def endless_header(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A header that never ends."""
    writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Endless: ")
    while True:
        writer.write(PIECE)
        await writer.drain()
        await asyncio.sleep(EVERY_S)


async def slow_body(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A body of which a byte comes now and then."""
    writer.write(b"POST /api/v2/oauth/token HTTP/1.1\r\nHost: localhost\r\nContent-Length: 60000\r\n\r\n")
    while True:
        writer.write(b"x")
        await writer.drain()
        await asyncio.sleep(1)


async def idle(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
    """Nothing at all."""
    await reader.read(1)


Manner = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
KINDS: dict[str, tuple[Manner, int]] = {
    "endless headers": (endless_header, 20),
    "slow bodies": (slow_body, 500),
    "idle sockets": (idle, 2_000),
}
"""How each behaves, and how many of them there are at a time."""


async def keep_on(manner: Manner, port: int, address: str) -> None:
    """One of them, who comes again."""
    while True:
        with suppress(OSError):
            reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(address, 0))
            try:
                await manner(reader, writer)
            finally:
                writer.transport.abort()
        await asyncio.sleep(AGAIN_AFTER_S)


async def attack(kind: str, port: int) -> None:
    """All of a kind; a line is printed when every one has begun."""
    manner, count = KINDS[kind]
    crowd: list[asyncio.Task[None]] = []
    for _, address in zip(range(count), cycle(ADDRESSES), strict=False):
        crowd.append(asyncio.create_task(keep_on(manner, port, address)))
        await asyncio.sleep(0.001)
    print("begun", flush=True)
    await asyncio.gather(*crowd)


if __name__ == "__main__":
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    asyncio.run(attack(sys.argv[1], int(sys.argv[2])))
