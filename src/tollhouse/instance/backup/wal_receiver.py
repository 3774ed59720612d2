"""Fills the WAL archive of the embedded database: WAL by PostgreSQL's pg_receivewal, and a base backup when one is due.

A replication slot keeps the WAL that the archive does not have yet. What it keeps is bounded by `max_slot_wal_keep_size`, so
an archive that fails never fills the disk of the database: payments go on. Beyond the bound, the archive has a gap.
"""

import asyncio
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path

import asyncpg

from tollhouse.instance.backup import store, wal_archive
from tollhouse.instance.database.cluster import Cluster
from tollhouse.kernel import clock
from tollhouse.platform.database.errors import UNREACHABLE
from tollhouse.platform.database.pool import Tx, connected
from tollhouse.platform.log.events import log

SLOT = "tollhouse_archive"
RETRY_AFTER_S = (1, 5, 30)
HEALTHY_AFTER_S = 60
ENDS_WITHIN_S = 10
RECEIVER_ENDS_WITHIN_MS = 5_000
REMOVED = "has already been removed"
"""PostgreSQL's error for a position that is no longer on the server."""
ADVICE_GAP = "run `tollhouse backup base`: until then, no time after this can be recovered"
ADVICE_OFF = "no time from now on can be recovered"
ADVICE_FAILED = "payments go on; points in time after this cannot be recovered until the archive works again"
CHECK_EVERY_S = 600
COMMAND = (sys.executable, "-m", "tollhouse", "backup", "base")
ADVICE_BASE = "Run `tollhouse backup base`; the service tries again in 10 minutes."


class WalReceiver:
    """Keeps pg_receivewal running from `start` until the database has stopped."""

    def __init__(self, cluster: Cluster, archive: Path) -> None:
        self._cluster = cluster
        self._archive = archive
        self._stopping = asyncio.Event()
        self._child: subprocess.Popen[bytes] | None = None
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start receiving, and start again whenever it fails."""
        self._task = asyncio.create_task(self._keep())

    def expect_end(self) -> None:
        """The database is about to stop: that it closes the connection is no failure."""
        self._stopping.set()

    async def stop(self) -> None:
        """Wait until all that the stopped database has sent is in the archive, for a bounded time."""
        self._stopping.set()
        if self._task is None:
            return
        done, _ = await asyncio.wait({self._task}, timeout=ENDS_WITHIN_S)
        if not done and self._child is not None:
            self._child.kill()
        await self._task

    async def _keep(self) -> None:
        failures = 0
        while not self._stopping.is_set():
            began = time.monotonic()
            try:
                reason = await self._receive()
            except (*UNREACHABLE, OSError) as error:
                reason = str(error) or type(error).__name__
            if self._stopping.is_set():
                return
            failures = 1 if time.monotonic() - began > HEALTHY_AFTER_S else failures + 1
            after_s = RETRY_AFTER_S[min(failures, len(RETRY_AFTER_S)) - 1]
            if REMOVED in reason:
                await self._begin_after_gap()
            else:
                log.error(
                    "wal_archive_failed",
                    folder=str(self._archive),
                    detail=reason,
                    retry_after_s=after_s,
                    advice=ADVICE_FAILED,
                )
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), after_s)

    async def _receive(self) -> str:
        """Receive until the connection ends. Returns what pg_receivewal printed."""
        async with connected(self._cluster.dsn) as tx:
            await ensure_slot(tx)
            await tx.execute(store.END_RECEIVER, SLOT, RECEIVER_ENDS_WITHIN_MS)
        if self._stopping.is_set():
            return ""
        self._child = self._launch()
        log.info("wal_archive_started", folder=str(self._archive))
        _, printed = await asyncio.to_thread(self._child.communicate)
        return " ".join(printed.decode(errors="replace").split())

    def _launch(self) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(  # noqa: S603 - our own binaries
            [
                self._cluster.binaries / "bin" / "pg_receivewal",
                f"--dbname={self._cluster.dsn}",
                f"--directory={self._archive / wal_archive.WAL}",
                f"--slot={SLOT}",
                "--no-loop",
                "--no-password",
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C is for the supervisor: it receives until the database has stopped
        )

    async def _begin_after_gap(self) -> None:
        """Begin a new folder, with a new slot: the position of this one may be what is no longer on the server."""
        try:
            wal_archive.set_aside(self._archive)
            async with connected(self._cluster.dsn) as tx:
                await tx.execute(store.END_RECEIVER, SLOT, RECEIVER_ENDS_WITHIN_MS)
                await tx.execute(store.DROP_SLOT, SLOT)
        except (*UNREACHABLE, OSError, asyncpg.PostgresError) as error:
            log.error("wal_archive_failed", folder=str(self._archive), detail=str(error), advice=ADVICE_FAILED)
        else:
            log.error("wal_archive_gap", folder=str(self._archive), advice=ADVICE_GAP)


async def ensure_slot(tx: Tx) -> None:
    """Create the slot, also where the server gave it up because it would have kept too much."""
    status = await tx.fetchval(store.SLOT_STATUS, SLOT)
    if status == "lost":
        await tx.execute(store.DROP_SLOT, SLOT)
    if status in {None, "lost"}:
        await tx.execute(store.CREATE_SLOT, SLOT)


async def end(cluster: Cluster) -> None:
    """Stop keeping WAL for an archive that is no longer configured."""
    async with connected(cluster.dsn) as tx:
        await tx.execute(store.END_RECEIVER, SLOT, RECEIVER_ENDS_WITHIN_MS)
        if await tx.fetch(store.DROP_SLOT, SLOT):
            log.warning("wal_archive_off", advice=ADVICE_OFF)


def is_due(archive: Path, now: datetime, every: timedelta) -> bool:
    """Whether nothing can be recovered without a new base backup, or the newest one is too old."""
    newest, gap = wal_archive.newest_base_at(archive), wal_archive.newest_gap_at(archive)
    return newest is None or now - newest >= every or (gap is not None and gap >= newest)


class BaseBackups:
    """Runs `tollhouse backup base` whenever one is due, until it is stopped."""

    def __init__(self, archive: Path, every: timedelta) -> None:
        self._archive = archive
        self._every = every

    async def keep(self, stop: asyncio.Event) -> None:
        """Look every 10 minutes. What fails is logged, and the service goes on."""
        while not stop.is_set():
            try:
                if is_due(self._archive, clock.now(), self._every):
                    await self._write(stop)
            except (OSError, ValueError) as error:
                log.error("base_backup_failed", folder=str(self._archive), detail=str(error), advice=ADVICE_BASE)
            with suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), CHECK_EVERY_S)

    async def _write(self, stop: asyncio.Event) -> None:
        """Write one, in a process group of its own, which ends with the service. The next one removes what it leaves."""
        child = await asyncio.create_subprocess_exec(
            *COMMAND, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True
        )
        talking, stopping = asyncio.create_task(child.communicate()), asyncio.create_task(stop.wait())
        await asyncio.wait({talking, stopping}, return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        if not talking.done():
            with suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGTERM)
        _, printed = await talking
        if child.returncode == 0:
            log.info("base_backup_written", folder=str(self._archive))
        elif not stop.is_set():
            detail = " ".join(printed.decode(errors="replace").split())[-1_000:]
            log.error("base_backup_failed", folder=str(self._archive), detail=detail, advice=ADVICE_BASE)
