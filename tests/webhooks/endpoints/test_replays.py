"""Events of test mode sent to another URL from their page: once, signed as usual, beside their delivery."""

import asyncio
import hmac
from typing import Any
from uuid import uuid4

import pytest
from aiohttp import web

from tests.cast import Actor, sign_up
from tests.forms import post, seen, wrong
from tests.receiver import Receiver
from tests.running import Service
from tests.webhooks.endpoints.conftest import Open
from tests.webhooks.endpoints.test_events import OWN, over, with_secret
from tollhouse.http.services import Services
from tollhouse.kernel import clock
from tollhouse.webhooks.endpoints import replays

COUNT = "SELECT count(*) AS count FROM webhook_replays WHERE event_id = $1"
TAKEN = """
    INSERT INTO webhook_replays (id, merchant_id, mode, event_id, url, created_at, started_at)
    VALUES ($1, $2, 'test', $3, $4, now(), now() - interval '1 hour')
"""


async def ended(actor: Actor, path: str, answers: int = 1) -> str:
    """The page once so many answers to replays are there, and none is under way."""
    async with asyncio.timeout(30):
        while (page := await seen(actor, path)).count("<b>Sent to another URL</b>") < answers or "Sending to" in page:
            await asyncio.sleep(0.02)
    return page


@pytest.mark.long
async def test_an_event_is_sent_to_another_url_as_it_was_delivered(
    alice: Actor, receiver: Receiver, harness_of: Open
) -> None:
    secret = await with_secret(alice)
    harness = await harness_of(alice)
    event_id = await harness.record(receiver.url)
    before = await over(harness, event_id, 1)
    path = f"/test/developers/events/{event_id}"
    assert (await post(alice, f"{path}/replay", url=f"{receiver.url}/page")).location == f"{path}#replays"
    page = await ended(alice, path)
    first, second = receiver.received
    assert (first.path, second.path) == ("/hook", "/hook/page")
    assert second.raw == first.raw
    varying = {"webhook-timestamp", "webhook-signature"}
    for name, value in first.headers.items():
        assert name.lower() in varying or second.headers[name] == value
    assert second.headers["X-Service-Signature"] == hmac.digest(secret.encode(), second.raw, "sha256").hex()
    assert f"{receiver.url}/page" in page
    assert second.headers["X-Service-Signature"] not in page
    assert "HTTP 200" in page
    assert await over(harness, event_id, 1) == before
    assert [event["id"] for event in (await alice.get("/events")).ok().body["events"]] == [str(event_id)]
    assert len((await alice.get(f"/webhook-events/{event_id}")).ok().body["delivery_history"]) == 1


@pytest.mark.long
async def test_a_refused_one_is_shown_and_never_sent_again(alice: Actor, receiver: Receiver, harness_of: Open) -> None:
    async def answer(_request: web.Request) -> web.StreamResponse:
        return web.Response(status=503, text="closed token=abcdef", headers={"Retry-After": "0"})

    receiver.answer = answer
    await with_secret(alice)
    harness = await harness_of(alice)
    event_id = await harness.record(None)
    path = f"/test/developers/events/{event_id}"
    await post(alice, f"{path}/replay", url=receiver.url)
    page = await ended(alice, path)
    assert "status 503" in page
    assert "token=[redacted]" in page
    await post(alice, f"{path}/replay", url=f"{receiver.url}/second")
    assert (await ended(alice, path, 2)).index("/second") < page.index("status 503") + len(page)
    assert [received.path for received in receiver.received] == ["/hook", "/hook/second"]
    assert (await harness.event(event_id))["status"] == "skipped"


async def test_private_addresses_and_other_schemes_are_refused(alice: Actor, harness_of: Open) -> None:
    await with_secret(alice)
    harness = await harness_of(alice)
    path = f"/test/developers/events/{await harness.record(None)}"
    for url in ("http://10.0.0.1/", "http://169.254.169.254/", "ftp://shop.example/", "http://u:p@shop.example/", ""):
        refused = await post(alice, f"{path}/replay", 422, url=url)
        assert "url" in wrong(refused)
        assert url in refused.text
    assert "<b>Sent to another URL</b>" not in await seen(alice, path)


async def test_only_own_events_of_test_mode(alice: Actor, carol: Actor, receiver: Receiver, harness_of: Open) -> None:
    for mode in ("test", "live"):
        await with_secret(alice, mode)
    live, test = await harness_of(alice, "live"), await harness_of(alice)
    event_id = await test.record(None)
    live_id = await live.record(None)
    await with_secret(carol)
    for actor, mode, named in (
        (carol, "test", event_id), (alice, "live", live_id), (alice, "live", event_id), (alice, "test", live_id),
        (alice, "test", uuid4()),
    ):  # fmt: skip
        await post(actor, f"/{mode}/developers/events/{named}/replay", 404, url=receiver.url)
    assert "another URL" not in await seen(alice, f"/live/developers/events/{live_id}")
    assert receiver.received == []


async def test_nothing_is_sent_unsigned_or_while_delivery_is_off(
    alice: Actor, receiver: Receiver, harness_of: Open, services: Services
) -> None:
    harness = await harness_of(alice)
    event_id = await harness.record(None)
    path = f"/test/developers/events/{event_id}/replay"
    assert "Activate a signing secret" in (await post(alice, path, 409, url=receiver.url)).text
    await with_secret(alice)
    await harness.disable_delivery()
    assert "Turn on delivery" in (await post(alice, path, 409, url=receiver.url)).text
    row = await services.db.fetchrow(COUNT, event_id)
    assert row is not None
    assert row["count"] == 0
    assert receiver.received == []


async def test_workers_that_race_send_once(alice: Actor, receiver: Receiver, harness_of: Open, services: Services) -> None:
    await with_secret(alice)
    harness = await harness_of(alice)
    events = [await harness.record(None) for _ in range(8)]
    for event_id in events:
        await services.transact(
            lambda work, event_id=event_id: replays.start(work, harness.env, event_id, receiver.url), clock.now()
        )
    await asyncio.gather(*(replays.send_waiting(services) for _ in range(4)))
    for event_id in events:
        await ended(alice, f"/test/developers/events/{event_id}")
    sent = sorted(received.headers["X-Service-Event-Id"] for received in receiver.received)
    assert sent == sorted(map(str, events))


@pytest.mark.long
async def test_what_a_lost_worker_took_is_not_sent_again(alice: Actor, receiver: Receiver, harness_of: Open) -> None:
    await with_secret(alice)
    harness = await harness_of(alice)
    event_id = await harness.record(None)
    await harness.execute(TAKEN, uuid4(), harness.env.merchant_id, event_id, receiver.url)
    page = await ended(alice, f"/test/developers/events/{event_id}")
    assert "worker_lost" in page
    assert receiver.received == []


async def test_the_limit_counts_test_events_and_replays(limited: Service) -> None:
    async with sign_up(limited, "rita", "Rita's Rockets") as rita:
        await with_secret(rita)
        event: Any = (await rita.post("/webhook/test", {"url": "http://example.com/"})).ok(202).body
        path = f"/test/developers/events/{event['id']}/replay"
        await post(rita, path, url="http://example.com/")
        refused = await post(rita, path, 429, url=OWN)
        assert int(refused.headers["Retry-After"]) >= 1
