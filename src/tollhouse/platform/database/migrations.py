"""Migrations: numbered SQL files, applied in order under an advisory lock, each in a transaction, forward only.

The first one is the baseline: the whole schema of a release. A database of that release has it; an older one is refused.
A file whose leading comments have the line `-- transactional: false` runs outside a transaction, statement by statement.
It is recorded after its last statement; one that was interrupted is run again from its first.
"""

import asyncio
import hashlib
import re
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from typing import NamedTuple

import asyncpg

from tollhouse.platform.database import roles
from tollhouse.platform.database.pool import DatabaseConnection, Pool, Tx, connect
from tollhouse.platform.database.transaction import Row
from tollhouse.platform.failure import Failure

LOCK_KEY = 0x746F6C6C  # "toll"
NUMBERED = re.compile(r"(?P<number>[0-9]{4})_[a-z_]+\.sql")
BASELINE = re.compile(r"-- Baseline of (?P<version>[0-9.]+), whose last migration has the digest (?P<digest>[0-9a-f]{64})\n")
OLDER_RELEASES = {24: "0.1.0", 36: "0.2.0"}
"""Releases before the baseline, by the number of their last migration."""

CREATE_RECORD = """
    CREATE TABLE IF NOT EXISTS schema_migrations (
        number int PRIMARY KEY, name text NOT NULL, digest bytea NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())
"""
LIMITS = {"lock_timeout": "60s", "statement_timeout": "0"}
STAY_IDLE = "SET LOCAL idle_in_transaction_session_timeout = 0"
TRY_LOCK = "SELECT pg_try_advisory_xact_lock($1)"
TRIES_AGAIN_AFTER_S = 1
DEADLOCKS_MAX = 10
"""How often a migration is tried that PostgreSQL ended because of a deadlock."""
APPLIED = "SELECT number, digest FROM schema_migrations ORDER BY number"
OURS = "SELECT number, digest FROM schema_migrations WHERE number = $1"
LAST = """
    SELECT number, digest, current_setting('server_version_num')::int / 10000 AS server_version
    FROM schema_migrations ORDER BY number DESC LIMIT 1
"""
SERVER_VERSION_MIN = 18
"""The oldest major version of PostgreSQL. Functions of payments use `RETURNING old`, which older ones do not know."""
MIGRATES_WITHIN_S = 3600
"""The time limit of one statement of a migration, and of waiting for another process."""
INVALID_INDEXES = """
    SELECT relname FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid WHERE NOT indisvalid AND strpos($1, relname) > 0
"""
RECORD = "INSERT INTO schema_migrations (number, name, digest) VALUES ($1, $2, $3)"
NOT_TRANSACTIONAL = re.compile(r"(?:--.*\n)*-- transactional: false\n")
COMMENT = r"--[^\n]*|/\*.*?\*/"
SEMICOLON_OR_TEXT = re.compile(
    COMMENT + r"""|\b[eE]'(?:\\.|[^'\\])*'|'[^']*'|"[^"]*"|(?P<tag>\$\w*\$).*?(?P=tag)|(?P<semicolon>;)""", re.DOTALL
)
BLANK = re.compile(rf"(?:\s|;|{COMMENT})*", re.DOTALL)
TRANSACTION_CONTROL = re.compile(r"(?:BEGIN|START|COMMIT|END|ROLLBACK|ABORT|SAVEPOINT|RELEASE)\b", re.IGNORECASE)


class Migration(NamedTuple):
    """One file of `tollhouse/platform/migrations`."""

    number: int
    name: str
    sql: str

    @property
    def digest(self) -> bytes:
        """The digest of the file, recorded when it is applied."""
        return hashlib.sha256(self.sql.encode()).digest()

    @property
    def baseline(self) -> re.Match[str] | None:
        """If it is a baseline: the release whose schema it makes."""
        return BASELINE.match(self.sql)

    def is_recorded_as(self, digest: bytes) -> bool:
        """Whether a database with this digest has it. For a baseline, also that of the last migration of its release."""
        baseline = self.baseline
        return digest == self.digest or (baseline is not None and digest == bytes.fromhex(baseline["digest"]))

    @property
    def is_transactional(self) -> bool:
        """Whether it runs in one transaction."""
        return NOT_TRANSACTIONAL.match(self.sql) is None

    def statements(self) -> Iterator[str]:
        """Its statements. Raises `MigrationsDisagreeError` at one that begins or ends a transaction."""
        start = 0
        ends = [found.end() for found in SEMICOLON_OR_TEXT.finditer(self.sql) if found["semicolon"]]
        for end in (*ends, len(self.sql)):
            statement = BLANK.sub("", self.sql[start:end], count=1)
            if TRANSACTION_CONTROL.match(statement):
                raise MigrationsDisagreeError(f"{self.name} must not begin or end a transaction: {statement}")
            if statement:
                yield statement
            start = end


