"""The delivery engine with a real receiver: first attempts, retries, leases, redeliveries, switching off."""

import asyncio
import base64
import hashlib
import hmac
from collections import Counter
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import msgspec
import pytest
from aiohttp import web

from tests.events.desk import Desk, claim_of, eventually
from tests.receiver import Receiver
from tollhouse.events import delivery_store
from tollhouse.events.delivery import LEASE, Worker, sweep, write_down
from tollhouse.kernel import clock
from tollhouse.kernel.ids import new_id
from tollhouse.platform.db import Row
from tollhouse.platform.outbound import Outcome
from tollhouse.webhooks import actions
from tollhouse.webhooks.model import NewConfiguration

CLAIM_ALL = (LEASE, 64, 4, list[int](), list[int](), -1)
Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


def answers(*codes: int, **headers: str) -> Answer:
    """These codes one after the other, the last one for ever."""
    left = list(codes)

    async def answer(_request: web.Request) -> web.StreamResponse:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return web.Response(status=left.pop(0) if len(left) > 1 else left[0], headers=named)

    return answer


async def redeliver(desk: Desk, event_id: UUID) -> None:
    await desk.house.db.transact(lambda tx: actions.redeliver(tx, desk.env, event_id, desk.house, clock.now()))


async def switch_off(desk: Desk) -> None:
    await desk.house.db.transact(lambda tx: actions.switch_off(tx, desk.env, desk.house, clock.now()))


async def claim(desk: Desk) -> Row:
    """Claim the one due delivery, as a worker does, and do nothing with it."""
    rows = await desk.house.db.fetch(delivery_store.CLAIM, new_id(), *CLAIM_ALL)
    assert len(rows) == 1
    row = await desk.delivery(rows[0]["event_id"])
    assert row is not None
    return row


@pytest.mark.covers("W-1", "W-17", "W-18", "W-19", "W-21", "W-22", "W-28")
async def test_one_signed_post(test: Desk, receiver: Receiver) -> None:
    secret = await test.secret()
    async with test.working():
        event_id = await test.record(receiver.url)
        row = await test.until(event_id, "delivered")
    (got,) = receiver.received
    assert got.raw == row["body"]
    assert got.headers["X-Service-Event-Id"] == got.body["id"] == str(event_id)
    assert got.headers["X-Service-Mode"] == "test"
    assert got.headers["X-Service-Event-Type"] == "payment.succeeded"
    assert got.headers["X-Service-Attempt"] == "1"
    assert got.headers["User-Agent"] == "Tollhouse-Webhooks/2"
    assert got.headers["Content-Type"] == "application/json; charset=utf-8"
    assert got.headers["X-Service-Signature"] == hmac.new(secret.encode(), got.raw, hashlib.sha256).hexdigest()
    signed = f"{event_id}.{got.headers['webhook-timestamp']}.".encode() + got.raw
    key = base64.b64decode(secret.removeprefix("whsec_"))
    expected = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    assert got.headers["webhook-id"] == str(event_id)
    assert got.headers["webhook-signature"] == f"v1,{expected}"
    assert await test.history(event_id) == [(1, "automatic", None)]
    assert row["attempts"] == 1
    assert row["next_attempt_at"] is None
    assert await test.delivery(event_id) is None
    assert not await test.broken()


@pytest.mark.covers("W-23", "W-31", "W-42")
async def test_live_gets_nine_attempts_and_no_tenth(live: Desk, receiver: Receiver) -> None:
    await live.secret()
    receiver.answer = answers(500)
    async with live.working():
        event_id = await live.record(receiver.url)
        row = await live.until(event_id, "failed")
        assert await live.delivery(event_id) is None
    assert len(receiver.received) == row["attempts"] == 9
    assert await live.history(event_id) == [(attempt, "automatic", "http_500") for attempt in range(1, 10)]
    assert len({got.raw for got in receiver.received}) == 1
    assert len({got.headers["X-Service-Signature"] for got in receiver.received}) == 1
    assert [got.headers["X-Service-Attempt"] for got in receiver.received] == [str(n) for n in range(1, 10)]
    assert not await live.broken()


