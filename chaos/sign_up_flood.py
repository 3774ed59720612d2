"""A flood of sign-ups, as a separate process: `python -m chaos.sign_up_flood KIND PORT`.

Runs until it is terminated, then prints the number of responses by status as JSON.
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

from chaos.receivers import hosts

AT_ONCE = 64
PAUSE_S = 0.05
"""Between two sign-ups of a client: without it, the flood itself would use up the shared processors."""
ADDRESSES = {"one address": ["127.0.60.1"], "many addresses": hosts(60, 250)}
BODY = '{"email": "flood-%d@example.com", "password": "correct horse battery", "business_name": "Flood"}'
HEAD = (
    "POST /api/v2/merchant/signup HTTP/1.1\r\nHost: localhost\r\n"
    "Content-Type: application/json\r\nContent-Length: %d\r\n\r\n"
)


async def sign_up_again_and_again(port: int, addresses: "cycle[str]", numbers: "count[int]", answered: Counter[str]) -> None:
    """Run one client: each sign-up on its own connection, from the next address."""
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
    """Run all clients until SIGTERM."""
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    addresses, numbers, answered = cycle(ADDRESSES[kind]), count(time.time_ns()), Counter[str]()
    tasks = [asyncio.create_task(sign_up_again_and_again(port, addresses, numbers, answered)) for _ in range(AT_ONCE)]
    print("begun", flush=True)
    await stop.wait()
    for task in tasks:
        task.cancel()
    with suppress(asyncio.CancelledError):
        await asyncio.gather(*tasks)
    print(msgspec.json.encode(answered).decode(), flush=True)


if __name__ == "__main__":
    uvloop.run(flood(sys.argv[1], int(sys.argv[2])))
