"""The processes: the receiver, the worker as it runs in production, and the floors."""

import base64
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
SECRET_KEYS = "k:" + base64.urlsafe_b64encode(bytes(range(32))).decode().rstrip("=")


def settings(dsn: str, data_dir: Path) -> dict[str, str]:
    """The environment of every process. In the data folder a commit wakes the worker."""
    return {
        "DATABASE_URL": dsn,
        "TOLLHOUSE_DATA_DIR": str(data_dir),
        "TOLLHOUSE_SECRET_KEYS": SECRET_KEYS,
        "TOLLHOUSE_WEBHOOK_ALLOWED_NETWORKS": "127.0.0.0/8",
    }


@contextmanager
def receiver() -> Iterator[int]:
    """The receiver; its port."""
    port = _free_port()
    with _running(["benchmarks.webhooks.receiver", str(port)], {}):
        until = time.monotonic() + STARTS_WITHIN_S
        while not _answers(port):
            if time.monotonic() > until:
                raise RuntimeError("the receiver did not start")
            time.sleep(0.05)
        yield port


@contextmanager
def worker(environment: dict[str, str]) -> Iterator[None]:
    """`tollhouse worker`, logging JSON."""
    with _running(["tollhouse", "worker"], environment):
        yield


@contextmanager
def queue(environment: dict[str, str]) -> Iterator[None]:
    """The worker without its calls."""
    with _running(["benchmarks.webhooks.floors", "queue"], environment):
        yield


def client_per_s(environment: dict[str, str], port: int, calls: int, count: int) -> float:
    """Requests a second of the client alone."""
    done = subprocess.run(  # noqa: S603 - our own module
        [sys.executable, "-m", "benchmarks.webhooks.floors", "client", str(port), str(calls), str(count)],
        env=_outside() | environment,
        stdout=subprocess.PIPE,
        check=True,
    )
    return float(done.stdout)


@contextmanager
def _running(module: list[str], environment: dict[str, str]) -> Iterator[None]:
    quiet = subprocess.DEVNULL
    child = subprocess.Popen(  # noqa: S603 - our own modules
        [sys.executable, "-m", *module], env=_outside() | environment, stdin=quiet, stdout=quiet, stderr=quiet
    )
    try:
        yield
    finally:
        child.send_signal(signal.SIGTERM)
        child.wait()


def _outside() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith(("TOLLHOUSE_", "DATABASE_URL"))}


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
