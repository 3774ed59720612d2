"""This machine and this process: room on its disks, its memory, how freed memory is kept, the name of the process."""

import ctypes
import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Literal

from msgspec import Struct

GIB = 1 << 30
FREE_BYTES_LOW, FREE_BYTES_MIN = 5 * GIB, GIB
FREE_PERCENT_LOW = 10
GROUPS, MEMBERSHIP = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
LIMIT_FILES = ("memory.max", "memory.limit_in_bytes")
"""The limit of a control group, in version 2 and 1."""
M_MMAP_THRESHOLD = -3
LARGE_BYTES = 1024 * 1024
NAME_BYTES_MAX = 15
ARG_START, ARG_END = 48, 49
"""The fields of `/proc/self/stat` with the addresses of the arguments, from 1 (proc(5))."""
FIELDS_OF_NAME = 2


class Disk(Struct, frozen=True):
    """The disk of a folder."""

    folder: Path
    total_bytes: int
    free_bytes: int

    @property
    def state(self) -> Literal["ok", "low", "full"]:
        """`full`: PostgreSQL may stop at any moment."""
        if self.free_bytes < FREE_BYTES_MIN:
            return "full"
        if self.free_bytes < FREE_BYTES_LOW and self.free_bytes * 100 < self.total_bytes * FREE_PERCENT_LOW:
            return "low"
        return "ok"


def disk_of(folder: Path) -> Disk | None:
    """The disk of a folder; None if this machine has no such folder."""
    try:
        total, _, free = shutil.disk_usage(folder)
    except OSError:
        return None
    return Disk(folder, total, free)


def memory_bytes(groups: Path = GROUPS, membership: Path = MEMBERSHIP) -> int:
    """The smallest of the memory of the machine and the limits of the control groups that this process is in."""
    machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return min([machine, *_limits(groups, membership)])


def _limits(groups: Path, membership: Path) -> Iterator[int]:
    try:
        lines = membership.read_text().splitlines()
    except OSError:
        return  # no control groups, as on macOS
    for line in lines:
        _, controllers, own = line.split(":", 2)
        if controllers not in {"", "memory"}:
            continue
        root = groups / controllers
        folder = root / own.lstrip("/")
        for above in (folder, *folder.parents):
            for name in LIMIT_FILES:
                try:
                    text = (above / name).read_text().strip()
                except OSError:
                    continue
                if text.isdigit():
                    yield int(text)
            if above == root:
                break


def return_large_blocks() -> None:
    """Let freed blocks from 1 MiB on go back to the system at once, in this process and its forks.

    By default glibc raises that limit to 32 MiB as such blocks are freed. Hashing passwords then keeps 20 MiB in each of
    its threads.
    """
    with suppress(AttributeError, OSError):  # another C library
        ctypes.CDLL(None).mallopt(M_MMAP_THRESHOLD, LARGE_BYTES)


def set_process_title(name: str) -> None:
    """Name this process. On systems other than Linux nothing happens.

    The title takes the place of the arguments, as long as they are, and a thread's name is short: only `name` is in it.
    """
    with suppress(OSError, ValueError):
        Path("/proc/self/comm").write_bytes(name.encode()[:NAME_BYTES_MAX])
        fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
        start, end = (int(fields[number - 1 - FIELDS_OF_NAME]) for number in (ARG_START, ARG_END))
        if not 0 < start < end:
            return
        title = f"tollhouse: {name}".encode()[: end - start - 1]
        ctypes.memmove(start, title.ljust(end - start, b"\0"), end - start)
