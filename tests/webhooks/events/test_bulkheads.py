"""Rooms and turns: strangers that are slow or dead hold nobody up, by the rule alone and with a real worker."""

import asyncio
from typing import Any

import msgspec
import pytest
from aiohttp import web

from tests.receiver import Receiver
from tests.webhooks.events.harness import Harness, eventually, open_harness
from tests.webhooks.events.raw import RawServer, stays_silent
from tollhouse.http.services import Services
from tollhouse.kernel.ids import new_id
from tollhouse.platform.database.pool import Tx
from tollhouse.webhooks.delivery.bulkheads import BULKHEADS, LINGERING_MAX, Call, CallKind, DestinationHealth, Lane, Slots
from tollhouse.webhooks.delivery.results import LEASE
from tollhouse.webhooks.delivery.worker import engine_services
from tollhouse.webhooks.events import delivery_store


def key_of(merchant: int, host: int = 0) -> int:
    return merchant << 31 | host


def remembering(**durations_ms: int) -> DestinationHealth:
    health = DestinationHealth()
    for key, duration_ms in durations_ms.items():
        health.observe(int(key[1:]), duration_ms, delivered=False)
    return health


def batches(slots: Slots, lane: Lane, keys: list[int]) -> list[tuple[int, int, CallKind]]:
    return [(batch.key, batch.limit, batch.kind) for batch in slots.allocate(lane, keys).batches]


def test_what_a_destination_is_follows_its_last_call() -> None:
    health = remembering(k1=80, k2=1_001, k3=5_001)
    assert [health.kind(key, Lane.FIRST) for key in (1, 2, 3, 4)] == [
        CallKind.PROMPT,
        CallKind.SLOW,
        CallKind.DEAD,
        CallKind.PROBE,
    ]
    assert health.kind(1, Lane.RETRY) is CallKind.PROBE
    assert health.kind(1, Lane.DEFERRED) is CallKind.PROMPT
    health.observe(3, 40, delivered=False)
    assert health.kind(3, Lane.FIRST) is CallKind.PROMPT


def test_where_the_last_call_delivered_retries_have_the_full_share() -> None:
    health = DestinationHealth()
    for delivered, kind, limit in ((False, CallKind.PROBE, 1), (True, CallKind.PROMPT, 4), (False, CallKind.PROBE, 1)):
        health.observe(1, 80, delivered=delivered)
        assert batches(Slots([], health, 0), Lane.RETRY, [1]) == [(1, limit, kind)]
        assert health.any_prompt(Lane.RETRY, [2, 1]) is delivered
    health.observe(1, 1_001, delivered=True)
    assert health.kind(1, Lane.RETRY) is CallKind.SLOW


def test_each_gets_as_much_as_there_is_room_for() -> None:
    slots = Slots([Call(1, CallKind.PROMPT, 0)] * 3, remembering(k1=80, k2=80, k3=6_000), 100)
    assert batches(slots, Lane.FIRST, [1, 2, 3, 4]) == [
        (1, 1, CallKind.PROMPT),
        (2, 4, CallKind.PROMPT),
        (3, 1, CallKind.DEAD),
        (4, 1, CallKind.PROBE),
    ]
    assert batches(slots, Lane.FIRST, [1, 2, 3, 4]) == []


def test_one_merchant_cannot_fill_a_room() -> None:
    health = DestinationHealth()
    crowd, other = [key_of(7, host) for host in range(1_000)], key_of(8)
    slots = Slots([], health, 0)
    assert len(slots.allocate(Lane.FIRST, crowd).batches) == BULKHEADS[CallKind.PROBE].per_merchant
    assert batches(slots, Lane.FIRST, [other]) == [(other, 1, CallKind.PROBE)]


@pytest.mark.parametrize("kind", [CallKind.PROBE, CallKind.SLOW, CallKind.DEAD])
def test_nobody_else_fills_the_room_of_the_prompt(kind: CallKind) -> None:
    calls = [Call(key_of(merchant), kind, 0) for merchant in range(100, 1_000)]
    health = DestinationHealth()
    health.observe(key_of(1), 50, delivered=True)
    assert batches(Slots(calls, health, 9_000), Lane.FIRST, [key_of(1)]) == [(key_of(1), 4, CallKind.PROMPT)]


def test_a_call_that_lasts_leaves_its_room() -> None:
    calls = [Call(key_of(merchant), CallKind.PROMPT, 0) for merchant in range(BULKHEADS[CallKind.PROMPT].calls)]
    health = DestinationHealth()
    health.observe(key_of(999), 50, delivered=True)
    full, later = Slots(calls, health, 1_000), Slots(calls, health, 1_001)
    assert batches(full, Lane.FIRST, [key_of(999)]) == []
    assert batches(later, Lane.FIRST, [key_of(999)]) == [(key_of(999), 4, CallKind.PROMPT)]


def test_while_too_many_linger_no_stranger_is_tried() -> None:
    calls = [Call(key_of(merchant), CallKind.PROBE, 0) for merchant in range(LINGERING_MAX)]
    health = DestinationHealth()
    health.observe(key_of(999), 50, delivered=True)
    slots = Slots(calls, health, 2_000)
    allocation = slots.allocate(Lane.FIRST, [key_of(998), key_of(999)])
    assert [batch.key for batch in allocation.batches] == [key_of(999)]
    assert allocation.deferred == [key_of(998)]


async def record_many(harness: Harness, urls: list[str]) -> list[Any]:
    async def action(tx: Tx) -> list[Any]:
        return [await harness.record_in(tx, url) for url in urls]

    return await harness.services.db.transact(action)


