"""The tables of a report: totals of a currency over its periods, in a few columns."""

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from tollhouse.http.charts import format_percent
from tollhouse.ledger.reports.model import LINES, Interval, LineName, Summary

COLUMNS: Mapping[str, tuple[LineName, ...]] = {
    "payments": ("payments_gross",),
    "fees": ("payment_fees", "chargeback_fees", "withdrawal_fees", "conversion_fees"),
    "returned": ("refunds", "chargebacks"),
    "withdrawals": ("withdrawals",),
    "others": (
        "conversions_in",
        "conversions_out",
        "fulfillments",
        "balance_payments_in",
        "balance_payments_out",
        "adjustments",
    ),
}
"""Each line is in exactly one column, so opening plus all columns equals closing."""
FEES = COLUMNS["fees"]


class Fee(Struct, frozen=True):
    """The total of a fee, and its share of the gross volume."""

    line: LineName
    minor: int
    percent: str


def by_currency(found: Iterable[Summary]) -> dict[str, list[Summary]]:
    """The periods of each currency, in order."""
    parts: dict[str, list[Summary]] = {}
    for row in found:
        parts.setdefault(row.currency, []).append(row)
    return parts


def whole(parts: Sequence[Summary]) -> Summary:
    """The sum of all periods of a currency."""
    return Summary(
        currency=parts[0].currency,
        period=Interval(parts[0].period.start, parts[-1].period.end),
        opening_minor=parts[0].opening_minor,
        lines={line: sum(part.lines[line] for part in parts) for line in LINES},
        counts={line: sum(part.counts[line] for part in parts) for line in LINES},
    )


def columns(row: Summary) -> tuple[int, ...]:
    """Opening, `COLUMNS`, closing."""
    return (row.opening_minor, *(sum(row.lines[line] for line in group) for group in COLUMNS.values()), row.closing_minor)


def fees(row: Summary) -> list[Fee]:
    """The fees by kind."""
    gross = row.lines["payments_gross"]
    return [Fee(line, row.lines[line], format_percent(-row.lines[line], gross)) for line in FEES]


def total_fees(row: Summary) -> tuple[int, str]:
    """All fees, and their share of the gross volume."""
    total_minor = sum(row.lines[line] for line in FEES)
    return total_minor, format_percent(-total_minor, row.lines["payments_gross"])


def choose_currency(found: Mapping[str, Summary], default: str) -> str:
    """The currency with most payments; the merchant's default one on a tie."""
    return max(sorted(found), key=lambda code: (found[code].counts["payments_gross"], code == default), default=default)
