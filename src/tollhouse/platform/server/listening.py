"""Listening sockets, bound before anything is started and inherited by web processes, and whether a process is to stop."""

import errno
import os
import socket
import time
from typing import cast

from msgspec import Struct

from tollhouse.platform.failure import Failure

BACKLOG = 2048
STOPPING = "stopping"
"""The name, in the state of the application, of the event that requests end at that wait for something."""


class ListenError(Failure):
    """The address cannot be used; the text says why and what to do."""


def bind(host: str, port: int, change: str = "--port {port}") -> socket.socket:
    """A bound TCP socket that does not listen yet. Raises `ListenError`, which says to `change` the port."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise ListenError(_explain(error, host, port, change)) from None
    return listener


def open_listening(host: str, port: int, change: str) -> socket.socket:
    """A socket that listens. Raises `ListenError`."""
    listener = bind(host, port, change)
    try:
        listen(listener, change)
    except ListenError:
        listener.close()
        raise
    return listener


def listen(listener: socket.socket, change: str = "--port {port}") -> None:
    """Start listening. Raises `ListenError` if another process has listened there since it was bound."""
    try:
        listener.listen(BACKLOG)
    except OSError as error:
        host, port = cast("tuple[str, int]", listener.getsockname()[:2])
        raise ListenError(_explain(error, host, port, change)) from None


def text(address: tuple[str, int]) -> str:
    """An address and its port as in settings."""
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def inherited_socket(descriptor: int) -> socket.socket:
    """The listening socket of a supervisor with this descriptor, with its address family.

    A duplicate, as a fork also has the supervisor's. `uvicorn --fd` treats it as a Unix socket and does not set
    `TCP_NODELAY` on its connections.
    """
    return socket.socket(fileno=os.dup(descriptor))


def _explain(error: OSError, host: str, port: int, change: str) -> str:
    if error.errno == errno.EADDRINUSE:
        return (
            f"Port {port} on {host} is already in use, perhaps by another Tollhouse process. Stop that program, "
            f"or choose another port, for example {change.format(port=port + 1)}."
        )
    if error.errno == errno.EACCES:
        return f"Port {port} on {host} is reserved for the system administrator. Choose a port above 1023, for example 8000."
    return (
        f"Cannot listen on {host}, port {port}: {error.strerror or error}. Check {change.partition(' ')[0]} and the address."
    )


class Draining(Struct):
    """When the process stops answering, by the monotonic clock; None while nobody has asked it to stop."""

    ends_at_ns: int | None = None

    @property
    def has_begun(self) -> bool:
        """Whether the process was asked to stop."""
        return self.ends_at_ns is not None

    @property
    def is_over(self) -> bool:
        """Whether it may stop now."""
        return self.ends_at_ns is not None and time.monotonic_ns() >= self.ends_at_ns

    def begin(self, seconds: int) -> None:
        """Stop in so many seconds."""
        self.ends_at_ns = time.monotonic_ns() + seconds * 1_000_000_000


DRAINING = Draining()
"""That of this process."""
