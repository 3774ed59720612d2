"""The drill: a mistake in a running service, and the database is recovered to the moment before it."""

import tempfile
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import asyncpg
import pytest

from tests.cast import sign_up
from tests.journeys.test_backup import command
from tests.journeys.test_get_paid import COFFEE, pay
from tests.journeys.test_serve import talking_to
from tests.platform.test_wal_archive import until
from tests.processes import Serving
from tollhouse.instance.backup import wal_archive
from tollhouse.instance.database import embedded

pytestmark = [pytest.mark.xdist_group("serve"), pytest.mark.long]

PAYMENTS = "SELECT count(*) FROM transactions"
PAUSES = "SELECT cause, data_until, resumed_at FROM payout_pauses"


@pytest.fixture
def home() -> Iterator[Path]:
    """An empty home that only its owner may enter."""
    with tempfile.TemporaryDirectory(prefix="tollhouse-home-") as folder:
        yield Path(folder)


async def make_mistake(dsn: str) -> datetime:
    """Drop the postings of the ledger. Returns a time just before."""
    connection = await asyncpg.connect(dsn)
    try:
        before = await connection.fetchval("SELECT clock_timestamp()")
        await connection.execute("DROP TABLE ledger_postings CASCADE")
    finally:
        await connection.close()
    return before


async def test_a_mistake_is_undone(home: Path) -> None:
    first, second, archive = home / "first", home / "second", home / "archive"
    first.mkdir()
    setting, ring = {"TOLLHOUSE_WAL_ARCHIVE": str(archive)}, ("--keys", str(first / "secret-keys"))
    serving = await Serving(first, **setting).start()
    try:
        async with sign_up(talking_to(serving), "alice", "Alice's Coffee", keep_alive=False) as alice:
            await pay(alice, (await alice.post("/payment-links", COFFEE)).ok(201).body)
            await until(lambda: wal_archive.newest_base_at(archive) is not None)
            await pay(alice, (await alice.post("/payment-links", COFFEE)).ok(201).body)
        before = await make_mistake(embedded.locate(first).dsn)
    finally:
        assert serving.stop() == []
    assert "wal_archive_failed" not in serving.said

    status, lines, talk = command(second, "restore", str(archive), "--to-time", before.isoformat(), *ring)
    assert (status, lines) == (0, ""), talk
    assert "All invariants hold. Payouts are paused." in talk
    with embedded.borrowed(second) as cluster:
        connection = await asyncpg.connect(cluster.dsn)
        try:
            assert await connection.fetchval(PAYMENTS) == 2
            [pause] = await connection.fetch(PAUSES)
            assert (pause["cause"], pause["resumed_at"]) == ("restored", None)
            assert abs((pause["data_until"] - before).total_seconds()) < 0.001
            assert await connection.fetchval("SELECT payouts_are_paused()")
        finally:
            await connection.close()
