"""Tables of the SDK in a database of yours, through any DB-API driver."""

import sqlite3
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

from tollhouse_sdk.locks import FileLock, Lock, RowLock

TABLES = (
    "CREATE TABLE IF NOT EXISTS tollhouse_tokens (name VARCHAR(255) PRIMARY KEY, content TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS tollhouse_locks (name VARCHAR(255) PRIMARY KEY)",
    "CREATE TABLE IF NOT EXISTS tollhouse_intents (name VARCHAR(255) PRIMARY KEY, content TEXT NOT NULL)",
    """CREATE TABLE IF NOT EXISTS tollhouse_checkpoints
    (name VARCHAR(255) PRIMARY KEY, feed_id VARCHAR(255) NOT NULL, position BIGINT NOT NULL)""",
)
LOCK_ROW = "SELECT name FROM tollhouse_locks WHERE name = ? FOR UPDATE SKIP LOCKED"


@dataclass(frozen=True)
class Database:
    """Where the tables are. `connect` opens a new connection that can be used by any thread.

    `Database.sqlite(path)` is complete; for PostgreSQL: `Database(lambda: psycopg.connect(dsn))`.
    """

    connect: Callable[[], Any]
    placeholder: Literal["%s", "?"] = "%s"
    begin: str | None = None
    """The statement that begins a transaction, where the driver does not by itself."""
    lock_file: Path | None = None
    """For a database without locks on rows: the file that is locked instead."""

    @classmethod
    def sqlite(cls, path: str | Path) -> Self:
        """An SQLite file. Its write transactions wait for each other."""

        def connect() -> sqlite3.Connection:
            return sqlite3.connect(path, timeout=60, isolation_level=None, check_same_thread=False)

        return cls(connect, "?", "BEGIN IMMEDIATE", Path(f"{path}.lock"))

    def create_tables(self) -> None:
        """Create what is missing. The tables can also be made by migrations of yours, from `TABLES`."""
        with self.transaction() as cursor:
            for statement in TABLES:
                cursor.execute(statement)

    @contextmanager
    def transaction(self) -> Generator[Any]:
        """A cursor in a transaction of its own: committed at the end, rolled back after an exception."""
        connection = self.connect()
        try:
            cursor = connection.cursor()
            if self.begin:
                cursor.execute(self.begin)
            yield cursor
            connection.commit()
        except BaseException:
            connection.rollback()
            raise
        finally:
            connection.close()

    def statement(self, text: str) -> str:
        """The statement with the placeholders of the driver."""
        return text.replace("?", self.placeholder)

    def one(self, text: str, *values: Any) -> Any:
        """The first row of a SELECT, or None."""
        with self.transaction() as cursor:
            cursor.execute(self.statement(text), values)
            return cursor.fetchone()

    def upsert(self, update: str, insert: str, *values: Any) -> None:
        """Run the UPDATE, and the INSERT where there was no row: both take the same values."""
        with self.transaction() as cursor:
            cursor.execute(self.statement(update), values)
            if cursor.rowcount == 0:
                cursor.execute(self.statement(insert), values)

    def lock(self, name: str) -> Lock:
        """A lock on this name, for processes that share the database."""
        if self.lock_file is not None:
            return FileLock(self.lock_file.with_name(f"{self.lock_file.name}-{name.encode().hex()[-150:]}"))
        if self.one("SELECT name FROM tollhouse_locks WHERE name = ?", name) is None:
            self._add_lock(name)
        return RowLock(self.connect, name, self.statement(LOCK_ROW))

    def _add_lock(self, name: str) -> None:
        try:
            with self.transaction() as cursor:
                cursor.execute(self.statement("INSERT INTO tollhouse_locks (name) VALUES (?)"), (name,))
        except Exception:
            if self.one("SELECT name FROM tollhouse_locks WHERE name = ?", name) is None:
                raise  # else another process was first
