"""HTTP on one kept connection, and nothing more: for tests that ask a hundred thousand things, one after the other."""

import socket
import time
from typing import NamedTuple

from starlette.datastructures import Headers

IDLE_S = 2.0
"""The server closes a connection that was idle for longer, about."""
READ = 65_536


class Answered(NamedTuple):
    """What came back."""

    status: int
    headers: Headers
    raw: bytes


class Wire:
    """A connection to a service of this machine."""

    def __init__(self, url: str) -> None:
        self._host = url.removeprefix("http://")
        self._socket: socket.socket | None = None
        self._idle_since = 0.0

    def close(self) -> None:
        """Hang up."""
        if self._socket is not None:
            self._socket.close()
        self._socket = None

    def request(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> Answered:
        """One request and its answer, whose length is told by a header."""
        if time.monotonic() - self._idle_since > IDLE_S:
            self.close()
        if self._socket is None:
            name, _, port = self._host.rpartition(":")
            self._socket = socket.create_connection((name, int(port)))
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        said = {"Host": self._host, **headers}
        if body is not None or method == "POST":
            said["Content-Length"] = str(len(body or b""))
        lines = "".join(f"{name}: {value}\r\n" for name, value in said.items())
        self._socket.sendall(f"{method} {path} HTTP/1.1\r\n{lines}\r\n".encode() + (body or b""))
        answered = _read(self._socket)
        if answered.headers.get("connection") == "close":
            self.close()
        self._idle_since = time.monotonic()
        return answered


def _read(line: socket.socket) -> Answered:
    raw = b""
    while b"\r\n\r\n" not in raw:
        raw += _some(line)
    head, _, rest = raw.partition(b"\r\n\r\n")
    first, *reported = head.split(b"\r\n")
    pairs = [(name.lower(), value.strip()) for name, _, value in (each.partition(b":") for each in reported)]
    status, headers = int(first.split(b" ", 2)[1]), Headers(raw=pairs)
    length = int(headers.get("content-length", "0"))
    while len(rest) < length:
        rest += _some(line)
    return Answered(status, headers, rest)


def _some(line: socket.socket) -> bytes:
    part = line.recv(READ)
    if not part:
        raise ConnectionError("the server hung up")
    return part
