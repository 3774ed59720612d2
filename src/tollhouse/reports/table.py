"""The financial summary as CSV (RFC 4180): amounts in major units, and no cell that a spreadsheet would calculate."""

import csv
import io
import re
from collections.abc import Iterable

from tollhouse.catalogue.currencies import format_amount
from tollhouse.kernel.clock import stamp
from tollhouse.reports.model import LINES, Summary

HEADER = ("from", "to", "currency", "opening", *LINES, "closing", *(f"{line}_count" for line in LINES))
NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def as_csv(found: Iterable[Summary]) -> str:
    """A line of names, then one for each row, ended by CR LF."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(HEADER)
    for row in found:
        amounts = (row.opening_minor, *row.lines.values(), row.closing_minor)
        cells = (
            stamp(row.period.start),
            stamp(row.period.end),
            row.currency,
            *(format_amount(minor, row.currency) for minor in amounts),
            *(str(count) for count in row.counts.values()),
        )
        writer.writerow([harmless(cell) for cell in cells])
    return text.getvalue()


def harmless(cell: str) -> str:
    """The cell; one that would begin a formula and is no plain number gets an apostrophe before it."""
    return f"'{cell}" if cell.startswith(FORMULA) and not NUMBER.fullmatch(cell) else cell
