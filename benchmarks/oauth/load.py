"""The load generator, in a process of its own: keep-alive connections that send the next request when the last is answered.

It knows just enough HTTP to find where an answer ends, so that it costs a fraction of what the servers cost.
"""

import asyncio
import gc
import re
import sys
import time
from array import array
from typing import Any

import msgspec
import uvloop

from benchmarks.oauth.actions import Job, Load

LENGTH = re.compile(rb"\r\ncontent-length: (\d+)\r\n", re.IGNORECASE)
RENEWED = re.compile(rb'"refresh_token":"([^"]+)"')
END = b"\r\n\r\n"


class Connection(asyncio.Protocol):
    """One keep-alive connection, and the items that are its own."""

    def __init__(self, job: Job, items: list[bytes], until: float) -> None:
        self.before, self.after = job.before.encode(), job.after.encode()
        self.renews, self.once = job.renews, job.once
        self.items, self.until = items, until
        self.place, self.sent_at, self.answer = 0, 0.0, b""
        self.latencies_us = array("I")
        self.failed, self.failure, self.done = 0, "", False
        self.over = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: Any) -> None:
        """Begin."""
        self.transport = transport
        self.send()

    def send(self) -> None:
        """Send the next request."""
        item = self.items[self.place]
        self.sent_at = time.perf_counter()
        self.transport.write(self.before + item + self.after)

    def data_received(self, data: bytes) -> None:
        """Take an answer when it is whole, and go on."""
        answer = self.answer = self.answer + data if self.answer else data
        head = answer.find(END)
        length = LENGTH.search(answer, 0, head + 2) if head > 0 else None
        if length is None or len(answer) < head + len(END) + int(length[1]):
            return
        now = time.perf_counter()
        self.answer = b""
        self.latencies_us.append(int((now - self.sent_at) * 1e6))
        if answer.startswith(b"HTTP/1.1 20"):
            if self.renews and (renewed := RENEWED.search(answer, head)):
                self.items[self.place] = renewed[1]
        else:
            self.failed, self.failure = self.failed + 1, answer.decode(errors="replace")
        self.place += 1
        if now >= self.until or (self.once and self.place == len(self.items)):
            self.done = True
            self.transport.close()
        else:
            self.place %= len(self.items)
            self.send()

    def connection_lost(self, exc: Exception | None) -> None:
        """The end, asked for or not."""
        if not self.done:
            self.failed, self.failure = self.failed + 1, f"connection lost: {exc}"
        self.over.set_result(time.perf_counter())


async def run(job: Job) -> Load:
    """All connections at once."""
    loop = asyncio.get_running_loop()
    items = [item.encode() for item in job.items]
    began = time.perf_counter()
    shares = [items[first :: job.connections] for first in range(job.connections)]
    connections = [Connection(job, share, began + job.seconds) for share in shares]
    gc.disable()
    await asyncio.gather(*(loop.create_connection(lambda one=one: one, "127.0.0.1", job.port) for one in connections))
    ended = max(await asyncio.gather(*(one.over for one in connections)))
    for first, one in enumerate(connections):
        items[first :: job.connections] = one.items
    return Load(
        ended - began,
        [latency for one in connections for latency in one.latencies_us],
        sum(one.failed for one in connections),
        next((one.failure for one in connections if one.failure), ""),
        [item.decode() for item in items] if job.renews else [],
    )


if __name__ == "__main__":
    done = uvloop.run(run(msgspec.json.decode(sys.stdin.buffer.read(), type=Job)))
    sys.stdout.buffer.write(msgspec.json.encode(done))
