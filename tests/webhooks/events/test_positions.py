"""Positions: every event gets the next number of its environment after its commit and before its delivery, without gaps."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from itertools import chain
from uuid import UUID

import asyncpg
import pytest

from tests.receiver import Receiver
from tests.webhooks.events.harness import Harness, eventually, open_harness
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import new_id
from tollhouse.platform.database import partitions
from tollhouse.platform.database.migrations import ours
from tollhouse.webhooks.delivery.jobs import drop_months_before
from tollhouse.webhooks.events import positions_store, record
from tollhouse.webhooks.events.positions_store import number_waiting

WRITERS, EACH = 32, 12
POSITIONS = "SELECT id, position FROM webhook_events WHERE merchant_id = $1 AND mode = $2 ORDER BY position"


async def positions(harness: Harness) -> list[tuple[UUID, int | None]]:
    rows = await harness.services.db.fetch(POSITIONS, harness.env.merchant_id, harness.env.mode)
    return [(row["id"], row["position"]) for row in rows]


async def in_feed(harness: Harness) -> list[UUID]:
    """What the feed's rows say, in order."""
    rows = await harness.services.db.fetch(
        """SELECT event_ids FROM webhook_positions JOIN webhook_feeds USING (number)
           WHERE merchant_id = $1 AND mode = $2 ORDER BY webhook_positions.last_position""",
        harness.env.merchant_id,
        harness.env.mode,
    )
    return [event_id for row in rows for event_id in row["event_ids"]]


class Beside:
    """What runs beside the writers: sequencers, and a reader."""

    def __init__(self, test: Harness) -> None:
        self.test = test
        self.ended = asyncio.Event()

    async def number(self) -> None:
        while not self.ended.is_set():
            await self.test.services.db.fetchrow(positions_store.NUMBER, 7)

    async def number_and_die(self) -> None:
        """Every other time it is killed between the numbers and their commit."""
        turn = 0
        while not self.ended.is_set():
            turn += 1
            raw = await asyncpg.connect(self.test.services.settings.database_url)
            await raw.execute("BEGIN")
            await raw.fetchval("SELECT webhook_events_number(3)")
            if turn % 2:
                raw.terminate()
            else:
                await raw.execute("COMMIT")
            await raw.close()

    async def follow(self) -> None:
        """A reader that has seen a position never finds anything at or below it later."""
        seen: list[tuple[UUID, int | None]] = []
        while not self.ended.is_set():
            found = [row for row in await positions(self.test) if row[1] is not None]
            assert found[: len(seen)] == seen
            seen = found
            await asyncio.sleep(0)


async def write(harnesses: tuple[Harness, Harness], writer: int) -> list[UUID]:
    """Record in both environments. Some transactions are rolled back, and leave no gap."""
    recorded: list[UUID] = []
    for step in range(writer, writer + EACH):
        harness = harnesses[step % 5 == 0]
        with suppress(ZeroDivisionError):
            async with harness.services.db.transaction() as tx:
                event_id = await harness.record_in(tx, None)
                if step % 7 == 0:
                    raise ZeroDivisionError
            recorded.append(event_id)
    return recorded


async def test_positions_have_no_gaps_beside_many_writers_and_a_killed_sequencer(test: Harness) -> None:
    both = test, Harness(test.services, MerchantEnv(test.env.merchant_id, "live"))
    beside = Beside(test)
    running = [asyncio.create_task(work()) for work in (beside.number, beside.number, beside.number_and_die, beside.follow)]
    recorded = await asyncio.gather(*(write(both, writer) for writer in range(WRITERS)))
    beside.ended.set()
    await asyncio.gather(*running)
    await number_waiting(test.services.db)
    assert {event_id for harness in both for event_id, _ in await positions(harness)} == {*chain(*recorded)}
    for harness in both:
        found = await positions(harness)
        assert [position for _, position in found] == list(range(1, len(found) + 1))
        assert await in_feed(harness) == [event_id for event_id, _ in found]
    assert not await test.broken()


async def test_the_changes_of_an_object_are_in_their_order(test: Harness) -> None:
    source_id = new_id()
    recorded = [await test.record(None, source_id=source_id, sequence=number) for number in range(1, 250)]
    await number_waiting(test.services.db)
    assert await in_feed(test) == recorded
    assert not await test.broken()


