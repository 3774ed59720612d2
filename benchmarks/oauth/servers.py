"""The processes: the product as it runs in production, the bare application, and the load generator."""

import asyncio
import base64
import http.client
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

from benchmarks.oauth.actions import Job, Load
from benchmarks.oauth.seed import KEYS

STARTS_WITHIN_S = 60


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
    """The service as a user starts it: `tollhouse serve`, one web process, logging JSON."""
    keys = ",".join(f"{name}:{base64.urlsafe_b64encode(key).decode().rstrip('=')}" for name, key in KEYS)
    settings = {"DATABASE_URL": dsn, "TOLLHOUSE_SECRET_KEYS": keys}
    with started(["tollhouse", "serve", "--port"], settings) as server:
        yield server


@contextmanager
def bare(dsn: str) -> Iterator[Server]:
    """The bare application."""
    with started(["benchmarks.oauth.bare", dsn], {}) as server:
        yield server


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
def started(module: list[str], environment: dict[str, str], *more: str) -> Iterator[Server]:
    """A module of ours as a process, given these words, a free port, and more words, once it answers."""
    port = _free_port()
    outside = {name: value for name, value in os.environ.items() if not name.startswith(("TOLLHOUSE_", "DATABASE_URL"))}
    child = subprocess.Popen(  # noqa: S603 - our own modules
        [sys.executable, "-m", *module, str(port), *more],
        env=outside | environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait_for(port, child)
        yield Server(port, _web_of(child.pid))
    finally:
        child.send_signal(signal.SIGTERM)
        child.wait()


def _wait_for(port: int, child: "subprocess.Popen[bytes]") -> None:
    """Until it answers anything: a supervisor listens before its web process is there."""
    until = time.monotonic() + STARTS_WITHIN_S
    while time.monotonic() < until and child.poll() is None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=STARTS_WITHIN_S)
        try:
            connection.request("GET", "/healthz")
            connection.getresponse().read()
        except OSError:
            time.sleep(0.05)
        else:
            return
        finally:
            connection.close()
    raise RuntimeError("a server did not start")


def _web_of(pid: int) -> int:
    """The web process of a supervisor; the process itself where it has none."""
    children = Path(f"/proc/{pid}/task/{pid}/children")
    for child in children.read_text().split() if children.exists() else ():
        if "\0web\0" in Path(f"/proc/{child}/cmdline").read_text():
            return int(child)
    return pid


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
