"""Saved addresses while NOTIFY_DEPRECATED_WH is true, after it was removed, and when it is back."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from tests.cast import INTEGRATION, Actor, sign_up
from tests.receiver import Received, Receiver
from tests.running import Service
from tests.webhooks.endpoints.conftest import Open
from tests.webhooks.endpoints.test_configuration import signed_with

TYPES = ["payment.succeeded"]


async def saved(actor: Actor, receiver: Receiver) -> str:
    """Save the receiver's address for the first time; the secret."""
    return (await actor.call("PUT", "/webhook", {"url": receiver.url, "event_types": TYPES})).ok().body["secret"]


async def arrived(receiver: Receiver, event_id: object) -> Received:
    """The newest delivery of this event."""
    while True:
        for got in reversed(receiver.received):
            if got.headers["X-Service-Event-Id"] == str(event_id):
                return got
        await receiver.wait(count=len(receiver.received) + 1)


async def is_removed(actor: Actor, body: Any) -> None:
    """Saving an address is over, whatever the body says; who may not, hears that first."""
    key = await actor.key()
    for raw in (msgspec.json.encode(body), b"{}", b"", b"[]", b'{"url"', b'{"url": 5}', b'{"a": 1, "a": 2}'):
        for media_type in ("application/json", "text/plain"):
            headers = {"X-API-Key": key, "Content-Type": media_type}
            answer = await actor.send("PUT", f"{INTEGRATION}/webhook", data=raw, headers=headers)
            answer.refused("deprecated_webhook_removed", 410)
    (await actor.anonymously("PUT", f"{INTEGRATION}/webhook", {})).refused("authentication_required", 401)
    reading = {"X-API-Key": await actor.key(scopes=["webhooks:read"])}
    (await actor.anonymously("PUT", f"{INTEGRATION}/webhook", {}, reading)).refused("missing_scope", 403)


@pytest.mark.long
@pytest.mark.covers("W-5", "W-7", "W-71", "W-72")
async def test_on_off_and_on_again(restarted: Callable[..., Service], receiver: Receiver, harness_of: Open) -> None:
    service = restarted(NOTIFY_DEPRECATED_WH="true")
    async with sign_up(service, "dora", "Dora's Dolls", keep_alive=False) as dora:
        secret = await saved(dora, receiver)
        configuration = (await dora.get("/webhook")).ok().body
        while_on = await harness_of(dora)
        first = await while_on.record(None)
        assert signed_with(secret, await arrived(receiver, first))
        await while_on.until(first, "delivered")
        service.stop()
        waiting = await while_on.record(None)

        dora.service = restarted(NOTIFY_DEPRECATED_WH="True")  # only `true` is on
        assert (await while_on.until(waiting, "canceled"))["attempts"] == 0
        assert (await dora.get("/webhook")).ok().raw == b"null"
        body = {"url": receiver.url, "event_types": TYPES}
        await is_removed(dora, body)
        while_off = await harness_of(dora)
        silent, own = await while_off.record(None), await while_off.record(receiver.url)
        assert (await dora.get(f"/webhook-events/{silent}")).ok().body["status"] == "skipped"
        assert signed_with(secret, await arrived(receiver, own))
        history = (await dora.get(f"/webhook-events/{first}")).ok().body["delivery_history"]
        assert [attempt["status"] for attempt in history] == ["succeeded"]
        for event_id in (first, waiting, silent):
            refused = await dora.post(f"/webhook-events/{event_id}/redeliver", key=f"off-{event_id}")
            refused.refused("webhook_destination_missing", 409)
        (await dora.post("/webhook/test", {"url": receiver.url})).ok(202)
        renewed = (await dora.post("/webhook/rotate-secret")).ok().body["secret"]

        dora.service = restarted(NOTIFY_DEPRECATED_WH="true")
        assert (await dora.get("/webhook")).ok().body == configuration
        again = await (await harness_of(dora)).record(None)
        assert signed_with(renewed, await arrived(receiver, again))
        (await dora.post(f"/webhook-events/{waiting}/redeliver", key="on")).ok(202)
        assert signed_with(renewed, await arrived(receiver, waiting))
        assert "secret" not in (await dora.call("PUT", "/webhook", body)).ok().body
        assert not await while_on.broken()


@pytest.mark.long
async def test_delivery_switched_off_stays_off_through_it_all(
    restarted: Callable[..., Service], receiver: Receiver, harness_of: Open
) -> None:
    service = restarted(NOTIFY_DEPRECATED_WH="true")
    async with sign_up(service, "dora", "Dora's Dolls", keep_alive=False) as dora:
        await saved(dora, receiver)
        assert (await dora.call("DELETE", "/webhook")).ok().body["enabled"] is False
        dora.service = restarted()
        assert (await dora.call("DELETE", "/webhook")).ok().raw == b"null"
        harness = await harness_of(dora)
        assert (await harness.event(await harness.record(receiver.url)))["status"] == "skipped"
        (await dora.dashboard("POST", "/webhook-secret/activate", {"mode": "test"})).ok()
        await arrived(receiver, await harness.record(receiver.url))
        dora.service = restarted(NOTIFY_DEPRECATED_WH="true")
        assert (await dora.get("/webhook")).ok().body["enabled"] is True


@pytest.mark.parametrize("way", ["activate", "rotate", "put"])
async def test_what_is_held_goes_with_the_first_secret(dora: Actor, receiver: Receiver, harness_of: Open, way: str) -> None:
    harness = await harness_of(dora)
    held = await harness.record(receiver.url)
    shown = (await dora.get(f"/webhook-events/{held}")).ok().body
    assert (shown["status"], shown["attempts"], shown["next_attempt_at"]) == ("held", 0, None)
    if way == "activate":
        secret = (await dora.dashboard("POST", "/webhook-secret/generate", {"mode": "test"})).ok().body["secret"]
        assert (await dora.get(f"/webhook-events/{held}")).ok().body["status"] == "held"
        (await dora.dashboard("POST", "/webhook-secret/activate", {"mode": "test"})).ok()
    elif way == "rotate":
        secret = (await dora.post("/webhook/rotate-secret")).ok().body["secret"]
    else:
        secret = await saved(dora, receiver)
    assert signed_with(secret, await arrived(receiver, held))
    await harness.until(held, "delivered")
    assert len(receiver.received) == 1
