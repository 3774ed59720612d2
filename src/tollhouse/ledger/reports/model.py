"""Financial reports: query, intervals, lines, views."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Annotated, Literal
from uuid import UUID

import msgspec
from msgspec import Struct

from tollhouse.http.bodies import ValidationContext
from tollhouse.kernel import messages
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.clock import Timestamp, midnight, parse_time_or_date
from tollhouse.kernel.errors import FieldError, ValidationFailed
from tollhouse.kernel.examples import example
from tollhouse.kernel.ids import Mode

GroupBy = Literal["none", "day", "month"]
"""How a report is grouped.

none: One row for the whole period.
day: A row for each day.
month: A row for each month.
"""
LineName = Literal[
    "payments_gross",
    "payment_fees",
    "refunds",
    "chargebacks",
    "chargeback_fees",
    "withdrawals",
    "withdrawal_fees",
    "conversions_in",
    "conversions_out",
    "conversion_fees",
    "fulfillments",
    "balance_payments_in",
    "balance_payments_out",
    "adjustments",
]
LINES: tuple[LineName, ...] = LineName.__args__  # pyright: ignore[reportAttributeAccessIssue]
LINE_OF: Mapping[str, LineName] = {
    "payment": "payments_gross",
    "payment_fee": "payment_fees",
    "refund": "refunds",
    "refund_reversal": "refunds",
    "chargeback": "chargebacks",
    "chargeback_reversal": "chargebacks",
    "chargeback_fee": "chargeback_fees",
    "withdrawal": "withdrawals",
    "withdrawal_return": "withdrawals",
    "withdrawal_fee": "withdrawal_fees",
    "network_fee": "withdrawal_fees",
    "conversion_in": "conversions_in",
    "conversion_out": "conversions_out",
    "conversion_fee": "conversion_fees",
    "fulfillment": "fulfillments",
    "fulfillment_refund": "fulfillments",
    "balance_payment_in": "balance_payments_in",
    "balance_payment_out": "balance_payments_out",
}
PAYMENT_LINES: frozenset[LineName] = frozenset(
    {"payments_gross", "payment_fees", "refunds", "chargebacks", "chargeback_fees"}
)
PAYMENT_TYPES: tuple[str, ...] = tuple(kind for kind, line in LINE_OF.items() if line in PAYMENT_LINES)
"""Entry types that belong to a payment, and so to its method."""

SPAN_MAX = timedelta(days=366)
DEFAULT_SPAN = timedelta(days=30)


class Interval(Struct, frozen=True):
    """From `start` inclusive to `end` exclusive."""

    start: datetime
    end: datetime

    def periods(self, group_by: GroupBy, zone: tzinfo = UTC) -> list["Interval"]:
        """The interval, or its days or months in this time zone; the first and last may be partial."""
        starts = [self.start]
        while group_by != "none" and (following := _next(starts[-1], group_by, zone)) < self.end:
            starts.append(following)
        return [Interval(start, end) for start, end in zip(starts, [*starts[1:], self.end], strict=True)]


class SummaryQuery(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`?from=&to=` are times or dates (midnight UTC), at most 366 days apart. Default: the last 30 days."""

    start: str | None = msgspec.field(name="from", default=None)
    to: str | None = None
    currency: str | None = None
    project_id: UUID | None = None
    group_by: GroupBy = "none"
    format: Literal["json", "csv"] = "json"
    """Format of the response.

    json: An object.
    csv: A file with a line for each row.
    """

    def rule_errors(self, context: ValidationContext) -> Iterator[FieldError]:
        """The errors of each parameter."""
        return self._field_errors(*self._span(context.now), catalogue=context.catalogue)

    def _span(self, now: datetime) -> tuple[datetime | None, datetime | None]:
        end = now if self.to is None else parse_time_or_date(self.to)
        start = None if self.start is None else parse_time_or_date(self.start)
        return (end - DEFAULT_SPAN if start is None and self.start is None and end is not None else start), end

    def interval(self, now: datetime, catalogue: Catalogue) -> Interval:
        """The requested interval. Raises `ValidationFailed`."""
        start, end = self._span(now)
        field_errors = list(self._field_errors(start, end, catalogue))
        if start is None or end is None or field_errors:
            raise ValidationFailed(*field_errors)
        return Interval(start, end)

    def _field_errors(self, start: datetime | None, end: datetime | None, catalogue: Catalogue) -> Iterator[FieldError]:
        for name, moment, value in (("from", start, self.start), ("to", end, self.to)):
            if moment is None and value is not None:
                yield FieldError(name, "invalid_time", messages.A_TIME_OR_DAY)
        if start is not None and end is not None:
            if start >= end:
                yield FieldError("from", "out_of_range", messages.BEFORE_END)
            elif end - start > SPAN_MAX:
                yield FieldError("from", "out_of_range", messages.AT_MOST_A_YEAR)
        if self.currency is not None and self.currency not in catalogue.currencies:
            yield FieldError("currency", "invalid_currency", messages.A_CURRENCY)


