"""No process can be started: the failures are logged, and web and worker restart once it is possible."""

import asyncio
import os
import resource
import signal
import tempfile
import time
from pathlib import Path

from chaos.figures import Figure, at_least, at_most, fact
from chaos.service import Merchant, RunningService, cookies

LINKS, QUICK_LINKS = 100, 20
AWAY_S, QUICK_AWAY_S = 30.0, 5.0
BACK_WITHIN_S = 10.0
PARTS = ("web", "worker")
FILES = 3
"""With this limit of open files no process can be started."""


async def run(*, quick: bool) -> list[Figure]:
    """Kill web and worker while no process can be started, then lift the limit."""
    links, down_s = (QUICK_LINKS, QUICK_AWAY_S) if quick else (LINKS, AWAY_S)
    with tempfile.NamedTemporaryFile(prefix="tollhouse-chaos-log-") as file:
        log = Path(file.name)
        async with RunningService(os.open(file.name, os.O_WRONLY | os.O_APPEND)) as service, cookies() as http:
            merchant = Merchant(service.url, http)
            await merchant.begin()
            for number in range(links):
                await merchant.open_link(number)
            supervisor, (_, hard) = service.process.pid, resource.prlimit(service.process.pid, resource.RLIMIT_NOFILE)
            before = resource.prlimit(supervisor, resource.RLIMIT_NOFILE, (FILES, hard))
            for part in PARTS:
                os.kill(service.part(part) or 0, signal.SIGKILL)
            await asyncio.sleep(down_s)
            failures = log.read_bytes().count(b'"part_start_failed"')
            resource.prlimit(supervisor, resource.RLIMIT_NOFILE, before)
            began = time.perf_counter()
            await service.ready()
            while service.part("worker") is None and time.perf_counter() - began < BACK_WITHIN_S * 2:
                await asyncio.sleep(0.05)
            back_s = time.perf_counter() - began
            return [
                fact("parts killed", len(PARTS)),
                fact("nothing could be started for", down_s, unit="s"),
                at_least("failures logged", failures, len(PARTS)),
                at_most("back after", back_s, BACK_WITHIN_S, unit="s"),
                at_most("parts that are not there", sum(service.part(part) is None for part in PARTS), 0),
                at_most("requests that failed before", merchant.failed, 0),
                at_most("links lost", links - await merchant.links(), 0),
            ]
