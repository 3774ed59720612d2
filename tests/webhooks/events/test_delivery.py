"""Delivery to a real receiver: the signed request, retries, and what is not sent."""

import asyncio
import base64
import hashlib
import hmac
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from aiohttp import web

from tests.receiver import Receiver
from tests.webhooks.events.harness import Harness, responses
from tollhouse.kernel import clock
from tollhouse.kernel.ids import new_id
from tollhouse.platform.database.packed_json import unpack
from tollhouse.webhooks.endpoints import actions
from tollhouse.webhooks.endpoints.model import NewConfiguration


@pytest.mark.covers("W-1", "W-17", "W-18", "W-19", "W-21", "W-22", "W-28")
async def test_one_signed_post(test: Harness, receiver: Receiver) -> None:
    secret = await test.secret()
    async with test.working():
        event_id = await test.record(receiver.url)
        row = await test.until(event_id, "delivered")
    (got,) = receiver.received
    assert got.raw == unpack(row["body"])
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


@pytest.mark.long
@pytest.mark.covers("W-23", "W-31", "W-42")
async def test_live_gets_nine_attempts_and_no_tenth(live: Harness, receiver: Receiver) -> None:
    await live.secret()
    receiver.answer = responses(500)
    async with live.working():
        event_id = await live.record(receiver.url)
        row = await live.until(event_id, "failed")
        assert await live.delivery(event_id) is None
        assert await live.planned(event_id) is None
    assert len(receiver.received) == row["attempts"] == 9
    assert await live.history(event_id) == [(attempt, "automatic", "http_500") for attempt in range(1, 10)]
    assert len({got.raw for got in receiver.received}) == 1
    assert len({got.headers["X-Service-Signature"] for got in receiver.received}) == 1
    assert [got.headers["X-Service-Attempt"] for got in receiver.received] == [str(n) for n in range(1, 10)]
    assert not await live.broken()


@pytest.mark.covers("W-43")
async def test_test_mode_is_tried_once(test: Harness, receiver: Receiver) -> None:
    await test.secret()
    receiver.answer = responses(500)
    async with test.working():
        event_id = await test.record(receiver.url)
        await test.until(event_id, "failed")
    assert len(receiver.received) == 1
    assert await test.delivery(event_id) is None
    assert not await test.broken()


@pytest.mark.long
@pytest.mark.covers("W-44", "W-49")
async def test_a_later_attempt_succeeds_with_the_secret_of_its_time(live: Harness, receiver: Receiver) -> None:
    await live.secret()
    receiver.answer = responses(503, 404, 200)
    async with live.working():
        event_id = await live.record(receiver.url)
        await receiver.wait(count=1)
        secret = await live.secret()
        row = await live.until(event_id, "delivered")
    assert await live.history(event_id) == [
        (1, "automatic", "http_503"),
        (2, "automatic", "http_404"),
        (3, "automatic", None),
    ]
    assert row["delivered_at"] is not None
    last = receiver.received[-1]
    assert last.headers["X-Service-Signature"] == hmac.new(secret.encode(), last.raw, hashlib.sha256).hexdigest()
    assert not await live.broken()


@pytest.mark.covers("W-32", "W-45")
@pytest.mark.parametrize(("retry_after", "low", "high"), [(None, 8, 12), ("15", 15, 15), ("90000", 20, 20)])
async def test_when_the_next_attempt_is(
    live: Harness, receiver: Receiver, retry_after: str | None, low: float, high: float
) -> None:
    await live.secret()
    settings = msgspec.structs.replace(live.services.settings, webhook_retry_schedule=(10.0,))
    live = Harness(msgspec.structs.replace(live.services, settings=settings), live.env)
    receiver.answer = responses(503, **({} if retry_after is None else {"Retry_After": retry_after}))
    async with live.working():
        row = await live.until(event_id := await live.record(receiver.url), "retrying")
    attempt = await live.services.db.fetchrow("SELECT * FROM webhook_attempts WHERE event_id = $1", event_id)
    assert attempt is not None
    wait = row["next_attempt_at"] - attempt["started_at"] - timedelta(milliseconds=attempt["duration_ms"])
    assert low - 0.1 <= wait.total_seconds() <= high + 1
    assert not await live.broken()