@pytest.mark.covers("W-43")
async def test_test_mode_is_tried_once(test: Desk, receiver: Receiver) -> None:
    await test.secret()
    receiver.answer = answers(500)
    async with test.working():
        event_id = await test.record(receiver.url)
        await test.until(event_id, "failed")
    assert len(receiver.received) == 1
    assert await test.delivery(event_id) is None
    assert not await test.broken()


@pytest.mark.covers("W-44", "W-49")
async def test_a_later_attempt_succeeds_with_the_secret_of_its_time(live: Desk, receiver: Receiver) -> None:
    await live.secret()
    receiver.answer = answers(503, 404, 200)
    async with live.working():
        event_id = await live.record(receiver.url)
        await receiver.wait(count=1)
        secret = await live.secret()
        row = await live.until(event_id, "delivered")
    assert await live.history(event_id) == [(1, "automatic", "http_503"), (2, "automatic", "http_404"), (3, "automatic", None)]
    assert row["delivered_at"] is not None
    last = receiver.received[-1]
    assert last.headers["X-Service-Signature"] == hmac.new(secret.encode(), last.raw, hashlib.sha256).hexdigest()
    assert not await live.broken()


@pytest.mark.covers("W-32", "W-45")
@pytest.mark.parametrize(("retry_after", "low", "high"), [(None, 8, 12), ("15", 15, 15), ("90000", 20, 20)])
async def test_when_the_next_attempt_is(
    live: Desk, receiver: Receiver, retry_after: str | None, low: float, high: float
) -> None:
    await live.secret()
    settings = msgspec.structs.replace(live.house.settings, webhook_retry_schedule=(10.0,))
    live = Desk(msgspec.structs.replace(live.house, settings=settings), live.env)
    receiver.answer = answers(503, **({} if retry_after is None else {"Retry_After": retry_after}))
    async with live.working():
        row = await live.until(event_id := await live.record(receiver.url), "retrying")
    attempt = await live.house.db.fetchrow("SELECT * FROM webhook_attempts WHERE event_id = $1", event_id)
    assert attempt is not None
    wait = row["next_attempt_at"] - attempt["started_at"] - timedelta(milliseconds=attempt["duration_ms"])
    assert low - 0.1 <= wait.total_seconds() <= high + 1
    assert not await live.broken()


@pytest.mark.covers("W-48")
async def test_a_lost_worker_is_noted_and_uses_up_nothing(live: Desk, receiver: Receiver) -> None:
    await live.secret()
    event_id = await live.record(receiver.url)
    await claim(live)
    await sweep(live.house)
    assert await live.history(event_id) == []
    await live.execute("UPDATE webhook_deliveries SET lease_until = now() - interval '1 ms'")
    await sweep(live.house)
    assert await live.history(event_id) == [(1, "automatic", "worker_lost")]
    delivery = await live.delivery(event_id)
    assert delivery is not None
    assert (delivery["tries"], delivery["lost"], delivery["lease_token"]) == (0, 1, None)
    assert not await live.broken()
    async with live.working():
        await live.until(event_id, "delivered")
    assert receiver.received[0].headers["X-Service-Attempt"] == "2"


async def test_from_the_third_time_on_a_lost_worker_counts(test: Desk) -> None:
    await test.secret()
    event_id = await test.record("http://127.0.0.1:9/")
    for _ in range(3):
        await claim(test)
        await test.execute("UPDATE webhook_deliveries SET lease_until = now() - interval '1 ms'")
        await sweep(test.house)
    assert await test.history(event_id) == [(n, "automatic", "worker_lost") for n in (1, 2, 3)]
    assert (await test.event(event_id))["status"] == "failed"
    assert not await test.broken()


