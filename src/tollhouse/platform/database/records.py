"""Records: Structs whose fields are columns. SELECT lists, INSERT statements and row readers are derived from them once.

A field is a column of the same name. What differs is declared on the field:

- a Struct is stored in the columns of its own fields, or in those that `Columns` names;
- `Json[...]` is a jsonb column, `Array[...]` an array that is read as a tuple;
- `Selected("…")` is an SQL expression that is read and never written.
"""

from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter, itemgetter
from types import NoneType
from typing import Annotated, Any, Generic, TypeVar, get_args, get_origin

import msgspec
from msgspec import Struct

from tollhouse.kernel.errors import NotFound
from tollhouse.platform.database.pool import Pool, Row, Tx

T = TypeVar("T")
S = TypeVar("S", bound=Struct)


class Columns(Struct, frozen=True):
    """The columns of a field that is stored in several columns: the attribute of its value, by column.

    `read` creates the value from the columns; by default the Struct is called with them. None is NULL in every column.
    """

    attributes: dict[str, str]
    read: Callable[..., Any] | None = None


class Selected(Struct, frozen=True):
    """A field that is read as an SQL expression and never written. `{row}` stands for the table or its alias."""

    expression: str


class _Jsonb(Struct, frozen=True):
    """A jsonb column."""


class _TextArray(Struct, frozen=True):
    """An array column."""


class _Internal(Struct, frozen=True):
    """A field that the API does not show."""


Json = Annotated[T, _Jsonb()]
Array = Annotated[T, _TextArray()]
Internal = Annotated[T, _Internal()]


class Column(Struct, frozen=True):
    """A column and the path of its attribute. Of a value that may be None, `path` is the value and `part` the attribute.

    `expression` is selected instead of the column.
    """

    name: str
    path: str
    part: str | None = None
    expression: str | None = None
    is_json: bool = False


class _Member(Struct, frozen=True):
    """A member of a Struct: its columns, and how its value is created from them. None: the value of the one column."""

    name: str
    columns: tuple[Column, ...]
    read: Callable[..., Any] | None


class Record(Generic[S]):
    """The SQL of a Struct that is a row of `table`. `also` are inserted columns that the Struct does not have."""

    def __init__(self, kind: type[S], table: str, also: Sequence[str] = ()) -> None:
        self._members = tuple(_members(kind))
        self.columns = _selection(self._members, table, "")
        """The columns for `SELECT` and `RETURNING`, where the table has no alias."""
        written = [column for column in _all_columns(self._members) if column.expression is None]
        names = [*(column.name for column in written), *also]
        parameters = ", ".join(f"${place}" for place in range(1, len(names) + 1))
        self.insert = f"INSERT INTO {table} ({', '.join(names)}) VALUES ({parameters})"
        """The INSERT statement; `values` are its parameters."""
        self._also = tuple(also)
        self._values = attrgetter(*(column.path for column in written))
        self._parts = tuple((at, column.part) for at, column in enumerate(written) if column.part is not None)
        self._json_places = tuple(at for at, column in enumerate(written) if column.is_json)
        self._read = _reader(kind, self._members)

    def columns_of(self, alias: str) -> str:
        """The columns of the table under an alias: `l.id, l.merchant_id, …`."""
        return _selection(self._members, alias, f"{alias}.")

    def values(self, record: S, **also: object) -> Sequence[object]:
        """The parameters of `insert`."""
        values = list(self._values(record))
        for at, part in self._parts:
            values[at] = None if values[at] is None else getattr(values[at], part)
        for at in self._json_places:
            values[at] = None if values[at] is None else msgspec.json.encode(values[at]).decode()
        return [*values, *(also[name] for name in self._also)]

    def read(self, row: Row) -> S:
        """The record of a row that has at least its columns."""
        return self._read(row)

    async def find(self, db: Pool | Tx, sql: str, *args: object) -> S | None:
        """The record of the row that a statement returns; None without one."""
        row = await db.fetchrow(sql, *args)
        return None if row is None else self._read(row)

    async def get(self, db: Pool | Tx, sql: str, *args: object) -> S:
        """The record of the row that a statement returns. Raises `NotFound`."""
        found = await self.find(db, sql, *args)
        if found is None:
            raise NotFound
        return found

    async def find_all(self, db: Pool | Tx, sql: str, *args: object) -> list[S]:
        """The records of all rows that a statement returns."""
        return [self._read(row) for row in await db.fetch(sql, *args)]


