"""The processes: the product as it runs in production, the bare application, and the load generator."""

import asyncio
import base64
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from msgspec import Struct

from benchmarks.oauth.deeds import Job, Load
from benchmarks.oauth.seed import KEYS

STARTS_WITHIN_S = 30


class Server(Struct, frozen=True):
    """A running server process."""

    port: int
    pid: int

    def cpu_s(self) -> float | None:
        """The processor time it has used; None where the system does not tell so."""
        stat = Path(f"/proc/{self.pid}/stat")
        if not stat.exists():
            return None
        user, system = stat.read_text().rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


@contextmanager
def product(dsn: str) -> Iterator[Server]:
    """`tollhouse web`, one worker, logging JSON."""
    port = _free_port()
    keys = ",".join(f"{name}:{base64.urlsafe_b64encode(key).decode().rstrip('=')}" for name, key in KEYS)
    with _running(port, "tollhouse", "web", "--port", str(port), DATABASE_URL=dsn, TOLLHOUSE_SECRET_KEYS=keys) as pid:
        yield Server(port, pid)


@contextmanager
def bare(dsn: str) -> Iterator[Server]:
    """The bare application."""
    port = _free_port()
    with _running(port, "benchmarks.oauth.bare", dsn, str(port)) as pid:
        yield Server(port, pid)


async def load(job: Job) -> Load:
    """Have the load generator do this. Its answer goes through a file: it is long, and a pipe would make it wait."""
    with tempfile.TemporaryFile() as answer:
        await asyncio.to_thread(
            subprocess.run,
            [sys.executable, "-m", "benchmarks.oauth.load"],
            input=msgspec.json.encode(job),
            stdout=answer,
            check=True,
        )
        answer.seek(0)
        return msgspec.json.decode(answer.read(), type=Load)


@contextmanager
def _running(port: int, *module: str, **environment: str) -> Iterator[int]:
    outside = {name: value for name, value in os.environ.items() if not name.startswith(("TOLLHOUSE_", "DATABASE_URL"))}
    child = subprocess.Popen(  # noqa: S603 - our own modules
        [sys.executable, "-m", *module],
        env=outside | environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait_for(port, child)
        yield child.pid
    finally:
        child.send_signal(signal.SIGTERM)
        child.wait()


def _wait_for(port: int, child: "subprocess.Popen[bytes]") -> None:
    until = time.monotonic() + STARTS_WITHIN_S
    while time.monotonic() < until and child.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise RuntimeError("a server did not start")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