class Summary(Struct, frozen=True):
    """One currency in one period. Lines are signed: opening plus all lines equals closing."""

    currency: str
    period: Interval
    opening_minor: int
    lines: dict[LineName, int]
    counts: dict[LineName, int]

    @property
    def closing_minor(self) -> int:
        """The total at the end of the period."""
        return self.opening_minor + sum(self.lines.values())


class MethodSummary(Struct, frozen=True, kw_only=True):
    """One method in one currency, signed like the lines of a summary."""

    currency: str
    method_id: str
    payments: int
    gross_minor: int
    fees_minor: int
    returned_minor: int

    @property
    def net_minor(self) -> int:
        """Gross less fees and reversals."""
        return self.gross_minor + self.fees_minor + self.returned_minor


class ReportData(Struct, frozen=True):
    """The data of a report: by currency and period, and by currency and method."""

    summaries: list[Summary]
    methods: list[MethodSummary]

    def of(self, currency: str) -> "ReportData":
        """The data of one currency."""
        return ReportData(
            [row for row in self.summaries if row.currency == currency],
            [method for method in self.methods if method.currency == currency],
        )


class SummaryView(Struct, frozen=True, kw_only=True):
    """One currency in one period. Totals are available + pending + reserved - debt."""

    currency: str
    decimals: int
    start: Timestamp = msgspec.field(name="from")
    """Start of the period."""
    to: Timestamp
    """End of the period, which is not included."""
    opening: str
    """Total balance at the start."""
    opening_minor: int
    payments_gross: str
    """Payments before fees."""
    payments_gross_minor: int
    payment_fees: str
    """Fees of payments."""
    payment_fees_minor: int
    refunds: str
    """Refunds, less those that came back."""
    refunds_minor: int
    chargebacks: str
    """Chargebacks, less those that were won."""
    chargebacks_minor: int
    chargeback_fees: str
    """Fees of chargebacks."""
    chargeback_fees_minor: int
    withdrawals: str
    """Withdrawals, less those that came back."""
    withdrawals_minor: int
    withdrawal_fees: str
    """Fees of withdrawals, of the platform and of networks."""
    withdrawal_fees_minor: int
    conversions_in: str
    """What conversions brought."""
    conversions_in_minor: int
    conversions_out: str
    """What conversions cost."""
    conversions_out_minor: int
    conversion_fees: str
    """Fees of conversions."""
    conversion_fees_minor: int
    fulfillments: str
    """Cost of fulfillments."""
    fulfillments_minor: int
    balance_payments_in: str
    """Balance payments from merchants to you."""
    balance_payments_in_minor: int
    balance_payments_out: str
    """Balance payments from you to applications."""
    balance_payments_out_minor: int
    adjustments: str
    """Adjustments by the operator."""
    adjustments_minor: int
    closing: str
    """Total balance at the end."""
    closing_minor: int
    counts: Annotated[dict[str, int], example({"payments_gross": 1})]
    """Number of entries of each line."""


class FinancialReport(Struct, frozen=True, kw_only=True):
    """The financial summary: a row for each currency and period, ordered by currency and time."""

    object: Literal["financial_summary"] = "financial_summary"
    start: Timestamp = msgspec.field(name="from")
    """Start of the report."""
    to: Timestamp
    """End of the report, which is not included."""
    group_by: GroupBy
    """How the rows are grouped."""
    financial_summaries: list[SummaryView]
    """A row for each currency and period."""
    mode: Mode
    livemode: bool


def line_of(entry_type: str, *, raised: bool) -> LineName:
    """The line of an entry. A refunded balance payment reduces the line of its side."""
    if entry_type == "balance_payment_refund":
        return "balance_payments_out" if raised else "balance_payments_in"
    return LINE_OF.get(entry_type, "adjustments")


def _next(moment: datetime, group_by: GroupBy, zone: tzinfo) -> datetime:
    """The start of the next day or month."""
    today = moment.astimezone(zone).date()
    following = (
        today + timedelta(days=1) if group_by == "day" else (today.replace(day=1) + timedelta(days=32)).replace(day=1)
    )
    return midnight(following, zone)
