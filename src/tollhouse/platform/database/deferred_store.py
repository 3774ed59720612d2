"""Writes that are deferred to the end of a transaction, and sent to the server as one statement.

A deferred write is a plain INSERT, or a SELECT of one function that writes. One statement runs them in their order: each is
an uncorrelated subquery of the target list, which PostgreSQL runs when its column is computed, from left to right. An UPDATE
belongs in a function: two parts of one statement cannot update the same row, and the second would be skipped silently.
"""

import re
from collections.abc import Sequence
from functools import lru_cache

from msgspec import Struct

PARAMETER = re.compile(r"\$(\d+)")
DEFERRABLE = re.compile(r"\s*(INSERT INTO|SELECT) ")
ROWS = re.compile(r"\sFROM\s")
"""What a SELECT of a function that returns rows has, and one that returns a value has not."""
COUNT_ROWS = "(SELECT count(*) FROM {})"


class DeferredWrite(Struct, frozen=True):
    """A statement and its parameters. `verifies`: it locks and verifies, and writes nothing."""

    sql: str
    values: tuple[object, ...]
    verifies: bool = False

    def __post_init__(self) -> None:
        if DEFERRABLE.match(self.sql) is None:
            raise ValueError("only an INSERT or a SELECT of a function can be deferred")


def combine(writes: Sequence[DeferredWrite]) -> tuple[str, tuple[object, ...]]:
    """One statement that runs these in their order, and its parameters."""
    if len(writes) == 1:
        return writes[0].sql, writes[0].values
    sql = _combined(tuple((write.sql, len(write.values)) for write in writes))
    return sql, tuple(value for write in writes for value in write.values)


@lru_cache(maxsize=1_000)
def _combined(parts: tuple[tuple[str, int], ...]) -> str:
    inserts: list[str] = []
    columns: list[str] = []
    before = 0
    for sql, parameters in parts:
        own = _shift(sql.strip(), before)
        before += parameters
        if own.startswith("INSERT"):
            name = f"w{len(inserts)}"
            inserts.append(f"{name} AS ({own} RETURNING 1)")
            columns.append(COUNT_ROWS.format(name))
        else:
            columns.append(f"({own})" if ROWS.search(own) is None else COUNT_ROWS.format(f"({own}) AS written"))
    return f"SELECT {', '.join(columns)}" if not inserts else f"WITH {', '.join(inserts)} SELECT {', '.join(columns)}"


def _shift(sql: str, by: int) -> str:
    return PARAMETER.sub(lambda match: f"${int(match[1]) + by}", sql)
