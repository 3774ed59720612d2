"""Reading events, testing an address, and sending an event again."""

import asyncio
from typing import Any
from uuid import uuid4

import msgspec
import pytest
from aiohttp import web

from tests.cast import Actor, sign_up
from tests.receiver import Receiver
from tests.running import Service
from tests.webhooks.endpoints.conftest import Open
from tests.webhooks.events.harness import Harness

OWN = "http://127.0.0.1:1099/"


async def with_secret(actor: Actor, mode: str = "test") -> str:
    return (await actor.post("/webhook/rotate-secret", mode=mode)).ok().body["secret"]


async def over(harness: Harness, event_id: Any, attempts: int) -> dict[str, Any]:
    """The event's row once that many attempts are in its history."""
    async with asyncio.timeout(30):
        while (row := await harness.event(event_id))["attempts"] < attempts:
            await asyncio.sleep(0.02)
    return dict(row)


@pytest.mark.covers("W-79", "W-22", "W-18")
async def test_one_event(alice: Actor, receiver: Receiver, harness_of: Open) -> None:
    await with_secret(alice, "live")
    harness = await harness_of(alice, "live")
    codes = [503, 200]

    async def answer(_request: web.Request) -> web.StreamResponse:
        return web.Response(status=codes.pop(0))

    receiver.answer = answer
    event_id = await harness.record(receiver.url)
    await harness.until(event_id, "delivered")
    answered = (await alice.get(f"/webhook-events/{event_id}", mode="live")).ok()
    event = answered.body
    history = event.pop("delivery_history")
    assert event == {
        "id": str(event_id),
        "type": "payment.succeeded",
        "mode": "live",
        "livemode": True,
        "created_at": event["payload"]["created_at"],
        "destination_url": receiver.url,
        "status": "delivered",
        "attempts": 2,
        "next_attempt_at": None,
        "delivered_at": event["delivered_at"],
        "payload": receiver.received[0].body,
    }
    assert receiver.received[0].raw in answered.raw
    assert [
        (
            measurement["attempt"],
            measurement["status"],
            measurement["error"],
            measurement["http_status"],
            measurement["trigger"],
        )
        for measurement in history
    ] == [
        (1, "failed", "http_503", 503, "automatic"),
        (2, "succeeded", None, 200, "automatic"),
    ]
    assert all(
        set(measurement) == {"attempt", "status", "error", "timestamp", "http_status", "duration_ms", "trigger"}
        for measurement in history
    )
    assert history[0]["timestamp"] < history[1]["timestamp"]
    assert receiver.received[0].headers["X-Service-Mode"] == "live"


@pytest.mark.covers("W-78")
async def test_pages(alice: Actor, harness_of: Open) -> None:
    harness = await harness_of(alice)
    ids = [str(await harness.record(None)) for _ in range(23)]
    first = (await alice.get("/webhook-events")).ok().body
    assert [event["id"] for event in first["webhook_events"]] == ids[::-1][:20]
    assert first["has_more"] is True
    assert "delivery_history" not in first["webhook_events"][0]
    second = (await alice.get("/webhook-events?page=2")).ok().body
    assert [event["id"] for event in second["webhook_events"]] == ids[2::-1]
    assert second["has_more"] is False
    assert len((await alice.get("/webhook-events?limit=100")).ok().body["webhook_events"]) == 23
    assert (await alice.get("/webhook-events?page=3")).ok().body == {
        "webhook_events": [],
        "has_more": False,
        "next_cursor": None,
    }
    for query in ("limit=101", "limit=0", "limit=-1", "limit=abc", "page=0", "page=1.5", "page=1&page=2", "cursor=x"):
        assert (await alice.get(f"/webhook-events?{query}")).field_errors()


async def test_pages_of_rare_statuses(alice: Actor, harness_of: Open) -> None:
    harness = await harness_of(alice)
    ids = [await harness.record(None) for _ in range(9)]
    for event_id, status in zip(ids, ["failed", "canceled", "skipped"] * 3, strict=True):
        await harness.execute("UPDATE webhook_events SET status = $2 WHERE id = $1", event_id, status)
    ended = [str(event_id) for number, event_id in enumerate(ids) if number % 3 != 2][::-1]
    query = "/webhook-events?status=failed&status=canceled&limit=4"
    first = (await alice.get(query)).ok().body
    assert ([event["id"] for event in first["webhook_events"]], first["has_more"]) == (ended[:4], True)
    for rest in ("page=2", f"cursor={first['next_cursor']}"):
        assert [event["id"] for event in (await alice.get(f"{query}&{rest}")).ok().body["webhook_events"]] == ended[4:]
    assert (await alice.get("/webhook-events?status=retrying")).ok().body["webhook_events"] == []


