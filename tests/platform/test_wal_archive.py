"""The WAL archive: whose it is, what is kept, which base backup is used, and what happens when it fails."""

import asyncio
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import asyncpg
import msgspec
import pytest

from tollhouse.instance.backup import wal_archive, wal_receiver
from tollhouse.instance.backup.archive import BackupError, Manifest, Timestamp
from tollhouse.instance.backup.wal_receiver import SLOT, WalReceiver, is_due
from tollhouse.instance.database import embedded
from tollhouse.instance.database.data_folder import EmbeddedError

pytestmark = pytest.mark.long

DROP = "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = $1"


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """An empty archive of the data folder `data`."""
    wal_archive.claim(tmp_path / "archive", tmp_path / "data")
    return tmp_path / "archive"


def add_base(archive: Path, day: int, lsn: str) -> Path:
    """A base backup of a day in January, as far as retention reads it."""
    folder = archive / "base" / f"202601{day:02}T000000Z"
    folder.mkdir()
    manifest = Manifest(created_at=Timestamp(f"2026-01-{day:02}T00:00:00.000Z"), program="1", migration=1, check_values={})
    (folder / "manifest.json").write_bytes(msgspec.json.encode(manifest))
    ranges = [{"Timeline": 1, "Start-LSN": lsn, "End-LSN": lsn}]
    (folder / "backup_manifest").write_bytes(msgspec.json.encode({"WAL-Ranges": ranges}))
    return folder


def test_an_archive_belongs_to_one_data_folder(archive: Path, tmp_path: Path) -> None:
    wal_archive.claim(archive, tmp_path / "data")
    wal_archive.claim(tmp_path / "another archive", tmp_path / "data")  # its next one
    with pytest.raises(EmbeddedError, match="belongs to another data folder"):
        wal_archive.claim(archive, tmp_path / "restored")
    assert not wal_archive.was_claimed(tmp_path / "restored")


def test_the_last_base_backups_and_the_wal_since_are_kept(archive: Path) -> None:
    folders = [add_base(archive, day, lsn) for day, lsn in ((1, "0/1000028"), (2, "0/3000028"), (3, "1/5000028"))]
    (archive / "wal-until-20260102T000000Z").mkdir()
    old, needed, partial = (
        archive / "wal-until-20260102T000000Z" / "000000010000000000000002",
        archive / "wal" / "000000010000000000000003",
        archive / "wal" / "000000010000000100000006.partial",
    )
    for file in (old, needed, partial):
        file.touch()
    (folders[0].with_name("new.partial")).mkdir()
    wal_archive.prune(archive, 2)
    assert [base.folder for base in wal_archive.bases(archive)] == folders[1:]
    assert not old.parent.exists()
    assert needed.exists()
    assert partial.exists()


def test_recovery_begins_at_the_last_base_backup_before(archive: Path) -> None:
    with pytest.raises(BackupError, match="has no base backup"):
        wal_archive.base_before(archive, None)
    first, second = add_base(archive, 10, "0/1000028"), add_base(archive, 20, "0/3000028")
    for day, expected in ((10, first), (19, first), (20, second), (25, second)):
        assert wal_archive.base_before(archive, datetime(2026, 1, day, tzinfo=UTC)).folder == expected
    assert wal_archive.base_before(archive, None).folder == second
    with pytest.raises(BackupError, match="Choose a later time"):
        wal_archive.base_before(archive, datetime(2026, 1, 9, tzinfo=UTC))
    (second / "manifest.json").unlink()
    with pytest.raises(BackupError, match="not a complete base backup"):
        wal_archive.bases(archive)


def test_a_base_backup_is_due_without_one_after_days_and_after_a_gap(archive: Path) -> None:
    week, now = timedelta(days=7), datetime(2026, 1, 8, 12, tzinfo=UTC)
    assert is_due(archive, now, week)
    (archive / "base" / "20260107T120000Z").mkdir()
    (archive / "base" / "new.partial").mkdir()
    assert not is_due(archive, now, week)
    assert is_due(archive, now + timedelta(days=6), week)
    (archive / "wal-until-20260106T120000Z-ab12").mkdir()
    assert not is_due(archive, now, week)
    (archive / "wal-until-20260107T120000Z-ab12").mkdir()
    assert is_due(archive, now, week)


def test_the_log_of_the_server_says_why_recovery_failed(tmp_path: Path) -> None:
    log = tmp_path / "postgres.log"
    assert wal_archive.reason(log, "it did not start") == "it did not start"
    log.write_text(
        "LOG:  redo done\nLOG:  last completed transaction was at log time 2026-11-23 10:15:00.123+00\n"
        "FATAL:  recovery ended before configured recovery target was reached\n"
    )
    assert "ends at 2026-11-23 10:15:00.123+00. Choose an earlier time" in wal_archive.reason(log, "")
    log.write_text("FATAL:  could not locate required checkpoint record\nLOG:  shutting down\n")
    assert wal_archive.reason(log, "").endswith(": could not locate required checkpoint record")


@pytest.fixture
async def receive(
    server: embedded.Server, archive: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Callable[[], WalReceiver]]:
    """Starts receivers, which are ended without waiting for the database to stop. The slot goes, or WAL would be kept."""
    monkeypatch.setattr(wal_receiver, "ENDS_WITHIN_S", 0)
    monkeypatch.setattr(wal_receiver, "RETRY_AFTER_S", (0.05,))
    running: list[WalReceiver] = []

    def start() -> WalReceiver:
        running.append(WalReceiver(server.cluster, archive))
        running[-1].start()
        return running[-1]

    yield start
    for service in running:
        await service.stop()
    await wal_receiver.end(server.cluster)


async def until(holds: Callable[[], bool]) -> None:
    """Wait until this holds."""
    async with asyncio.timeout(60):
        while not holds():
            await asyncio.sleep(0.02)


async def test_a_failing_archive_is_logged_and_a_gap_is_noticed(
    server: embedded.Server, archive: Path, receive: Callable[[], WalReceiver], capfd: pytest.CaptureFixture[str]
) -> None:
    wal, logged = archive / "wal", ""

    def has_logged(event: str) -> bool:
        nonlocal logged
        logged += "".join(capfd.readouterr())
        return event in logged

    wal.rmdir()
    wal.touch()  # no folder
    receiver = receive()
    await until(lambda: has_logged("wal_archive_failed"))
    wal.unlink()
    wal.mkdir()
    await until(lambda: any(wal.iterdir()))
    connection = await asyncpg.connect(server.cluster.dsn)
    try:
        async with asyncio.timeout(60):
            while not await connection.fetchval("SELECT active FROM pg_replication_slots WHERE slot_name = $1", SLOT):
                await asyncio.sleep(0.02)
        await receiver.stop()
        await connection.fetch("SELECT pg_terminate_backend(active_pid, 5000) FROM pg_replication_slots WHERE active")
        await connection.fetch(DROP, SLOT)
        for _ in range(2):  # the segment that comes next in the archive is no longer on the server
            await connection.execute("SELECT pg_switch_wal(); CREATE TABLE IF NOT EXISTS written (); CHECKPOINT")
        receive()
        await until(lambda: has_logged("wal_archive_gap"))
        await until(lambda: any(wal.iterdir()))
        assert len(list(archive.glob("wal-until-*"))) == 1
    finally:
        await connection.close()
