"""Rows of statements as the Structs that pages show."""

from functools import cache
from typing import Any, TypeVar, get_args

import msgspec
from msgspec import Struct

from tollhouse.kernel.clock import Timestamp, stamp_or_none
from tollhouse.platform.database.pool import Row

S = TypeVar("S", bound=Struct)


def read_row(kind: type[S], row: Row, **made: object) -> S:
    """A Struct of the columns that are named as its fields; `made` are the fields that are no columns.

    The value of a `Timestamp` is the text of a time, as it is shown.
    """
    values: dict[str, Any] = {name: row[name] for name in kind.__struct_fields__ if name not in made}
    for name in _timestamps(kind) & values.keys():
        values[name] = stamp_or_none(values[name])
    return kind(**values, **made)


@cache
def _timestamps(kind: type[Struct]) -> frozenset[str]:
    fields = msgspec.structs.fields(kind)
    return frozenset(field.name for field in fields if Timestamp in {field.type, *get_args(field.type)})