async def test_nothing_is_delivered_before_it_is_numbered(
    test: Harness, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    await test.secret()
    numbering = positions_store.NUMBER
    async with test.working():
        with _changed(monkeypatch, "SELECT 0 + 0 * $1::int"):
            event_id = await test.record(receiver.url)
            tested = await test.services.transact(
                lambda work: record.record_test(work, test.env, receiver.url, "webhook.test", {"object": {}}),
                datetime.now(UTC),
            )
            await test.until(tested, "delivered")  # a test event needs no position
            assert (await test.event(event_id))["status"] == "pending"
        assert numbering == positions_store.NUMBER
        await test.until(event_id, "delivered")
    first, second = receiver.received
    assert first.body["id"] == str(tested)
    assert "X-Service-Position" not in first.headers
    assert second.headers["X-Service-Position"] == "1"
    assert (await test.event(tested))["position"] is None
    assert not await test.broken()


@contextmanager
def _changed(monkeypatch: pytest.MonkeyPatch, statement: str) -> Iterator[None]:
    with monkeypatch.context() as patch:
        patch.setattr(positions_store, "NUMBER", statement)
        yield


async def test_retries_and_redeliveries_have_the_same_position(test: Harness, receiver: Receiver) -> None:
    await test.secret()
    await test.record(None)
    async with test.working():
        event_id = await test.record(receiver.url)
        await test.until(event_id, "delivered")
        await test.redeliver(event_id)
        await eventually(lambda: _has_received(receiver, 2))
    assert [got.headers["X-Service-Position"] for got in receiver.received] == ["2", "2"]


async def _has_received(receiver: Receiver, times: int) -> bool:
    return len(receiver.received) == times


async def test_positions_go_with_their_month(test: Harness) -> None:
    ended_by = (datetime.now(UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0) + timedelta(days=32)).replace(
        day=1
    )
    for _ in range(3):
        await test.record(None)
    await number_waiting(test.services.db)
    await drop_months_before(test.services.db, ended_by)
    await partitions.create_missing(test.services.db)
    assert await in_feed(test) == []
    await test.record(None)
    await number_waiting(test.services.db)
    assert [position for _, position in await positions(test)] == [4]
    assert not await test.broken()


async def test_events_from_before_positions_are_numbered_oldest_first(test: Harness) -> None:
    """As an upgrade finds them: without position and queue, while a process of any version records new ones."""
    old = [await test.record(None) for _ in range(4)]
    foreign = await open_harness(test.services, "live")
    foreign_old = [await foreign.record(None) for _ in range(2)]
    await test.execute("DELETE FROM webhook_unnumbered")
    new = [await test.record(None), await test.record(None)]
    [backfill] = [migration for migration in ours() if migration.number == 125]
    raw = await asyncpg.connect(test.services.settings.database_url)
    try:
        for _ in range(2):  # interrupted after its work, it begins again
            for statement in backfill.statements():
                await raw.execute(statement)
            assert await in_feed(test) == old
    finally:
        await raw.close()
    assert await in_feed(foreign) == foreign_old
    await number_waiting(test.services.db)
    assert await in_feed(test) == old + new
    assert not await test.broken()


async def test_a_gap_a_swap_and_a_lost_event_are_noticed(test: Harness) -> None:
    recorded = [await test.record(None) for _ in range(3)]
    await number_waiting(test.services.db)
    await test.record(None)
    await number_waiting(test.services.db)
    await test.execute("DELETE FROM webhook_positions WHERE last_position = 4")
    place, gap = sorted(await test.broken())
    assert "has the position 4" in place
    assert "(test) at position 3" in gap
    await test.execute("UPDATE webhook_positions SET event_ids = ARRAY[event_ids[2], event_ids[1], event_ids[3]]")
    assert sum("has the position" in line for line in await test.broken()) == 3
    await test.execute("DELETE FROM webhook_unnumbered")
    await test.execute("UPDATE webhook_events SET position = NULL WHERE id = $1", recorded[2])
    assert any(str(recorded[2]) in line for line in await test.broken())