@pytest.mark.covers("W-41")
async def test_a_late_result_changes_the_history_and_not_the_state(live: Desk) -> None:
    await live.secret()
    event_id = await live.record("http://127.0.0.1:9/")
    row = await claim(live)
    mine = claim_of(row)
    await live.execute("UPDATE webhook_deliveries SET lease_until = now() - interval '1 ms'")
    await sweep(live.house)
    before = await live.event(event_id)
    waits = await live.delivery(event_id)
    await write_down(live.house, mine, 1, Outcome(None, 200, 31_000))
    assert await live.event(event_id) == before
    assert await live.delivery(event_id) == waits
    assert await live.history(event_id) == [(1, "automatic", None)]
    other = await claim(live)
    await write_down(live.house, mine, 1, Outcome("http_500", 500, 31_000))
    assert await live.delivery(event_id) == other
    assert await live.history(event_id) == [(1, "automatic", None)]
    assert not await live.broken()


async def test_a_result_written_twice_counts_once(live: Desk) -> None:
    await live.secret()
    event_id = await live.record("http://127.0.0.1:9/")
    mine = claim_of(await claim(live))
    for _ in range(2):
        await write_down(live.house, mine, 1, Outcome("http_500", 500, 3))
    assert await live.history(event_id) == [(1, "automatic", "http_500")]
    assert (await live.event(event_id))["attempts"] == 1
    assert not await live.broken()


async def test_many_claims_at_once_never_share_a_delivery(test: Desk) -> None:
    await test.secret()
    for place in range(40):
        await test.record(f"http://127.0.0.{place + 1}:9/")
    claims = await asyncio.gather(
        *(test.house.db.fetch(delivery_store.CLAIM, new_id(), LEASE, 16, 4, [], [], -1) for _ in range(8))
    )
    taken = [row["event_id"] for rows in claims for row in rows]
    assert len(taken) == len(set(taken))
    rest = await test.house.db.fetch(delivery_store.CLAIM, new_id(), *CLAIM_ALL)
    assert len(taken) + len(rest) == 40


@pytest.mark.covers("W-87")
async def test_two_workers_send_each_delivery_once_and_never_twice_at_once(live: Desk, receiver: Receiver) -> None:
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
        await asyncio.gather(*(redeliver(live, event_id) for event_id in events[:5] for _ in range(4)))

        async def all_done() -> bool:
            return not await live.house.db.fetch("SELECT 1 FROM webhook_deliveries")

        await eventually(all_done)
    assert worst == 1
    sent = Counter(got.headers["X-Service-Event-Id"] for got in receiver.received)
    assert [sent[str(event_id)] for event_id in events] == [5] * 5 + [1] * 25
    assert not await live.broken()


@pytest.mark.covers("W-55")
async def test_at_most_four_calls_to_one_destination(test: Desk, receiver: Receiver) -> None:
    await test.secret()
    under_way = worst = 0
    go_on = asyncio.Event()

    async def answer(_request: web.Request) -> web.StreamResponse:
        nonlocal under_way, worst
        under_way += 1
        worst = max(worst, under_way)
        await go_on.wait()
        under_way -= 1
        return web.Response(status=200)

    receiver.answer = answer
    events = [await test.record(receiver.url) for _ in range(12)]
    other = receiver.url.replace("127.0.0.1", "localhost")
    async with test.working():
        await receiver.wait(count=4)
        elsewhere = await test.record(other)  # a busy destination does not keep another one waiting
        await receiver.wait(count=5)
        assert receiver.received[-1].headers["X-Service-Event-Id"] == str(elsewhere)
        assert worst == 5
        go_on.set()
        for event_id in events:
            await test.until(event_id, "delivered")
    assert worst == 5


