"""Every shipped alert is made to fire once in a real Prometheus by its cause, and fires no more when the cause is gone.

Before that, a quiet night with ordinary traffic, in which the database accepts no writes for a minute, fires none. The
durations of the rules are divided by `FACTOR`: see `chaos/prometheus.py`.
"""

import asyncio
import shutil
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import asyncpg

from chaos.alert_causes import CAUSES, Cause
from chaos.alert_installation import Installation
from chaos.figures import Figure, at_most, fact
from chaos.programs import free_port
from chaos.prometheus import FACTOR, Prometheus, alerts_of_the_rules
from chaos.service import RunningService
from tollhouse.instance.database import embedded

NIGHT_S, QUICK_NIGHT_S = 3 * 3600 / FACTOR, 40.0
READ_ONLY_S = 60 / FACTOR
FIRES_WITHIN_S, ENDS_WITHIN_S = 300.0, 420.0
ARCHIVE_BYTES = 1_200 << 20
ARCHIVED_WITHIN_S = 60.0
ARCHIVE_ALERTS = ("TollhouseDiskFull", "TollhouseWalArchiveStopped", "TollhouseBaseBackupOld")
ARCHIVE_FULL = "the disk of the WAL archive is full for ten days"
SEGMENTS = 4
OLD_BASE = "20200101T000000Z"


class Result:
    """What was seen so far."""

    def __init__(self) -> None:
        self.after_s: dict[str, tuple[str, float]] = {}
        self.at_night = set[str]()
        self.lasting = set[str]()
        self.nights_s = 0.0

    async def watch_night(self, prometheus: Prometheus, installation: Installation | None, seconds: float) -> None:
        """Nothing happens but traffic, and one short failure in the middle."""
        began = time.monotonic()
        await asyncio.sleep(seconds / 2)
        if installation is not None:
            async with installation.read_only():
                await asyncio.sleep(READ_ONLY_S)
        await asyncio.sleep(max(0.0, began + seconds - time.monotonic()))
        fired = await prometheus.fired(time.monotonic() - began)
        print(f"night of {time.monotonic() - began:.0f} s: {sorted(fired)}", file=sys.stderr, flush=True)
        self.at_night |= fired
        self.nights_s += time.monotonic() - began

    async def make(self, prometheus: Prometheus, installation: Installation, causes: Sequence[Cause]) -> None:
        """Make these causes at once until their alerts fire, undo them, and wait until nothing fires."""
        async with AsyncExitStack() as stack:
            for cause in causes:
                await stack.enter_async_context(cause.make(installation))
            await self.wait(prometheus, {name: cause.what for cause in causes for name in cause.alerts})
        self.lasting |= await prometheus.wait_until_quiet(ENDS_WITHIN_S)

    async def wait(self, prometheus: Prometheus, causes: Mapping[str, str]) -> None:
        """Wait until these alerts fire, each by its cause."""
        for name, after_s in (await prometheus.wait_until_firing(list(causes), FIRES_WITHIN_S)).items():
            self.after_s[name] = (causes[name], after_s)
            print(f"{name}: {causes[name]}: {after_s:.0f} s", file=sys.stderr, flush=True)

    def figures(self) -> list[Figure]:
        """Each alert beside its cause."""
        missing = [name for name in alerts_of_the_rules() if name not in self.after_s]
        for problem in (
            *(f"{name} did not fire" for name in missing),
            *(f"{name} fired at night" for name in self.at_night),
        ):
            print(problem, file=sys.stderr)
        return [
            fact("durations of the rules are divided by", FACTOR),
            fact("quiet nights of both installations together, in hours of the rules", self.nights_s * FACTOR / 3600),
            at_most("alerts that fired at night", len(self.at_night), 0),
            *(
                at_most(f"{name} fires: {what}", after_s, FIRES_WITHIN_S, unit="s")
                for name, (what, after_s) in self.after_s.items()
            ),
            at_most("alerts that did not fire by their cause", len(missing), 0),
            at_most("alerts that fire though their cause is gone", len(self.lasting), 0),
        ]


@asynccontextmanager
async def small_disk(folder: Path) -> AsyncIterator[Path]:
    """A disk of 1.2 GB in memory. Needs root."""
    folder.mkdir()
    await run_program("mount", "-t", "tmpfs", "-o", f"size={ARCHIVE_BYTES},mode=755", "tmpfs", str(folder))
    try:
        yield folder
    finally:
        await run_program("umount", "--lazy", str(folder))


async def run_program(*words: str) -> None:
    """Run a program of the system. Raises `RuntimeError` if it fails."""
    process = await asyncio.create_subprocess_exec(*words)
    if await process.wait() != 0:
        raise RuntimeError(f"{words[0]} failed")


async def switch_segments(dsn: str) -> None:
    """Let the database begin new segments of WAL, as a busy day does."""
    connection = await asyncpg.connect(dsn)
    for _ in range(SEGMENTS):
        await connection.execute("SELECT pg_logical_emit_message(true, 'chaos', 'a busy day'), pg_switch_wal()")
    await connection.close()


async def watch_archive(result: Result, folder: Path, night_s: float) -> None:
    """`tollhouse serve` with a WAL archive on a disk of its own, which becomes full."""
    metrics = f"127.0.0.1:{free_port()}"
    async with small_disk(folder / "disk") as disk, AsyncExitStack() as stack:
        stack.callback(lambda: shutil.rmtree((folder / "data" / "postgres").resolve(), ignore_errors=True))
        archive = disk / "archive"
        settings = {
            "TOLLHOUSE_DATA_DIR": str(folder / "data"),
            "TOLLHOUSE_WAL_ARCHIVE": str(archive),
            "TOLLHOUSE_METRICS_ADDRESS": metrics,
        }
        async with RunningService(None, **settings), Prometheus(folder / "prometheus", [metrics]) as prometheus:
            async with asyncio.timeout(ARCHIVED_WITHIN_S):
                while not (bases := list((archive / "base").glob("*Z"))):
                    await asyncio.sleep(0.2)
            await result.watch_night(prometheus, None, night_s)
            shutil.move(bases[0], archive / "base" / OLD_BASE)
            await run_program("fallocate", "-l", str(shutil.disk_usage(disk).free), str(disk / "full"))
            await switch_segments(embedded.locate(folder / "data").dsn)
            await result.wait(prometheus, dict.fromkeys(ARCHIVE_ALERTS, ARCHIVE_FULL))
            (disk / "full").unlink()
            result.lasting |= await prometheus.wait_until_quiet(ENDS_WITHIN_S) - {"TollhouseBaseBackupOld"}


async def watch_installation(result: Result, folder: Path, night_s: float) -> None:
    """Web and worker by themselves: the night, then every cause."""
    async with (
        Installation() as installation,
        Prometheus(folder / "prometheus-installation", installation.addresses) as prometheus,
    ):
        async with installation.traffic():
            await result.watch_night(prometheus, installation, night_s)
        for causes in CAUSES:
            await result.make(prometheus, installation, causes)


async def run(*, quick: bool) -> list[Figure]:
    """A night of three hours in nine minutes, or one of 40 seconds, and every cause."""
    night_s, result = QUICK_NIGHT_S if quick else NIGHT_S, Result()
    with tempfile.TemporaryDirectory(prefix="tollhouse-alerts-") as name:
        folder = Path(name)
        folder.chmod(0o711)
        async with asyncio.TaskGroup() as group:
            group.create_task(watch_installation(result, folder, night_s))
            group.create_task(watch_archive(result, folder, night_s))
    return result.figures()
