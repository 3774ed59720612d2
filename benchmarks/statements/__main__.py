"""Time the import of a large statement, and of one whose transfers all pay: by steps, with memory, beside their floor.

The file is made piece by piece and uploaded by a process of its own, so that the memory is that of the worker, which reads
and imports it. The floor of an import is its inserts alone: the same rows, as many in a statement. Exit 1 above the bounds.
"""

import argparse
import asyncio
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from datetime import date, timedelta
from pathlib import Path
from uuid import UUID

import asyncpg
from msgspec import Struct
from tests.cast import sign_up
from tests.rails.bank import camt
from tests.rails.bank.camt import Line, paid, statement
from tests.rails.bank.steps import ACCOUNT, Bank, context, offer
from tests.running import KEY, Service, make_template, settings_for

from tollhouse.http.services import Services
from tollhouse.instance import main as tollhouse
from tollhouse.instance.database import embedded
from tollhouse.platform.settings import config
from tollhouse.platform.settings.config import Settings
from tollhouse.rails.bank import imports

SECONDS_MAX, MEMORY_MB_MAX = 60, 200
CHUNK = 500
DAY = date(2026, 11, 20)
COPY = """
    CREATE TABLE floor_entries AS SELECT * FROM bank_entries WITH NO DATA;
    CREATE TABLE floor_parts AS SELECT * FROM bank_entry_parts WITH NO DATA;
"""
FLOOR = """
    WITH chosen AS (SELECT id FROM bank_entries WHERE id > $1 ORDER BY id LIMIT $2),
         entries AS (INSERT INTO floor_entries SELECT * FROM bank_entries WHERE id IN (SELECT id FROM chosen)),
         parts AS (INSERT INTO floor_parts SELECT * FROM bank_entry_parts WHERE entry_id IN (SELECT id FROM chosen))
    SELECT id FROM chosen ORDER BY id DESC LIMIT 1
"""


class Took(Struct, frozen=True):
    """Seconds to read and check a file, and to import it; the entries, and the process's memory at most, in MB."""

    read_s: float
    import_s: float
    entries: int
    memory_mb: float


def write(path: Path, entries: int) -> None:
    """Write a statement of transfers without a reference, which nobody can match."""
    head, _, tail = statement(opening=0, closing=total(entries), on=DAY).decode().partition("</Stmt>")
    with path.open("w") as file:
        file.write(head)
        for start in range(0, entries, CHUNK):
            lines = (line(nth) for nth in range(start, min(start + CHUNK, entries)))
            raw = statement(*lines, opening=0).decode()
            file.write(raw[raw.index("<Ntry>") : raw.index("</Stmt>")])
        file.write("</Stmt>" + tail)


def line(nth: int) -> Line:
    """An entry as banks write them, of about 830 bytes."""
    words = f"Invoice {nth:07} of November, customer {nth * 7919 % 100_003:06}, with thanks for the friendly service"
    return Line(100 + nth % 900, words=words, name=f"Customer {nth:07} Ltd.", day=DAY)


def total(entries: int) -> int:
    """What they add up to, in cents."""
    return sum(100 + nth % 900 for nth in range(entries))


def upload(path: Path) -> None:
    """Upload a file, as a process of its own with the settings in its environment, and print the id and the memory."""

    async def run() -> UUID:
        services = tollhouse.create_services(config.load(os.environ), connections=1)
        import_id = await imports.upload(path.read_bytes(), ACCOUNT, context(), services)
        await services.db.close()
        return import_id

    print(asyncio.run(run()), memory_mb())


def uploaded(environment: Mapping[str, str], path: Path) -> tuple[UUID, float]:
    """The import of a file, and the memory that the process had which has uploaded it."""
    command = [sys.executable, "-m", "benchmarks.statements", "--upload", str(path)]
    ended = subprocess.run(command, env={**os.environ, **environment}, check=True, capture_output=True, text=True)  # noqa: S603
    import_id, memory = ended.stdout.split()
    return UUID(import_id), float(memory)


