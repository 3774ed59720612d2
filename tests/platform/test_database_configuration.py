"""The embedded database is sized for the memory of the machine or of the container; operators have the last word."""

import asyncio
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import pytest

from tollhouse.instance.database import embedded
from tollhouse.instance.database.cluster import CUSTOM_FILE, GIB, MIB, settings_for
from tollhouse.platform.machine import memory_bytes

MACHINE = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.parametrize(
    ("memory", "buffers", "cache", "wal", "connections"),
    [
        (64 * MIB, "32MB", "256MB", "512MB", "100"),
        (GIB, "32MB", "512MB", "512MB", "100"),
        (4 * GIB, "128MB", "2048MB", "512MB", "100"),
        (8 * GIB - 1, "128MB", "4095MB", "512MB", "100"),
        (8 * GIB, "128MB", "4096MB", "1024MB", "200"),
        (2 * GIB, "64MB", "1024MB", "512MB", "100"),
        (23 * GIB, "128MB", "11776MB", "2048MB", "200"),
        (512 * GIB, "1024MB", "262144MB", "2048MB", "200"),
    ],
)
def test_settings_by_memory(memory: int, buffers: str, cache: str, wal: str, connections: str) -> None:
    settings = settings_for(memory)
    assert settings["shared_buffers"] == buffers
    assert settings["effective_cache_size"] == cache
    assert settings["max_wal_size"] == wal
    assert settings["max_connections"] == connections


def test_what_makes_a_commit_durable_is_not_ours_to_change() -> None:
    assert not {"synchronous_commit", "fsync", "full_page_writes", "wal_sync_method"} & settings_for(GIB).keys()


def grouped(folder: Path, membership: str, limits: dict[str, str]) -> int:
    """The memory of a process in control groups with these limits."""
    for path, limit in limits.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(limit + "\n")
    (folder / "membership").write_text(membership)
    return memory_bytes(folder, folder / "membership")


def test_the_smallest_limit_above_counts(tmp_path: Path) -> None:
    limits = {"memory.max": "max", "a/memory.max": str(3 * MIB), "a/b/memory.max": str(5 * MIB), "c/memory.max": "1"}
    assert grouped(tmp_path, "0::/a/b\n", limits) == 3 * MIB


def test_limits_of_version_one(tmp_path: Path) -> None:
    limits = {"memory/memory.limit_in_bytes": "9223372036854771712", "memory/a/memory.limit_in_bytes": str(7 * MIB)}
    assert grouped(tmp_path, "4:memory:/a\n3:cpuset:/\n0::/\n", limits) == 7 * MIB


def test_without_limits_the_machine_counts(tmp_path: Path) -> None:
    assert memory_bytes(tmp_path, tmp_path / "missing") == MACHINE
    assert grouped(tmp_path, "0::/../outside\n", {"memory.max": "max"}) == MACHINE


@pytest.fixture
def data_dir() -> Iterator[Path]:
    """A data folder that does not exist yet."""
    with tempfile.TemporaryDirectory(prefix="tollhouse-configured-") as folder:
        yield Path(folder) / "data"


@pytest.mark.long
async def test_the_operators_file_is_read_last(data_dir: Path) -> None:
    cluster = embedded.locate(data_dir)
    (cluster.folder / CUSTOM_FILE).write_text("work_mem = '5MB'\nmax_wal_size = '640MB'\nlisten_addresses = '*'\n")
    (cluster.folder / CUSTOM_FILE).chmod(0o644)
    server = await asyncio.to_thread(embedded.start, data_dir)
    try:
        connection = await asyncpg.connect(server.cluster.dsn)
        rows = await connection.fetch("SELECT name, current_setting(name) AS value FROM pg_settings")
        await connection.close()
    finally:
        await asyncio.to_thread(server.stop)
    shown = {row["name"]: row["value"] for row in rows}
    assert (shown["work_mem"], shown["max_wal_size"]) == ("5MB", "640MB")
    assert shown["listen_addresses"] == ""  # the supervisor decides how the server is reached
    assert shown["shared_buffers"] == settings_for(memory_bytes())["shared_buffers"].replace("1024MB", "1GB")
    assert shown["synchronous_commit"] == "on"
    assert shown["default_text_search_config"] == "pg_catalog.english"  # what initdb wrote is read too