@pytest.mark.covers("W-77", "W-80")
async def test_nobody_elses_events(alice: Actor, mallory: Actor, harness_of: Open) -> None:
    event_id = await (await harness_of(alice)).record(OWN)
    await with_secret(mallory)
    for actor, mode in ((mallory, "test"), (alice, "live")):
        assert (await actor.get("/webhook-events", mode=mode)).ok().body["webhook_events"] == []
        (await actor.get(f"/webhook-events/{event_id}", mode=mode)).refused("not_found", 404)
        (await actor.post(f"/webhook-events/{event_id}/redeliver", key="k", mode=mode)).refused("not_found", 404)
    for wrong in (str(uuid4()), "1", f"{event_id}x", str(event_id).replace("-", "")):
        (await alice.get(f"/webhook-events/{wrong}")).refused("not_found", 404)
    (await alice.get(f"/webhook-events/{event_id}")).ok()


@pytest.mark.covers("W-81", "W-28")
@pytest.mark.parametrize("mode", ["test", "live"])
async def test_a_test_event_is_sent_once_in_either_mode(
    alice: Actor, receiver: Receiver, harness_of: Open, mode: str
) -> None:
    await with_secret(alice, mode)
    harness = await harness_of(alice, mode)
    url = receiver.url if mode == "test" else receiver.url.replace("http:", "https:")
    queued = (await alice.post("/webhook/test", {"url": url}, mode=mode)).ok(202).body
    assert (queued["type"], queued["status"], queued["attempts"]) == ("webhook.test", "pending", 0)
    assert queued["destination_url"] == url
    row = await over(harness, queued["id"], 1)
    event = (await alice.get(f"/webhook-events/{queued['id']}", mode=mode)).ok().body
    (attempt,) = event["delivery_history"]
    assert attempt["trigger"] == "test"
    if mode == "test":
        assert row["status"] == "delivered"
        assert receiver.received[0].body == event["payload"]
    else:  # plain text where TLS is spoken: one failed attempt, no retry
        assert (row["status"], row["next_attempt_at"]) == ("failed", None)
        assert attempt["error"] == "tls_error"
        assert await harness.delivery(row["id"]) is None


@pytest.mark.covers("W-82", "S-61")
async def test_refused_tests(alice: Actor) -> None:
    (await alice.post("/webhook/test", {"url": OWN})).refused("webhook_secret_missing", 409)
    await with_secret(alice)
    for url in (
        "",
        "http://10.0.0.1/",
        "http://169.254.169.254/",
        "http://127.0.0.1:22/",
        "ftp://127.0.0.1/",
        "http://u:p@x.test/",
    ):
        assert (await alice.post("/webhook/test", {"url": url})).field_errors() == {"url": "invalid_url"}
    assert (await alice.post("/webhook/test", {})).field_errors() == {"url": "missing"}
    assert (await alice.get("/webhook-events")).ok().body["webhook_events"] == []


@pytest.mark.covers("S-61")
async def test_tests_are_limited_per_merchant_and_mode(limited: Service) -> None:
    async with sign_up(limited, "erin", "Erin's Easels") as erin:
        await with_secret(erin)
        await with_secret(erin, "live")
        responses = await asyncio.gather(*(erin.post("/webhook/test", {"url": "http://example.com/"}) for _ in range(5)))
        refused = [answer.refused("rate_limited", 429) for answer in responses if answer.status != 202]
        assert len(refused) == 3
        assert all(1 <= int(answer.headers["Retry-After"]) <= 60 for answer in refused)
        (await erin.post("/webhook/test", {"url": "https://example.com/"}, mode="live")).ok(202)
        back = "UPDATE webhook_events SET created_at = created_at - interval '61 s' WHERE merchant_id = $1"
        await erin.sql(back, erin.merchant_id)
        (await erin.post("/webhook/test", {"url": "http://example.com/"})).ok(202)


async def test_while_delivery_is_off_a_test_event_is_skipped(alice: Actor) -> None:
    await with_secret(alice)
    (await alice.call("DELETE", "/webhook")).ok()
    assert (await alice.post("/webhook/test", {"url": OWN})).ok(202).body["status"] == "skipped"


