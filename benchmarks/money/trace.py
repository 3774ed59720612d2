"""What the product says to the database for one request, with the places where another request would differ.

The floors say the same, whatever the product has come to say: so they are never out of date, and never too kind.
"""

import pickle
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg
from msgspec import Struct

from tollhouse.platform import db

TOKEN = re.compile(r"[a-z2-7]{26}")


class Known(Struct, frozen=True):
    """A value that belongs to the request or to whom it is about, by its name."""

    name: str


class Fresh(Struct, frozen=True):
    """A new id, the same wherever it is used in one request."""

    place: int


class FreshToken(Struct, frozen=True):
    """A new checkout address."""


class Moment(Struct, frozen=True):
    """So long after now."""

    after: timedelta


class Several(Struct, frozen=True):
    """A list of values."""

    values: tuple[Any, ...]


class Said(Struct, frozen=True):
    """One statement, its parameters (a plain value stays as it is), and the names of their types."""

    sql: str
    values: tuple[Any, ...]
    types: tuple[str, ...]


class Trace(Struct, frozen=True):
    """All that was said, in order, and the answer that the caller got."""

    statements: tuple[Said, ...]
    status: int
    answer: bytes

    def keep(self, file: Path) -> None:
        """Write it down."""
        file.write_bytes(pickle.dumps(self))


def kept(file: Path) -> Trace:
    """What was written down by this run."""
    return pickle.loads(file.read_bytes())  # noqa: S301 - our own file


Heard = list[tuple[str, tuple[Any, ...]]]


class Ear:
    """Hears every statement of the connections that are made while it listens."""

    def __init__(self) -> None:
        self.heard: Heard = []

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Stand between the product and its connections."""
        heard, borrowed = self.heard, db.Tx

        class Overheard(borrowed):
            async def fetchrow(self, sql: str, *args: object) -> db.Row | None:
                heard.append((sql, args))
                return await super().fetchrow(sql, *args)

            async def fetch(self, sql: str, *args: object) -> list[db.Row]:
                heard.append((sql, args))
                return await super().fetch(sql, *args)

            async def fetchval(self, sql: str, *args: object) -> Any:
                heard.append((sql, args))
                return await super().fetchval(sql, *args)

            async def execute(self, sql: str, *args: object) -> int:
                heard.append((sql, args))
                return await super().execute(sql, *args)

            async def begin(self) -> None:
                heard.append(("BEGIN", ()))
                await super().begin()

            async def commit(self) -> None:
                heard.append(("COMMIT", ()))
                await super().commit()

        db.Tx = Overheard
        try:
            yield
        finally:
            db.Tx = borrowed


async def understand(
    connection: "asyncpg.Connection[Any]", heard: Heard, known: dict[Any, str], now: datetime
) -> tuple[Said, ...]:
    """The statements with the places of everything that is this request's own."""
    fresh: dict[UUID, int] = {}

    def place_of(value: Any) -> Any:
        match value:
            case list():
                values: list[Any] = value
                return Several(tuple(place_of(one) for one in values))
            case datetime():
                return Moment(value - now)
            case UUID() | bytes() | str() if value in known:
                return Known(known[value])
            case UUID():
                return Fresh(fresh.setdefault(value, len(fresh)))
            case str() if TOKEN.fullmatch(value):
                return FreshToken()
            case _:
                return value

    said: list[Said] = []
    for sql, values in heard:
        types = [one.name for one in (await connection.prepare(sql)).get_parameters()] if values else []
        said.append(Said(sql, tuple(place_of(value) for value in values), tuple(types)))
    return tuple(said)
