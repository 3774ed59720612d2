"""The tables of a report, pure: sums of a currency over its periods, in the few columns that people compare."""

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from tollhouse.http.charts import tenths_of_percent
from tollhouse.reports.model import LINES, Interval, LineName, Summary

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
"""Each line counts in one of them: so opening and all columns together are closing."""
FEES = COLUMNS["fees"]


class Fee(Struct, frozen=True):
    """What one kind of fee came to, and which share of the gross volume that is."""

    line: LineName
    minor: int
    percent: str


def by_currency(found: Iterable[Summary]) -> dict[str, list[Summary]]:
    """The periods of each currency, in their order."""
    parts: dict[str, list[Summary]] = {}
    for row in found:
        parts.setdefault(row.currency, []).append(row)
    return parts


def whole(parts: Sequence[Summary]) -> Summary:
    """All periods of one currency as one."""
    return Summary(
        currency=parts[0].currency,
        period=Interval(parts[0].period.start, parts[-1].period.end),
        opening_minor=parts[0].opening_minor,
        lines={line: sum(part.lines[line] for part in parts) for line in LINES},
        counts={line: sum(part.counts[line] for part in parts) for line in LINES},
    )


def columns(row: Summary) -> tuple[int, ...]:
    """Opening, each of `COLUMNS`, closing."""
    return (row.opening_minor, *(sum(row.lines[line] for line in of) for of in COLUMNS.values()), row.closing_minor)


def fees(row: Summary) -> list[Fee]:
    """The fees, each kind and all together, as what they took."""
    gross = row.lines["payments_gross"]
    return [Fee(line, row.lines[line], tenths_of_percent(-row.lines[line], gross)) for line in FEES]


def fees_together(row: Summary) -> tuple[int, str]:
    """All fees, and their share of the gross volume."""
    taken = sum(row.lines[line] for line in FEES)
    return taken, tenths_of_percent(-taken, row.lines["payments_gross"])


def best(found: Mapping[str, Summary], usual: str) -> str:
    """The currency to begin with: the one with most payments, of those with as many the merchant's usual one."""
    return max(
        sorted(found),
        key=lambda code: (found[code].counts["payments_gross"], code == usual),
        default=usual,
    )
