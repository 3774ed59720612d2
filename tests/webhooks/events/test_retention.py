"""How long events are kept, and what can be told of those that wait."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from uuid import UUID

import asyncpg
import pytest

from tests.command import tollhouse
from tests.receiver import Receiver
from tests.running import Service
from tests.webhooks.events.harness import Harness
from tollhouse.kernel import clock
from tollhouse.kernel.ids import new_id
from tollhouse.platform.database import partitions
from tollhouse.webhooks.delivery.jobs import TABLES, drop_expired_months, drop_months_before, log_status, read_status

MONTHS = (
    "SELECT count(*) AS n FROM pg_inherits WHERE inhparent IN ('webhook_events'::regclass, 'webhook_attempts'::regclass)"
)


async def months(harness: Harness) -> int:
    row = await harness.services.db.fetchrow(MONTHS)
    assert row is not None
    return int(row["n"])


@pytest.fixture
async def ended_by(test: Harness) -> AsyncIterator[datetime]:
    """The first moment at which this month is over. The partitions are made again behind the test."""
    first = datetime.now(UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    yield (first + timedelta(days=32)).replace(day=1)
    await partitions.create_missing(test.services.db)


async def test_months_are_made_ahead_and_only_once(test: Harness) -> None:
    before = await months(test)
    assert before >= 8
    await partitions.create_missing(test.services.db)
    assert await months(test) == before


async def test_a_month_stays_while_anything_of_it_is_to_be_sent(
    test: Harness, receiver: Receiver, ended_by: datetime
) -> None:
    await test.secret()
    source_id = new_id()
    event_id = await test.record(receiver.url, source_id=source_id)
    assert await drop_months_before(test.services.db, ended_by) == 0
    async with test.working():
        await test.until(event_id, "delivered")
    before = await months(test)
    assert await test.services.db.execute("SELECT FROM row_digests WHERE kind = 'event' AND id = $1", event_id) == 1
    over = [await partitions.list_ended(test.services.db, table, ended_by) for table in TABLES]
    assert ([one.partitions for one in over], over[0].bytes > 0) == ([1, 1], True)
    assert await drop_months_before(test.services.db, ended_by) == 2
    assert await test.services.db.execute("SELECT FROM row_digests WHERE kind = 'event' AND id = $1", event_id) == 0
    assert await months(test) == before - 2
    await partitions.create_missing(test.services.db)
    with pytest.raises(asyncpg.UniqueViolationError):  # the change was told, though nobody can read it any more
        await test.record(receiver.url, source_id=source_id)
    assert not await test.broken()


async def test_the_status_of_an_event_goes_with_its_month(test: Harness, ended_by: datetime) -> None:
    event_id = await test.record(None)
    kept = "SELECT FROM webhook_event_statuses WHERE event_id = $1"
    assert await test.services.db.execute(kept, event_id) == 0
    await test.execute("UPDATE webhook_events SET status = 'failed' WHERE id = $1", event_id)
    assert await test.services.db.execute(kept, event_id) == 1
    await drop_months_before(test.services.db, ended_by)
    assert await test.services.db.execute(kept, event_id) == 0


async def test_nothing_is_dropped_before_its_days_are_over(test: Harness) -> None:
    before = await months(test)
    await drop_expired_months(test.services)
    assert await months(test) == before


async def test_an_id_tells_its_month(test: Harness) -> None:
    event_id = await test.record(None)
    row = await test.services.db.fetchrow(
        "SELECT tableoid::regclass::text AS name FROM webhook_events WHERE id = $1", event_id
    )
    assert row is not None
    assert row["name"] == f"webhook_events_{clock.now():%Y%m}"
    first = await test.services.db.fetchrow("SELECT webhook_first_id(to_timestamp(1000000000.123)) AS id")
    assert first is not None
    assert first["id"] == UUID(f"{1_000_000_000_123:012x}" + "0" * 20)


async def test_the_status_shows_what_waits_and_for_how_long(test: Harness, receiver: Receiver) -> None:
    await test.secret()
    async with test.working():
        await test.until(await test.record(receiver.url), "delivered")
    for _ in range(3):
        await test.record("http://127.0.0.1:1099/")
    await test.execute("UPDATE webhook_deliveries SET run_at = now() - interval '90 s', lane = 2")
    seen = await read_status(test.services.db)
    assert [(lane.lane, lane.destinations) for lane in seen.lanes] == [("first", 0), ("retry", 0), ("deferred", 1)]
    assert seen.lanes[2].oldest_ms >= 90_000
    assert (seen.ready, seen.later, seen.held) == (3, 0, 0)
    assert seen.results == {"succeeded": 1}
    await log_status(test.services)


async def test_the_command_shows_what_would_be_deleted(service: Service) -> None:
    shown = (await tollhouse(service, "retention", "--webhook-events-days", "0", "--audit-days", "400", "--json")).json
    kept = {rule["data"]: (rule["kept_days"], rule["before"] is None) for rule in shown["rules"]}
    assert kept == {"webhook_events": (0, True), "request_log": (7, False), "audit_log": (400, False)}
    assert (await tollhouse(service, "retention", "--audit-days", "30")).status == 2
