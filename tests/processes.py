"""The service as its own processes, started as the README says, to be stopped and killed."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Self

import aiohttp

from tests.service import free_port

STARTS_WITHIN_S = 60


class Serving:
    """`tollhouse serve` in a data folder, in processes of its own."""

    def __init__(self, data_dir: Path, **environment: str) -> None:
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
                [sys.executable, "-m", "tollhouse", "serve", "--port", str(self.port)],
                env=self._environment,
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

    def tree(self) -> list[int]:
        """The process ids of the service: supervisor, web, worker, database and its own."""
        assert self.process is not None
        return [self.process.pid, *_below(self.process.pid)]

    def part(self, name: str) -> int:
        """The process id of the `web` or the `worker`."""
        return next(pid for pid in self.tree() if f"tollhouse\0{name}" in _command(pid))

    def kill(self) -> None:
        """Kill -9 of everything at once, the database included."""
        assert self.process is not None
        pids = self.tree()
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        self.process.wait()

    def stop(self) -> list[int]:
        """Ctrl-C; the process ids that are left behind."""
        assert self.process is not None
        pids = self.tree()
        self.process.send_signal(signal.SIGINT)
        self.process.wait(30)
        return [pid for pid in pids if _alive(pid)]


def _below(pid: int) -> list[int]:
    listed = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
    children: dict[int, list[int]] = {}
    for line in listed.splitlines():
        child, parent = map(int, line.split())
        children.setdefault(parent, []).append(child)
    found: list[int] = []
    todo = [pid]
    while todo:
        below = children.get(todo.pop(), [])
        found += below
        todo += below
    return found


def _command(pid: int) -> str:
    listed = subprocess.run(["ps", "-o", "args=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout
    return listed.replace(" ", "\0")


def _alive(pid: int) -> bool:
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout
    return bool(state.strip()) and not state.startswith("Z")