@pytest.mark.covers("W-83", "W-89")
async def test_a_redelivery_has_the_same_id_and_bytes_and_the_present_secret(test: Desk, receiver: Receiver) -> None:
    await test.secret()
    async with test.working():
        event_id = await test.record(receiver.url)
        first = await test.until(event_id, "delivered")
        secret = await test.secret()
        receiver.answer = answers(500)
        for _ in range(3):
            await redeliver(test, event_id)

        async def over() -> bool:
            return await test.delivery(event_id) is None

        await eventually(over)
    row = await test.event(event_id)
    assert (row["status"], row["delivered_at"]) == ("delivered", first["delivered_at"])
    assert await test.history(event_id) == [(1, "automatic", None)] + [(n, "manual", "http_500") for n in (2, 3, 4)]
    assert len({got.raw for got in receiver.received}) == 1
    last = receiver.received[-1]
    assert last.headers["X-Service-Signature"] == hmac.new(secret.encode(), last.raw, hashlib.sha256).hexdigest()
    assert not await test.broken()


async def test_a_redelivery_leaves_the_schedule_alone(live: Desk, receiver: Receiver) -> None:
    await live.secret()
    settings = msgspec.structs.replace(live.house.settings, webhook_retry_schedule=(1.0,))
    live = Desk(msgspec.structs.replace(live.house, settings=settings), live.env)
    receiver.answer = answers(500, 200, 500)
    async with live.working():
        event_id = await live.record(receiver.url)
        await live.until(event_id, "retrying")
        planned = await live.delivery(event_id)
        await redeliver(live, event_id)
        row = await live.until(event_id, "delivered")
        assert planned is not None
        assert row["next_attempt_at"] == planned["automatic_at"]

        async def over() -> bool:
            return await live.delivery(event_id) is None

        await eventually(over)
    row = await live.event(event_id)
    assert (row["status"], row["next_attempt_at"]) == ("delivered", None)
    assert await live.history(event_id) == [(1, "automatic", "http_500"), (2, "manual", None), (3, "automatic", "http_500")]
    assert not await live.broken()


async def test_a_failed_event_is_delivered_by_hand(test: Desk, receiver: Receiver) -> None:
    await test.secret()
    receiver.answer = answers(500, 500, 200)
    async with test.working():
        event_id = await test.record(receiver.url)
        await test.until(event_id, "failed")
        await redeliver(test, event_id)

        async def tried_twice() -> bool:
            return (await test.event(event_id))["attempts"] == 2

        await eventually(tried_twice)
        assert (await test.event(event_id))["status"] == "failed"
        await redeliver(test, event_id)
        await test.until(event_id, "delivered")
    assert not await test.broken()


@pytest.mark.covers("W-50")
async def test_switching_off_cancels_what_waits(live: Desk, receiver: Receiver) -> None:
    await live.secret()
    settings = msgspec.structs.replace(live.house.settings, webhook_retry_schedule=(60.0,))
    live = Desk(msgspec.structs.replace(live.house, settings=settings), live.env)
    receiver.answer = answers(500)
    async with live.working():
        event_id = await live.record(receiver.url)
        await live.until(event_id, "retrying")
        await switch_off(live)
        assert (await live.event(event_id))["status"] == "canceled"
        assert await live.delivery(event_id) is None
    assert len(receiver.received) == 1
    assert not await live.broken()


async def test_switching_off_while_a_call_is_under_way(live: Desk, receiver: Receiver) -> None:
    await live.secret()
    go_on = asyncio.Event()

    async def answer(_request: web.Request) -> web.StreamResponse:
        await go_on.wait()
        return web.Response(status=500)

    receiver.answer = answer
    async with live.working():
        event_id = await live.record(receiver.url)
        await receiver.wait()
        await switch_off(live)
        assert (await live.event(event_id))["status"] == "pending"
        go_on.set()
        await live.until(event_id, "canceled")
    assert await live.history(event_id) == [(1, "automatic", "http_500")]
    assert len(receiver.received) == 1
    assert not await live.broken()


