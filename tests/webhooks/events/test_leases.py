"""Leases: each delivery has one sender at a time, and none is lost with the worker that had it."""

import asyncio
from collections import Counter

import pytest
from aiohttp import web

from tests.receiver import Receiver
from tests.webhooks.events.harness import Harness, claim_from_row, eventually
from tollhouse.platform.outgoing.outbound import Outcome
from tollhouse.webhooks.delivery.results import AttemptResult, record_results, sweep
from tollhouse.webhooks.delivery.worker import DeliveryWorker


@pytest.mark.covers("W-48")
async def test_a_lost_worker_is_noted_and_uses_up_nothing(live: Harness, receiver: Receiver) -> None:
    await live.secret()
    event_id = await live.record(receiver.url)
    await live.claim()
    await sweep(live.services)
    assert await live.history(event_id) == []
    await live.execute("UPDATE webhook_deliveries SET lease_until = now() - interval '1 ms'")
    await sweep(live.services)
    assert await live.history(event_id) == [(1, "automatic", "worker_lost")]
    delivery = await live.delivery(event_id)
    assert delivery is not None
    assert (delivery["tries"], delivery["lost"], delivery["lease_token"]) == (0, 1, None)
    assert not await live.broken()
    async with live.working():
        await live.until(event_id, "delivered")
    assert receiver.received[0].headers["X-Service-Attempt"] == "2"


async def test_from_the_third_time_on_a_lost_worker_counts(test: Harness) -> None:
    await test.secret()
    event_id = await test.record("http://127.0.0.1:1099/")
    for _ in range(3):
        await test.claim()
        await test.execute("UPDATE webhook_deliveries SET lease_until = now() - interval '1 ms'")
        await sweep(test.services)
    assert await test.history(event_id) == [(n, "automatic", "worker_lost") for n in (1, 2, 3)]
    assert (await test.event(event_id))["status"] == "failed"
    assert not await test.broken()


@pytest.mark.covers("W-41")
async def test_a_late_result_changes_the_history_and_not_the_state(live: Harness) -> None:
    await live.secret()
    event_id = await live.record("http://127.0.0.1:1099/")
    row = await live.claim()
    mine = claim_from_row(row)
    await live.execute("UPDATE webhook_deliveries SET lease_until = now() - interval '1 ms'")
    await sweep(live.services)
    before = await live.event(event_id)
    waits = await live.delivery(event_id)
    await record_results(live.services, [AttemptResult(mine, 1, Outcome(None, 200, 31_000))])
    assert await live.event(event_id) == before
    assert await live.delivery(event_id) == waits
    assert await live.history(event_id) == [(1, "automatic", None)]
    other = await live.claim()
    await record_results(live.services, [AttemptResult(mine, 1, Outcome("http_500", 500, 31_000))])
    assert await live.delivery(event_id) == other
    assert await live.history(event_id) == [(1, "automatic", None)]
    assert not await live.broken()


async def test_a_result_written_twice_counts_once(live: Harness) -> None:
    await live.secret()
    event_id = await live.record("http://127.0.0.1:1099/")
    mine = claim_from_row(await live.claim())
    for _ in range(2):
        await record_results(live.services, [AttemptResult(mine, 1, Outcome("http_500", 500, 3))])
    assert await live.history(event_id) == [(1, "automatic", "http_500")]
    assert (await live.event(event_id))["attempts"] == 1
    assert not await live.broken()


async def test_many_claims_at_once_never_share_a_delivery(test: Harness) -> None:
    await test.secret()
    for place in range(80):
        await test.record(f"http://127.0.0.{place % 40 + 1}:1099/")
    claims = await asyncio.gather(*(test.claim_all(limit) for limit in (1, 1, 2, 2, 1, 1, 2, 2)))
    taken = [row["event_id"] for rows in claims for row in rows]
    assert len(taken) == len(set(taken))
    assert len(taken) + len(await test.claim_all()) == 80


