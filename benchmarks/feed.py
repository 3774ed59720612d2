"""Measure the event feed: how pages at both ends compare, and what waiting readers cost other requests.

The feed has `--events` events of one merchant. Pages of 100 are read in turns from both ends. Then other requests are
measured alone and beside `--readers` requests that wait, in turns. Data goes to standard output, talk to standard error.
"""

import argparse
import asyncio
import multiprocessing
import os
import secrets
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import ExitStack, asynccontextmanager
from multiprocessing import synchronize
from pathlib import Path
from typing import Any
from uuid import UUID

import aiohttp
import asyncpg
import msgspec
from msgspec import Struct

from benchmarks.webhooks import processes
from tollhouse.instance.database import embedded
from tollhouse.kernel.limits import FEED_READERS_PER_CREDENTIAL_MAX
from tollhouse.platform.database.migrations import migrate
from tollhouse.platform.database.packed_json import pack_value
from tollhouse.platform.server.listening import bind

API = "/api/v2/integration"
PAGE, BATCH = 100, 10_000
CLIENTS = 8
WITHIN_S = 60
OBJECT = {"id": "018f0000-0000-7000-8000-000000000001", "status": "succeeded", "amount": "10.50", "currency": "EUR"}
RECORD = """
    INSERT INTO webhook_events (id, merchant_id, mode, type, source_type, source_id, sequence, body, destination_source,
                                status, created_at)
    SELECT rpad(lpad(to_hex(floor(extract(epoch FROM now()) * 1000)::bigint), 12, '0') || '7'
                || lpad(to_hex($3 + n), 19, '0'), 32, '0')::uuid, $1, 'test', 'payment.succeeded', 'transaction',
           gen_random_uuid(), 1, $2, 'none', 'skipped', now()
    FROM generate_series(1, $4::int) AS n
"""


class Findings(Struct, frozen=True):
    """What is printed. Times are in milliseconds; those of other requests are without and with waiting readers."""

    events: int
    first_ms: float
    last_ms: float
    pages_ratio: float
    readers: int
    p99_alone_ms: float
    p99_beside_ms: float
    p99_ratio: float


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.feed", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="20,000 events, 200 readers")
    parser.add_argument("--events", type=int, help="events of the feed")
    parser.add_argument("--readers", type=int, help="requests that wait")
    parser.add_argument("--rounds", type=int, help="rounds of each")
    parser.add_argument("--json", action="store_true", help="print JSON")
    chosen = parser.parse_args()
    events = chosen.events or (20_000 if chosen.quick else 1_000_000)
    readers = chosen.readers or (200 if chosen.quick else FEED_READERS_PER_CREDENTIAL_MAX)
    found = asyncio.run(measure(events, readers, chosen.rounds or (3 if chosen.quick else 7)))
    print(msgspec.json.encode(found).decode() if chosen.json else table(found))
    return 0


async def measure(events: int, readers: int, rounds: int) -> Findings:
    """Everything, on a database of our own."""
    with tempfile.TemporaryDirectory(prefix="tollhouse-bench-") as name, ExitStack() as last:
        folder = Path(name)
        folder.chmod(0o711)
        database = embedded.start(folder / "data")
        last.callback(database.stop)
        dsn = database.cluster.dsn
        await migrate(dsn)
        with bind("127.0.0.1", 0) as probe:
            port: int = probe.getsockname()[1]
        url = f"http://127.0.0.1:{port}"
        environment = processes.settings(dsn, folder / "data") | {
            "TOLLHOUSE_BASE_URL": url,
            "TOLLHOUSE_RATE_LIMITS": "off",
            "TOLLHOUSE_CONNECTIONS_PER_ADDRESS_MAX": "0",
        }
        web = start_web(environment, port)
        last.callback(web.wait)
        last.callback(web.send_signal, signal.SIGTERM)
        async with signed_up(url) as (http, merchant_id):
            await seed(dsn, merchant_id, events)
            pages = await take_turns(rounds, {
                "first": lambda: timed(http, f"{API}/events?limit={PAGE}", 20),
                "last": lambda: timed(http, f"{API}/events?limit={PAGE}&after={events - PAGE}", 20),
            })  # fmt: skip
            others = await take_turns(rounds, {
                "alone": lambda: load(http),
                "beside": lambda: beside(http, readers, f"{url}{API}/events?wait=30&after={events}"),
            })  # fmt: skip
    first_ms, last_ms = statistics.median(pages["first"]), statistics.median(pages["last"])
    alone_ms, beside_ms = p99(others["alone"]), p99(others["beside"])
    return Findings(events, first_ms, last_ms, last_ms / first_ms, readers, alone_ms, beside_ms, beside_ms / alone_ms)


