"""The financial summary: opening balance, changes by line, closing balance; also as CSV."""

from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from tollhouse.http.csv_table import lines
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.clock import stamp
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.ledger.books import running_totals_store
from tollhouse.ledger.books.running_totals_store import NOTHING, Totals, list_entry_totals
from tollhouse.ledger.reports.model import (
    LINES,
    PAYMENT_TYPES,
    FinancialReport,
    GroupBy,
    Interval,
    LineName,
    MethodSummary,
    ReportData,
    Summary,
    SummaryView,
    line_of,
)
from tollhouse.ledger.reports.selection import ReportSelection
from tollhouse.platform.database.pool import Pool, Tx

Key = tuple[str, int]
"""Currency and period number, from 0."""
FOREVER = datetime(9999, 12, 31, tzinfo=UTC)
HEADER = ("from", "to", "currency", "opening", *LINES, "closing", *(f"{line}_count" for line in LINES))


async def summaries(
    db: Pool, env: MerchantEnv, interval: Interval, group_by: GroupBy, currency: str | None, project_id: UUID | None = None
) -> list[Summary]:
    """A row for each period and each currency with entries, or the given one, read in one snapshot.

    For a project, only its payments and their refunds and chargebacks count.
    """
    async with _snapshot(db) as tx:
        return await _summaries(tx, env, interval, interval.periods(group_by), currency, project_id)


async def load_report(db: Pool, env: MerchantEnv, selection: ReportSelection) -> ReportData:
    """The data of a report file, in one snapshot."""
    async with _snapshot(db) as tx:
        return ReportData(await _of(tx, env, selection), await _method_rows(tx, env, selection))


async def load_periods(db: Pool, env: MerchantEnv, selection: ReportSelection) -> list[Summary]:
    """The rows by currency and period."""
    async with _snapshot(db) as tx:
        return await _of(tx, env, selection)


async def by_method(db: Pool, env: MerchantEnv, selection: ReportSelection) -> list[MethodSummary]:
    """The rows by currency and method."""
    async with _snapshot(db) as tx:
        return await _method_rows(tx, env, selection)


@asynccontextmanager
async def _snapshot(db: Pool) -> AsyncIterator[Tx]:
    async with db.connection() as tx, tx.snapshot():
        yield tx


async def _of(tx: Tx, env: MerchantEnv, selection: ReportSelection) -> list[Summary]:
    return await _summaries(tx, env, selection.interval, selection.periods, None, selection.project_id)


async def _method_rows(tx: Tx, env: MerchantEnv, selection: ReportSelection) -> list[MethodSummary]:
    moments = [selection.interval.start, selection.interval.end]
    return _by_method(await list_entry_totals(tx, env, moments, project_id=selection.project_id))


async def _summaries(
    tx: Tx, env: MerchantEnv, interval: Interval, periods: list[Interval], currency: str | None, project_id: UUID | None
) -> list[Summary]:
    moments = [*(period.start for period in periods), interval.end, FOREVER]
    totals = await list_entry_totals(tx, env, moments, currency, project_id)
    codes = {series.currency for series in totals}
    if currency is not None:
        codes.add(currency)
    if project_id is None:
        codes |= await running_totals_store.list_currencies(tx, env, currency)
    openings, lines, counts = _by_line(totals, len(periods))
    found: list[Summary] = []
    for code in sorted(codes):
        opening_minor = openings[code]
        for number, period in enumerate(periods):
            row = Summary(code, period, opening_minor, _all_lines(lines[code, number]), _all_lines(counts[code, number]))
            found.append(row)
            opening_minor = row.closing_minor
    return found


def report(
    found: list[Summary], env: MerchantEnv, interval: Interval, group_by: GroupBy, catalogue: Catalogue
) -> FinancialReport:
    """The response of the API."""
    return FinancialReport(
        start=stamp(interval.start),
        to=stamp(interval.end),
        group_by=group_by,
        financial_summaries=[_view(row, catalogue) for row in found],
        mode=env.mode,
        livemode=env.livemode,
    )


def _by_line(
    totals: Totals, periods: int
) -> tuple[dict[str, int], dict[Key, dict[LineName, int]], dict[Key, dict[LineName, int]]]:
    """The opening balances by currency; the changes and the transactions by line."""
    openings: dict[str, int] = defaultdict(int)
    lines: dict[Key, dict[LineName, int]] = defaultdict(lambda: defaultdict(int))
    counts: dict[Key, dict[LineName, int]] = defaultdict(lambda: defaultdict(int))
    for series, before in totals.items():
        line = line_of(series.type, raised=series.raised)
        openings[series.currency] += before[0].minor
        for number in range(periods):
            added = before[number + 1] - before[number]
            lines[series.currency, number][line] += added.minor
            counts[series.currency, number][line] += added.count
    return openings, lines, counts


def _by_method(totals: Totals) -> list[MethodSummary]:
    """By currency, largest volume first."""
    sums: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for series, (before, after) in totals.items():
        added = after - before
        if not series.method_id or series.type not in PAYMENT_TYPES or added == NOTHING:
            continue
        counted = sums[series.currency, series.method_id]
        counted[line_of(series.type, raised=True)] += added.minor
        counted["payments"] += added.count if series.type == "payment" else 0
    found = [
        MethodSummary(
            currency=currency,
            method_id=method_id,
            payments=counted["payments"],
            gross_minor=counted["payments_gross"],
            fees_minor=counted["payment_fees"] + counted["chargeback_fees"],
            returned_minor=counted["refunds"] + counted["chargebacks"],
        )
        for (currency, method_id), counted in sums.items()
    ]
    return sorted(found, key=lambda method: (method.currency, -method.gross_minor, method.method_id))


def _all_lines(known: Mapping[LineName, int]) -> dict[LineName, int]:
    return {line: known.get(line, 0) for line in LINES}


def _view(row: Summary, catalogue: Catalogue) -> SummaryView:
    currency = catalogue.currencies[row.currency]
    amounts = {"opening": row.opening_minor, **row.lines, "closing": row.closing_minor}
    pairs: dict[str, Any] = {name: currency.format(minor) for name, minor in amounts.items()}
    pairs |= {f"{name}_minor": minor for name, minor in amounts.items()}
    return SummaryView(
        currency=row.currency,
        decimals=currency.decimals,
        start=stamp(row.period.start),
        to=stamp(row.period.end),
        counts={str(line): count for line, count in row.counts.items()},
        **pairs,
    )


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