@pytest.mark.long
@pytest.mark.covers("W-83", "W-84", "W-85", "W-89")
async def test_redelivery(alice: Actor, receiver: Receiver, harness_of: Open) -> None:
    await with_secret(alice)
    harness = await harness_of(alice)
    event_id = await harness.record(receiver.url)
    await harness.until(event_id, "delivered")
    path = f"/webhook-events/{event_id}/redeliver"
    (await alice.post(path)).refused("idempotency_key_required", 400)
    (await alice.post(path, key="k" * 256)).refused("idempotency_key_invalid", 400)
    assert len(receiver.received) == 1
    responses = await asyncio.gather(*(alice.post(path, key="k" * 255) for _ in range(10)))
    assert {answer.ok(202).raw for answer in responses} == {responses[0].raw}
    assert sum("Idempotency-Replayed" in answer.headers for answer in responses) == 9
    assert responses[0].body["id"] == str(event_id)
    assert responses[0].body["status"] == "delivered"
    assert responses[0].body["next_attempt_at"] is not None
    await over(harness, event_id, 2)
    await asyncio.gather(*(alice.post(path, key=f"key-{number}") for number in range(20)))
    await over(harness, event_id, 22)
    history = (await alice.get(f"/webhook-events/{event_id}")).ok().body["delivery_history"]
    assert [measurement["attempt"] for measurement in history] == list(range(1, 23))
    assert [measurement["trigger"] for measurement in history] == ["automatic"] + ["manual"] * 21
    assert len(receiver.received) == 22
    assert len({got.raw for got in receiver.received}) == 1


@pytest.mark.covers("W-86")
async def test_a_key_belongs_to_one_event(alice: Actor, harness_of: Open) -> None:
    await with_secret(alice)
    harness = await harness_of(alice)
    one, other = [await harness.record(OWN) for _ in range(2)]
    (await alice.post(f"/webhook-events/{one}/redeliver", key="k")).ok(202)
    (await alice.post(f"/webhook-events/{other}/redeliver", key="k")).refused("idempotency_key_reused", 422)


@pytest.mark.covers("W-84")
async def test_a_redelivery_needs_somewhere_to_go_and_a_secret(
    alice: Actor, dora: Actor, receiver: Receiver, harness_of: Open
) -> None:
    harness = await harness_of(alice)
    held, nowhere = await harness.record(OWN), await harness.record(None)
    (await alice.post(f"/webhook-events/{held}/redeliver", key="a")).refused("webhook_secret_missing", 409)
    (await alice.post(f"/webhook-events/{nowhere}/redeliver", key="b")).refused("webhook_destination_missing", 409)
    theirs = await harness_of(dora)
    skipped = await theirs.record(None)
    body = {"url": receiver.url, "event_types": ["balance.updated"]}
    (await dora.call("PUT", "/webhook", body)).ok()
    answer = (await dora.post(f"/webhook-events/{skipped}/redeliver", key="c")).ok(202)
    assert answer.body["status"] == "pending"
    await theirs.until(skipped, "delivered")
    assert len(receiver.received) == 1
    assert not await theirs.broken()


async def test_an_event_of_the_saved_address_goes_again_to_the_present_one(
    dora: Actor, receiver: Receiver, harness_of: Open
) -> None:
    harness = await harness_of(dora)
    body = {"url": OWN, "event_types": ["payment.succeeded"]}
    (await dora.call("PUT", "/webhook", body)).ok()
    event_id = await harness.record(None)
    await harness.until(event_id, "failed")
    (await dora.call("PUT", "/webhook", {**body, "url": receiver.url})).ok()
    (await dora.post(f"/webhook-events/{event_id}/redeliver", key="k")).ok(202)
    await harness.until(event_id, "delivered")
    assert receiver.received[0].headers["X-Service-Attempt"] == "2"


async def test_the_payload_is_shown_as_it_was_sent(alice: Actor, receiver: Receiver, harness_of: Open) -> None:
    await with_secret(alice)
    harness = await harness_of(alice)
    await harness.record(receiver.url, object={"note": "\u2028 </script> \\u0000 \U0001f600", "big": 2**53 - 1})
    (got,) = await receiver.wait()
    listed = (await alice.get("/webhook-events")).ok()
    assert got.raw in listed.raw
    assert msgspec.json.decode(got.raw) == listed.body["webhook_events"][0]["payload"]