class MigrationsDisagreeError(Failure):
    """The migrations of the database are not those of this version. The text says what to do."""


class DatabaseTooOldError(MigrationsDisagreeError):
    """The database is of a release before the baseline. The text says which release to install first."""


class UnsupportedServerError(Failure):
    """PostgreSQL is too old. The text says what to do."""


def ours() -> list[Migration]:
    """The migrations of this version, in order and without gaps."""
    return in_folder(resources.files("tollhouse.platform.migrations"))


def in_folder(folder: Traversable) -> list[Migration]:
    """The migrations of a folder, from a baseline or 1. Raises `MigrationsDisagreeError` if a number is missing or twice."""
    files = [file for file in folder.iterdir() if NUMBERED.fullmatch(file.name)]
    found = sorted(Migration(int(file.name[:4]), file.name, file.read_text("utf-8")) for file in files)
    first = found[0].number if found and found[0].baseline else 1
    if [migration.number for migration in found] != list(range(first, first + len(found))):
        raise MigrationsDisagreeError("the migration files have a gap or a repeat")
    return found


async def migrate(dsn: str, owner_dsn: str | None = None) -> list[str]:
    """Apply missing migrations and return their names. Processes may call it concurrently.

    With `owner_dsn`, its role owns everything, and the role of `dsn` gets the privileges of the application: with each
    migration, in its transaction, so that a running service keeps them, and at last for a role that is new.
    """
    application = roles.role_of(dsn)
    if owner_dsn is None or application is None or application == roles.role_of(owner_dsn):
        return await apply(owner_dsn or dsn, ours())
    done = await apply(owner_dsn, ours(), application)
    raw = await connect(owner_dsn, settings=LIMITS)
    try:
        async with _locked_transaction(raw):
            await roles.grant(raw, application)
    finally:
        await raw.close()
    return done


async def apply(dsn: str, migrations: list[Migration], application: str | None = None) -> list[str]:
    """Apply those that are missing and return their names. The role `application` may use what each of them creates."""
    done: list[str] = []
    raw = await connect(dsn, settings=LIMITS)
    try:
        for migration in migrations:
            if await _apply_between_others(raw, dsn, migration, migrations, application):
                done.append(migration.name)  # noqa: PERF401 - one after the other
    finally:
        await raw.close()
    return done


async def _apply_between_others(
    raw: "asyncpg.Connection[asyncpg.Record]", dsn: str, migration: Migration, all_: list[Migration], application: str | None
) -> bool:
    """Apply one migration, and again if it lost a deadlock with a request of the service. Whether it was missing."""
    for tries_left in reversed(range(DEADLOCKS_MAX)):
        try:
            async with _locked_transaction(raw):
                return await _apply_one(raw, dsn, migration, all_, application)
        except asyncpg.DeadlockDetectedError:
            if not tries_left:
                raise
        await asyncio.sleep(TRIES_AGAIN_AFTER_S)
    raise AssertionError("the last try returns or raises")


async def _apply_one(
    raw: "asyncpg.Connection[asyncpg.Record]", dsn: str, migration: Migration, all_: list[Migration], application: str | None
) -> bool:
    await raw.execute(CREATE_RECORD)
    applied = {row["number"]: row["digest"] for row in await raw.fetch(APPLIED)}
    _refuse_newer(max(applied, default=0), all_[-1])
    if applied:
        refuse_older(max(applied), all_[0])
    if migration.number in applied:
        _require_digest(applied[migration.number], migration)
        return False
    statements = list(migration.statements())
    if migration.is_transactional:
        await raw.execute(migration.sql, timeout=MIGRATES_WITHIN_S)
    else:
        await raw.execute(STAY_IDLE)  # Also closes the portal of the SELECT above, and with it its snapshot.
        await _run_outside_transaction(dsn, migration, statements)
    await Tx(DatabaseConnection(raw)).execute(RECORD, migration.number, migration.name, migration.digest)
    if application is not None:
        await roles.grant(raw, application)
    return True


