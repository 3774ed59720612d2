"""The servers as processes of their own: the product as it runs in production, and the bare application."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

STARTS_WITHIN_S = 30


@contextmanager
def product(dsn: str, secret_keys: str) -> Iterator[int]:
    """`tollhouse web`, one worker, logging JSON, counting requests without ever refusing one; its port."""
    port = _free_port()
    settings = {"DATABASE_URL": dsn, "TOLLHOUSE_SECRET_KEYS": secret_keys, "TOLLHOUSE_RATE_API": str(10**9)}
    with _running(port, ["tollhouse", "web", "--port", str(port)], settings):
        yield port


@contextmanager
def bare(dsn: str, folder: Path) -> Iterator[int]:
    """The bare application, which says what the traces in the folder say; its port."""
    port = _free_port()
    with _running(port, ["benchmarks.money.bare", dsn, str(port), str(folder)], {}):
        yield port


@contextmanager
def _running(port: int, module: list[str], settings: dict[str, str]) -> Iterator[None]:
    outside = {name: value for name, value in os.environ.items() if not name.startswith(("TOLLHOUSE_", "DATABASE_URL"))}
    quiet = subprocess.DEVNULL
    child = subprocess.Popen(  # noqa: S603 - our own modules
        [sys.executable, "-m", *module], env=outside | settings, stdin=quiet, stdout=quiet, stderr=quiet
    )
    try:
        until = time.monotonic() + STARTS_WITHIN_S
        while not _answers(port):
            if time.monotonic() > until or child.poll() is not None:
                raise RuntimeError("a server did not start")
            time.sleep(0.05)
        yield
    finally:
        child.send_signal(signal.SIGTERM)
        child.wait()


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