@pytest.mark.covers("W-50")
async def test_switching_off_cancels_what_waits(live: Harness, receiver: Receiver) -> None:
    await live.secret()
    settings = msgspec.structs.replace(live.services.settings, webhook_retry_schedule=(60.0,))
    live = Harness(msgspec.structs.replace(live.services, settings=settings), live.env)
    receiver.answer = responses(500)
    async with live.working():
        event_id = await live.record(receiver.url)
        await live.until(event_id, "retrying")
        await live.disable_delivery()
        assert (await live.event(event_id))["status"] == "canceled"
        assert await live.planned(event_id) is None
    assert len(receiver.received) == 1
    assert not await live.broken()


async def test_switching_off_while_a_call_is_under_way(live: Harness, receiver: Receiver) -> None:
    await live.secret()
    proceed = asyncio.Event()

    async def answer(_request: web.Request) -> web.StreamResponse:
        await proceed.wait()
        return web.Response(status=500)

    receiver.answer = answer
    async with live.working():
        event_id = await live.record(receiver.url)
        await receiver.wait()
        await live.disable_delivery()
        assert (await live.event(event_id))["status"] == "pending"
        proceed.set()
        await live.until(event_id, "canceled")
    assert await live.history(event_id) == [(1, "automatic", "http_500")]
    assert len(receiver.received) == 1
    assert not await live.broken()


async def test_what_was_recorded_while_delivery_was_switched_off_is_not_sent(test: Harness, receiver: Receiver) -> None:
    """The deed read before the switch and committed after it: the worker asks again before it sends."""
    await test.secret()
    await test.disable_delivery()
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


async def test_what_waits_for_the_saved_address_ends_with_compatibility(test: Harness, receiver: Receiver) -> None:
    new = NewConfiguration(receiver.url, ["payment.succeeded"])
    await test.services.transact(lambda work: actions.save(work, test.env, new), clock.now())
    event_id = await test.record(None)
    own = await test.record(receiver.url)
    settings = msgspec.structs.replace(test.services.settings, deprecated_webhooks=False)
    later = Harness(msgspec.structs.replace(test.services, settings=settings), test.env)
    async with later.working():
        await later.until(event_id, "canceled")
        await later.until(own, "delivered")
    assert [got.headers["X-Service-Event-Id"] for got in receiver.received] == [str(own)]
    assert not await test.broken()


async def test_nothing_is_sent_unsigned(test: Harness, receiver: Receiver) -> None:
    await test.secret()
    event_id = await test.record(receiver.url)
    await test.execute(
        "UPDATE webhook_secrets SET ciphertext = ciphertext || '\\x00'::bytea WHERE merchant_id = $1", test.env.merchant_id
    )
    async with test.working():
        await test.until(event_id, "failed")
    assert await test.history(event_id) == [(1, "automatic", "signing_secret_missing")]
    assert not receiver.received


@pytest.mark.long
@pytest.mark.covers("W-59")
async def test_a_blocked_destination_is_a_failed_attempt(live: Harness) -> None:
    await live.secret()
    async with live.working():
        event_id = await live.record("http://10.0.0.1/")
        await live.until(event_id, "failed")
    assert await live.history(event_id) == [(n, "automatic", "blocked_destination") for n in range(1, 10)]


@pytest.mark.covers("W-90")
async def test_events_of_one_object_rise(test: Harness, receiver: Receiver) -> None:
    await test.secret()
    source_id: Any = new_id()
    async with test.working():
        for sequence in (1, 2, 3):
            await test.record(receiver.url, source_id=source_id, sequence=sequence)
        await receiver.wait(count=3)
    assert sorted(got.body["sequence"] for got in receiver.received) == [1, 2, 3]
