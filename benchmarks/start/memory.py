"""Memory and processor time of a tree of processes, from /proc."""

import os
import re
from collections import Counter
from pathlib import Path

from msgspec import Struct

PSS = re.compile(r"^Pss:\s+(\d+) kB", re.MULTILINE)
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
KIB_PER_MIB = 1024


class Usage(Struct, frozen=True):
    """Memory in MiB by the name of the process, shared pages divided among those that share them; processor time in s."""

    memory_mib: dict[str, float]
    processor_s: float

    @property
    def total_mib(self) -> float:
        """The memory of all processes."""
        return sum(self.memory_mib.values())


def usage(pids: list[int]) -> Usage:
    """What these processes use. Those that have ended are left out."""
    memory: Counter[str] = Counter()
    ticks = 0
    for pid in pids:
        folder = Path(f"/proc/{pid}")
        try:
            rollup, name = (folder / "smaps_rollup").read_text(), (folder / "comm").read_text().strip()
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if found := PSS.search(rollup):
            memory["fork server" if name.startswith(("python", "tollhouse")) else name] += int(found[1])
        ticks += int(fields[11]) + int(fields[12])
    return Usage({name: kib / KIB_PER_MIB for name, kib in sorted(memory.items())}, ticks / TICKS_PER_S)
