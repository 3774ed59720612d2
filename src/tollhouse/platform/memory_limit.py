"""How much memory this process may use: that of the machine, or less in a container or a systemd unit."""

import os
from collections.abc import Iterator
from pathlib import Path

GROUPS, MEMBERSHIP = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
LIMIT_FILES = ("memory.max", "memory.limit_in_bytes")
"""The limit of a control group, in version 2 and 1."""


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
