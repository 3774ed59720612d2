"""Time a check of books with many postings: in full, and of what is new; and what the digests cost whoever writes.

Data goes to standard output. Exit 1 when a check of what is new takes longer than it may, or something is broken.
"""

import argparse
import asyncio
import re
import resource
import statistics
import sys
import tempfile
import time
from pathlib import Path

import asyncpg
from tests.running import new_database

from benchmarks.check import history
from tollhouse.instance.checks import store
from tollhouse.instance.checks.run import Scope, check
from tollhouse.instance.database import embedded
from tollhouse.instance.slices import INVARIANTS
from tollhouse.platform.database import digests_store
from tollhouse.platform.database.migrations import migrate

NEW_S_MAX = 10
NEW_PAYMENTS = 1_000
LARGE_ROWS = 10_000
LARGE = "SELECT relname FROM pg_class WHERE relkind = 'r' AND reltuples > $1"
POST = """
    SELECT count(*) FROM ledger_post(uuidv7(), 'test', 'payment', 'transaction', uuidv7(), 0, now(),
             '{payment,payment_fee}',
        '{EUR,EUR}', '{1000,10}', ARRAY[NULL, $1::uuid], '{rail:sandbox,available}', ARRAY[$1::uuid, NULL],
        '{available,income:payment_fee}', ARRAY(SELECT uuidv7() FROM generate_series(1, 8)))
"""
EVENT = """
    INSERT INTO webhook_events (id, merchant_id, mode, type, source_type, source_id, sequence, body, destination_source,
                                status, created_at)
    VALUES (uuidv7(), $1, 'test', 'balance.updated', 'ledger_entry', uuidv7(), 1, $2, 'none', 'skipped', now())
"""


async def timed(dsn: str, scope: Scope) -> tuple[float, int, list[str]]:
    """Seconds, rows verified, and what is broken."""
    begun = time.perf_counter()
    report = await check(dsn, scope)
    if report is None:
        raise AssertionError("a check that waits is done")
    return time.perf_counter() - begun, report.rows, report.broken


async def scans(dsn: str) -> list[str]:
    """The statements of a check of what is new that would read a large table from end to end, by their plans."""
    connection = await asyncpg.connect(dsn, server_settings={"plan_cache_mode": "force_generic_plan"})
    large = {row["relname"] for row in await connection.fetch(LARGE, LARGE_ROWS)}
    named = {"new rows": store.NEW, "touched": store.TOUCHED}
    named |= {f"changes of {kind}": statement for kind, statement in digests_store.CHANGES.items()}
    named |= {
        f"{invariant.number} {invariant.meaning}": invariant.statement
        for invariant in INVARIANTS
        if invariant.kind is not None
    }
    found: list[str] = []
    for name, statement in named.items():
        await connection.execute(f"PREPARE it AS {statement}")
        arguments = ["NULL"] * len((await connection.prepare(statement)).get_parameters())
        plan = await connection.fetch(f"EXPLAIN EXECUTE it({', '.join(arguments)})")
        await connection.execute("DEALLOCATE it")
        read = (re.search(r"Seq Scan on (\w+)", row[0]) for row in plan)
        found += [f"{name}: {one[1]}" for one in read if one is not None and one[1] in large]
    await connection.close()
    return found


async def price(dsn: str, rounds: int) -> dict[str, tuple[float, float]]:
    """Microseconds of the database's CPU for a posting and for an event, committed: with their digests, and without."""
    connection = await asyncpg.connect(dsn, server_settings={"synchronous_commit": "off"})
    backend = Path(f"/proc/{await connection.fetchval('SELECT pg_backend_pid()')}/schedstat")
    merchant_id = await connection.fetchval("SELECT id FROM merchants LIMIT 1")
    took: dict[str, tuple[float, float]] = {}
    for name, statement, table, arguments in (
        ("posting", POST, "ledger_transactions", [merchant_id]),
        ("event", EVENT, "webhook_events", [merchant_id, b"x" * 500]),
    ):
        prepared = await connection.prepare(statement)
        measured: dict[str, list[float]] = {"ENABLE": [], "DISABLE": []}
        for _ in range(10):
            for switch, times in measured.items():
                await connection.execute(f"ALTER TABLE {table} {switch} TRIGGER digested")
                for _ in range(10):
                    await prepared.fetch(*arguments)
                begun = int(backend.read_text().split()[0])
                for _ in range(rounds // 10):
                    await prepared.fetch(*arguments)
                times.append((int(backend.read_text().split()[0]) - begun) / 1000 / (rounds // 10))
        await connection.execute(f"ALTER TABLE {table} ENABLE TRIGGER digested")
        took[name] = (statistics.median(measured["ENABLE"]), statistics.median(measured["DISABLE"]))
    await connection.close()
    return took


async def run(dsn: str, postings: int, rounds: int) -> bool:
    """Make the books, look at them, and print what it took. Whether it was as it must be."""
    await migrate(dsn)
    begun = time.perf_counter()
    await history.make(dsn, postings, lambda made: print(f"{made:,} postings", file=sys.stderr, flush=True))
    found = await history.sizes(dsn)
    print(f"made        {found['postings']:>12,} postings in {time.perf_counter() - begun:.0f} s", flush=True)
    of_digests = f"{found['digest_bytes'] / 1e9:.2f} GB of {found['digests']:,} digests"
    print(f"database    {found['bytes'] / 1e9:>12.2f} GB, of it {of_digests}")
    full_s, rows, broken = await timed(dsn, Scope(full=True))
    print(f"full        {full_s:>12.1f} s, {rows:,} rows, {len(broken)} broken", flush=True)
    await history.more(dsn, NEW_PAYMENTS)
    new_s, rows, broken_new = await timed(dsn, Scope(small=0))
    print(f"new         {new_s:>12.1f} s, {rows:,} rows, {len(broken_new)} broken; may take {NEW_S_MAX} s", flush=True)
    print(f"memory      {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:>12.0f} MB at most")
    for line in (large := await scans(dsn)):
        print(f"reads all   {line}")
    for line in [*broken, *broken_new][:5]:
        print(line)
    for name, (with_digest, without) in (await price(dsn, rounds)).items():
        print(f"{name:<11} {with_digest:>12.0f} us of CPU, {without:.0f} us without its digest")
    return new_s <= NEW_S_MAX and not broken and not broken_new and not large


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.check", description=__doc__)
    parser.add_argument("--postings", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=2_000, help="of what writing costs")
    parser.add_argument("--folder", type=Path, default=None, help="where the database is made, for a while")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        Path(folder).chmod(0o711)
        server = embedded.start(Path(folder) / "data")
        try:
            ok = asyncio.run(_on(server, given.postings, given.rounds))
        finally:
            server.stop()
    sys.exit(0 if ok else 1)


async def _on(server: embedded.Server, postings: int, rounds: int) -> bool:
    return await run(await new_database(server.cluster.dsn), postings, rounds)


if __name__ == "__main__":
    main()
