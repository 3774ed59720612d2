"""A closed pipe, a full disk and a reader that stops: every request is answered, and the log comes back by itself."""

import asyncio
import os
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from aiohttp import ClientSession

from proving.results import Figure, at_least, fact, must
from proving.served import Merchant, Served, cookies

LINKS, QUICK_LINKS = 500, 30
LINES_AGAIN_WITHIN_S = 10.0
PIPE_BYTES = 4096


async def prove(*, quick: bool) -> list[Figure]:
    """Each in a service of its own."""
    links = QUICK_LINKS if quick else LINKS
    return [*await closed_pipe(links), *await full_disk(links), *await stopped_reader(links)]


async def closed_pipe(links: int) -> list[Figure]:
    """Nobody holds the other end of the pipe any more: EPIPE."""
    reads, writes = os.pipe()
    try:
        async with Served(writes) as served, cookies() as http:
            os.close(reads)
            return [*await open_links(served, http, links, "closed pipe"), *await lost(served, "closed pipe", 1)]
    finally:
        os.close(writes)


async def full_disk(links: int) -> list[Figure]:
    """The file may not grow, as on a full disk; then it may again."""
    with tempfile.NamedTemporaryFile(prefix="tollhouse-proving-log-") as file:
        async with Served(os.open(file.name, os.O_WRONLY | os.O_APPEND)) as served, cookies() as http:
            served.limit(resource.RLIMIT_FSIZE, Path(file.name).stat().st_size)
            figures = await open_links(served, http, links, "full disk")
            served.limit(resource.RLIMIT_FSIZE, None)
            figures += await lost(served, "full disk", 1)
            came_s = await until(lambda: b'"log_lines_lost"' in Path(file.name).read_bytes())
            return [*figures, must("full disk: told after", came_s, LINES_AGAIN_WITHIN_S, unit="s")]


async def stopped_reader(links: int) -> list[Figure]:
    """Somebody holds the pipe and does not read; then it does."""
    reads, writes = os.pipe()
    so_far = bytearray()
    try:
        async with Served(writes) as served, cookies() as http:
            os.set_blocking(writes, False)
            try:
                while True:
                    os.write(writes, b"x" * PIPE_BYTES)
            except BlockingIOError:
                os.set_blocking(writes, True)
            figures = await open_links(served, http, links, "stopped reader")
            os.set_blocking(reads, False)
            came_s = await until(lambda: heard(reads, so_far).count(b"/payment-links") >= links)
            return [
                *figures,
                must("stopped reader: all lines after", came_s, LINES_AGAIN_WITHIN_S, unit="s"),
                *await lost(served, "stopped reader", 0),
            ]
    finally:
        os.close(reads)
        os.close(writes)


async def open_links(served: Served, http: ClientSession, links: int, what: str) -> list[Figure]:
    """Sign up and open payment links; none may fail, none may be there twice."""
    merchant = Merchant(served, http)
    began = time.perf_counter()
    await merchant.begin()
    for number in range(links):
        await merchant.open_link(number)
    return [
        fact(f"{what}: payment links", links),
        fact(f"{what}: a link took", (time.perf_counter() - began) / links * 1000, unit="ms"),
        must(f"{what}: requests that failed", merchant.failed, 0),
        must(f"{what}: links lost or twice there", abs(await merchant.links() - links), 0),
    ]


async def lost(served: Served, what: str, least: int) -> list[Figure]:
    """What the web process says it could not write."""
    lines = int((await served.ready())["log_lines_lost"])
    name = f"{what}: lines lost, and counted"
    return [at_least(name, lines, least) if least else must(name, lines, 0)]


def heard(reads: int, so_far: bytearray) -> bytearray:
    """Everything that was read from a pipe."""
    try:
        while piece := os.read(reads, 65_536):
            so_far += piece
    except BlockingIOError:
        pass
    return so_far


async def until(holds: Callable[[], bool]) -> float:
    """How many seconds it takes until it holds; so many as there are where it does not."""
    began = time.perf_counter()
    while not holds() and time.perf_counter() - began < LINES_AGAIN_WITHIN_S * 2:
        await asyncio.sleep(0.05)
    return time.perf_counter() - began
