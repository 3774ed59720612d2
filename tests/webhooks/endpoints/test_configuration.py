"""The saved configuration, the signing secret, and switching delivery off."""

import asyncio
import hashlib
import hmac
from typing import Any

import pytest

from tests.cast import Actor, application
from tests.receiver import Received, Receiver
from tests.webhooks.endpoints.conftest import Open

BODY = {"url": "http://127.0.0.1:1099/hook", "event_types": ["payment.succeeded", "balance.updated"]}


def signed_with(secret: str, got: Received) -> bool:
    return got.headers["X-Service-Signature"] == hmac.new(secret.encode(), got.raw, hashlib.sha256).hexdigest()


async def put(actor: Actor, mode: str = "test", **changes: Any) -> Any:
    return (await actor.call("PUT", "/webhook", {**BODY, **changes}, mode=mode)).ok().body


@pytest.mark.long
async def test_saved_addresses_are_said_to_be_deprecated(dora: Actor) -> None:
    responses = [
        await dora.get("/webhook"),
        await dora.call("PUT", "/webhook", BODY),
        await dora.call("PUT", "/webhook", {}),
    ]
    for answer in responses:
        assert answer.headers["Deprecation"] == "@1793491200"
        assert answer.headers["Link"] == '</docs/webhooks#saved-addresses>; rel="deprecation"; type="text/html"'
    assert 'id="saved-addresses"' in (await dora.anonymously("GET", "/docs/webhooks")).ok().text
    assert "Deprecation" not in (await dora.get("/webhook-events")).ok().headers
    paths = (await dora.anonymously("GET", "/openapi.json")).ok().body["paths"]
    shown = [path for path, methods in paths.items() for method in methods.values() if method.get("deprecated")]
    assert shown == ["/api/v2/integration/webhook"] * 2


@pytest.mark.covers("W-66", "W-67", "S-59")
async def test_the_first_put_shows_the_secret_and_nothing_else_ever_does(dora: Actor) -> None:
    assert (await dora.get("/webhook")).ok().raw == b"null"
    first = await put(dora)
    secret = first.pop("secret")
    assert secret.startswith("whsec_")
    assert len(secret) == 50
    assert first == {
        **BODY,
        "enabled": True,
        "has_secret": True,
        "mode": "test",
        "livemode": False,
        "created_at": first["created_at"],
        "updated_at": first["updated_at"],
    }
    assert (await dora.get("/webhook")).ok().body == first
    second = await put(dora, url="http://127.0.0.1:1099/other", event_types=["payment.failed"])
    assert "secret" not in second
    assert second["created_at"] == first["created_at"]
    assert second["url"] == "http://127.0.0.1:1099/other"
    assert secret not in (await dora.get("/webhook")).text
    assert (await dora.get("/webhook", mode="live")).ok().raw == b"null"


REFUSED: list[tuple[dict[str, Any], str, str]] = [
    ({"url": "ftp://example.com/"}, "url", "invalid_url"),
    ({"url": ""}, "url", "invalid_url"),
    ({"url": None}, "url", "invalid_type"),
    ({"url": "http://10.0.0.1/"}, "url", "invalid_url"),
    ({"event_types": []}, "event_types", "empty"),
    ({"event_types": ["payment.succeeded", "payment.imagined"]}, "event_types.1", "unknown_event_type"),
    ({"event_types": ["webhook.test"]}, "event_types.0", "unknown_event_type"),
    ({"event_types": ["balance.updated", "balance.updated"]}, "event_types.1", "duplicate"),
    ({"event_types": "payment.succeeded"}, "event_types", "invalid_type"),
    ({"event_types": [1]}, "event_types.0", "invalid_type"),
    ({"enabled": "yes"}, "enabled", "invalid_type"),
    ({"secret": "whsec_mine"}, "secret", "unknown_field"),
]


@pytest.mark.covers("W-68", "W-70", "W-13", "W-57")
async def test_refused_settings(dora: Actor) -> None:
    for changes, field, code in REFUSED:
        answer = await dora.call("PUT", "/webhook", {**BODY, **changes})
        assert list(answer.field_errors()) == [field], changes
        assert code in {answer.field_errors()[field], "invalid_type"}
        assert (await dora.get("/webhook")).raw == b"null"


