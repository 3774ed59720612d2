"""Migrations: numbered SQL files, applied in order under an advisory lock, each in a transaction, forward only."""

import hashlib
import re
from functools import cache
from importlib import resources
from typing import NamedTuple

import asyncpg

from tollhouse.platform import roles
from tollhouse.platform.db import Pool, Tx, connect

LOCK_KEY = 0x746F6C6C  # "toll"
NUMBERED = re.compile(r"(?P<number>[0-9]{4})_[a-z_]+\.sql")

CREATE_RECORD = """
    CREATE TABLE IF NOT EXISTS schema_migrations (
        number int PRIMARY KEY, name text NOT NULL, digest bytea NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())
"""
LOCK_TIMEOUT = "SELECT set_config('lock_timeout', '60s', true), set_config('statement_timeout', '0', true)"
LOCK = "SELECT pg_advisory_xact_lock($1)"
APPLIED = "SELECT number, digest FROM schema_migrations ORDER BY number"
LAST = "SELECT number, digest FROM schema_migrations ORDER BY number DESC LIMIT 1"
MIGRATES_WITHIN_S = 3600
"""The time limit of one statement of a migration."""
RECORD = "INSERT INTO schema_migrations (number, name, digest) VALUES ($1, $2, $3)"


class Migration(NamedTuple):
    """One file of `tollhouse/migrations`."""

    number: int
    name: str
    sql: str

    @property
    def digest(self) -> bytes:
        """The digest of the file, recorded when it is applied."""
        return hashlib.sha256(self.sql.encode()).digest()


class MigrationsDisagreeError(Exception):
    """The migrations of the database are not those of this version. The text says what to do."""


def ours() -> list[Migration]:
    """The migrations of this version, in order and without gaps."""
    files = [file for file in resources.files("tollhouse.migrations").iterdir() if NUMBERED.fullmatch(file.name)]
    found = sorted(Migration(int(file.name[:4]), file.name, file.read_text("utf-8")) for file in files)
    if [migration.number for migration in found] != list(range(1, len(found) + 1)):
        raise MigrationsDisagreeError("the migration files have a gap or a repeat")
    return found


async def migrate(dsn: str, owner_dsn: str | None = None) -> list[str]:
    """Apply missing migrations and return their names. Processes may call it concurrently.

    With `owner_dsn`, its role owns everything, and the role of `dsn` gets the privileges of the application.
    """
    done: list[str] = []
    raw = await connect(owner_dsn or dsn)
    tx = Tx(raw)
    try:
        for migration in ours():
            async with raw.transaction():
                await raw.execute(LOCK_TIMEOUT)
                await raw.fetch(LOCK, LOCK_KEY)
                await raw.execute(CREATE_RECORD)
                applied = {row["number"]: row["digest"] for row in await raw.fetch(APPLIED)}
                _refuse_newer(max(applied, default=0))
                if migration.number in applied:
                    if applied[migration.number] != migration.digest:
                        raise MigrationsDisagreeError(f"{migration.name} was changed after it was applied")
                    continue
                await raw.execute(migration.sql, timeout=MIGRATES_WITHIN_S)
                await tx.execute(RECORD, migration.number, migration.name, migration.digest)
                done.append(migration.name)
        application = roles.role_of(dsn)
        if owner_dsn is not None and application is not None and application != roles.role_of(owner_dsn):
            async with raw.transaction():
                await raw.execute(LOCK_TIMEOUT)
                await raw.fetch(LOCK, LOCK_KEY)
                await roles.grant(raw, application)
    finally:
        await raw.close()
    return done


async def require_current(db: Pool) -> None:
    """Raises `MigrationsDisagreeError` unless exactly the migrations of this version were applied."""
    try:
        row = await db.fetchrow(LAST)
    except asyncpg.UndefinedTableError:
        row = None
    if row is None:
        raise MigrationsDisagreeError("the database is empty: run `tollhouse migrate`")
    last = _last()
    _refuse_newer(row["number"])
    if row["number"] < last.number:
        raise MigrationsDisagreeError(
            f"the database is at migration {row['number']:04d} and this program needs {last.number:04d}: "
            "run `tollhouse migrate`"
        )
    if row["digest"] != last.digest:
        raise MigrationsDisagreeError(f"{last.name} was changed after it was applied")


@cache
def _last() -> Migration:
    return ours()[-1]


def _refuse_newer(number: int) -> None:
    if number > _last().number:
        raise MigrationsDisagreeError(
            f"the database is at migration {number:04d}, newer than this program, which ends at {_last().number:04d}: "
            "install the newer version"
        )
