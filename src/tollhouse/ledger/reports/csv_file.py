"""The financial summary as CSV: amounts in major units."""

from collections.abc import Iterable

from tollhouse.http.csv_table import lines
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.clock import stamp
from tollhouse.ledger.reports.model import LINES, Summary

HEADER = ("from", "to", "currency", "opening", *LINES, "closing", *(f"{line}_count" for line in LINES))


def as_csv(found: Iterable[Summary], catalogue: Catalogue) -> str:
    """A header line and a line for each row."""
    return lines([HEADER, *(_cells(row, catalogue) for row in found)])


def _cells(row: Summary, catalogue: Catalogue) -> tuple[str, ...]:
    amounts = (row.opening_minor, *row.lines.values(), row.closing_minor)
    return (
        stamp(row.period.start),
        stamp(row.period.end),
        row.currency,
        *(catalogue.format_amount(minor, row.currency) for minor in amounts),
        *(str(count) for count in row.counts.values()),
    )