@pytest.mark.long
@pytest.mark.covers("W-87")
async def test_two_workers_send_each_delivery_once_and_never_twice_at_once(live: Harness, receiver: Receiver) -> None:
    await live.secret()
    under_way, worst = Counter[str](), 0

    async def answer(request: web.Request) -> web.StreamResponse:
        nonlocal worst
        event_id = request.headers["X-Service-Event-Id"]
        under_way[event_id] += 1
        worst = max(worst, under_way[event_id])
        await asyncio.sleep(0.02)
        under_way[event_id] -= 1
        return web.Response(status=200)

    receiver.answer = answer
    events = [await live.record(receiver.url) for _ in range(30)]
    async with live.working(), live.working():
        await asyncio.gather(*(live.redeliver(event_id) for event_id in events[:5] for _ in range(4)))

        async def all_done() -> bool:
            return not await live.services.db.fetch("SELECT 1 FROM webhook_deliveries")

        await eventually(all_done)
    assert worst == 1
    sent = Counter(got.headers["X-Service-Event-Id"] for got in receiver.received)
    assert [sent[str(event_id)] for event_id in events] == [5] * 5 + [1] * 25
    assert not await live.broken()


@pytest.mark.covers("W-55")
async def test_at_most_four_calls_to_one_destination(test: Harness, receiver: Receiver) -> None:
    await test.secret()
    under_way = worst = 0
    proceed = asyncio.Event()

    async def answer(_request: web.Request) -> web.StreamResponse:
        nonlocal under_way, worst
        under_way += 1
        worst = max(worst, under_way)
        await proceed.wait()
        under_way -= 1
        return web.Response(status=200)

    other = receiver.url.replace("127.0.0.1", "localhost")
    async with test.working():
        await test.until(await test.record(receiver.url), "delivered")  # now it is known to answer promptly
        receiver.received.clear()
        receiver.answer = answer
        events = [await test.record(receiver.url) for _ in range(12)]
        await receiver.wait(count=4)
        elsewhere = await test.record(other)  # a busy destination does not keep another one waiting
        await receiver.wait(count=5)
        assert receiver.received[-1].headers["X-Service-Event-Id"] == str(elsewhere)
        assert worst == 5
        proceed.set()
        for event_id in events:
            await test.until(event_id, "delivered")
    assert worst == 5


async def test_stopping_waits_for_what_is_under_way(test: Harness, receiver: Receiver) -> None:
    await test.secret()
    proceed = asyncio.Event()

    async def answer(_request: web.Request) -> web.StreamResponse:
        await proceed.wait()
        return web.Response(status=200)

    receiver.answer = answer
    worker = DeliveryWorker(test.services)
    running = asyncio.create_task(worker.run())
    event_id = await test.record(receiver.url)
    await receiver.wait()
    worker.stop()
    left = await test.record(receiver.url)
    proceed.set()
    await asyncio.wait_for(running, 20)
    assert (await test.event(event_id))["status"] == "delivered"
    delivery = await test.delivery(left)
    assert delivery is not None
    assert delivery["lease_token"] is None
    assert not await test.broken()


async def test_what_does_not_end_in_time_is_given_back(
    test: Harness, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tollhouse.webhooks.delivery.worker.STOP_WITHIN_S", 0.05)
    await test.secret()
    never = asyncio.Event()

    async def answer(_request: web.Request) -> web.StreamResponse:
        await never.wait()
        return web.Response(status=200)

    receiver.answer = answer
    worker = DeliveryWorker(test.services)
    running = asyncio.create_task(worker.run())
    event_id = await test.record(receiver.url)
    await receiver.wait()
    worker.stop()
    await asyncio.wait_for(running, 20)
    delivery = await test.delivery(event_id)
    assert delivery is not None
    assert (delivery["lease_token"], delivery["tries"]) == (None, 0)
    assert await test.history(event_id) == []
    never.set()
