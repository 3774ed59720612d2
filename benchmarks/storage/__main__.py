"""Make payments with webhooks through the product, deliver them, vacuum, and print what a payment adds to each relation.

A payment is three requests: a link with an external ID, the choice of a method, the payment. The size of a relation
includes its TOAST table; indexes are separate lines. WAL is that of all processes from the first request to the last
recorded result; full-page images, which depend on the checkpoints, are counted apart.
"""

import argparse
import asyncio
import logging
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import asyncpg
import msgspec
import structlog
from msgspec import Struct

from benchmarks.harness.requests import LINKS
from benchmarks.harness.watch import Watched, WrongAnswerError
from benchmarks.money import seed
from benchmarks.webhooks import processes
from tollhouse.http.services import Services
from tollhouse.instance import main as root
from tollhouse.instance.database import embedded
from tollhouse.kernel import clock
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId
from tollhouse.platform.database.migrations import migrate
from tollhouse.platform.database.pool import Tx
from tollhouse.platform.settings import config
from tollhouse.webhooks.events import secrets

SHOPS = 20
WARM_UP = 100
AT_ONCE = 4
KEPT_FOR_A_TIME = ("webhook_events_2", "webhook_attempts_2", "api_requests_2", "idempotency_")
"""Relations whose rows are deleted after the retention times; events also have digests, deleted with them."""
SIZES = """
    SELECT c.relname AS name, coalesce(t.relname, c.relname) AS of, c.relkind = 'i' AS is_index,
           pg_relation_size(c.oid) + coalesce(pg_total_relation_size(nullif(c.reltoastrelid, 0)), 0) AS bytes
    FROM pg_class c LEFT JOIN pg_index i ON i.indexrelid = c.oid LEFT JOIN pg_class t ON t.oid = i.indrelid
    WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'i')
"""
WAL = """
    SELECT coalesce(sum(record_size), 0)::float8 AS records, coalesce(sum(fpi_size), 0)::float8 AS images
    FROM pg_get_wal_stats($1, $2, false)
"""
# A record of several relations counts for each: an update and the page that it clears of its visibility, for one.
WAL_BY_RELATION = """
    SELECT c.relname AS name, sum(w.record_length - w.block_fpi_length)::float8 AS bytes
    FROM pg_get_wal_block_info($1, $2, false) w
    JOIN pg_class c ON c.relfilenode = w.relfilenode AND w.relforknumber = 0 GROUP BY 1
"""
DIGESTS = "SELECT (count(*) FILTER (WHERE kind = 'event'))::float8 / count(*) FROM row_digests"
UNSENT = "SELECT EXISTS (SELECT FROM webhook_deliveries) OR EXISTS (SELECT FROM webhook_deliveries_later)"


class Relation(Struct, frozen=True):
    """Bytes that a payment adds to a table or an index."""

    name: str
    of: str
    is_index: bool
    bytes: float
    wal: float


class Findings(Struct, frozen=True):
    """What a payment adds, by relation, and the WAL it writes."""

    payments: int
    events: float
    relations: list[Relation]
    kept: float
    kept_for_ever: float
    wal: float
    wal_images: float


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.storage", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="300 payments instead of 3,000")
    parser.add_argument("--json", action="store_true", help="print JSON")
    chosen = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    found = asyncio.run(measure(300 if chosen.quick else 3_000))
    print(msgspec.json.encode(found).decode() if chosen.json else table(found))
    return 0


async def measure(payments: int) -> Findings:
    """Everything, on a database of our own."""
    with tempfile.TemporaryDirectory(prefix="tollhouse-bench-") as name, ExitStack() as last:
        folder = Path(name)
        folder.chmod(0o711)
        database = embedded.start(folder / "data")
        last.callback(database.stop)
        await migrate(database.cluster.dsn)
        # Every customer comes from one address, which would start only so many payments a minute.
        environment = processes.settings(database.cluster.dsn, folder / "data") | {"TOLLHOUSE_RATE_LIMITS": "off"}
        port = last.enter_context(processes.receiver())
        last.enter_context(processes.worker(environment))
        services = root.create_services(config.load(environment))
        market = await Market.open(services, port)
        connection: asyncpg.Connection[Any] = await asyncpg.connect(database.cluster.dsn)
        try:
            return await _measure(market, connection, payments)
        finally:
            await connection.close()
            await market.close()


async def _measure(market: "Market", connection: "asyncpg.Connection[Any]", payments: int) -> Findings:
    await connection.execute("CREATE EXTENSION pg_walinspect")
    await market.pay(WARM_UP)
    before, events = await _sizes(connection), await _events(connection)
    await connection.execute("CHECKPOINT")
    began = await connection.fetchval("SELECT pg_current_wal_insert_lsn()")
    await market.pay(payments)
    ended = await connection.fetchval("SELECT pg_current_wal_flush_lsn()")
    wal = await connection.fetchrow(WAL, began, ended)
    written = {row["name"]: row["bytes"] for row in await connection.fetch(WAL_BY_RELATION, began, ended)}
    after = await _sizes(connection)
    digests_of_events = await connection.fetchval(DIGESTS)
    relations = [
        Relation(
            name, of, is_index, (size - before.get(name, ("", False, 0))[2]) / payments, written.get(name, 0) / payments
        )
        for name, (of, is_index, size) in after.items()
    ]
    recorded = (await _events(connection) - events) / payments
    kept = sum(relation.bytes for relation in relations)
    for_a_time = sum(relation.bytes for relation in relations if relation.of.startswith(KEPT_FOR_A_TIME))
    for_a_time += digests_of_events * sum(relation.bytes for relation in relations if relation.of == "row_digests")
    if wal is None:
        raise AssertionError("an aggregate has a row")
    return Findings(
        payments, recorded, sorted(relations, key=lambda one: -one.bytes), kept, kept - for_a_time,
        wal["records"] / payments, wal["images"] / payments,
    )  # fmt: skip