def marked(field_type: Any) -> tuple[Any, dict[type, Any]]:
    """The type of a field, and its annotations by type."""
    if get_origin(field_type) is not Annotated:
        return field_type, {}
    value_type, *marks = get_args(field_type)
    return value_type, {type(mark): mark for mark in marks}


def is_internal(marks: dict[type, Any]) -> bool:
    """Whether the API does not show the field."""
    return _Internal in marks


def is_spread(value_type: Any, marks: dict[type, Any]) -> bool:
    """Whether the fields of this Struct are columns and API members of the record itself."""
    is_struct = isinstance(value_type, type) and issubclass(value_type, Struct)
    return is_struct and not marks.keys() & {Columns, _Jsonb}


def _members(kind: type[Struct], path: str = "") -> Iterator[_Member]:
    for field in msgspec.structs.fields(kind):
        value_type, marks = marked(field.type)
        of_value = f"{path}{field.name}"
        stored, selected = marks.get(Columns), marks.get(Selected)
        expression = selected.expression if isinstance(selected, Selected) else None
        columns = (Column(field.name, of_value, expression=expression, is_json=_Jsonb in marks),)
        read = None
        if isinstance(stored, Columns):
            columns, read = _stored_in(stored, value_type, of_value)
        elif _Jsonb in marks:
            read = _json_reader(value_type)
        elif _TextArray in marks:
            read = _tuple_or_none
        elif is_spread(value_type, marks):
            parts = tuple(_members(value_type, f"{of_value}."))
            columns, read = tuple(_all_columns(parts)), _caller(value_type, parts)
        yield _Member(field.name, columns, read)


def _stored_in(stored: Columns, value_type: Any, path: str) -> tuple[tuple[Column, ...], Callable[..., Any]]:
    if NoneType not in get_args(value_type):
        columns = tuple(Column(name, f"{path}.{attribute}") for name, attribute in stored.attributes.items())
        return columns, stored.read or value_type
    columns = tuple(Column(name, path, part=attribute) for name, attribute in stored.attributes.items())
    make = stored.read or next(kind for kind in get_args(value_type) if kind is not NoneType)
    return columns, lambda *values: None if values[0] is None else make(*values)


def _all_columns(members: Sequence[_Member]) -> Iterator[Column]:
    return (column for member in members for column in member.columns)


def _selection(members: Sequence[_Member], row: str, prefix: str) -> str:
    return ", ".join(
        f"{prefix}{column.name}" if column.expression is None else f"{column.expression.format(row=row)} AS {column.name}"
        for column in _all_columns(members)
    )


def _reader(kind: type[S], members: Sequence[_Member]) -> Callable[[Row], S]:
    """Read the plain columns at once, then those of composed values."""
    plain = [member.name for member in members if member.read is None]
    made: list[tuple[str, Callable[..., Any], int, int]] = []
    columns = list(plain)
    for member in members:
        if member.read is not None:
            made.append((member.name, member.read, len(columns), len(columns) + len(member.columns)))
            columns += [column.name for column in member.columns]
    values_of = itemgetter(*columns)

    def read(row: Row) -> S:
        values = values_of(row)
        of_members: dict[str, Any] = dict(zip(plain, values, strict=False))
        for name, make, start, end in made:
            of_members[name] = make(*values[start:end])
        return kind(**of_members)

    return read


def _caller(kind: type[Struct], parts: Sequence[_Member]) -> Callable[..., Struct]:
    """How a nested Struct is created from its columns."""
    if all(part.read is None for part in parts):
        return kind

    def make(*values: Any) -> Struct:
        remaining = iter(values)
        of_parts = [[next(remaining) for _ in part.columns] for part in parts]
        return kind(*(row[0] if part.read is None else part.read(*row) for part, row in zip(parts, of_parts, strict=True)))

    return make


def _json_reader(value_type: Any) -> Callable[[str | None], Any]:
    decode = msgspec.json.Decoder(value_type).decode
    return lambda text: None if text is None else decode(text)


def _tuple_or_none(values: list[Any] | None) -> tuple[Any, ...] | None:
    return None if values is None else tuple(values)
