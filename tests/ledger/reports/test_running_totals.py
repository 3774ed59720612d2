"""Running totals are what their entries add up to: posted late, at once, or made anew."""

import asyncio
import random
from datetime import UTC, datetime, timedelta

from tests.ledger.reports.conftest import Harness
from tollhouse.ledger.books.invariants_store import I12_TOTALS
from tollhouse.ledger.books.model import EntryType
from tollhouse.ledger.books.running_totals_store import list_entry_totals

KINDS: tuple[EntryType, ...] = ("payment", "refund", "payment_fee")
POSTED: tuple[tuple[EntryType, int], ...] = (("payment", 10), ("payment_fee", -1), ("refund", -3), ("adjustment", 2))
START = datetime(2026, 3, 1, tzinfo=UTC)
BACK_TO = "UPDATE running_series SET starts_at = $2, count = 0 WHERE merchant_id = $1"
KEPT = """
    SELECT s.mode, s.currency, s.type, s.raised, t.starts_at, t.amount, t.count, t.latest_at
    FROM running_series s
    CROSS JOIN LATERAL (SELECT s.starts_at, s.amount, s.count, s.latest_at
                        UNION ALL SELECT r.starts_at, r.amount, r.count, r.latest_at FROM running_totals r
                        WHERE r.series_id = s.id) AS t
    WHERE s.merchant_id = $1 ORDER BY 1, 2, 3, 4, 5
"""


async def broken(harness: Harness) -> list[str]:
    """What a full check says of this merchant's totals."""
    rows = await harness.services.db.fetch(I12_TOTALS)
    return [row["line"] for row in rows if str(harness.env.merchant_id) in row["line"]]


async def test_what_is_posted_late_is_in_all_later_totals(harness: Harness) -> None:
    for minutes in (0, 50, 20, 20, 10, 95, 45, 0):
        await harness.post(START + timedelta(minutes=minutes), "payment", 100)
    moments = [START + timedelta(minutes=minutes) for minutes in (0, 1, 15, 20, 21, 60, 600)]
    async with harness.services.db.connection() as tx:
        [before] = (await list_entry_totals(tx, harness.env, moments)).values()
    assert [total.count for total in before] == [0, 2, 3, 3, 5, 7, 8]
    assert [total.minor for total in before] == [100 * total.count for total in before]
    assert await broken(harness) == []


async def test_totals_made_anew_are_the_same(harness: Harness) -> None:
    dice = random.Random(7)  # noqa: S311 - to choose, not to hide
    await harness.post(START, "payment", 100_000)
    for _ in range(60):
        kind: EntryType = dice.choice(KINDS)
        at = START + timedelta(minutes=dice.randrange(300))
        await harness.post(at, kind, dice.choice((-1, 1)) * dice.randrange(1, 90))
    await harness.move(START + timedelta(hours=1), "hold", 5)
    db = harness.services.db
    kept = [tuple(row.values()) for row in await db.fetch(KEPT, harness.env.merchant_id)]
    assert len(kept) > 20
    await db.fetch("SELECT running_totals_rebuild($1)", harness.env.merchant_id)
    assert [tuple(row.values()) for row in await db.fetch(KEPT, harness.env.merchant_id)] == kept
    assert await broken(harness) == []


async def test_totals_never_refuse_a_posting(harness: Harness) -> None:
    db = harness.services.db
    await harness.post(START, "payment", 100)
    await harness.post(START + timedelta(hours=1), "payment", 100)
    await db.execute(BACK_TO, harness.env.merchant_id, START)  # as if somebody had changed it by hand
    await harness.post(START + timedelta(hours=2), "payment", 100)
    assert await broken(harness) != []
    await db.fetch("SELECT running_totals_rebuild($1)", harness.env.merchant_id)
    assert await broken(harness) == []


async def test_nothing_is_lost_when_many_post_at_once(harness: Harness) -> None:
    await harness.post(START, "payment", 10_000)
    posts = [
        harness.post(START + timedelta(minutes=minutes), kind, minor)
        for minutes in (0, 14, 16, 31, 29, 75)
        for kind, minor in POSTED
    ]
    await asyncio.gather(*posts)
    async with harness.services.db.connection() as tx:
        totals = await list_entry_totals(tx, harness.env, [START + timedelta(days=1)])
    assert {series.type: (added.minor, added.count) for series, [added] in totals.items()} == {
        "payment": (10_060, 7),
        "payment_fee": (-6, 6),
        "refund": (-18, 6),
        "adjustment": (12, 6),
    }
    assert await broken(harness) == []