async def all_delivered(harness: Harness, events: list[Any]) -> None:
    async def look() -> bool:
        row = await harness.services.db.fetchrow(
            "SELECT count(*) AS n FROM webhook_events WHERE id = ANY ($1) AND status = 'delivered'", events
        )
        return row is not None and row["n"] == len(events)

    await eventually(look)


@pytest.mark.long
@pytest.mark.covers("W-52")
async def test_a_thousand_events_to_a_receiver_that_hangs_do_not_hold_up_another(test: Harness, receiver: Receiver) -> None:
    await test.secret()
    async with test.working(), RawServer(stays_silent) as silent:
        await record_many(test, [f"http://127.0.0.1:{silent.port}/"] * 1_000)
        await all_delivered(test, await record_many(test, [receiver.url] * 100))
        assert len(silent.requests) <= BULKHEADS[CallKind.PROMPT].per_destination
        row = await test.services.db.fetchrow("SELECT count(*) AS n FROM webhook_deliveries")
        assert row is not None
        assert row["n"] == 1_000


@pytest.mark.long
@pytest.mark.covers("W-53", "W-56")
@pytest.mark.parametrize("lane", [Lane.FIRST, Lane.RETRY])
async def test_a_thousand_hosts_that_hang_do_not_hold_up_another(services: Services, receiver: Receiver, lane: Lane) -> None:
    seller, *strangers = [await open_harness(services, "test") for _ in range(5)]
    for harness in (seller, *strangers):
        await harness.secret()
    async with seller.working(), RawServer(stays_silent, host="0.0.0.0") as silent:  # noqa: S104 - every loopback address
        await all_delivered(seller, [await seller.record(receiver.url)])
        for number, harness in enumerate(strangers):
            await record_many(
                harness, [f"http://127.{number + 1}.{n // 250}.{n % 250 + 1}:{silent.port}/" for n in range(250)]
            )
        await seller.execute("UPDATE webhook_deliveries SET lane = $1 WHERE lease_until IS NULL", lane)

        async def as_many_hang_as_may() -> bool:
            return len(silent.requests) >= BULKHEADS[CallKind.PROBE].calls

        await eventually(as_many_hang_as_may)
        await all_delivered(seller, await record_many(seller, [receiver.url] * 50))
        over = await services.db.fetch("SELECT 1 FROM webhook_events WHERE status = 'failed'")
        assert len(over) < 500  # whoever waited for the strangers would have waited for most of them
    assert len(set(silent.requests)) == len(silent.requests)


@pytest.mark.long
async def test_what_piled_up_is_sent_when_its_destination_is_healthy_again(test: Harness, receiver: Receiver) -> None:
    """With as many calls at once as for first attempts, from the first call on that delivers."""
    together = BULKHEADS[CallKind.PROMPT].per_destination
    waiting, most = 0, 0
    all_there = asyncio.Event()

    async def answer(_: web.Request) -> web.Response:
        """The first is answered at once; of those after it none until there are as many as may be."""
        nonlocal waiting, most
        if len(receiver.received) > 1 and not all_there.is_set():
            waiting += 1
            most = max(most, waiting)
            if waiting == together:
                all_there.set()
            await all_there.wait()
        return web.Response()

    receiver.answer = answer
    await test.secret()
    events = await record_many(test, [receiver.url] * 200)
    await test.execute("UPDATE webhook_deliveries SET lane = $1", Lane.RETRY)
    async with test.working():
        await all_delivered(test, events)
    assert most == together


@pytest.mark.long
@pytest.mark.covers("W-54")
async def test_what_a_claim_reads_does_not_depend_on_how_much_waits(test: Harness) -> None:
    """The plan is made while nothing waits, and kept: it must not read what came later from end to end."""
    engine = engine_services(test.services)
    deep, other = key_of(1), key_of(2)
    await test.execute("ANALYZE webhook_deliveries")  # not what was found while other tests had it full
    async with engine.db.connection() as tx:
        alone = await _read_by_a_claim(tx, [deep, other])
        await test.execute(
            """INSERT INTO webhook_deliveries (event_id, merchant_id, mode, destination_key, run_at, automatic_at)
               SELECT gen_random_uuid(), $1, 'test', CASE n WHEN 50000 THEN $3::bigint ELSE $2 END, now(), now()
               FROM generate_series(1, 50000) AS n""",
            test.env.merchant_id,
            deep,
            other,
        )
        read = await _read_by_a_claim(tx, [deep, other])
    await engine.db.close()
    assert read - alone < 200  # pages; the table has more than a thousand


async def _read_by_a_claim(tx: Tx, keys: list[int]) -> int:
    """The pages that walking and claiming read; what was claimed is given back."""
    read = 0
    for name, statement, values in (
        ("walk", delivery_store.WALK, "0, -1, 200"),
        ("claim", delivery_store.CLAIM, f"'{{0,0}}', '{{{keys[0]},{keys[1]}}}', '{{4,4}}', '{new_id()}', '{LEASE}'"),
    ):
        if not await tx.raw.fetchval("SELECT count(*) FROM pg_prepared_statements WHERE name = $1", name):
            await tx.raw.execute(f"SET plan_cache_mode = force_generic_plan; PREPARE {name} AS {statement}")
        await tx.raw.execute("BEGIN")
        plan = await tx.raw.fetchval(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE {name}({values})")
        await tx.raw.execute("ROLLBACK")
        top = msgspec.json.decode(plan)[0]["Plan"]
        read += top["Shared Hit Blocks"] + top["Shared Read Blocks"]
    return read
