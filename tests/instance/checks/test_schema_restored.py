"""A restored database has the schema of the migrations: no definition changes when PostgreSQL dumps and loads it."""

import subprocess

import asyncpg
import pytest

from tests.running import migrated_database, new_database
from tollhouse.instance.checks.schema_store import OBJECTS
from tollhouse.instance.database import embedded


async def definitions(dsn: str) -> dict[str, str]:
    """What the check of the schema compares, by name."""
    connection = await asyncpg.connect(dsn)
    try:
        return {row["name"]: " ".join(row["definition"].split()) for row in await connection.fetch(OBJECTS)}
    finally:
        await connection.close()


@pytest.mark.long
async def test_a_dump_that_is_loaded_is_the_same_schema(server: embedded.Server) -> None:
    migrated = await migrated_database(server.cluster.dsn)
    restored = await new_database(server.cluster.dsn)
    programs = server.cluster.binaries / "bin"
    words = [programs / "pg_dump", "--schema-only", "--no-owner", "--no-privileges", migrated]
    dump = subprocess.run(words, capture_output=True, check=True).stdout
    subprocess.run([programs / "psql", "-q", "-v", "ON_ERROR_STOP=1", restored], input=dump, capture_output=True, check=True)
    before, after = await definitions(migrated), await definitions(restored)
    changed = {name for name in before if before[name] != after.get(name)}
    rows = ("transitions ", "release ", "action ", "email ")
    assert {name for name in changed if not name.startswith(rows)} == set()
