"""One request and its response, with a short way for the usual response: complete, of known length."""

import asyncio
import socket
import struct
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

RESET_AT_CLOSE = struct.pack("ii", 1, 0)
CONTROLS = bytes({*range(0x20), 0x7F} - {0x09})
"""Characters that no header may contain. The ends of lines are two of them."""


class CountedTransport:
    """Delegates to a transport. `written` counts the bytes that were written to it."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self.written = 0
        self.is_closing = transport.is_closing
        self.get_extra_info = transport.get_extra_info
        self.pause_reading = transport.pause_reading
        self.resume_reading = transport.resume_reading

    def write(self, data: bytes) -> None:
        """Write, and count."""
        self.written += len(data)
        self._transport.write(data)

    def end_writing(self) -> None:
        """Half-close: send no more, but read what the client sends."""
        if self._transport.can_write_eof():
            self._transport.write_eof()

    def reset(self) -> None:
        """Close immediately and discard unsent data."""
        connection = self._transport.get_extra_info("socket")
        with suppress(OSError):
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_AT_CLOSE)
        self._transport.abort()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class HttpCycle(RequestResponseCycle):
    """A request and its response. A head waits for the first part of its body; a complete response is one write.

    `running` are the tasks that the server waits for when it stops.
    """

    def __init__(self, running: set[asyncio.Task[None]], **parts: Any) -> None:
        super().__init__(**parts)
        self.task: asyncio.Task[None] | None = None
        self._running = running
        self._head: Any = None

    async def run_asgi(self, app: Any) -> None:
        """Call the application."""
        try:
            await super().run_asgi(app)
        finally:
            if self.task is not None:
                self._running.discard(self.task)

    async def send(self, message: Any) -> None:
        """ASGI: send a part of the response."""
        if self.response_started or self.disconnected or self.flow.write_paused:
            await self._send_slowly(message)
        elif self._head is None and message["type"] == "http.response.start":
            self._head = message
        elif self._head is None or message.get("more_body") or not self._send_whole(self._head, message.get("body", b"")):
            await self._send_slowly(message)

    async def _send_slowly(self, message: Any) -> None:
        if self._head is not None:
            head, self._head = self._head, None
            await super().send(head)
        await super().send(message)

    def _send_whole(self, head: Any, body: bytes) -> bool:
        """Send a response in one write; False if it is not the usual one, or not valid."""
        sent = cast("Sequence[tuple[bytes, bytes]]", head["headers"])
        named = dict(sent)
        if (
            named.get(b"content-length") != b"%d" % len(body)
            or self.scope["method"] == "HEAD"
            or b"transfer-encoding" in named
        ):
            return False
        lines = [b": ".join(header) for header in (*self.default_headers, *sent)]
        text = b"\r\n".join(lines)
        if len(text.translate(None, CONTROLS)) != len(text) - 2 * (len(lines) - 1):
            return False
        self._head = None
        self.response_started = self.response_complete = True
        self.waiting_for_100_continue = False
        says_close = named.get(b"connection", b"").lower() == b"close"
        end = b"\r\n\r\n" if self.keep_alive or says_close else b"\r\nconnection: close\r\n\r\n"
        self.keep_alive = self.keep_alive and not says_close
        self.transport.write(b"".join((STATUS_LINE[head["status"]], text, end, body)))
        self.message_event.set()
        if not self.keep_alive and not self.more_body:
            self.transport.close()
        self.on_response()
        return True
