"""Ask for every list, page and report of two merchants, one with a hundred times the rows of the other.

Data goes to standard output: for each address the medians of wall time, processor time and buffers (pages of the database
that were read), for the large merchant and as a ratio to the small one, the fastest growing first. Exit 1 when the
processor time or the buffers of an address grow more than they may, or a page takes longer than it may.
"""

import argparse
import asyncio
import statistics
import sys
import tempfile
from base64 import urlsafe_b64decode, urlsafe_b64encode
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg
import msgspec
from msgspec import Struct
from tests.cast import PASSWORD, Actor, sign_up
from tests.pages.console.operator_pages import signed_in_operator, visitor
from tests.payments.bank import sell
from tests.processes import Serving
from tests.running import KEY, Service, settings_for
from tests.webhooks.request_log.reading import all_written

from benchmarks.pages import history
from benchmarks.pages.endpoints import LISTS, Endpoint, endpoints
from benchmarks.pages.measure import Cost, Meter, request
from tollhouse.http.lists import TAG_BYTES
from tollhouse.instance.database import embedded
from tollhouse.kernel.limits import PAGE_MAX
from tollhouse.platform.database.migrations import migrate

PAGE_MS_MAX = 300
GROWTH_MAX = 1.3
BUFFERS_FREE = 60
"""So many buffers more do not count as growth: an index is a level deeper."""
SHRINK, OTHERS, OTHERS_SHARE = 100, 3, 10
DEEP_PAGE, ROWS_PER_PAGE = 90, 20
STATISTICS = "ALTER SYSTEM SET shared_preload_libraries = 'pg_stat_statements'"


class Row(Struct, frozen=True):
    """An address, and what it costs for the two merchants."""

    endpoint: Endpoint
    large: Cost
    small: Cost

    @property
    def growth(self) -> float:
        """Of the processor time, both processes together."""
        return (self.large.web_us + self.large.database_us) / (self.small.web_us + self.small.database_us)

    @property
    def grows(self) -> bool:
        """Whether it grows more than it may."""
        buffers = self.large.buffers > max(GROWTH_MAX * self.small.buffers, self.small.buffers + BUFFERS_FREE)
        return self.growth > GROWTH_MAX or buffers


async def make(service: Service, folder: Path, rows: int) -> None:
    """Sign up the merchants and make their histories, unless the folder has them."""
    kept = folder / "merchants.json"
    if kept.exists():
        return
    made: dict[str, dict[str, Any]] = {}
    counts = {"large": rows, "small": rows // SHRINK}
    counts |= {f"other{number}": rows // OTHERS_SHARE for number in range(OTHERS)}
    for name, count in counts.items():
        async with sign_up(service, name, name.capitalize()) as actor:
            await sell(actor)
            (await actor.get("/currencies")).ok()
            await all_written(actor, 3)
            print(f"making {count:,} payments", file=sys.stderr, flush=True)
            found = await history.make(service.dsn, UUID(actor.merchant_id), count)
            made[name] = {"email": actor.email, "count": count} | found
    await history.settle(service.dsn)
    kept.write_bytes(msgspec.json.encode(made))


async def words(actor: Actor, found: dict[str, Any]) -> dict[str, Any]:
    """The words of a merchant's addresses: its ids, days, its deepest page, and a cursor of each list."""
    today, cursors = datetime.now(UTC), dict[str, str]()
    for name in LISTS:
        answer = await request(actor, Endpoint("api", ""), f"/{name}?limit={ROWS_PER_PAGE}&page={DEEP_PAGE}")
        cursors[name] = msgspec.json.decode(answer).get("next_cursor") or ""
    after = {name: urlsafe_b64encode(_decoded(cursor)[TAG_BYTES:]).decode() for name, cursor in cursors.items()}
    return found | {
        "day": f"{today:%Y-%m-%d}",
        "today": f"{today:%Y-%m-%d}T00:00:00Z",
        "month": f"{today - timedelta(days=30):%Y-%m-%d}T00:00:00Z",
        "year": f"{today - timedelta(days=300):%Y-%m-%d}T00:00:00Z",
        "deep": f"{PAGE_MAX}&after={after['withdrawals']}",
        "cursor_of": cursors,
    }


async def measure(service: Service, folder: Path, web_pid: int, rounds: int, only: str) -> list[Row]:
    """Every address for both merchants, in turn."""
    made = msgspec.json.decode((folder / "merchants.json").read_bytes())
    async with AsyncExitStack() as stack:
        actors: dict[str, Actor] = {}
        for name in ("large", "small"):
            actors[name] = await stack.enter_async_context(visitor(service, made[name]["email"]))
            body = {"email": made[name]["email"], "password": PASSWORD}
            (await actors[name].dashboard("POST", "/login", body)).ok()
        operator = await stack.enter_async_context(signed_in_operator(service))
        connection = await asyncpg.connect(service.dsn)
        await connection.execute("CREATE EXTENSION IF NOT EXISTS pg_stat_statements")
        meter, found = Meter(connection, web_pid), {name: await words(actor, made[name]) for name, actor in actors.items()}
        rows: list[Row] = []
        for endpoint in endpoints():
            if only not in endpoint.path:
                continue
            costs: dict[str, list[Cost]] = {name: [] for name in actors}
            for _ in range(rounds + 1):
                for name, actor in actors.items():
                    by = operator if endpoint.surface == "operator" else actor
                    try:
                        costs[name].append(await meter.cost(by, endpoint, endpoint.of(found[name])))
                    except AssertionError as error:
                        print(error, file=sys.stderr)
            if all(len(cost) > 1 for cost in costs.values()):
                rows.append(Row(endpoint, _median(costs["large"][1:]), _median(costs["small"][1:])))
        await connection.close()
        return rows


def _decoded(cursor: str) -> bytes:
    return urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))


