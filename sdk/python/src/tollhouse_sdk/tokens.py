"""Where the tokens of a connection are kept: in memory, in a file, or in a database."""

import json
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Protocol

from tollhouse_sdk.files import read_json, write_private
from tollhouse_sdk.locks import FileLock, Lock, MemoryLock
from tollhouse_sdk.sql import Database


@dataclass(frozen=True)
class Grant:
    """The tokens of a connection. `refresh_key` is there while a refresh is under way, from before it was sent."""

    access_token: str
    expires_at: float
    scope: str = ""
    refresh_token: str | None = None
    refresh_key: str | None = None

    def is_fresh(self, margin_s: float) -> bool:
        """Whether the access token lives for longer than this, and no refresh was begun."""
        return self.refresh_key is None and time.time() + margin_s < self.expires_at


class TokenStorage(Protocol):
    """The tokens of one connection, and the lock of whoever refreshes them."""

    def load(self) -> Grant | None:
        """What was saved last."""
        ...

    def save(self, grant: Grant) -> None:
        """Keep this; it is kept when the method returns."""
        ...

    def lock(self) -> Lock:
        """A lock for all who share the tokens."""
        ...


class MemoryTokens:
    """For one process, and for tests."""

    def __init__(self, grant: Grant | None = None) -> None:
        self._grant = grant
        self._lock = MemoryLock()

    def load(self) -> Grant | None:
        """What was saved last."""
        return self._grant

    def save(self, grant: Grant) -> None:
        """Keep this."""
        self._grant = grant

    def lock(self) -> Lock:
        """A lock for all threads and tasks."""
        return self._lock


class FileTokens:
    """A file for each connection, readable by its owner only. Processes of one machine can share it."""

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)

    def load(self) -> Grant | None:
        """What was saved last."""
        kept = read_json(self._path)
        return Grant(**kept) if kept else None

    def save(self, grant: Grant) -> None:
        """Replace the file."""
        write_private(self._path, json.dumps(asdict(grant)))

    def lock(self) -> Lock:
        """A lock on a file beside it."""
        return FileLock(self._path.with_name(f"{self._path.name}.lock"))


class SqlTokens:
    """A row for each connection, by a name of yours. All machines that reach the database can share it."""

    def __init__(self, database: Database, name: str) -> None:
        self._database = database
        self._name = name

    def load(self) -> Grant | None:
        """What was saved last."""
        row = self._database.one("SELECT content FROM tollhouse_tokens WHERE name = ?", self._name)
        return Grant(**json.loads(row[0])) if row else None

    def save(self, grant: Grant) -> None:
        """Write the row, in a transaction of its own."""
        self._database.upsert(
            "UPDATE tollhouse_tokens SET content = ? WHERE name = ?",
            "INSERT INTO tollhouse_tokens (content, name) VALUES (?, ?)",
            json.dumps(asdict(grant)),
            self._name,
        )

    def lock(self) -> Lock:
        """A lock on a row."""
        return self._database.lock(self._name)
