"""How far the feed was read: in memory, in a file, in a table, or in the transaction of what an event causes."""

import json
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

from tollhouse_sdk.files import read_json, write_private
from tollhouse_sdk.sql import Database

SELECT = "SELECT feed_id, position FROM tollhouse_checkpoints WHERE name = ?"
INSERT = "INSERT INTO tollhouse_checkpoints (feed_id, position, name) VALUES (?, ?, ?)"
UPDATE = "UPDATE tollhouse_checkpoints SET feed_id = ?, position = ? WHERE name = ?"
ADVANCE = "UPDATE tollhouse_checkpoints SET feed_id = ?, position = ? WHERE name = ? AND position < ?"


@dataclass(frozen=True)
class Position:
    """All up to this position was processed. `feed_id` is empty until the feed was read for the first time."""

    feed_id: str = ""
    position: int = 0


class Checkpoint(Protocol):
    """Keeps the position of one consumer."""

    def load(self) -> Position:
        """Where to go on; the beginning at first."""
        ...

    def save(self, position: Position) -> None:
        """Keep this; it is kept when the method returns."""
        ...


class MemoryCheckpoint:
    """For one process, and for tests."""

    def __init__(self, position: Position | None = None) -> None:
        self._position = position or Position()

    def load(self) -> Position:
        """What was saved last."""
        return self._position

    def save(self, position: Position) -> None:
        """Keep this."""
        self._position = position


class FileCheckpoint:
    """A file for each consumer."""

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)

    def load(self) -> Position:
        """What was saved last."""
        kept = read_json(self._path)
        return Position(**kept) if kept else Position()

    def save(self, position: Position) -> None:
        """Replace the file."""
        write_private(self._path, json.dumps(asdict(position)))


class SqlCheckpoint:
    """A row for each consumer, by a name of yours. Several processes can share it: each event is processed by one."""

    def __init__(self, database: Database, name: str) -> None:
        self._database = database
        self._name = name

    def load(self) -> Position:
        """What was saved last."""
        row = self._database.one(SELECT, self._name)
        return Position(row[0], row[1]) if row else Position()

    def save(self, position: Position) -> None:
        """Write the row, in a transaction of its own."""
        self._database.upsert(UPDATE, INSERT, position.feed_id, position.position, self._name)

    @contextmanager
    def advancing(self, position: Position) -> Generator[Any]:
        """A transaction that moves the checkpoint here, with its cursor for what else belongs into it.

        The cursor is None where another process was first. After an exception nothing has moved.
        """
        if self._database.one(SELECT, self._name) is None:
            self._begin()
        with self._database.transaction() as cursor:
            values = (position.feed_id, position.position, self._name, position.position)
            cursor.execute(self._database.statement(ADVANCE), values)
            yield cursor if cursor.rowcount == 1 else None

    def _begin(self) -> None:
        try:
            with self._database.transaction() as cursor:
                cursor.execute(self._database.statement(INSERT), ("", 0, self._name))
        except Exception:
            if self._database.one(SELECT, self._name) is None:
                raise  # else another process was first
