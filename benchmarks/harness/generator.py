"""The load generator where wrk is not installed: keep-alive connections that send the next request after each response.

`python -m benchmarks.harness.generator FOLDER PORT SECONDS CONNECTIONS KIND`. It reads just enough HTTP to find where a
response ends.
"""

import asyncio
import gc
import re
import sys
import time
from array import array
from pathlib import Path
from typing import Any

import msgspec
import uvloop

from benchmarks.harness.load import FOUND, Found

LENGTH = re.compile(rb"\r\ncontent-length: (\d+)\r\n", re.IGNORECASE)
RENEWED = re.compile(rb'"refresh_token":\s*"([^"]+)"')
END = b"\r\n\r\n"


class Connection(asyncio.Protocol):
    """One keep-alive connection, and the items that are its own."""

    def __init__(self, wire: tuple[bytes, bytes], kind: str, items: list[bytes], until: float) -> None:
        self.wire, self.kind, self.items, self.until = wire, kind, items, until
        self.place, self.sent_at, self.response = 0, 0.0, b""
        self.latencies_us = array("I")
        self.failed, self.failure, self.spent, self.done = 0, "", 0, False
        self.over = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: Any) -> None:
        """Begin."""
        self.transport = transport
        self.send()

    def send(self) -> None:
        """Send the next request."""
        self.sent_at = time.perf_counter()
        self.transport.write(self.wire[0] + self.items[self.place] + self.wire[1])

    def data_received(self, data: bytes) -> None:
        """Take a response when it is whole, and go on."""
        response = self.response = self.response + data if self.response else data
        head = response.find(END)
        length = LENGTH.search(response, 0, head + 2) if head > 0 else None
        if length is None or len(response) < head + len(END) + int(length[1]):
            return
        now = time.perf_counter()
        self.response = b""
        self.latencies_us.append(int((now - self.sent_at) * 1e6))
        if not response.startswith(b"HTTP/1.1 2"):
            self.failed, self.failure = self.failed + 1, response.decode(errors="replace")
        elif self.kind == "renews" and (renewed := RENEWED.search(response, head)):
            self.items[self.place] = renewed[1]
        self.place += 1
        self.spent += self.kind == "once" and self.place == len(self.items)
        if now >= self.until or self.spent:
            self.done = True
            self.transport.close()
        else:
            self.place %= len(self.items)
            self.send()

    def connection_lost(self, exc: Exception | None) -> None:
        """The end, expected or not."""
        if not self.done:
            self.failed, self.failure = self.failed + 1, f"connection lost: {exc}"
        self.over.set_result(time.perf_counter())


async def run(folder: Path, port: int, seconds: float, count: int, kind: str) -> None:
    """All connections at once."""
    loop = asyncio.get_running_loop()
    wire = ((folder / "before").read_bytes(), (folder / "after").read_bytes())
    items = [line.replace(b"\t", b"\r\n") for line in (folder / "items").read_bytes().splitlines()]
    began = time.perf_counter()
    connections = [Connection(wire, kind, items[first::count], began + seconds) for first in range(count)]
    gc.disable()
    await asyncio.gather(
        *(loop.create_connection(lambda connection=connection: connection, "127.0.0.1", port) for connection in connections)
    )
    ended = max(await asyncio.gather(*(connection.over for connection in connections)))
    took = sorted(latency for connection in connections for latency in connection.latencies_us)
    found = Found(
        ended - began,
        len(took),
        took[len(took) // 2],
        took[len(took) * 99 // 100],
        sum(connection.failed for connection in connections),
        sum(connection.spent for connection in connections),
        next((connection.failure for connection in connections if connection.failure), ""),
    )
    left = b"\n".join(item for connection in connections for item in connection.items) if kind == "renews" else b""
    (folder / FOUND).write_bytes(msgspec.json.encode(found) + b"\n" + left)


if __name__ == "__main__":
    place, *words, how = sys.argv[1:]
    uvloop.run(run(Path(place), int(words[0]), float(words[1]), int(words[2]), how))
