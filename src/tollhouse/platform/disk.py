"""Room on the disks of this machine."""

import shutil
from pathlib import Path
from typing import Literal

from msgspec import Struct

GIB = 1 << 30
FREE_BYTES_LOW, FREE_BYTES_MIN = 5 * GIB, GIB
FREE_PERCENT_LOW = 10


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