async def test_what_was_recorded_while_delivery_was_switched_off_is_not_sent(test: Desk, receiver: Receiver) -> None:
    """The deed read before the switch and committed after it: the worker asks again before it sends."""
    await test.secret()
    await switch_off(test)
    event_id = await test.record(receiver.url)
    await test.execute("UPDATE webhook_events SET status = 'pending' WHERE id = $1", event_id)
    await test.execute(
        """INSERT INTO webhook_deliveries (event_id, merchant_id, mode, destination_key, run_at, automatic_at)
           VALUES ($1, $2, 'test', 7, now(), now())""",
        event_id,
        test.env.merchant_id,
    )
    async with test.working():
        await test.until(event_id, "canceled")
    assert not receiver.received


async def test_what_waits_for_the_saved_address_ends_with_compatibility(test: Desk, receiver: Receiver) -> None:
    new = NewConfiguration(receiver.url, ["payment.succeeded"])
    await test.house.db.transact(lambda tx: actions.save(tx, test.env, new, test.house, clock.now()))
    event_id = await test.record(None)
    own = await test.record(receiver.url)
    settings = msgspec.structs.replace(test.house.settings, deprecated_webhooks=False)
    later = Desk(msgspec.structs.replace(test.house, settings=settings), test.env)
    async with later.working():
        await later.until(event_id, "canceled")
        await later.until(own, "delivered")
    assert [got.headers["X-Service-Event-Id"] for got in receiver.received] == [str(own)]
    assert not await test.broken()


async def test_nothing_is_sent_unsigned(test: Desk, receiver: Receiver) -> None:
    await test.secret()
    event_id = await test.record(receiver.url)
    await test.execute("UPDATE webhook_secrets SET ciphertext = ciphertext || '\\x00'::bytea WHERE merchant_id = $1", test.env.merchant_id)
    async with test.working():
        await test.until(event_id, "failed")
    assert await test.history(event_id) == [(1, "automatic", "signing_secret_missing")]
    assert not receiver.received


@pytest.mark.covers("W-59")
async def test_a_blocked_destination_is_a_failed_attempt(live: Desk) -> None:
    await live.secret()
    async with live.working():
        event_id = await live.record("http://10.0.0.1/")
        await live.until(event_id, "failed")
    assert await live.history(event_id) == [(n, "automatic", "blocked_destination") for n in range(1, 10)]


async def test_stopping_waits_for_what_is_under_way(test: Desk, receiver: Receiver) -> None:
    await test.secret()
    go_on = asyncio.Event()

    async def answer(_request: web.Request) -> web.StreamResponse:
        await go_on.wait()
        return web.Response(status=200)

    receiver.answer = answer
    worker = Worker(test.house)
    running = asyncio.create_task(worker.run())
    event_id = await test.record(receiver.url)
    await receiver.wait()
    worker.stop()
    left = await test.record(receiver.url)
    go_on.set()
    await asyncio.wait_for(running, 5)
    assert (await test.event(event_id))["status"] == "delivered"
    delivery = await test.delivery(left)
    assert delivery is not None
    assert delivery["lease_token"] is None
    assert not await test.broken()


async def test_what_does_not_end_in_time_is_given_back(
    test: Desk, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tollhouse.events.delivery.STOP_WITHIN_S", 0.05)
    await test.secret()
    never = asyncio.Event()

    async def answer(_request: web.Request) -> web.StreamResponse:
        await never.wait()
        return web.Response(status=200)

    receiver.answer = answer
    worker = Worker(test.house)
    running = asyncio.create_task(worker.run())
    event_id = await test.record(receiver.url)
    await receiver.wait()
    worker.stop()
    await asyncio.wait_for(running, 5)
    delivery = await test.delivery(event_id)
    assert delivery is not None
    assert (delivery["lease_token"], delivery["tries"]) == (None, 0)
    assert await test.history(event_id) == []
    never.set()


@pytest.mark.covers("W-90")
async def test_events_of_one_object_rise(test: Desk, receiver: Receiver) -> None:
    await test.secret()
    source_id: Any = new_id()
    async with test.working():
        for sequence in (1, 2, 3):
            await test.record(receiver.url, source_id=source_id, sequence=sequence)
        await receiver.wait(count=3)
    assert sorted(got.body["sequence"] for got in receiver.received) == [1, 2, 3]
