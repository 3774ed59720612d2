"""No process, file or memory to be had: parts that die cannot be started, are told, and come back by themselves."""

import asyncio
import os
import resource
import signal
import tempfile
import time
from pathlib import Path

from proving.results import Figure, at_least, fact, must
from proving.served import Merchant, Served, cookies

LINKS, QUICK_LINKS = 100, 20
AWAY_S, QUICK_AWAY_S = 30.0, 5.0
BACK_WITHIN_S = 10.0
PARTS = ("web", "worker")
FILES = 3
"""Of so many open files no process can be started."""


async def prove(*, quick: bool) -> list[Figure]:
    """Web and worker are killed while nothing can be started; after a while things can."""
    links, away_s = (QUICK_LINKS, QUICK_AWAY_S) if quick else (LINKS, AWAY_S)
    with tempfile.NamedTemporaryFile(prefix="tollhouse-proving-log-") as file:
        log = Path(file.name)
        async with Served(os.open(file.name, os.O_WRONLY | os.O_APPEND)) as served, cookies() as http:
            merchant = Merchant(served, http)
            await merchant.begin()
            for number in range(links):
                await merchant.open_link(number)
            supervisor, (_, hard) = served.process.pid, resource.prlimit(served.process.pid, resource.RLIMIT_NOFILE)
            before = resource.prlimit(supervisor, resource.RLIMIT_NOFILE, (FILES, hard))
            for part in PARTS:
                os.kill(served.part(part) or 0, signal.SIGKILL)
            await asyncio.sleep(away_s)
            told = log.read_bytes().count(b'"part_start_failed"')
            resource.prlimit(supervisor, resource.RLIMIT_NOFILE, before)
            began = time.perf_counter()
            await served.ready()
            while served.part("worker") is None and time.perf_counter() - began < BACK_WITHIN_S * 2:
                await asyncio.sleep(0.05)
            back_s = time.perf_counter() - began
            return [
                fact("parts killed", len(PARTS)),
                fact("nothing could be started for", away_s, unit="s"),
                at_least("failures told", told, len(PARTS)),
                must("back after", back_s, BACK_WITHIN_S, unit="s"),
                must("parts that are not there", sum(served.part(part) is None for part in PARTS), 0),
                must("requests that failed before", merchant.failed, 0),
                must("links lost", links - await merchant.links(), 0),
            ]
