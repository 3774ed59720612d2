"""Migrations: numbered SQL files, applied in order under an advisory lock, each in a transaction, forward only."""

import hashlib
import re
from importlib import resources
from typing import NamedTuple

from tollhouse.platform.db import Tx, connect

LOCK_KEY = 0x746F6C6C  # "toll"
NUMBERED = re.compile(r"(?P<number>[0-9]{4})_[a-z_]+\.sql")

CREATE_RECORD = """
    CREATE TABLE IF NOT EXISTS schema_migrations (
        number int PRIMARY KEY, name text NOT NULL, digest bytea NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())
"""
PATIENCE = "SELECT set_config('lock_timeout', '60s', true), set_config('statement_timeout', '0', true)"
LOCK = "SELECT pg_advisory_xact_lock($1)"
APPLIED = "SELECT number, digest FROM schema_migrations ORDER BY number"
RECORD = "INSERT INTO schema_migrations (number, name, digest) VALUES ($1, $2, $3)"


class Migration(NamedTuple):
    """One file of `tollhouse/migrations`."""

    number: int
    name: str
    sql: str

    @property
    def digest(self) -> bytes:
        """What the file was when it was applied."""
        return hashlib.sha256(self.sql.encode()).digest()


class MigrationsDisagreeError(Exception):
    """The database was migrated by files that are not ours."""


def ours() -> list[Migration]:
    """The migrations of this version, in order and without gaps."""
    files = [file for file in resources.files("tollhouse.migrations").iterdir() if NUMBERED.fullmatch(file.name)]
    found = sorted(Migration(int(file.name[:4]), file.name, file.read_text("utf-8")) for file in files)
    if [migration.number for migration in found] != list(range(1, len(found) + 1)):
        raise MigrationsDisagreeError("the migration files have a gap or a repeat")
    return found


async def migrate(dsn: str) -> list[str]:
    """Apply what is missing; the names of what was applied. Any number of processes may call it at once."""
    done: list[str] = []
    raw = await connect(dsn)
    tx = Tx(raw)
    try:
        for migration in ours():
            async with raw.transaction():
                await raw.execute(PATIENCE)
                await raw.fetch(LOCK, LOCK_KEY)
                await raw.execute(CREATE_RECORD)
                applied = {row["number"]: row["digest"] for row in await raw.fetch(APPLIED)}
                if migration.number in applied:
                    if applied[migration.number] != migration.digest:
                        raise MigrationsDisagreeError(f"{migration.name} was changed after it was applied")
                    continue
                await raw.execute(migration.sql)
                await tx.execute(RECORD, migration.number, migration.name, migration.digest)
                done.append(migration.name)
    finally:
        await raw.close()
    return done