async def _events(connection: "asyncpg.Connection[Any]") -> int:
    return await connection.fetchval("SELECT count(*) FROM webhook_events")


async def _sizes(connection: "asyncpg.Connection[Any]") -> dict[str, tuple[str, bool, int]]:
    """Table, kind and bytes of each relation, once nothing waits and what was deleted is free."""
    while await connection.fetchval(UNSENT):  # noqa: ASYNC110 - the worker delivers
        await asyncio.sleep(0.1)
    await connection.execute("VACUUM")
    return {row["name"]: (row["of"], row["is_index"], row["bytes"]) for row in await connection.fetch(SIZES)}


class Market:
    """Merchants that sell, with webhooks."""

    def __init__(self, services: Services, watched: Watched, shops: list[seed.Shop], port: int) -> None:
        self._services, self._watched, self._shops, self._port = services, watched, shops, port
        self._paid = 0
        self.started, self.stop = asyncio.Event(), asyncio.Semaphore(1)

    @classmethod
    async def open(cls, services: Services, port: int) -> "Market":
        """Start the application, and make the merchants with their signing secrets."""
        connection: asyncpg.Connection[Any] = await asyncpg.connect(services.settings.database_url or "")
        shops = (await seed.harness(connection))[:SHOPS]
        await connection.close()
        for shop in shops:
            env = MerchantEnv(MerchantId(shop.merchant_id), "test")
            await services.db.transact(lambda tx, env=env: _give_secret(services, tx, env))
        application = root.build(services)
        market = cls(services, Watched(application), shops, port)
        market.running = asyncio.create_task(application({"type": "lifespan"}, market.stop.acquire, market.hear))
        await market.started.wait()
        return market

    async def hear(self, _message: object) -> None:
        """The application has started, or stopped."""
        self.started.set()

    async def close(self) -> None:
        """Stop the application."""
        self.stop.release()
        await self.running

    async def pay(self, count: int) -> None:
        """Make so many payments."""
        numbers = iter(range(self._paid, self._paid + count))
        self._paid += count

        async def payer() -> None:
            for number in numbers:
                await self._pay(number)

        await asyncio.gather(*(payer() for _ in range(AT_ONCE)))

    async def _pay(self, number: int) -> None:
        shop = self._shops[number % SHOPS]
        key = f"Host: 127.0.0.1\r\nX-API-Key: {shop.api_key}"
        link = await self._send(
            f"POST {LINKS} HTTP/1.1\r\n{key}\r\nContent-Type: application/json\r\nIdempotency-Key: order-{number}",
            msgspec.json.encode(
                {
                    "display_name": "1,000 harbour gems", "amount": "10.50", "currency": "EUR",
                    "external_id": f"order-{number}", "metadata": {"cart": f"{number:08x}", "player": "p-1001"},
                    "success_url": "https://shop.example/thanks", "cancel_url": "https://shop.example/cart",
                    "webhook_url": f"http://127.0.0.{number % SHOPS + 1}:{self._port}/webhooks/tollhouse",
                }
            ).decode(),
        )  # fmt: skip
        path = f"/pay/{link['url'].rpartition('/')[2]}/method"
        status, answer = await self._watched.send(
            f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
            "Content-Type: application/x-www-form-urlencoded\r\n\r\nmethod_id=sandbox%3AEUR"
        )
        if status != 303:  # noqa: PLR2004 - on to the started payment
            raise WrongAnswerError(answer.decode())
        shown = await self._send(f"GET {LINKS}/{link['id']} HTTP/1.1\r\n{key}", "")
        simulate = f"/api/v2/integration/test/transactions/{shown['latest_transaction_id']}/simulate"
        await self._send(f"POST {simulate} HTTP/1.1\r\n{key}\r\nContent-Type: application/json", '{"outcome":"succeed"}')

    async def _send(self, head: str, body: str) -> dict[str, Any]:
        status, answer = await self._watched.send(f"{head}\r\n\r\n{body}")
        if status >= 400:  # noqa: PLR2004 - an error
            raise WrongAnswerError(answer.decode())
        return msgspec.json.decode(answer)


async def _give_secret(services: Services, tx: Tx, env: MerchantEnv) -> None:
    await secrets.lock(tx, env)
    await secrets.replace(tx, env, services.keys, clock.now())


def table(found: Findings) -> str:
    """Readable: what adds at least ten bytes."""
    lines = [
        f"{found.payments:,} payments, each with {found.events:.1f} events",
        "",
        _line("bytes per payment", "kept", "WAL"),
    ]
    lines += [
        _line(f"{'  ' if relation.is_index else ''}{relation.name}", f"{relation.bytes:,.0f}", f"{relation.wal:,.0f}")
        for relation in found.relations
        if relation.bytes >= 10 or relation.wal >= 10  # noqa: PLR2004 - less is noise
    ]
    lines += ["", _line("while events are kept", f"{found.kept:,.0f}", f"{found.wal:,.0f}")]
    lines += [_line("for ever", f"{found.kept_for_ever:,.0f}"), _line("full-page images", "", f"{found.wal_images:,.0f}")]
    return "\n".join(lines)


def _line(name: str, kept: str, wal: str = "") -> str:
    return f"{name:<64} {kept:>8} {wal:>8}"


if __name__ == "__main__":
    sys.exit(main())
