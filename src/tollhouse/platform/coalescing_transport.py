"""The transport of a connection as the server writes to it: the head of a response leaves together with its body.

Written apart they are two packets, and the second waits where `TCP_NODELAY` is not set for an acknowledgement that the
client delays by 40 ms.
"""

import asyncio
import socket
import struct
from contextlib import suppress
from typing import Any

INTERIM = b"HTTP/1.1 100 "
RESET_AT_CLOSE = struct.pack("ii", 1, 0)


class CoalescingTransport:
    """Delegates to a transport. `written` counts the bytes that were written to it."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._head: bytes | None = None
        self._head_is_next = True
        self.written = 0
        self.is_closing = transport.is_closing
        self.get_extra_info = transport.get_extra_info
        self.pause_reading = transport.pause_reading
        self.resume_reading = transport.resume_reading

    def write(self, data: bytes) -> None:
        """Keep the head of a response until what follows it; write anything else."""
        self.written += len(data)
        if self._head is not None:
            data, self._head = self._head + data, None
        elif self._head_is_next and not data.startswith(INTERIM):
            self._head, self._head_is_next = data, False
            return
        self._transport.write(data)

    def flush(self) -> None:
        """Write a head that nothing follows."""
        if self._head is not None:
            head, self._head = self._head, None
            self._transport.write(head)

    def end_response(self) -> None:
        """The response is complete: the next write is the head of the next one."""
        self.flush()
        self._head_is_next = True

    def close(self) -> None:
        """Close, after everything that was written has been sent."""
        self.flush()
        self._transport.close()

    def end_writing(self) -> None:
        """Tell the client that nothing follows, and still read what it sends."""
        self.flush()
        if self._transport.can_write_eof():
            self._transport.write_eof()

    def reset(self) -> None:
        """Close at once, and have the system forget what it still had to send."""
        connection = self._transport.get_extra_info("socket")
        with suppress(OSError):
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_AT_CLOSE)
        self._transport.abort()

    def waiting_bytes(self) -> int:
        """How much of what was written the client has not taken yet."""
        return self._transport.get_write_buffer_size() + (0 if self._head is None else len(self._head))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)