def memory_mb() -> float:
    """The most memory that this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


async def measure(services: Services, import_id: UUID) -> Took:
    """Import a file that was uploaded."""
    begun = time.perf_counter()
    await imports.advance(ACCOUNT, services)
    read_s = time.perf_counter() - begun
    ended = await imports.finish(import_id, ACCOUNT, services)
    imports.ensure_imported(ended)
    return Took(read_s, time.perf_counter() - begun - read_s, ended.entries, memory_mb())


async def floor(dsn: str) -> float:
    """Seconds for the inserts of all entries and transfers alone, 200 entries a transaction."""
    connection = await asyncpg.connect(dsn)
    await connection.execute(COPY)
    begun, after = time.perf_counter(), UUID(int=0)
    while (last := await connection.fetchval(FLOOR, after, 200)) is not None:
        after = last
    await connection.close()
    return time.perf_counter() - begun


async def payments(service: Service, bank: Bank, count: int) -> Took:
    """Import a statement on which every transfer pays."""
    async with sign_up(service, "alice", "Alice's Coffee") as alice:
        offers = [await offer(alice) for _ in range(count)]
    lines = (paid(reference, 1_000, day=DAY + timedelta(days=1)) for _, _, reference in offers)
    raw = await bank.statement(*lines, on=DAY + timedelta(days=1))
    return await measure(bank.services, await imports.upload(raw, ACCOUNT, context(), bank.services))


def run(server: embedded.Server, folder: Path, entries: int, paying: int) -> bool:
    """Measure, and print. Whether it was within the bounds."""
    asyncio.run(make_template(server.cluster.dsn))
    settings = settings_for(server.cluster.dsn, fresh=True, **camt.ACCOUNT)
    path = folder / "statement.xml"
    write(path, entries)
    environment = {"DATABASE_URL": settings.database_url or "", "TOLLHOUSE_SECRET_KEYS": KEY, **camt.ACCOUNT}
    import_id, uploading_mb = uploaded(environment, path)

    async def large() -> Took:
        services = tollhouse.create_services(settings, connections=4)
        took = await measure(services, import_id)
        await services.db.close()
        return took

    took = asyncio.run(large())
    seconds = took.read_s + took.import_s
    print(f"file        {path.stat().st_size / 1e6:>10.1f} MB, {took.entries:,} entries")
    print(f"upload      {uploading_mb:>10.0f} MB of memory")
    print(f"read        {took.read_s:>10.1f} s, {took.read_s / took.entries * 1e6:.0f} us an entry")
    print(f"import      {took.import_s:>10.1f} s, {took.import_s / took.entries * 1e6:.0f} us an entry", flush=True)
    floor_s = asyncio.run(floor(settings.database_url or ""))
    print(f"floor       {floor_s:>10.1f} s for the inserts alone: {took.import_s / floor_s:.1f} times")
    print(f"in all      {seconds:>10.1f} s; may take {SECONDS_MAX} s")
    print(f"memory      {took.memory_mb:>10.0f} MB; may be {MEMORY_MB_MAX} MB", flush=True)
    for line_of in _payments(settings, paying):
        print(line_of)
    return seconds <= SECONDS_MAX and max(took.memory_mb, uploading_mb) <= MEMORY_MB_MAX


def _payments(settings: Settings, paying: int) -> Iterator[str]:
    if not paying:
        return

    async def small(service: Service) -> Took:
        services = service.create_services(connections=4)
        try:
            return await payments(service, Bank(services), paying)
        finally:
            await services.db.close()

    with Service(settings, worker=False) as service:
        took = asyncio.run(small(service))
    yield f"payments    {took.import_s:>10.1f} s for {took.entries:,}, {took.import_s / took.entries * 1e3:.1f} ms each"


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.statements", description=__doc__)
    parser.add_argument("--entries", type=int, default=60_000)
    parser.add_argument("--payments", type=int, default=300, help="of the statement on which every transfer pays")
    parser.add_argument("--folder", type=Path, default=None, help="where the database is made, for a while")
    parser.add_argument("--upload", type=Path, default=None, help="only upload this file: for the process that does")
    given = parser.parse_args()
    if given.upload is not None:
        upload(given.upload)
        return
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        Path(folder).chmod(0o711)
        server = embedded.start(Path(folder) / "data")
        try:
            ok = run(server, Path(folder), given.entries, given.payments)
        finally:
            server.stop()
    sys.exit(0 if ok else 1)


if __name__ == "__main__":
    main()