def _median(costs: list[Cost]) -> Cost:
    """The medians. The first request is not among them, in which statements are prepared and templates compiled."""
    return Cost(
        statistics.median(cost.wall_ms for cost in costs),
        statistics.median(cost.web_us for cost in costs),
        statistics.median(cost.database_us for cost in costs),
        int(statistics.median(cost.buffers for cost in costs)),
    )


async def serve_and_measure(dsn: str, folder: Path, rows: int, rounds: int, only: str) -> list[Row]:
    """Measure the web process as a user starts it, without a worker."""
    await migrate(dsn)
    serving = Serving(folder, "web", DATABASE_URL=dsn, TOLLHOUSE_SECRET_KEYS=KEY, TOLLHOUSE_RATE_LIMITS="off")
    await serving.start()
    try:
        service = Service(settings_for(dsn, TOLLHOUSE_BASE_URL=serving.url))
        await make(service, folder, rows)
        return await measure(service, folder, max(serving.tree()), rounds, only)
    finally:
        serving.stop()


def show(rows: list[Row]) -> None:
    """Print the table."""
    print(
        f"{'':72} {'wall ms':>9} {'ratio':>6} {'web us':>8} {'ratio':>6} {'db us':>9} {'ratio':>6}"
        f" {'buffers':>8} {'small':>7}"
    )
    for row in sorted(rows, key=lambda one: -one.growth):
        large, small = row.large, row.small
        print(
            f"{row.endpoint.path:72.72} {large.wall_ms:9.1f} {large.wall_ms / small.wall_ms:6.2f} {large.web_us:8.0f}"
            f" {large.web_us / small.web_us:6.2f} {large.database_us:9.0f} {large.database_us / small.database_us:6.2f}"
            f" {large.buffers:8} {small.buffers:7}{'  GROWS' if row.grows else ''}"
        )


def start(folder: Path) -> embedded.Server:
    """The database of this folder, which counts the buffers of each statement."""
    server = embedded.start(folder / "data")
    asyncio.run(_preload(server.cluster.dsn))
    server.stop()
    return embedded.start(folder / "data")


async def _preload(dsn: str) -> None:
    connection = await asyncpg.connect(dsn)
    await connection.execute(STATISTICS)
    await connection.close()


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pages", description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000, help="payments of the large merchant; the small one has 1%%")
    parser.add_argument("--rounds", type=int, default=5, help="how often each address is asked for")
    parser.add_argument("--quick", action="store_true", help="100,000 rows, three rounds")
    parser.add_argument("--only", default="", help="measure the addresses that contain this text")
    parser.add_argument("--folder", type=Path, default=None, help="keep the database here, and use it again")
    chosen = parser.parse_args()
    rows, rounds = (100_000, 3) if chosen.quick else (chosen.rows, chosen.rounds)
    with tempfile.TemporaryDirectory(prefix="tollhouse-pages-") as temporary:
        folder = chosen.folder or Path(temporary)
        folder.mkdir(exist_ok=True)
        folder.chmod(0o711)
        server = start(folder)
        try:
            found = asyncio.run(serve_and_measure(server.cluster.dsn, folder, rows, rounds, chosen.only))
        finally:
            server.stop()
    show(found)
    slow = [row.endpoint.path for row in found if row.large.wall_ms > PAGE_MS_MAX]
    growing = [row.endpoint.path for row in found if row.grows]
    print(f"{len(found)} addresses, {len(growing)} grow by more than {GROWTH_MAX}, {len(slow)} take over {PAGE_MS_MAX} ms")
    return 1 if slow or growing else 0


if __name__ == "__main__":
    sys.exit(main())
