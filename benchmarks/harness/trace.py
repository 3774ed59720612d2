"""The statements of one request, with the places where another request would differ.

Three requests are compared: two of one merchant and one of another. A value that is the same in all is a constant. A value
that is known by name belongs to the request. What else differs is new in each request: an id, a time, random bytes.
"""

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import asyncpg
from msgspec import Struct

ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
ROUNDING_S = 0.1
"""A time is read a little after the request began."""
RANDOM_CHARS_MAX = 200
"""A longer text that differs is a document: its ids are replaced, the rest stays as it is."""


class Known(Struct, frozen=True):
    """A value that belongs to the request, by its name."""

    name: str


class Fresh(Struct, frozen=True):
    """A new id, the same wherever it is used in one request."""

    place: int


class Random(Struct, frozen=True):
    """New random bytes, or as many letters: the same wherever they are used in one request."""

    place: int
    length: int
    is_text: bool


class Count(Struct, frozen=True):
    """A number that no other request has."""


class Moment(Struct, frozen=True):
    """So long after now."""

    after: timedelta


class Text(Struct, frozen=True):
    """A text or bytes with ids in it."""

    parts: tuple[Any, ...]
    is_text: bool


class Several(Struct, frozen=True):
    """A list of values."""

    values: tuple[Any, ...]


PLACES = (Known, Fresh, Random, Count, Moment, Text, Several)


class Said(Struct, frozen=True):
    """One statement, its parameters (a plain value is a constant) and the names of their types."""

    sql: str
    values: tuple[Any, ...]
    types: tuple[str, ...]


class Trace(Struct, frozen=True):
    """The statements of a request without BEGIN and COMMIT, its round trips with them, and its response."""

    statements: tuple[Said, ...]
    trips: int
    status: int
    answer: tuple[tuple[str, Any], ...]
    """The members of the JSON response."""


class Seen(Struct, frozen=True):
    """One watched request: what was heard, when it began, its response, and the names of its values."""

    heard: list[tuple[str, tuple[Any, ...]]]
    now: datetime
    status: int
    answer: dict[str, Any]
    known: dict[Any, str]


class DifferentStatementsError(Exception):
    """Two requests of one kind sent different statements."""


async def compare(connection: "asyncpg.Connection[Any]", seen: Sequence[Seen]) -> Trace:
    """The trace of the first, by comparison with the others."""
    texts = [[sql for sql, _ in run.heard] for run in seen]
    if any(text != texts[0] for text in texts):
        raise DifferentStatementsError([[" ".join(sql.split())[:60] for sql in text] for text in texts])
    comparison = _Comparison(seen)
    statements: list[Said] = []
    for sql, *values in zip(texts[0], *([values for _, values in run.heard] for run in seen), strict=True):
        if sql in {"BEGIN", "COMMIT"}:
            continue
        types = [parameter.name for parameter in (await connection.prepare(sql)).get_parameters()]
        places = [comparison.place_of(parallel) for parallel in zip(*values, strict=True)]
        statements.append(Said(sql, tuple(places), tuple(types)))
    answers = [run.answer for run in seen]
    members = [(name, comparison.place_of([answer.get(name) for answer in answers])) for name in answers[0]]
    return Trace(tuple(statements), len(texts[0]), seen[0].status, tuple(members))


class _Comparison:
    """Gives each value that differs its place."""

    def __init__(self, seen: Sequence[Seen]) -> None:
        self._seen = seen
        self._fresh: dict[UUID, int] = {}
        self._random: dict[str | bytes, int] = {}

    def place_of(self, values: Sequence[Any]) -> Any:  # noqa: PLR0911 - one line for each kind of value
        """The place of a value, given as each request had it."""
        first = values[0]
        if name := self._name_of(values):
            return Known(name)
        match first:
            case list() | tuple() if all(isinstance(value, (list, tuple)) and len(value) == len(first) for value in values):
                return Several(tuple(self.place_of(parallel) for parallel in zip(*values, strict=True)))
            case _ if all(value == first for value in values):
                return first
            case datetime():
                return self._moment(first)
            case UUID():
                return Fresh(self._fresh.setdefault(first, len(self._fresh)))
            case str() | bytes():
                return self._text(first)
            case int() if not isinstance(first, bool):
                return Count()
            case _:
                return first

    def _name_of(self, values: Sequence[Any]) -> str | None:
        if not all(isinstance(value, (UUID, bytes, str, int)) for value in values):
            return None
        names = {one.known.get(value) for one, value in zip(self._seen, values, strict=True)}
        return names.pop() if len(names) == 1 else None

    def _moment(self, value: datetime) -> Moment:
        seconds = (value - self._seen[0].now).total_seconds()
        return Moment(timedelta(seconds=round(seconds / ROUNDING_S) * ROUNDING_S))

    def _text(self, value: str | bytes) -> Any:
        text = value if isinstance(value, str) else value.decode(errors="replace")
        if not ID.search(text):
            place = self._random.setdefault(value, len(self._random))
            return Random(place, len(value), isinstance(value, str)) if len(value) <= RANDOM_CHARS_MAX else value
        parts: list[Any] = []
        end = 0
        for found in ID.finditer(text):
            parts.append(text[end : found.start()])
            parts.append(self._id(UUID(found.group())))
            end = found.end()
        return Text((*parts, text[end:]), isinstance(value, str))

    def _id(self, value: UUID) -> Any:
        name = self._seen[0].known.get(value)
        return Known(name) if name else Fresh(self._fresh.setdefault(value, len(self._fresh)))