@pytest.mark.covers("W-68")
async def test_missing_fields(dora: Actor) -> None:
    assert (await dora.call("PUT", "/webhook", {})).field_errors() == {"url": "missing", "event_types": "missing"}


@pytest.mark.covers("W-70")
async def test_live_needs_https(dora: Actor) -> None:
    assert (await dora.call("PUT", "/webhook", BODY, mode="live")).field_errors() == {"url": "invalid_url"}
    assert (await put(dora, "live", url="https://example.com/hook"))["livemode"] is True


async def test_many_first_puts_make_one_secret(dora: Actor) -> None:
    await dora.key()
    responses = await asyncio.gather(*(put(dora) for _ in range(10)))
    assert sum("secret" in answer for answer in responses) == 1


@pytest.mark.covers("W-71", "W-72")
async def test_after_the_end_of_compatibility(alice: Actor) -> None:
    (await alice.call("PUT", "/webhook", BODY)).refused("deprecated_webhook_removed", 410)
    assert (await alice.get("/webhook")).ok().raw == b"null"
    assert (await alice.call("DELETE", "/webhook")).ok().raw == b"null"
    assert (await alice.post("/webhook/rotate-secret")).ok().body["secret"].startswith("whsec_")


@pytest.mark.covers("W-73", "W-74")
async def test_rotating_replaces_at_once_and_in_one_mode(dora: Actor, receiver: Receiver, harness_of: Open) -> None:
    first = (await put(dora, url=receiver.url))["secret"]
    live = (await put(dora, "live", url="https://example.com/hook"))["secret"]
    rotated = (await dora.post("/webhook/rotate-secret", key="ignored")).ok().body
    assert list(rotated) == ["secret"]
    again = (await dora.post("/webhook/rotate-secret", key="ignored")).ok().body
    assert len({first, live, rotated["secret"], again["secret"]}) == 4
    await (await harness_of(dora)).record(None)
    (got,) = await receiver.wait()
    assert signed_with(again["secret"], got)
    await (await harness_of(dora, "live")).record(receiver.url)
    assert signed_with(live, (await receiver.wait(count=2))[1])


@pytest.mark.covers("W-5", "W-9", "W-69", "W-76", "W-88")
async def test_switched_off_and_on_again(dora: Actor, receiver: Receiver, harness_of: Open) -> None:
    await put(dora, url=receiver.url)
    harness = await harness_of(dora)
    off = (await dora.call("DELETE", "/webhook")).ok().body
    assert off["enabled"] is False
    assert (await dora.get("/webhook")).ok().body == off
    skipped = await harness.record(receiver.url)
    assert (await dora.get(f"/webhook-events/{skipped}")).ok().body["status"] == "skipped"
    (await dora.post(f"/webhook-events/{skipped}/redeliver", key="a")).refused("webhook_delivery_disabled", 409)
    assert await harness.delivery(skipped) is None
    assert "secret" not in await put(dora, url=receiver.url)
    sent = await harness.record(None)
    await harness.until(sent, "delivered")
    assert [got.headers["X-Service-Event-Id"] for got in receiver.received] == [str(sent)]
    assert (await put(dora, url=receiver.url, enabled=False))["enabled"] is False
    await harness.until(await harness.record(None), "skipped")


async def test_switching_off_without_a_configuration(dora: Actor, harness_of: Open) -> None:
    assert (await dora.call("DELETE", "/webhook")).ok().raw == b"null"
    harness = await harness_of(dora)
    assert (await harness.event(await harness.record("http://127.0.0.1:1099/")))["status"] == "skipped"


