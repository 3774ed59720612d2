"""Rounds, their medians, and the tables."""

import statistics
from collections.abc import Callable, Sequence

from msgspec import Struct

FLOOR = "onetrip"
OURS = "tollhouse"
NOTHING = "-"


class Round(Struct, frozen=True):
    """What one round showed. Processor time is in microseconds for each request; None where the system does not tell it."""

    per_s: float
    p50_ms: float
    p99_ms: float
    app_us: float | None
    database_us: float | None
    load_us: float


class Range(Struct, frozen=True):
    """The median, the smallest and the largest."""

    median: float
    least: float
    most: float

    def __str__(self) -> str:
        """Median and range."""
        return f"{self.median:.2f} [{self.least:.2f}-{self.most:.2f}]"


class Row(Struct, frozen=True):
    """All rounds of an operation by one party."""

    operation: str
    party: str
    trips: int | None
    per_s: Range
    of_floor: Range
    p50_ms: float
    p99_ms: float
    app_us: float | None
    database_us: float | None
    load_us: float
    goal: str


class Findings(Struct, frozen=True):
    """What a run found, and how it was measured."""

    rows: list[Row]
    method: str


def row_of(
    operation: str, party: str, rounds: Sequence[Round], floor: Sequence[Round], *, trips: int | None, goal: str
) -> Row:
    """The rounds of a party, beside the rounds of the floor that were measured in between."""
    ratios = [one.per_s / under.per_s for one, under in zip(rounds, floor, strict=True)]

    def middle(of: Callable[[Round], float | None]) -> float | None:
        known = [value for value in map(of, rounds) if value is not None]
        return statistics.median(known) if known else None

    return Row(
        operation,
        party,
        trips,
        _range([one.per_s for one in rounds]),
        _range(ratios),
        statistics.median(one.p50_ms for one in rounds),
        statistics.median(one.p99_ms for one in rounds),
        middle(lambda one: one.app_us),
        middle(lambda one: one.database_us),
        statistics.median(one.load_us for one in rounds),
        goal,
    )


def _range(values: Sequence[float]) -> Range:
    return Range(statistics.median(values), min(values), max(values))


def used(row: Row) -> str:
    """Processor time for each request: application and database."""
    if row.app_us is None or row.database_us is None:
        return NOTHING
    return f"{row.app_us:,.0f} + {row.database_us:,.0f}"


def summary(findings: Findings) -> list[list[str]]:
    """One line an operation: ratios to the floor and to the best of the others, processor time, goal."""
    used_by = "app + database µs"
    lines = [
        ["operation", "trips", f"ours / {FLOOR}", f"others / {FLOOR}", "ours / best other", f"ours: {used_by}", "goal"],
    ]
    for operation in dict.fromkeys(row.operation for row in findings.rows):
        parties = {row.party: row for row in findings.rows if row.operation == operation}
        ours = parties[OURS]
        others = [row for name, row in parties.items() if name not in {OURS, FLOOR}]
        best = max((row.of_floor.median for row in others), default=0)
        lines.append(
            [
                operation,
                str(ours.trips),
                str(ours.of_floor),
                "; ".join(f"{row.party} {row.of_floor}" for row in others) or NOTHING,
                f"{ours.of_floor.median / best:.1f}" if best else NOTHING,
                used(ours),
                ours.goal,
            ]
        )
    return lines


def details(findings: Findings) -> list[list[str]]:
    """One line an operation and party."""
    titles = ["operation", "party", "trips", "requests/s", f"of {FLOOR}", "p50 ms", "p99 ms", "app + database µs", "load µs"]
    return [titles] + [
        [
            row.operation,
            row.party,
            str(row.trips) if row.trips is not None else NOTHING,
            f"{row.per_s.median:,.0f} [{row.per_s.least:,.0f}-{row.per_s.most:,.0f}]",
            str(row.of_floor),
            f"{row.p50_ms:.1f}",
            f"{row.p99_ms:.1f}",
            used(row),
            f"{row.load_us:,.0f}",
        ]
        for row in findings.rows
    ]


def text(findings: Findings) -> str:
    """Both tables, for a terminal."""
    return "\n\n".join([findings.method, _aligned(details(findings)), _aligned(summary(findings))])


def markdown(findings: Findings) -> str:
    """Both tables, for a document."""
    return "\n\n".join([findings.method, _piped(summary(findings)), _piped(details(findings))])


def _aligned(lines: list[list[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def _piped(lines: list[list[str]]) -> str:
    rows = [f"| {' | '.join(line)} |" for line in lines]
    return "\n".join([rows[0], "|" + "---|" * len(lines[0]), *rows[1:]])
