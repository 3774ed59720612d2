"""The load: `wrk` where it is installed, otherwise a generator of our own, which costs several times the processor time."""

import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from benchmarks.harness.requests import Wire

CONNECTIONS = 32
SCRIPT = Path(__file__).parent / "wrk.lua"
FOUND = "found"


class Job(Struct, frozen=True):
    """What to send. `renews`: the response holds the item that follows. `once`: an item is good for one request."""

    port: int
    seconds: int
    wire: Wire
    items: Sequence[str]
    renews: bool = False
    once: bool = False

    @property
    def kind(self) -> str:
        """How items are used."""
        return "renews" if self.renews else "once" if self.once else "again"


class Found(Struct, frozen=True):
    """What a generator saw. `spent`: requests for which no item was left."""

    seconds: float
    requests: int
    p50_us: float
    p99_us: float
    failed: int
    spent: int
    failure: str = ""


class Load(Struct, frozen=True):
    """What a round of load was, the processor time of the generator, and the items that are left."""

    found: Found
    used_s: float
    left: list[str]


def generator() -> str:
    """The name of the load generator."""
    return "wrk" if shutil.which("wrk") else "python"


async def load(job: Job) -> Load:
    """Send requests for so long."""
    return await asyncio.to_thread(_load, job)


def _load(job: Job) -> Load:
    with tempfile.TemporaryDirectory(prefix="tollhouse-load-") as name:
        folder = Path(name)
        (folder / "items").write_text("\n".join(item.replace("\r\n", "\t") for item in job.items) + "\n")
        (folder / "before").write_text(job.wire.before, newline="")
        (folder / "after").write_text(job.wire.after, newline="")
        before = os.times()
        # Not the interpreter's own processor time: only that of children that have ended.
        subprocess.run(_words(job, folder), check=True, stdout=subprocess.DEVNULL)  # noqa: S603 - our own scripts
        after = os.times()
        first, _, rest = (folder / FOUND).read_text().partition("\n")
        used_s = after.children_user + after.children_system - before.children_user - before.children_system
        return Load(msgspec.json.decode(first, type=Found), used_s, rest.split())


def _words(job: Job, folder: Path) -> list[str]:
    if generator() == "python":
        words = [job.port, job.seconds, CONNECTIONS, job.kind]
        return [sys.executable, "-m", "benchmarks.harness.generator", str(folder), *map(str, words)]
    return [
        "wrk", "--threads=1", f"--connections={CONNECTIONS}", f"--duration={job.seconds}s", "--timeout=10s",
        f"--script={SCRIPT}", f"http://127.0.0.1:{job.port}/", "--", str(folder), "1", job.kind,
    ]  # fmt: skip
