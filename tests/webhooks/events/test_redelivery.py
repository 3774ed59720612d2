"""Sending again by hand."""

import hashlib
import hmac

import msgspec
import pytest

from tests.receiver import Receiver
from tests.webhooks.events.harness import Harness, eventually, responses


@pytest.mark.covers("W-83", "W-89")
async def test_a_redelivery_has_the_same_id_and_bytes_and_the_present_secret(test: Harness, receiver: Receiver) -> None:
    await test.secret()
    async with test.working():
        event_id = await test.record(receiver.url)
        first = await test.until(event_id, "delivered")
        secret = await test.secret()
        receiver.answer = responses(500)
        for _ in range(3):
            await test.redeliver(event_id)

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


@pytest.mark.long
async def test_a_redelivery_leaves_the_schedule_alone(live: Harness, receiver: Receiver) -> None:
    await live.secret()
    settings = msgspec.structs.replace(live.services.settings, webhook_retry_schedule=(1.0,))
    live = Harness(msgspec.structs.replace(live.services, settings=settings), live.env)
    receiver.answer = responses(500, 200, 500)
    async with live.working():
        event_id = await live.record(receiver.url)
        await live.until(event_id, "retrying")
        planned = await live.planned(event_id)
        await live.redeliver(event_id)
        row = await live.until(event_id, "delivered")
        assert planned is not None
        assert row["next_attempt_at"] == planned["run_at"]

        async def over() -> bool:
            return await live.delivery(event_id) is None and await live.planned(event_id) is None

        await eventually(over)
    row = await live.event(event_id)
    assert (row["status"], row["next_attempt_at"]) == ("delivered", None)
    assert await live.history(event_id) == [(1, "automatic", "http_500"), (2, "manual", None), (3, "automatic", "http_500")]
    assert not await live.broken()


async def test_a_failed_event_is_delivered_by_hand(test: Harness, receiver: Receiver) -> None:
    await test.secret()
    receiver.answer = responses(500, 500, 200)
    async with test.working():
        event_id = await test.record(receiver.url)
        await test.until(event_id, "failed")
        await test.redeliver(event_id)

        async def tried_twice() -> bool:
            return (await test.event(event_id))["attempts"] == 2

        await eventually(tried_twice)
        assert (await test.event(event_id))["status"] == "failed"
        await test.redeliver(event_id)
        await test.until(event_id, "delivered")
    assert not await test.broken()
