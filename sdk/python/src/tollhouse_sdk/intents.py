"""Requests that were begun: written down before they are sent, and removed when their outcome is known."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

from tollhouse_sdk.files import read_json, write_private
from tollhouse_sdk.sql import Database


@dataclass(frozen=True)
class Intent:
    """A request with its idempotency key. `path` is relative to the root of the Integration API."""

    key: str
    method: str
    path: str
    body: dict[str, Any] | None


class IntentStore(Protocol):
    """Keeps what was begun over the end of a process."""

    def add(self, intent: Intent) -> None:
        """Keep this; it is kept when the method returns."""
        ...

    def remove(self, key: str) -> None:
        """The outcome is known."""
        ...

    def waiting(self) -> Sequence[Intent]:
        """What was begun and has no outcome yet."""
        ...


class FileIntents:
    """A file for each intent, in a folder."""

    def __init__(self, folder: str | Path) -> None:
        self._folder = Path(folder)

    def add(self, intent: Intent) -> None:
        """Write the file."""
        write_private(self._path(intent.key), json.dumps(asdict(intent)))

    def remove(self, key: str) -> None:
        """Delete the file."""
        self._path(key).unlink(missing_ok=True)

    def waiting(self) -> Sequence[Intent]:
        """What the files say."""
        found = [read_json(path) for path in sorted(self._folder.glob("*.intent"))]
        return [Intent(**kept) for kept in found if kept]

    def _path(self, key: str) -> Path:
        return self._folder / f"{hashlib.sha256(key.encode()).hexdigest()}.intent"


class SqlIntents:
    """A row for each intent."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, intent: Intent) -> None:
        """Write the row, in a transaction of its own."""
        self._database.upsert(
            "UPDATE tollhouse_intents SET content = ? WHERE name = ?",
            "INSERT INTO tollhouse_intents (content, name) VALUES (?, ?)",
            json.dumps(asdict(intent)),
            intent.key,
        )

    def remove(self, key: str) -> None:
        """Delete the row."""
        with self._database.transaction() as cursor:
            cursor.execute(self._database.statement("DELETE FROM tollhouse_intents WHERE name = ?"), (key,))

    def waiting(self) -> Sequence[Intent]:
        """What the rows say."""
        with self._database.transaction() as cursor:
            cursor.execute("SELECT content FROM tollhouse_intents ORDER BY name")
            return [Intent(**json.loads(row[0])) for row in cursor.fetchall()]
