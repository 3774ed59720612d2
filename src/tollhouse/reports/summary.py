"""The financial summary: what a merchant had, what changed it, and what it had then."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from tollhouse.catalogue.currencies import CURRENCIES
from tollhouse.kernel.clock import stamp
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.platform.db import Pool, Row
from tollhouse.reports import store
from tollhouse.reports.model import INNER, LINES, GroupBy, Interval, LineName, Report, Summary, SummaryView, line_of

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
    periods = interval.periods(group_by)
    moments = [*(period.start for period in periods), interval.end]
    async with db.connection() as tx, tx.raw.transaction(isolation="repeatable_read", readonly=True):
        if project_id is None:
            moves = await store.moves(tx, env, currency, moments)
            totals = await store.totals(tx, env, currency)
        else:
            moves = await store.moves_of_project(tx, env, currency, moments, project_id)
            totals = _totals(moves)
    if currency is not None:
        totals.setdefault(currency, 0)
    lines, counts = _by_line(moves)
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


def _by_line(moves: list[Row]) -> tuple[dict[Key, dict[LineName, int]], dict[Key, dict[LineName, int]]]:
    lines: dict[Key, dict[LineName, int]] = defaultdict(lambda: defaultdict(int))
    counts: dict[Key, dict[LineName, int]] = defaultdict(lambda: defaultdict(int))
    for row in moves:
        key, line = (row["currency"], row["period"]), line_of(row["type"], raised=row["raised"])
        lines[key][line] += int(row["moved"])
        counts[key][line] += 0 if row["type"] in INNER else row["transactions"]
    return lines, counts


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
