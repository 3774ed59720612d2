"""The leader of a Patroni cluster is killed again and again under load: no confirmed write is lost, nothing is restarted."""

import asyncio
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from chaos.figures import Figure, at_least, at_most, fact
from chaos.patroni import PatroniBed
from chaos.programs import free_port, start, wait_until_ready
from chaos.service import Merchant, cookies
from chaos.testbed import KEYS
from tollhouse.instance.checks.run import Scope, check
from tollhouse.platform.database.migrations import migrate
from tollhouse.platform.database.pool import connect

KILLS, QUICK_KILLS = 20, 2
WRITERS = 4
PAUSE_S = 0.2
RETRY_AFTER_S = 0.2
BETWEEN_S = 10.0
"""At most this long a time, at random, so that kills meet every moment between two renewals of the leader's lock."""
MEDIAN_OUTAGE_S_MAX = 20.0
RECOVERS_WITHIN_S = 120.0
STOPS_WITHIN_S = 20.0
COUNT_LINKS = "SELECT count(*) FROM payment_links WHERE id = ANY($1::uuid[])"
COUNT_ALL = "SELECT count(*) FROM payment_links"


class Writers:
    """Create payment links, each with a key of its own, until it is confirmed."""

    def __init__(self, merchant: Merchant) -> None:
        self._merchant = merchant
        self._stopping = False
        self.confirmed: list[str] = []
        self.confirmed_at: list[float] = []
        self.refused = 0

    async def run(self) -> None:
        """Write until `stop`."""
        await asyncio.gather(*(self._write(number) for number in range(WRITERS)))

    def stop(self) -> None:
        """Write no more."""
        self._stopping = True

    async def _write(self, writer: int) -> None:
        number = 0
        while not self._stopping:
            number += 1
            while (link := await self._merchant.create_link(f"{writer}-{number}")) is None:
                self.refused += 1
                await asyncio.sleep(RETRY_AFTER_S)
            self.confirmed.append(link)
            self.confirmed_at.append(time.perf_counter())
            await asyncio.sleep(PAUSE_S)

    async def outage_s(self, killed_at: float) -> float:
        """The seconds until a write was confirmed that had been sent after the kill."""
        seen = len(self.confirmed_at) + WRITERS  # a confirmation may have been on its way
        async with asyncio.timeout(RECOVERS_WITHIN_S):
            while len(self.confirmed_at) <= seen:
                await asyncio.sleep(0.01)
        return self.confirmed_at[seen] - killed_at


async def kill_leaders(bed: PatroniBed, writers: Writers, kills: int) -> list[float]:
    """Kill the leader so many times, each time when all nodes are there again. Returns the outages in seconds."""
    outages: list[float] = []
    for _ in range(kills):
        await bed.wait_for_standbys()
        await asyncio.sleep(random.uniform(0, BETWEEN_S))
        leader = await bed.leader()
        killed_at = time.perf_counter()
        leader.kill()
        outages.append(await writers.outage_s(killed_at))
        print(f"{leader.name}: {outages[-1]:.1f} s", file=sys.stderr)
        leader.start()
    await bed.wait_for_standbys()
    return outages


async def run(*, quick: bool) -> list[Figure]:
    """Twenty kills, or two."""
    with ExitStack() as last:
        folder = Path(last.enter_context(tempfile.TemporaryDirectory(prefix="tollhouse-chaos-")))
        folder.chmod(0o711)
        last.callback(lambda: shutil.rmtree((folder / "data" / "postgres").resolve(), ignore_errors=True))
        async with PatroniBed(folder) as bed:
            return await _run_service(bed, folder, last, QUICK_KILLS if quick else KILLS)


async def _run_service(bed: PatroniBed, folder: Path, last: ExitStack, kills: int) -> list[Figure]:
    dsn = bed.url("tollhouse", "tollhouse")
    owner = await connect(bed.url("postgres", "postgres"))
    await owner.execute("CREATE ROLE tollhouse LOGIN SUPERUSER")
    await owner.execute("CREATE DATABASE tollhouse OWNER tollhouse")
    await owner.close()
    await migrate(dsn)
    url = f"http://127.0.0.1:{free_port()}"
    settings = {
        "DATABASE_URL": dsn,
        "TOLLHOUSE_SECRET_KEYS": KEYS,
        "TOLLHOUSE_BASE_URL": url,
        "TOLLHOUSE_RATE_LIMITS": "off",
        "TOLLHOUSE_DATA_DIR": str(folder),
    }
    commands = (("web", "--port", url.rpartition(":")[2]), ("worker",))
    parts = [start(settings, folder / "service.log", *words) for words in commands]
    last.callback(_stop, parts)
    await wait_until_ready(url)
    async with cookies() as http:
        merchant = Merchant(url, http)
        await merchant.begin()
        writers = Writers(merchant)
        writing = asyncio.create_task(writers.run())
        outages = await kill_leaders(bed, writers, kills)
        writers.stop()
        await writing
    database = await connect(dsn)
    found = await database.fetchval(COUNT_LINKS, writers.confirmed)
    every = await database.fetchval(COUNT_ALL)
    await database.close()
    report = await check(dsn, Scope(full=True))
    return [
        fact("leaders killed", len(outages)),
        fact("writes confirmed", len(writers.confirmed)),
        fact("responses without success, repeated", writers.refused),
        at_most("confirmed writes that are lost", len(writers.confirmed) - found, 0),
        at_most("writes made twice", every - len(set(writers.confirmed)), 0),
        at_most("median outage", statistics.median(outages), MEDIAN_OUTAGE_S_MAX, unit="s"),
        fact("longest outage", max(outages), unit="s"),
        at_least("processes of the service that still run", sum(part.poll() is None for part in parts), len(parts)),
        at_most("broken invariants", len(report.broken) if report else 1, 0),
    ]


def _stop(parts: "list[subprocess.Popen[bytes]]") -> None:
    for part in parts:
        part.terminate()
    for part in parts:
        part.wait(STOPS_WITHIN_S)