@pytest.mark.covers("W-75")
async def test_the_secret_of_the_settings_area(alice: Actor, receiver: Receiver) -> None:
    async def state() -> dict[str, Any]:
        return (await alice.dashboard("GET", "/webhook-secret?mode=test")).ok().body

    async def generate() -> str:
        return (await alice.dashboard("POST", "/webhook-secret/generate", {"mode": "test"})).ok().body["secret"]

    async def activate() -> dict[str, Any]:
        return (await alice.dashboard("POST", "/webhook-secret/activate", {"mode": "test"})).ok().body

    async def tested() -> Received:
        before = len(receiver.received)
        event = (await alice.post("/webhook/test", {"url": receiver.url})).ok(202).body
        await receiver.wait(count=before + 1)
        (got,) = [got for got in receiver.received if got.headers["X-Service-Event-Id"] == event["id"]]
        return got

    assert await state() == {"has_secret": False, "pending": False, "activated_at": None}
    assert await activate() == {"has_secret": False, "pending": False, "activated_at": None}
    await generate()
    assert await state() == {"has_secret": False, "pending": True, "activated_at": None}
    (await alice.post("/webhook/test", {"url": receiver.url})).refused("webhook_secret_missing", 409)
    first = await generate()
    active = await activate()
    assert active["activated_at"] is not None
    assert active == {"has_secret": True, "pending": False, "activated_at": active["activated_at"]}
    assert signed_with(first, await tested())
    second = await generate()
    assert signed_with(first, await tested())
    assert (await activate())["activated_at"] >= active["activated_at"]
    assert signed_with(second, await tested())
    assert (await alice.dashboard("GET", "/webhook-secret?mode=live")).ok().body["has_secret"] is False


async def test_a_generated_secret_waits_an_hour(alice: Actor) -> None:
    (await alice.dashboard("POST", "/webhook-secret/generate", {"mode": "live"})).ok()
    await alice.sql(
        "UPDATE webhook_secrets SET created_at = created_at - interval '60 min' WHERE merchant_id = $1", alice.merchant_id
    )
    nothing = {"has_secret": False, "pending": False, "activated_at": None}
    assert (await alice.dashboard("GET", "/webhook-secret?mode=live")).ok().body == nothing
    assert (await alice.dashboard("POST", "/webhook-secret/activate", {"mode": "live"})).ok().body == nothing


async def test_a_secret_activated_before_the_first_put_is_kept(dora: Actor) -> None:
    (await dora.dashboard("POST", "/webhook-secret/generate", {"mode": "test"})).ok()
    (await dora.dashboard("POST", "/webhook-secret/activate", {"mode": "test"})).ok()
    configuration = await put(dora)
    assert "secret" not in configuration
    assert configuration["has_secret"] is True


async def test_activating_switches_delivery_on(dora: Actor) -> None:
    await put(dora, enabled=False)
    (await dora.dashboard("POST", "/webhook-secret/generate", {"mode": "test"})).ok()
    (await dora.dashboard("POST", "/webhook-secret/activate", {"mode": "test"})).ok()
    assert (await dora.get("/webhook")).ok().body["enabled"] is True


async def test_the_settings_area_is_for_people(alice: Actor) -> None:
    for method, path in (("GET", "?mode=test"), ("POST", "/generate"), ("POST", "/activate")):
        body = None if method == "GET" else {"mode": "test"}
        answer = await alice.anonymously(
            method, f"/api/v2/merchant/webhook-secret{path}", body, {"X-API-Key": await alice.key()}
        )
        answer.refused("authentication_required", 401)
    assert (await alice.dashboard("GET", "/webhook-secret")).field_errors() == {"mode": "missing"}
    assert list((await alice.dashboard("GET", "/webhook-secret?mode=both")).field_errors()) == ["mode"]
    assert list((await alice.dashboard("POST", "/webhook-secret/generate", {"mode": "LIVE"})).field_errors()) == ["mode"]


@pytest.mark.covers("W-77")
async def test_reading_and_writing_need_their_scopes(bob: Actor, alice: Actor) -> None:
    app = await application(bob)
    reads = (await app.connect(alice, "webhooks:read"))["access_token"]
    writes = (await app.connect(alice, "webhooks:write"))["access_token"]
    nobody = "018f0000-0000-7000-8000-000000000001"
    for method, path, body in [
        ("GET", "/webhook", None),
        ("GET", "/webhook-events", None),
        ("GET", f"/webhook-events/{nobody}", None),
        ("PUT", "/webhook", BODY),
        ("DELETE", "/webhook", None),
        ("POST", "/webhook/rotate-secret", None),
        ("POST", "/webhook/test", {"url": "http://127.0.0.1:1099/"}),
        ("POST", f"/webhook-events/{nobody}/redeliver", None),
    ]:
        lacking, named = (writes, "webhooks:read") if method == "GET" else (reads, "webhooks:write")
        answer = (await app.api(lacking, method, path, body, key="k")).refused("missing_scope", 403)
        assert answer.body["scope"] == named
    (await app.api(reads, "GET", "/webhook")).ok()
    (await app.api(writes, "POST", "/webhook/rotate-secret")).ok()
