"""Temporary files of tests in memory, where there is plenty: databases are thousands of files, which are soon deleted."""

import atexit
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

ROOT, NAME = Path("/dev/shm"), "tollhouse-tests-"  # noqa: S108 - the file system in memory that Linux has
FREE_MIN_BYTES = 6 << 30
"""What the processes of a run may need together. A database takes 20 MB."""


def use() -> None:
    """Let this process and those that it starts have their temporary files there, unless `TMPDIR` says where."""
    if "TMPDIR" not in os.environ and _has_room():
        clear()
        folder = ROOT / f"{NAME}{os.getpid()}"
        folder.mkdir(exist_ok=True)
        folder.chmod(0o1777)
        atexit.register(clear)
        os.environ["TMPDIR"] = tempfile.tempdir = str(folder)


def clear() -> None:
    """Delete the files of this process, and those of runs that were killed."""
    for folder in ROOT.glob(f"{NAME}*"):
        pid = int(folder.name.removeprefix(NAME))
        if pid == os.getpid() or not Path(f"/proc/{pid}").exists():
            shutil.rmtree(folder, ignore_errors=True)


def _has_room() -> bool:
    with suppress(OSError):
        can_execute = not os.statvfs(ROOT).f_flag & os.ST_NOEXEC
        return can_execute and os.access(ROOT, os.W_OK) and min(shutil.disk_usage(ROOT).free, _free_bytes()) > FREE_MIN_BYTES
    return False


def _free_bytes() -> int:
    """Memory that is to be had without swapping."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:"))
