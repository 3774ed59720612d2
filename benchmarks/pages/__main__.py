"""Time every page of the dashboard for a merchant with 100,000 payments, beside the same page for one who has begun.

Data goes to standard output: the middle and the slowest of the times over HTTP in milliseconds, and how many times that of
the other merchant it is. Exit 1 when the middle of a page is over what a page may take.
"""

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from pathlib import Path
from uuid import UUID

from msgspec import Struct
from tests.cast import Actor, sign_up
from tests.http.test_weight import MINE
from tests.payments.bank import sell
from tests.processes import Serving
from tests.request_log.reading import all_written
from tests.running import KEY, Service, settings_for

from benchmarks.pages import history
from tollhouse.platform import embedded

PAGE_MS_MAX = 300
FILTERED = (
    "/test/payments?status=failed",
    "/test/payments?status=expired",
    "/test/payments?reference=order-7",
    "/test/payments?reference=nobody",
    "/test/payments?currency=USD",
    "/test/payments?from=2020-01-01&to=2020-02-01",
    "/test/payment-links?status=canceled",
    "/test/payment-links?reference=nobody",
    "/test/ledger?type=refund",
    "/test/ledger?currency=USD",
    "/test/home?period=quarter",
    "/test/home?period=7d",
    "/test/reports?period=7d",
    "/test/reports?period=quarter&group_by=month",
    "/test/developers/events?status=failed",
    "/test/developers/requests?status=5xx",
    "/test/developers/requests?path=nowhere",
    "/settings/audit?what=money",
)


class Row(Struct, frozen=True):
    """A page: its times, and those of the merchant who has begun."""

    path: str
    ms: float
    ms_max: float
    ratio: float


async def timed(actor: Actor, path: str, rounds: int) -> list[float]:
    """Milliseconds of each round; the first is not counted, in which statements are prepared and templates compiled."""
    took: list[float] = []
    for _ in range(rounds + 1):
        begun = time.perf_counter()
        (await actor.send("GET", path, headers={"Accept": "text/html"})).ok()
        took.append((time.perf_counter() - begun) * 1000)
    return took[1:]


async def measure(service: Service, count: int, rounds: int) -> list[Row]:
    """Every page that needs no id, with filters that find much and little, and those of one old payment and link."""
    async with sign_up(service, "long", "Long & Sons") as old, sign_up(service, "new", "New") as new:
        own: dict[str, list[str]] = {}
        for actor in (old, new):
            paid = await sell(actor)
            (await actor.get("/currencies")).ok()
            await all_written(actor, 3)
            own[actor.email] = [f"/test/payments/{paid['id']}", f"/test/payment-links/{paid['payment_link_id']}"]
        print(f"making {count} payments", file=sys.stderr, flush=True)
        found = await history.make(service.dsn, UUID(old.merchant_id), count)
        of_old = [f"/test/payments/{found['payment_id']}", f"/test/payment-links/{found['link_id']}"]
        later = [f"/test/payments?before={found['payment_id']}", f"/test/payment-links?before={found['link_id']}"]
        paths = [path for path in MINE if not path.rpartition("/")[2].partition(".")[2]]
        pairs = [(path, path) for path in (*paths, *FILTERED)]
        pairs += list(zip(of_old, own[new.email], strict=True))
        pairs += list(zip(later, ("/test/payments", "/test/payment-links"), strict=True))
        rows: list[Row] = []
        for path, other in pairs:
            answer = await old.send("GET", path, headers={"Accept": "text/html"})
            if answer.status != 200:  # noqa: PLR2004 - a page that leads elsewhere
                continue
            mine = await timed(old, path, rounds)
            theirs = statistics.median(await timed(new, other, rounds))
            middle = statistics.median(mine)
            rows.append(Row(path, middle, max(mine), middle / theirs))
            print(f"{path:60.60} {middle:8.1f} ms, at most {max(mine):8.1f}: {middle / theirs:6.1f} times", flush=True)
        return rows


async def serve_and_measure(dsn: str, folder: Path, count: int, rounds: int) -> list[Row]:
    """Measure the service as a user starts it."""
    serving = Serving(folder, DATABASE_URL=dsn, TOLLHOUSE_SECRET_KEYS=KEY, TOLLHOUSE_RATE_LIMITS="off")
    await serving.start()
    try:
        return await measure(Service(settings_for(dsn, TOLLHOUSE_BASE_URL=serving.url)), count, rounds)
    finally:
        serving.stop()


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pages", description=__doc__)
    parser.add_argument("--payments", type=int, default=100_000, help="how many the merchant has")
    parser.add_argument("--rounds", type=int, default=9, help="how often each page is asked for")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tollhouse-pages-") as folder:
        Path(folder).chmod(0o711)
        server = embedded.start(Path(folder) / "data")
        try:
            rows = asyncio.run(serve_and_measure(server.cluster.dsn, Path(folder), chosen.payments, chosen.rounds))
        finally:
            server.stop()
    slow = [row.path for row in rows if row.ms > PAGE_MS_MAX]
    print(f"{len(rows)} pages, the slowest in {max(row.ms for row in rows):.0f} ms; over {PAGE_MS_MAX} ms: {slow or 'none'}")
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
