"""The service as its own processes, started as the README says, to be stopped and killed."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Self

import aiohttp

from tests.running import free_port

STARTS_WITHIN_S = 60


class Serving:
    """`tollhouse serve`, or other words, in a data folder, in processes of its own."""

    def __init__(self, data_dir: Path, *words: str, **environment: str) -> None:
        self._words = words or ("serve",)
        self.port = free_port()
        self.url = f"http://localhost:{self.port}"
        self.data_dir = data_dir
        self._environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("TOLLHOUSE_", "DATABASE_URL", "NOTIFY"))
        } | {
            "TOLLHOUSE_DATA_DIR": str(data_dir),
            "TOLLHOUSE_WEBHOOK_ALLOWED_NETWORKS": "127.0.0.0/8",
            **environment,
        }
        self.process: subprocess.Popen[bytes] | None = None

    async def start(self) -> Self:
        """Start, and wait until it is ready."""
        with (self.data_dir / "serve.log").open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tollhouse", *self._words, "--port", str(self.port)],
                env=self._environment,
                cwd=self.data_dir,
                stdout=log,
                stderr=log,
            )
        async with aiohttp.ClientSession() as http:
            until = time.monotonic() + STARTS_WITHIN_S
            while time.monotonic() < until:
                assert self.process.poll() is None, (self.data_dir / "serve.log").read_text()
                try:
                    async with http.get(f"{self.url}/readyz") as answer:
                        if answer.status == 200:
                            return self
                except aiohttp.ClientError:
                    pass
                await asyncio.sleep(0.05)
        raise AssertionError((self.data_dir / "serve.log").read_text())

    @property
    def said(self) -> str:
        """What it has logged so far."""
        return (self.data_dir / "serve.log").read_text()

    def tree(self) -> list[int]:
        """The process ids of the service: supervisor, web, worker, database and its own."""
        assert self.process is not None
        return [self.process.pid, *below(self.process.pid)]

    def part(self, name: str) -> int:
        """The process id of the `web` or the `worker`."""
        return next(pid for pid in self.tree() if is_part(pid, name))

    def kill(self) -> None:
        """Kill -9 of everything at once, the database included."""
        assert self.process is not None
        pids = self.tree()
        for pid in pids:
            with suppress(ProcessLookupError):  # it ended because the one before it did
                os.kill(pid, signal.SIGKILL)
        self.process.wait()

    def stop(self) -> list[int]:
        """Ctrl-C; the process ids that are left behind."""
        assert self.process is not None
        pids = self.tree()
        self.process.send_signal(signal.SIGINT)
        self.process.wait(30)
        return [pid for pid in pids if alive(pid)]


def _listed() -> dict[int, tuple[int, str, str]]:
    """Every process: its parent, its state and its command, with NULs between the words."""
    if Path("/proc/self/stat").exists():
        return dict(_from_proc())
    listed = subprocess.run(["ps", "-A", "-o", "pid=,ppid=,stat=,args="], capture_output=True, text=True, check=True).stdout
    rows = [line.split(None, 3) for line in listed.splitlines()]
    return {int(row[0]): (int(row[1]), row[2], row[3].replace(" ", "\0")) for row in rows if len(row) > 3}


def _from_proc() -> Iterator[tuple[int, tuple[int, str, str]]]:
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                state, parent = (folder / "stat").read_text().rpartition(")")[2].split()[:2]
                yield int(folder.name), (int(parent), state, (folder / "cmdline").read_text())
            except (FileNotFoundError, ProcessLookupError):
                continue


def below(pid: int) -> list[int]:
    """The process ids of its children, and theirs."""
    listed = _listed()
    found: list[int] = []
    todo = [pid]
    while todo:
        above = todo.pop()
        below = [child for child, (parent, _, _) in listed.items() if parent == above]
        found += below
        todo += below
    return found


def is_part(pid: int, name: str) -> bool:
    """Whether this process is the `web` or the `worker`: a fork with this name, or a process started as such."""
    _, state, command = _listed().get(pid, (0, "Z", ""))
    return not state.startswith("Z") and (_name(pid).split()[:1] == [name] or f"tollhouse\0{name}" in command)


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def alive(pid: int) -> bool:
    """Whether this process runs; one that is dead and not yet buried does not."""
    return not _listed().get(pid, (0, "Z", ""))[1].startswith("Z")
