"""Clients that hold connections open, as a separate process: `python -m chaos.attackers KIND PORT`.

They connect from many loopback addresses and reconnect when they are closed. Runs until it is terminated.
"""

import asyncio
import resource
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from itertools import cycle

from chaos.receivers import hosts

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
RETRY_AFTER_S = 1.0
EVERY_S = 0.05
PIECE = b"x" * 16_384
ADDRESSES = hosts(60, 250)


async def endless_header(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Send an endless header."""
    writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Endless: ")
    while True:
        writer.write(PIECE)
        await writer.drain()
        await asyncio.sleep(EVERY_S)


async def slow_body(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Send a byte of the body every second."""
    writer.write(b"POST /api/v2/oauth/token HTTP/1.1\r\nHost: localhost\r\nContent-Length: 60000\r\n\r\n")
    while True:
        writer.write(b"x")
        await writer.drain()
        await asyncio.sleep(1)


async def idle(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
    """Send nothing."""
    await reader.read(1)


AttackerBehavior = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
KINDS: dict[str, tuple[AttackerBehavior, int]] = {
    "endless headers": (endless_header, 20),
    "slow bodies": (slow_body, 500),
    "idle sockets": (idle, 2_000),
}
"""The behavior of each kind and its number of connections."""


async def repeat(behavior: AttackerBehavior, port: int, address: str) -> None:
    """Run one client, reconnecting after each end."""
    while True:
        with suppress(OSError):
            reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(address, 0))
            try:
                await behavior(reader, writer)
            finally:
                writer.transport.abort()
        await asyncio.sleep(RETRY_AFTER_S)


async def attack(kind: str, port: int) -> None:
    """Run all clients of a kind; prints a line once all have started."""
    behavior, count = KINDS[kind]
    tasks: list[asyncio.Task[None]] = []
    for _, address in zip(range(count), cycle(ADDRESSES), strict=False):
        tasks.append(asyncio.create_task(repeat(behavior, port, address)))
        await asyncio.sleep(0.001)
    print("begun", flush=True)
    await asyncio.gather(*tasks)


if __name__ == "__main__":
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    asyncio.run(attack(sys.argv[1], int(sys.argv[2])))
