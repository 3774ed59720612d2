"""A look at the sockets of another process (Linux): its end of a connection of ours, duplicated into this process."""

import ctypes
import os
import socket
import sys
from pathlib import Path

PIDFD_GETFD = 438
"""The same number on every architecture."""
_LIBC = ctypes.CDLL(None, use_errno=True)


def accepted_by(pid: int, ours: socket.socket) -> socket.socket:
    """The other end of our connection, which this process accepted. Raises `LookupError` where it did not."""
    pidfd = _pidfd_open(pid)
    try:
        for link in Path(f"/proc/{pid}/fd").iterdir():
            if not str(link.readlink()).startswith("socket:"):
                continue
            copy = _LIBC.syscall(PIDFD_GETFD, pidfd, int(link.name), 0)
            if copy < 0:
                raise OSError(ctypes.get_errno(), "pidfd_getfd")
            theirs = socket.socket(fileno=copy)
            if _peer(theirs) == ours.getsockname():
                return theirs
            theirs.close()
    finally:
        os.close(pidfd)
    raise LookupError(pid)


def _pidfd_open(pid: int) -> int:
    assert sys.platform == "linux"
    return os.pidfd_open(pid)


def _peer(one: socket.socket) -> object:
    try:
        return one.getpeername()
    except OSError:
        return None  # it listens