def start_web(environment: dict[str, str], port: int) -> "subprocess.Popen[bytes]":
    """`tollhouse web` on this port."""
    outside = {name: value for name, value in os.environ.items() if not name.startswith(("TOLLHOUSE_", "DATABASE_URL"))}
    return subprocess.Popen(  # noqa: S603 - our own program
        [sys.executable, "-m", "tollhouse", "web", "--port", str(port)],
        env=outside | environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


@asynccontextmanager
async def signed_up(url: str) -> AsyncIterator[tuple[aiohttp.ClientSession, UUID]]:
    """A session with an API key of a new merchant, and the merchant."""
    jar, unlimited = aiohttp.CookieJar(unsafe=True), aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(url, cookie_jar=jar, connector=unlimited) as http:
        async with asyncio.timeout(WITHIN_S):
            while not await is_ready(http):  # noqa: ASYNC110 - another process starts
                await asyncio.sleep(0.1)
        person = {"email": "feed@example.com", "password": secrets.token_urlsafe(), "business_name": "Feed"}
        made = await post(http, "/api/v2/merchant/signup", person)
        key = await post(http, "/api/v2/merchant/api-keys", {"name": "feed", "mode": "test"})
        http.headers["X-API-Key"] = key["api_key"]
        yield http, UUID(made["merchant"]["merchant_id"])


async def is_ready(http: aiohttp.ClientSession) -> bool:
    """Whether the service answers."""
    try:
        async with http.get("/healthz") as answer:
            return answer.ok
    except aiohttp.ClientError:
        return False


async def post(http: aiohttp.ClientSession, path: str, body: dict[str, str]) -> Any:
    """The body of a success."""
    async with http.post(path, json=body, headers={"Sec-Fetch-Site": "same-origin"}) as answer:
        answer.raise_for_status()
        return await answer.json()


async def seed(dsn: str, merchant_id: UUID, events: int) -> None:
    """Record events, and number them as the worker does."""
    connection = await asyncpg.connect(dsn)
    body = pack_value(
        {"id": "018f0000-0000-7000-8000-000000000001", "type": "payment.succeeded", "data": {"object": OBJECT}}
    )
    for start in range(0, events, BATCH):
        await connection.execute(RECORD, merchant_id, body, start, min(BATCH, events - start))
        while await connection.fetchval("SELECT webhook_events_number(5000)"):
            pass
        if start % 200_000 == 0:
            talk(f"{start:,} of {events:,} events")
    await connection.execute("ANALYZE")
    await connection.close()


async def take_turns(rounds: int, who: dict[str, Callable[[], Awaitable[list[float]]]]) -> dict[str, list[float]]:
    """All rounds after one that is not counted; every other time the other way about."""
    found: dict[str, list[float]] = {name: [] for name in who}
    for turn in range(-1, rounds):
        for name in list(who)[:: 1 if turn % 2 == 0 else -1]:
            times = await who[name]()
            found[name] += times if turn >= 0 else []
    talk("  ".join(f"{name} {statistics.median(times):.2f} ms" for name, times in found.items()))
    return found


async def timed(http: aiohttp.ClientSession, path: str, count: int) -> list[float]:
    """Milliseconds of each of so many requests, one after the other."""
    times: list[float] = []
    for _ in range(count):
        began = time.monotonic_ns()
        async with http.get(path) as answer:
            answer.raise_for_status()
            await answer.read()
        times.append((time.monotonic_ns() - began) / 1e6)
    return times


async def load(http: aiohttp.ClientSession) -> list[float]:
    """Milliseconds of requests of several clients at once."""
    times = await asyncio.gather(*(timed(http, f"{API}/balances", 150) for _ in range(CLIENTS)))
    return [one for several in times for one in several]


async def beside(http: aiohttp.ClientSession, readers: int, url: str) -> list[float]:
    """The same beside requests that wait. They wait in a process of their own: its memory is not that of the service."""
    spawned = multiprocessing.get_context("spawn")
    ready, key = spawned.Event(), http.headers["X-API-Key"]
    waiting = spawned.Process(target=wait_for_events, args=(url, key, readers, ready), daemon=True)
    waiting.start()
    if not await asyncio.to_thread(ready.wait, WITHIN_S):
        raise RuntimeError("the readers do not wait")
    times = await load(http)
    if not waiting.is_alive():
        raise RuntimeError("a reader did not wait")
    waiting.terminate()
    await asyncio.to_thread(waiting.join)
    await asyncio.sleep(1)
    return times


def wait_for_events(url: str, key: str, readers: int, ready: "synchronize.Event") -> None:
    """Ask for events that do not come, by so many connections, until one of them ends."""
    asyncio.run(_wait_for_events(url, key, readers, ready))


async def _wait_for_events(url: str, key: str, readers: int, ready: "synchronize.Event") -> None:
    unlimited = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=unlimited, headers={"X-API-Key": key}) as http:
        waiting = [asyncio.create_task(timed(http, url, 1)) for _ in range(readers)]
        await asyncio.sleep(3)
        ready.set()
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)


def p99(times: list[float]) -> float:
    """The time that one of a hundred exceeds."""
    return sorted(times)[len(times) * 99 // 100]


def table(found: Findings) -> str:
    """Readable."""
    first, last = f"first page {found.first_ms:.2f} ms", f"last page {found.last_ms:.2f} ms"
    alone, with_readers = (
        f"{found.p99_alone_ms:.2f} ms",
        f"{found.p99_beside_ms:.2f} ms beside {found.readers:,} waiting readers",
    )
    return (
        f"{found.events:,} events: {first}, {last}, ratio {found.pages_ratio:.2f} (goal at most 1.3)\n"
        f"p99 of other requests: {alone}, {with_readers}, ratio {found.p99_ratio:.2f} (goal at most 1.1)"
    )


def talk(text: str) -> None:
    """Tell the person who waits."""
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
