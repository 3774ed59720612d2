"""Wakes the workers of this host: datagrams to sockets in the data folder, best effort.

A datagram says nothing but that there may be work. Where none arrives, as on another host, work is found by polling.
"""

import asyncio
import os
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, lru_cache
from pathlib import Path

FOLDER = "workers"
FIND_EVERY_S = 1
DATAGRAMS_AT_ONCE = 64
IS_SUPPORTED = sys.platform != "win32"


@contextmanager
def listen(data_dir: Path, wake: Callable[[], None]) -> Iterator[None]:
    """Call `wake` in this event loop when work may have come. Without a data folder it is never called."""
    path = data_dir / FOLDER / f"{os.getpid()}.sock"
    listening = _bind(path) if IS_SUPPORTED and data_dir.is_dir() else None
    if listening is None:
        yield
        return
    loop = asyncio.get_running_loop()
    loop.add_reader(listening, _receive, listening, wake)
    try:
        yield
    finally:
        loop.remove_reader(listening)
        listening.close()
        path.unlink(missing_ok=True)


@lru_cache(maxsize=8)
def wakeups(data_dir: Path) -> "Wakeups":
    """The sender of this process for a data folder."""
    return Wakeups(data_dir)


class Wakeups:
    """Sends to the workers that listen in a data folder."""

    def __init__(self, data_dir: Path) -> None:
        self._folder = data_dir / FOLDER
        self._workers: list[str] = []
        self._find_at_ns = 0

    def send(self) -> None:
        """Wake all. Never waits, never fails."""
        if time.monotonic_ns() >= self._find_at_ns:
            self._find()
        for path in self._workers:
            try:
                _sending().sendto(b"", path)
            except ConnectionRefusedError:  # of a worker that was killed
                with suppress(OSError):
                    Path(path).unlink()
            except OSError:
                pass  # it ended, or has not read the last ones yet

    def _find(self) -> None:
        self._find_at_ns = time.monotonic_ns() + FIND_EVERY_S * 1_000_000_000
        self._workers = []
        with suppress(OSError):
            if IS_SUPPORTED:
                self._workers = [entry.path for entry in os.scandir(self._folder) if entry.name.endswith(".sock")]


@cache
def _sending() -> socket.socket:
    """The socket that this process sends from."""
    opened = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    opened.setblocking(False)
    return opened


def _bind(path: Path) -> socket.socket | None:
    """A socket at this path; None where it cannot be, such as on a file system without sockets, or with a long path."""
    opened = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        opened.setblocking(False)
        path.parent.mkdir(mode=0o700, exist_ok=True)
        path.unlink(missing_ok=True)  # of a process that was killed and had the same number
        opened.bind(str(path))
    except OSError:
        opened.close()
        return None
    return opened


def _receive(listening: socket.socket, wake: Callable[[], None]) -> None:
    """Read what has arrived, at most so much at once."""
    with suppress(OSError):
        for _ in range(DATAGRAMS_AT_ONCE):
            listening.recv(1)
    wake()