async def require_current(db: Pool) -> None:
    """Raises `MigrationsDisagreeError` unless exactly the migrations of this version were applied.

    Raises `UnsupportedServerError` if PostgreSQL is too old.
    """
    row = await _recorded(db, LAST)
    if row is None:
        raise MigrationsDisagreeError("the database is empty; run `tollhouse migrate`")
    if row["server_version"] < SERVER_VERSION_MIN:
        raise UnsupportedServerError(
            f"the server is PostgreSQL {row['server_version']}, and this program needs {SERVER_VERSION_MIN} or newer"
        )
    first, last = _first_and_last()
    _refuse_newer(row["number"], last)
    refuse_older(row["number"], first)
    if row["number"] < last.number:
        raise MigrationsDisagreeError(
            f"the database is at migration {row['number']:04d} and this program needs {last.number:04d}: "
            "run `tollhouse migrate`"
        )
    _require_digest(row["digest"], last)


async def require_applied(db: Pool) -> None:
    """Raises `MigrationsDisagreeError` unless the migrations of this version were applied; newer ones may have been too."""
    first, last = _first_and_last()
    row = await _recorded(db, OURS, last.number)
    if row is None:
        newest = await _recorded(db, LAST)
        if newest is not None:
            refuse_older(newest["number"], first)
        raise MigrationsDisagreeError(f"the database lacks migration {last.number:04d}: run `tollhouse migrate`")
    _require_digest(row["digest"], last)


async def _recorded(db: Pool, statement: str, *args: object) -> Row | None:
    try:
        return await db.fetchrow(statement, *args)
    except asyncpg.UndefinedTableError:
        return None


def _require_digest(digest: bytes, migration: Migration) -> None:
    if not migration.is_recorded_as(digest):
        raise MigrationsDisagreeError(f"{migration.name} was changed after it was applied")


@cache
def _first_and_last() -> tuple[Migration, Migration]:
    migrations = ours()
    return migrations[0], migrations[-1]


def refuse_older(number: int, first: Migration) -> None:
    """Raise `DatabaseTooOldError` if a database at migration `number` is older than the baseline `first`."""
    baseline = first.baseline
    if baseline is not None and number < first.number:
        version = OLDER_RELEASES.get(number, f"between releases, at migration {number:04d}")
        raise DatabaseTooOldError(
            f"this database is of version {version}. Upgrade to {baseline['version']} first, then to this version"
        )


def _refuse_newer(number: int, last: Migration) -> None:
    if number > last.number:
        raise MigrationsDisagreeError(
            f"the database is at migration {number:04d}, newer than this program, which ends at {last.number:04d}: "
            "install the newer version"
        )


@asynccontextmanager
async def _locked_transaction(raw: "asyncpg.Connection[asyncpg.Record]") -> AsyncGenerator[None]:
    """A transaction that holds the lock.

    Who must wait asks again instead: a waiting statement has a snapshot, and a CREATE INDEX CONCURRENTLY of the other
    migrator would wait for it. Raises `MigrationsDisagreeError` after `MIGRATES_WITHIN_S`.
    """
    for _ in range(MIGRATES_WITHIN_S // TRIES_AGAIN_AFTER_S):
        async with raw.transaction():
            if await raw.fetchval(TRY_LOCK, LOCK_KEY):
                yield
                return
        await asyncio.sleep(TRIES_AGAIN_AFTER_S)
    raise MigrationsDisagreeError("another process is still migrating the database")


async def _run_outside_transaction(dsn: str, migration: Migration, statements: list[str]) -> None:
    """Run statements on a connection of their own, while the caller's transaction holds the lock."""
    raw = await connect(dsn, settings=LIMITS)
    try:
        for statement in statements:
            await raw.execute(statement, timeout=MIGRATES_WITHIN_S)
        for row in await raw.fetch(INVALID_INDEXES, migration.sql):
            raise MigrationsDisagreeError(f"{migration.name} left the index {row['relname']} invalid")
    finally:
        await raw.close()
