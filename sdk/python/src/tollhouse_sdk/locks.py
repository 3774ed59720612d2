"""Locks over processes: on a file, or on a row of a database. They end with the process that holds them."""

import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from tollhouse_sdk.errors import LockTimeout
from tollhouse_sdk.steps import Flow, run, wait

POLL_S = 0.02
POLL_MAX_S = 0.3


class Lock(Protocol):
    """Tried until it is free, so that nothing blocks an event loop."""

    def try_acquire(self) -> bool:
        """Whether it is held now."""
        ...

    def release(self) -> None:
        """Let others have it."""
        ...


def acquired(lock: Lock, timeout_s: float) -> Flow[None]:
    """Wait for the lock; release it by `lock.release()`, whatever happens then."""
    until, pause_s = time.monotonic() + timeout_s, POLL_S
    while not (yield from run(lock.try_acquire)):
        if time.monotonic() > until:
            raise LockTimeout(f"The lock of the tokens was not free within {timeout_s:g} s.")
        yield from wait(pause_s)
        pause_s = min(pause_s * 1.5, POLL_MAX_S)


class MemoryLock:
    """For threads and tasks of one process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def try_acquire(self) -> bool:
        """Whether it is held now."""
        return self._lock.acquire(blocking=False)

    def release(self) -> None:
        """Let others have it."""
        self._lock.release()


class FileLock:
    """A lock on a file, which ends with the process. Make one for each use."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None

    def try_acquire(self) -> bool:
        """Whether it is held now."""
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            _lock(descriptor)
        except OSError:
            os.close(descriptor)
            return False
        self._descriptor = descriptor
        return True

    def release(self) -> None:
        """Let others have it."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


class RowLock:
    """A lock on a row of `tollhouse_locks`, held by a transaction of its own connection. Make one for each use."""

    def __init__(self, connect: Callable[[], Any], name: str, statement: str) -> None:
        self._connect = connect
        self._name = name
        self._statement = statement
        self._connection: Any = None

    def try_acquire(self) -> bool:
        """Whether it is held now."""
        self._connection = self._connect()
        cursor = self._connection.cursor()
        cursor.execute(self._statement, (self._name,))
        if cursor.fetchone() is not None:
            return True
        self.release()
        return False

    def release(self) -> None:
        """Let others have it."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.rollback()
            connection.close()


if sys.platform == "win32":  # pragma: no cover

    def _lock(descriptor: int) -> None:
        import msvcrt  # noqa: PLC0415 - only there

        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
