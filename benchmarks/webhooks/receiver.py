"""A receiver that answers at once, and remembers when each event came: `python -m benchmarks.webhooks.receiver PORT`.

`GET /` tells the moments since the last time it was asked, by the clock that all processes of a machine share.
"""

import asyncio
import sys
import time

import msgspec
import uvloop

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
EVENT_ID, LENGTH = b"x-service-event-id: ", b"content-length: "


class Receiver(asyncio.Protocol):
    """One connection."""

    arrived: dict[str, int] = {}  # noqa: RUF012 - of all connections

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Somebody called."""
        self._transport, self._read = transport, b""

    def data_received(self, data: bytes) -> None:
        """Answer every request that is whole."""
        self._read += data
        while (end := self._read.find(b"\r\n\r\n")) >= 0:
            head = self._read[:end].lower() + b"\r\n"
            length = int(_field(head, LENGTH) or 0)
            if len(self._read) < end + 4 + length:
                return
            self._read = self._read[end + 4 + length :]
            self._transport.write(self._answer(head))  # type: ignore[attr-defined]

    def _answer(self, head: bytes) -> bytes:
        if head.startswith(b"get"):
            reported = msgspec.json.encode(self.arrived)
            self.arrived.clear()
            return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(reported), reported)
        self.arrived.setdefault(_field(head, EVENT_ID).decode(), time.monotonic_ns())
        return OK


def _field(head: bytes, name: bytes) -> bytes:
    begin = head.find(b"\r\n" + name)
    return head[begin + 2 + len(name) : head.find(b"\r\n", begin + 2)] if begin >= 0 else b""


async def _serve(port: int) -> None:
    server = await asyncio.get_running_loop().create_server(Receiver, "0.0.0.0", port, backlog=1024)  # noqa: S104
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(_serve(int(sys.argv[1])))
