"""SQL of the running totals: what was added up before any moment, by a few rows however long the history is."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Literal
from uuid import UUID

from msgspec import Struct

from tollhouse.kernel.environment import MerchantEnv
from tollhouse.platform.database.pool import Row, Tx

QUARTER_HOUR = timedelta(minutes=15)
EPOCH = datetime(2000, 1, 1, tzinfo=UTC)

# A series that was added to at $5 or later has its total before in a row of its own.
TOTALS = """
    SELECT s.currency, s.type, s.raised, s.method_id, m.number, sum(v.amount)::text AS amount, sum(v.count)::bigint AS count
    FROM running_series s
    CROSS JOIN unnest($5::timestamptz[]) WITH ORDINALITY AS m (at, number)
    CROSS JOIN LATERAL (
        SELECT s.amount, s.count WHERE s.starts_at < m.at
        UNION ALL
        (SELECT r.amount, r.count FROM running_totals r
         WHERE s.starts_at >= m.at AND r.series_id = s.id AND r.starts_at < m.at ORDER BY r.starts_at DESC LIMIT 1)) AS v
    WHERE s.merchant_id = $1 AND s.mode = $2 AND s.measure = $3 AND ($4::text IS NULL OR s.currency = $4)
      AND ($6::uuid IS NULL OR s.project_id = $6) AND ($7::text IS NULL OR s.method_id = $7)
    GROUP BY 1, 2, 3, 4, 5
"""
# Entries of the quarter hours that begin at $5, before the moments $6. Their transactions are of that time. The entries may
# be later, at most as late as the latest of the quarter hour.
ENTRIES = """
    SELECT e.currency, e.type, e.raised, e.method_id, m.number, sum(e.amount)::text AS amount,
           count(DISTINCT e.transaction_id) AS count
    FROM unnest($5::timestamptz[], $6::timestamptz[], $7::int[]) AS m (starts_at, at, number)
    CROSS JOIN LATERAL (
        SELECT max(parts.latest_at) AS latest_at
        FROM running_series s
        CROSS JOIN LATERAL (
            SELECT s.latest_at WHERE s.starts_at = m.starts_at
            UNION ALL
            SELECT r.latest_at FROM running_totals r WHERE r.series_id = s.id AND r.starts_at = m.starts_at) AS parts
        WHERE s.merchant_id = $1 AND s.mode = $2 AND s.measure = 'entries') AS l
    JOIN running_entries e ON e.merchant_id = $1 AND e.mode = $2
        AND e.created_at >= m.starts_at AND e.created_at <= l.latest_at AND e.at >= m.starts_at AND e.at < m.at
    WHERE ($3::text IS NULL OR e.currency = $3) AND ($4::uuid IS NULL OR e.project_id = $4)
    GROUP BY 1, 2, 3, 4, 5
"""
Measure = Literal["entries", "succeeded", "failed", "refunded", "fulfilled", "delivered"]
"""Ledger entries by their time, payments by the time of success or failure, refunds and ended fulfillments by creation."""
CURRENCIES = """
    SELECT DISTINCT currency FROM ledger_accounts WHERE owner = $1 AND mode = $2 AND ($3::text IS NULL OR currency = $3)
"""


class Series(Struct, frozen=True):
    """What is added up: entries of a type and direction, payments, refunds or fulfillments.

    `type` is that of an entry, the status of a fulfillment, or of a delivery its status and seconds. `method_id` is the
    method of a payment or the product of a fulfillment. Empty: none.
    """

    currency: str
    type: str
    raised: bool
    method_id: str


class Added(Struct, frozen=True):
    """An amount in minor units, of deliveries in units of the product, and the number of what was added."""

    minor: int = 0
    count: int = 0

    def __add__(self, other: "Added") -> "Added":
        """Both together."""
        return Added(self.minor + other.minor, self.count + other.count)

    def __sub__(self, earlier: "Added") -> "Added":
        """What was added since."""
        return Added(self.minor - earlier.minor, self.count - earlier.count)


NOTHING = Added()
Totals = dict[Series, list[Added]]
"""What was added to each series before each moment."""


def quarter_hour(moment: datetime) -> datetime:
    """The start of its quarter hour."""
    return moment - (moment - EPOCH) % QUARTER_HOUR


async def list_totals(
    tx: Tx,
    env: MerchantEnv,
    measure: Measure,
    moments: Sequence[datetime],
    currency: str | None = None,
    project_id: UUID | None = None,
    method_id: str | None = None,
) -> Totals:
    """The totals before the quarter hours in which these moments are."""
    starts = [quarter_hour(moment) for moment in moments]
    found: Totals = {}
    for row in await tx.fetch(TOTALS, env.merchant_id, env.mode, measure, currency, starts, project_id, method_id):
        add(found, row, row["number"] - 1, len(moments))
    return found


async def list_entry_totals(
    tx: Tx, env: MerchantEnv, moments: Sequence[datetime], currency: str | None = None, project_id: UUID | None = None
) -> Totals:
    """The totals of ledger entries before these moments."""
    found = await list_totals(tx, env, "entries", moments, currency, project_id)
    within = [(quarter_hour(moment), moment, number) for number, moment in enumerate(moments)]
    within = [part for part in within if part[0] < part[1]]
    if within:
        columns = [list(column) for column in zip(*within, strict=True)]
        for row in await tx.fetch(ENTRIES, env.merchant_id, env.mode, currency, project_id, *columns):
            add(found, row, row["number"], len(moments))
    return found


async def list_added(
    tx: Tx,
    env: MerchantEnv,
    measure: Measure,
    bounds: Sequence[datetime],
    within: str,
    only: tuple[str | None, UUID | None] | None = None,
) -> list[tuple[Series, int, Added]]:
    """What was added to each series in each part between these moments; parts are numbered from 1.

    `within` reads the same from `$3` until before `$4`, which are in one quarter hour. With `only`, what is listed is
    of this method or product and this project, which are its `$5` and `$6`.
    """
    method_id, project_id = only or (None, None)
    totals = await list_totals(tx, env, measure, bounds, project_id=project_id, method_id=method_id)
    for number, bound in enumerate(bounds):
        if (starts_at := quarter_hour(bound)) < bound:
            for row in await tx.fetch(within, env.merchant_id, env.mode, starts_at, bound, *(only or ())):
                add(totals, row, number, len(bounds))
    return [
        (series, part, added)
        for series, before in totals.items()
        for part in range(1, len(bounds))
        if (added := before[part] - before[part - 1]) != NOTHING
    ]


def add(totals: Totals, row: Row, number: int, moments: int) -> None:
    """Add a row to the totals before a moment."""
    series = Series(row["currency"], row["type"], row["raised"], row["method_id"])
    before = totals.setdefault(series, [NOTHING] * moments)
    before[number] += Added(int(row["amount"]), row["count"])


async def list_currencies(tx: Tx, env: MerchantEnv, currency: str | None) -> set[str]:
    """The currencies with entries; only the given one, if any."""
    return {row["currency"] for row in await tx.fetch(CURRENCIES, env.merchant_id, env.mode, currency)}
