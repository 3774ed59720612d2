"""A transport that sends the head of a response together with its body.

Written separately they are two packets, and without `TCP_NODELAY` the second one waits for an acknowledgement that the
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
        """Buffer the head of a response; write anything else together with it."""
        self.written += len(data)
        if self._head is not None:
            data, self._head = self._head + data, None
        elif self._head_is_next and not data.startswith(INTERIM):
            self._head, self._head_is_next = data, False
            return
        self._transport.write(data)

    def write_response(self, data: bytes) -> None:
        """Write a complete response: its head and its body."""
        self.written += len(data)
        self._transport.write(data)

    def flush(self) -> None:
        """Write a head without a body."""
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
        """Half-close: send no more, but read what the client sends."""
        self.flush()
        if self._transport.can_write_eof():
            self._transport.write_eof()

    def reset(self) -> None:
        """Close immediately and discard unsent data."""
        connection = self._transport.get_extra_info("socket")
        with suppress(OSError):
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_AT_CLOSE)
        self._transport.abort()

    def waiting_bytes(self) -> int:
        """The number of written bytes that the client has not received yet."""
        return self._transport.get_write_buffer_size() + (0 if self._head is None else len(self._head))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)
