"""A flood of sign-ups, as a process of its own: `python -m proving.flooding KIND PORT`.

Runs until it is terminated, and then prints how often each status was answered, as JSON.
"""

import asyncio
import signal
import sys
import time
from collections import Counter
from contextlib import suppress
from itertools import count, cycle

import msgspec
import uvloop

from proving.receiving import hosts

AT_ONCE = 64
PAUSE_S = 0.05
"""Between two sign-ups of one of them: without, the flood would measure itself on a machine that it shares."""
ADDRESSES = {"one address": ["127.0.60.1"], "many addresses": hosts(60, 250)}
BODY = '{"email": "flood-%d@example.com", "password": "correct horse battery", "business_name": "Flood"}'
HEAD = (
    "POST /api/v2/merchant/signup HTTP/1.1\r\nHost: localhost\r\n"
    "Content-Type: application/json\r\nContent-Length: %d\r\n\r\n"
)


async def sign_up_again_and_again(port: int, addresses: "cycle[str]", numbers: "count[int]", answered: Counter[str]) -> None:
    """One of the flood: each sign-up on a connection of its own, from the next address."""
    while True:
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(next(addresses), 0))
            try:
                body = BODY % next(numbers)
                writer.write((HEAD % len(body) + body).encode())
                answered[(await reader.readline()).split()[1].decode()] += 1
            finally:
                writer.close()
        except (OSError, IndexError):
            answered["none"] += 1
        await asyncio.sleep(PAUSE_S)


async def flood(kind: str, port: int) -> None:
    """All of them, until SIGTERM."""
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    addresses, numbers, answered = cycle(ADDRESSES[kind]), count(time.time_ns()), Counter[str]()
    crowd = [asyncio.create_task(sign_up_again_and_again(port, addresses, numbers, answered)) for _ in range(AT_ONCE)]
    print("begun", flush=True)
    await stop.wait()
    for one in crowd:
        one.cancel()
    with suppress(asyncio.CancelledError):
        await asyncio.gather(*crowd)
    print(msgspec.json.encode(answered).decode(), flush=True)


if __name__ == "__main__":
    uvloop.run(flood(sys.argv[1], int(sys.argv[2])))
