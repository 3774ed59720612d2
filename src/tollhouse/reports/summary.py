"""The financial summary: what a merchant had, what changed it, and what it had then."""

from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

from tollhouse.catalogue.currencies import CURRENCIES
from tollhouse.kernel.clock import stamp
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.platform.db import Pool, Row, Tx
from tollhouse.reports import store
from tollhouse.reports.chosen import Chosen
from tollhouse.reports.model import (
    INNER,
    LINES,
    PAYMENT_TYPES,
    Found,
    GroupBy,
    Interval,
    LineName,
    MethodSum,
    Report,
    Summary,
    SummaryView,
    line_of,
)

Key = tuple[str, int]
"""A currency, and which period."""


async def summaries(
    db: Pool,
    env: MerchantEnv,
    interval: Interval,
    group_by: GroupBy,
    currency: str | None,
    project_id: UUID | None = None,
) -> list[Summary]:
    """A row for each currency with any history (or the named one) and period, read in one snapshot.

    For a project, the totals are what its payments, their refunds and chargebacks brought, and nothing else.
    """
    async with _snapshot(db) as tx:
        return await _summaries(tx, env, interval, interval.periods(group_by), currency, project_id)


async def everything(db: Pool, env: MerchantEnv, chosen: Chosen) -> Found:
    """What a file of a report is made of, read in one snapshot."""
    async with _snapshot(db) as tx:
        return Found(await _of(tx, env, chosen), await _methods(tx, env, chosen))


async def by_period(db: Pool, env: MerchantEnv, chosen: Chosen) -> list[Summary]:
    """The same without methods."""
    async with _snapshot(db) as tx:
        return await _of(tx, env, chosen)


async def by_method(db: Pool, env: MerchantEnv, chosen: Chosen) -> list[MethodSum]:
    """The methods alone."""
    async with _snapshot(db) as tx:
        return await _methods(tx, env, chosen)


@asynccontextmanager
async def _snapshot(db: Pool) -> AsyncIterator[Tx]:
    async with db.connection() as tx, tx.snapshot():
        yield tx


async def _of(tx: Tx, env: MerchantEnv, chosen: Chosen) -> list[Summary]:
    return await _summaries(tx, env, chosen.interval, chosen.periods, None, chosen.project_id)


async def _methods(tx: Tx, env: MerchantEnv, chosen: Chosen) -> list[MethodSum]:
    span = (chosen.interval.start, chosen.interval.end)
    return _by_method(await store.by_method(tx, env, None, span, chosen.project_id, PAYMENT_TYPES))


async def _summaries(
    tx: Tx, env: MerchantEnv, interval: Interval, periods: list[Interval], currency: str | None, project_id: UUID | None
) -> list[Summary]:
    moments = [*(period.start for period in periods), interval.end]
    if project_id is None:
        moves = await store.moves(tx, env, currency, moments)
        twice = await store.counted_twice(tx, env, currency, moments, sorted(INNER))
        totals = await store.totals(tx, env, currency)
    else:
        moves, twice = await store.moves_of_project(tx, env, currency, moments, project_id), []
        totals = _totals(moves)
    if currency is not None:
        totals.setdefault(currency, 0)
    lines, counts = _by_line(moves, twice)
    found: list[Summary] = []
    for code, total_minor in sorted(totals.items()):
        since_minor = sum(sum(lines[code, number].values()) for number in range(1, len(moments) + 1))
        opening_minor = total_minor - since_minor
        for number, period in enumerate(periods, 1):
            row = Summary(code, period, opening_minor, _all(lines[code, number]), _all(counts[code, number]))
            found.append(row)
            opening_minor = row.closing_minor
    return found


def report(found: list[Summary], env: MerchantEnv, interval: Interval, group_by: GroupBy) -> Report:
    """The answer in JSON."""
    return Report(
        start=stamp(interval.start),
        to=stamp(interval.end),
        group_by=group_by,
        financial_summaries=[_view(row) for row in found],
        mode=env.mode,
        livemode=env.livemode,
    )


def _totals(moves: list[Row]) -> dict[str, int]:
    totals: dict[str, int] = defaultdict(int)
    for row in moves:
        totals[row["currency"]] += int(row["moved"])
    return totals


def _by_line(moves: list[Row], twice: list[Row]) -> tuple[dict[Key, dict[LineName, int]], dict[Key, dict[LineName, int]]]:
    lines: dict[Key, dict[LineName, int]] = defaultdict(lambda: defaultdict(int))
    counts: dict[Key, dict[LineName, int]] = defaultdict(lambda: defaultdict(int))
    for row in moves:
        key, line = (row["currency"], row["period"]), line_of(row["type"], raised=row["raised"])
        lines[key][line] += int(row["moved"])
        counts[key][line] += 0 if row["type"] in INNER else row["transactions"]
    for row in twice:
        counts[row["currency"], row["period"]][line_of(row["type"], raised=row["raised"])] -= row["transactions"]
    return lines, counts


def _by_method(moves: list[Row]) -> list[MethodSum]:
    """By currency, most money first."""
    sums: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for row in moves:
        line = line_of(row["type"], raised=True)
        counted = sums[row["currency"], row["method_id"]]
        counted[line] += int(row["moved"])
        counted["payments"] += row["entries"] if row["type"] == "payment" else 0
    found = [
        MethodSum(
            currency=currency,
            method_id=method_id,
            payments=counted["payments"],
            gross_minor=counted["payments_gross"],
            fees_minor=counted["payment_fees"] + counted["chargeback_fees"],
            returned_minor=counted["refunds"] + counted["chargebacks"],
        )
        for (currency, method_id), counted in sums.items()
    ]
    return sorted(found, key=lambda one: (one.currency, -one.gross_minor, one.method_id))


def _all(known: Mapping[LineName, int]) -> dict[LineName, int]:
    return {line: known.get(line, 0) for line in LINES}


def _view(row: Summary) -> SummaryView:
    currency = CURRENCIES[row.currency]
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
