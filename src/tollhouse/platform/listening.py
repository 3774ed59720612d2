"""Listening sockets: bound before anything is started, and inherited by web processes."""

import errno
import os
import socket
from typing import cast

from tollhouse.platform.failure import Failure

BACKLOG = 2048


class ListenError(Failure):
    """The address cannot be used; the text says why and what to do."""


def bind(host: str, port: int) -> socket.socket:
    """A bound TCP socket that does not listen yet. Raises `ListenError`."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise ListenError(_explain(error, host, port)) from None
    return listener


def listen(listener: socket.socket) -> None:
    """Start listening. Raises `ListenError` if another process has listened there since it was bound."""
    try:
        listener.listen(BACKLOG)
    except OSError as error:
        host, port = cast("tuple[str, int]", listener.getsockname()[:2])
        raise ListenError(_explain(error, host, port)) from None


def inherited_socket(descriptor: int) -> socket.socket:
    """The listening socket of a supervisor with this descriptor, with its address family.

    A duplicate, as a fork also has the supervisor's. `uvicorn --fd` treats it as a Unix socket and does not set
    `TCP_NODELAY` on its connections.
    """
    return socket.socket(fileno=os.dup(descriptor))


def _explain(error: OSError, host: str, port: int) -> str:
    if error.errno == errno.EADDRINUSE:
        return (
            f"Port {port} on {host} is already in use, perhaps by another Tollhouse process. Stop that program, "
            f"or choose another port, for example --port {port + 1}."
        )
    if error.errno == errno.EACCES:
        return f"Port {port} on {host} is reserved for the system administrator. Choose a port above 1023, for example 8000."
    return f"Cannot listen on {host}, port {port}: {error.strerror or error}. Check --host and --port."
