"""Reports over any intervals compose, and say what a plain sum over the postings says."""

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.ledger.reports.conftest import Harness
from tests.running import Service
from tollhouse.http.services import Services
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId, new_id
from tollhouse.ledger.books.model import EntryType
from tollhouse.ledger.reports.model import LINES, GroupBy, Interval, Summary, line_of
from tollhouse.ledger.reports.summary import summaries

START = datetime(2026, 1, 30, tzinfo=UTC)
MOMENTS = st.integers(0, 72 * 60).map(lambda minutes: START + timedelta(minutes=minutes))
TYPES: tuple[EntryType, ...] = ("payment", "payment_fee", "refund", "withdrawal", "balance_payment_refund", "adjustment")
POSTINGS = st.lists(
    st.tuples(MOMENTS, st.sampled_from(TYPES), st.integers(1, 500), st.sampled_from(("EUR", "JPY")), st.booleans()),
    max_size=12,
)
NEW_MERCHANT = "INSERT INTO merchants (id, business_name, created_at) VALUES ($1, 'Shop', $2)"


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    """A loop for all examples, so that they share connections."""
    with asyncio.Runner() as running:
        yield running


@pytest.fixture
def services(service: Service, runner: asyncio.Runner) -> Iterator[Services]:
    """Services on that loop."""
    opened = service.create_services(connections=2)
    yield opened
    runner.run(opened.db.close())


@pytest.mark.long
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    postings=POSTINGS,
    cuts=st.lists(MOMENTS, min_size=3, max_size=3, unique=True),
    group_by=st.sampled_from(("day", "month")),
)
def test_reports_compose(
    services: Services,
    runner: asyncio.Runner,
    postings: list[tuple[datetime, EntryType, int, str, bool]],
    cuts: list[datetime],
    group_by: GroupBy,
) -> None:
    runner.run(_compose(services, postings, sorted(cuts), group_by))


async def _compose(
    services: Services, postings: list[tuple[datetime, EntryType, int, str, bool]], cuts: list[datetime], group_by: GroupBy
) -> None:
    pool, merchant_id = services.db, MerchantId(new_id())
    await pool.execute(NEW_MERCHANT, merchant_id, START)
    harness, env = Harness(services, MerchantEnv(merchant_id, "test")), MerchantEnv(merchant_id, "test")
    for currency in ("EUR", "JPY"):  # enough that nothing below is refused
        await harness.post(START - timedelta(days=1), "payment", 10_000, currency)
    done: list[tuple[datetime, EntryType, int, str]] = [
        (at, kind, minor if gives else -minor, currency) for at, kind, minor, currency, gives in postings
    ]
    for at, kind, minor, currency in done:
        await harness.post(at, kind, minor, currency)
        await harness.move(at, "hold", 1, currency)
    first, middle, last = cuts
    whole = await summaries(pool, env, Interval(first, last), "none", None)
    before = await summaries(pool, env, Interval(first, middle), "none", None)
    after = await summaries(pool, env, Interval(middle, last), "none", None)
    assert len(whole) == 2
    for all_of_it, part, rest in zip(whole, before, after, strict=True):
        assert all_of_it.opening_minor == part.opening_minor == 10_000 + _sum(done, all_of_it.currency, None, first)
        assert part.closing_minor == rest.opening_minor
        assert all_of_it.closing_minor == rest.closing_minor == 10_000 + _sum(done, rest.currency, None, last)
        for line in LINES:
            assert all_of_it.lines[line] == part.lines[line] + rest.lines[line] == _line(done, all_of_it, line)
            assert all_of_it.counts[line] == part.counts[line] + rest.counts[line]
    grouped = await summaries(pool, env, Interval(first, last), group_by, "EUR")
    assert sum(sum(row.lines.values()) for row in grouped) == sum(whole[0].lines.values())
    assert [row.opening_minor for row in grouped[1:]] == [row.closing_minor for row in grouped[:-1]]


def _sum(done: list[tuple[datetime, EntryType, int, str]], currency: str, since: datetime | None, until: datetime) -> int:
    return sum(minor for at, _, minor, its in done if its == currency and at < until and (since is None or at >= since))


def _line(done: list[tuple[datetime, EntryType, int, str]], row: Summary, line: str) -> int:
    return sum(
        minor
        for at, kind, minor, currency in done
        if currency == row.currency and row.period.start <= at < row.period.end and line_of(kind, raised=minor > 0) == line
    )


def test_periods_cover_the_interval() -> None:
    interval = Interval(START, START + timedelta(days=33))
    expected: tuple[tuple[GroupBy, int], ...] = (("none", 1), ("day", 33), ("month", 3))
    for group_by, count in expected:
        periods = interval.periods(group_by)
        assert len(periods) == count
        assert (periods[0].start, periods[-1].end) == (interval.start, interval.end)
        assert all(one.end == after.start for one, after in pairwise(periods))
        assert all(period.start < period.end for period in periods)
