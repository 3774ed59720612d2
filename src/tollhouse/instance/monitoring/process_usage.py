"""Processor time and memory of a process, where the system has /proc."""

import os
from pathlib import Path

from msgspec import Struct

USER_TIME, SYSTEM_TIME, RESIDENT_PAGES = 11, 12, 21
"""Fields of /proc/PID/stat after the name."""


class Usage(Struct, frozen=True):
    """What a process has used: seconds of processor time, and bytes of memory now."""

    cpu_s: float
    memory_bytes: int


def usage_of(pid: int) -> Usage | None:
    """The usage of a process; None if it has ended or the system does not say."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    ticks = int(fields[USER_TIME]) + int(fields[SYSTEM_TIME])
    return Usage(ticks / os.sysconf("SC_CLK_TCK"), int(fields[RESIDENT_PAGES]) * os.sysconf("SC_PAGE_SIZE"))
