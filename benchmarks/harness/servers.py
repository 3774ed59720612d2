"""The servers as processes of their own."""

import base64
import http.client
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

STARTS_WITHIN_S = 60
KEYS = (("bench", secrets.token_bytes(32)),)
SECRET_KEYS = ",".join(f"{name}:{base64.urlsafe_b64encode(key).decode().rstrip('=')}" for name, key in KEYS)


class Server(Struct, frozen=True):
    """A running server: its port, and the process that started all others of it."""

    port: int
    pid: int


@contextmanager
def product(dsn: str, processes: int = 1) -> Iterator[Server]:
    """The web processes, logging JSON, counting requests without ever refusing one. The worker is measured elsewhere."""
    settings = {"DATABASE_URL": dsn, "TOLLHOUSE_SECRET_KEYS": SECRET_KEYS, "TOLLHOUSE_RATE_API": str(10**9)}
    words = [sys.executable, "-m", "tollhouse", "web", "--workers", str(processes), "--port", "{port}"]
    with started(words, settings) as server:
        yield server


@contextmanager
def onetrip(dsn: str, setup: Path, processes: int = 1) -> Iterator[Server]:
    """The floor, which makes the calls that the file describes."""
    words = [sys.executable, "-m", "benchmarks.harness.onetrip", dsn, "{port}", str(setup), str(processes)]
    with started(words, {}) as server:
        yield server


@contextmanager
def started(
    words: Sequence[str], environment: dict[str, str], *, folder: Path | None = None, path: str = "/healthz"
) -> Iterator[Server]:
    """A program with `{port}` replaced by a free port, once it responds."""
    port = free_port()
    outside = {name: value for name, value in os.environ.items() if not name.startswith(("TOLLHOUSE_", "DATABASE_URL"))}
    child = subprocess.Popen(  # noqa: S603 - our own modules
        [word.replace("{port}", str(port)) for word in words],
        env=outside | environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=None if os.environ.get("BENCHMARKS_SHOW_ERRORS") else subprocess.DEVNULL,
        cwd=folder,
        start_new_session=True,
    )
    try:
        _wait_for(port, child, path)
        yield Server(port, child.pid)
    finally:
        os.killpg(child.pid, signal.SIGTERM)
        child.wait()


def _wait_for(port: int, child: "subprocess.Popen[bytes]", path: str) -> None:
    """Until it responds: a supervisor listens before its web process is there."""
    until = time.monotonic() + STARTS_WITHIN_S
    while time.monotonic() < until and child.poll() is None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=STARTS_WITHIN_S)
        try:
            connection.request("GET", path)
            connection.getresponse().read()
        except OSError:
            time.sleep(0.05)
        else:
            return
        finally:
            connection.close()
    raise RuntimeError(f"a server did not start: {child.args}")


def free_port() -> int:
    """A port that nobody uses."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
