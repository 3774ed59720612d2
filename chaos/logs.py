"""A closed log pipe, a full disk and a stopped reader: every request is answered, and logging resumes."""

import asyncio
import os
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from aiohttp import ClientSession

from chaos.figures import Figure, at_least, at_most, fact
from chaos.service import Merchant, RunningService, cookies

LINKS, QUICK_LINKS = 500, 30
LINES_AGAIN_WITHIN_S = 10.0
PIPE_BYTES = 4096


async def run(*, quick: bool) -> list[Figure]:
    """Run each failure against its own service."""
    links = QUICK_LINKS if quick else LINKS
    return [*await closed_pipe(links), *await full_disk(links), *await stopped_reader(links)]


async def closed_pipe(links: int) -> list[Figure]:
    """The read end of the pipe is closed: EPIPE."""
    reads, writes = os.pipe()
    try:
        async with RunningService(writes) as service, cookies() as http:
            os.close(reads)
            return [*await open_links(service, http, links, "closed pipe"), *await lost(service, "closed pipe", 1)]
    finally:
        os.close(writes)


async def full_disk(links: int) -> list[Figure]:
    """The log file must not grow, as on a full disk; then it may again."""
    with tempfile.NamedTemporaryFile(prefix="tollhouse-chaos-log-") as file:
        async with RunningService(os.open(file.name, os.O_WRONLY | os.O_APPEND)) as service, cookies() as http:
            service.limit(resource.RLIMIT_FSIZE, Path(file.name).stat().st_size)
            figures = await open_links(service, http, links, "full disk")
            service.limit(resource.RLIMIT_FSIZE, None)
            figures += await lost(service, "full disk", 1)
            after_s = await until(lambda: b'"log_lines_lost"' in Path(file.name).read_bytes())
            return [*figures, at_most("full disk: reported after", after_s, LINES_AGAIN_WITHIN_S, unit="s")]


async def stopped_reader(links: int) -> list[Figure]:
    """The reader of the pipe stops reading, then continues."""
    reads, writes = os.pipe()
    so_far = bytearray()
    try:
        async with RunningService(writes) as service, cookies() as http:
            os.set_blocking(writes, False)
            try:
                while True:
                    os.write(writes, b"x" * PIPE_BYTES)
            except BlockingIOError:
                os.set_blocking(writes, True)
            figures = await open_links(service, http, links, "stopped reader")
            os.set_blocking(reads, False)
            after_s = await until(lambda: read_available(reads, so_far).count(b"/payment-links") >= links)
            return [
                *figures,
                at_most("stopped reader: all lines after", after_s, LINES_AGAIN_WITHIN_S, unit="s"),
                *await lost(service, "stopped reader", 0),
            ]
    finally:
        os.close(reads)
        os.close(writes)


async def open_links(service: RunningService, http: ClientSession, links: int, what: str) -> list[Figure]:
    """Sign up and create payment links; none may fail or exist twice."""
    merchant = Merchant(service.url, http)
    began = time.perf_counter()
    await merchant.begin()
    for number in range(links):
        await merchant.open_link(number)
    return [
        fact(f"{what}: payment links", links),
        fact(f"{what}: a link took", (time.perf_counter() - began) / links * 1000, unit="ms"),
        at_most(f"{what}: requests that failed", merchant.failed, 0),
        at_most(f"{what}: links lost or twice there", abs(await merchant.links() - links), 0),
    ]


async def lost(service: RunningService, what: str, least: int) -> list[Figure]:
    """The number of log lines that the web process reports as lost."""
    lines = int((await service.ready())["log_lines_lost"])
    name = f"{what}: lines lost, and counted"
    return [at_least(name, lines, least) if least else at_most(name, lines, 0)]


def read_available(reads: int, so_far: bytearray) -> bytearray:
    """Read what is available in a pipe."""
    try:
        while piece := os.read(reads, 65_536):
            so_far += piece
    except BlockingIOError:
        pass
    return so_far


async def until(holds: Callable[[], bool]) -> float:
    """The seconds until the condition holds, or twice the bound."""
    began = time.perf_counter()
    while not holds() and time.perf_counter() - began < LINES_AGAIN_WITHIN_S * 2:
        await asyncio.sleep(0.05)
    return time.perf_counter() - began
