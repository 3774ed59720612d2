"""The floor's one call: a function of the database that runs the statements of a trace in order.

What differs by request is a parameter of the function; the rest is part of its text. The call commits by itself.
"""

import re
from datetime import timedelta
from typing import Any
from uuid import UUID

import asyncpg
from msgspec import Struct

from benchmarks.harness.trace import Count, Fresh, Known, Moment, Random, Several, Text, Trace

PARAMETER = re.compile(r"\$(\d+)")


class Now(Struct, frozen=True):
    """When the request arrived."""


class Call(Struct, frozen=True):
    """One statement with its parameters, and the response."""

    sql: str
    places: tuple[Any, ...]
    status: int
    answer: tuple[tuple[str, Any], ...]


async def fold(connection: "asyncpg.Connection[Any]", name: str, trace: Trace) -> Call:
    """Create the function of a trace. A trace of one statement needs none."""
    if len(trace.statements) == 1:
        said = trace.statements[0]
        return Call(said.sql, said.values, trace.status, trace.answer)
    parameters = _Parameters()
    body = ";\n".join(
        PARAMETER.sub(lambda match, spelt=spelt: spelt[int(match[1]) - 1], said.sql.strip().rstrip(";"))
        for said in trace.statements
        for spelt in [[parameters.spell(value, kind) for value, kind in zip(said.values, said.types, strict=True)]]
    )
    function = f"onetrip_{re.sub('[^a-z]+', '_', name)}"
    types = ", ".join(parameters.places.values())
    await connection.execute(f"CREATE FUNCTION {function}({types}) RETURNS void LANGUAGE sql AS $onetrip${body}$onetrip$")
    values = ", ".join(f"${number + 1}" for number in range(len(parameters.places)))
    return Call(f"SELECT {function}({values})", tuple(parameters.places), trace.status, trace.answer)


class _Parameters:
    """The parameters of the function: each place once, with its type."""

    def __init__(self) -> None:
        self.places: dict[Any, str] = {}

    def spell(self, value: Any, kind: str) -> str:
        """A value as an expression of this type."""
        match value:
            case Several(values):
                element = kind.removesuffix("[]")
                return f"CAST(ARRAY[{', '.join(self.spell(value, element) for value in values)}] AS {element}[])"
            case Moment(after):
                return f"(${self._number(Now(), 'timestamptz')} + interval '{after.total_seconds()} s')"
            case Known() | Fresh() | Random() | Count() | Text():
                return f"CAST(${self._number(value, kind)} AS {kind})"
            case _:
                return f"CAST({_literal(value)} AS {kind})"

    def _number(self, place: Any, kind: str) -> int:
        self.places.setdefault(place, kind)
        return list(self.places).index(place) + 1


def _literal(value: Any) -> str:  # noqa: PLR0911 - one line for each kind of value
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).upper()
        case int() | float():
            return str(value)
        case bytes():
            return rf"'\x{value.hex()}'"
        case UUID():
            return f"'{value}'"
        case timedelta():
            return f"make_interval(secs => {value.total_seconds()})"
        case _:
            return "'" + str(value).replace("'", "''") + "'"
