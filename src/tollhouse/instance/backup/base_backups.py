"""Base backups that the service writes by itself: for a new archive, after a gap in it, and every few days."""

import asyncio
import os
import signal
import subprocess
import sys
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path

from tollhouse.instance.backup import wal_archive
from tollhouse.kernel import clock
from tollhouse.platform.log.events import log

CHECK_EVERY_S = 600
COMMAND = (sys.executable, "-m", "tollhouse", "backup", "base")
ADVICE = "Run `tollhouse backup base`; the service tries again in 10 minutes."


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
                log.error("base_backup_failed", folder=str(self._archive), detail=str(error), advice=ADVICE)
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
            log.error("base_backup_failed", folder=str(self._archive), detail=detail, advice=ADVICE)
