"""Processor time of processes, from /proc. None where the system has no /proc."""

import os
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")
PROC = Path("/proc")


def used_s(pid: int) -> float:
    """The processor time of a process; 0 if it has ended."""
    try:
        user, system = (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()[11:13]
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    return (int(user) + int(system)) / TICKS


def children(pid: int) -> list[int]:
    """The processes that a process started and that have not ended."""
    try:
        return [
            int(child) for task in (PROC / str(pid) / "task").iterdir() for child in (task / "children").read_text().split()
        ]
    except (FileNotFoundError, ProcessLookupError):
        return []


def is_autovacuum(pid: int) -> bool:
    """Whether this process of a database server vacuums by itself, not for a statement."""
    try:
        return "autovacuum" in (PROC / str(pid) / "cmdline").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


def family(pid: int) -> list[int]:
    """A process and all its descendants."""
    return [pid, *(one for child in children(pid) for one in family(child))]


def server_s(pid: int) -> dict[int, float]:
    """Processor time by process of a server."""
    return {one: used_s(one) for one in family(pid)}


def database_s(postmaster: int) -> dict[int, float]:
    """Processor time by process of a database server, without vacuum that runs by itself."""
    return {one: used_s(one) for one in family(postmaster) if not is_autovacuum(one)}


def between(before: dict[int, float], after: dict[int, float]) -> float:
    """The processor time of all processes between two readings."""
    return sum(max(0.0, used - before.get(pid, 0.0)) for pid, used in after.items())


def is_there() -> bool:
    """Whether the system tells processor time."""
    return (PROC / "self" / "stat").exists()
