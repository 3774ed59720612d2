"""Recording: where an event goes, what is stored, and that nothing is lost between a deed and an activation."""

import asyncio
from typing import Any

import asyncpg
import msgspec
import pytest

from tests.receiver import Receiver
from tests.webhooks.events.harness import Harness
from tollhouse.http.services import Services
from tollhouse.kernel import clock
from tollhouse.kernel.ids import new_id
from tollhouse.platform.database.packed_json import unpack
from tollhouse.platform.database.pool import Tx
from tollhouse.platform.encryption import DecryptionError, Encrypted
from tollhouse.webhooks.delivery.results import sweep
from tollhouse.webhooks.endpoints import actions
from tollhouse.webhooks.endpoints.model import NewConfiguration
from tollhouse.webhooks.events import secrets
from tollhouse.webhooks.events.destination import destination_key

SAVED = "http://127.0.0.1:1099/saved"
OWN = "http://127.0.0.1:1099/own"


def without_compatibility(harness: Harness) -> Harness:
    settings = msgspec.structs.replace(harness.services.settings, deprecated_webhooks=False)
    return Harness(msgspec.structs.replace(harness.services, settings=settings), harness.env)


async def save(harness: Harness, url: str = SAVED, *types: str, enabled: bool = True) -> None:
    new = NewConfiguration(url, list(types) or ["payment.succeeded"], enabled)
    await harness.services.transact(lambda work: actions.save(work, harness.env, new), clock.now())


@pytest.mark.covers("W-21")
async def test_the_body_is_made_once_and_says_what_the_contract_says(live: Harness) -> None:
    source_id = new_id()
    event_id = await live.record(OWN, source_id=source_id, sequence=3, extra={"balance": {"available": "1.00"}})
    row = await live.event(event_id)
    body = msgspec.json.decode(unpack(row["body"]))
    assert list(body) == ["id", "type", "created_at", "mode", "livemode", "api_version", "sequence", "data"]
    assert body["id"] == str(event_id)
    assert (body["type"], body["mode"], body["livemode"], body["api_version"]) == ("payment.succeeded", "live", True, "v2")
    assert body["sequence"] == 3
    assert body["created_at"] == clock.stamp(row["created_at"])
    assert body["data"] == {
        "object": {"amount": "10.50", "note": "café \U0001f600"},
        "balance": {"available": "1.00"},
    }


@pytest.mark.covers("W-5", "W-6", "W-7", "W-9", "W-10")
async def test_where_an_event_goes(test: Harness, services: Services) -> None:
    await test.secret()
    await save(test)
    live = Harness(services, msgspec.structs.replace(test.env, mode="live"))
    for harness, url, changes, expected in [
        (test, None, {}, ("saved", SAVED, "pending")),
        (test, OWN, {}, ("request", OWN, "pending")),
        (test, None, {"type": "payment.failed"}, ("none", None, "skipped")),
        (test, OWN, {"type": "payment.failed"}, ("request", OWN, "pending")),
        (without_compatibility(test), None, {}, ("none", None, "skipped")),
        (without_compatibility(test), OWN, {}, ("request", OWN, "pending")),
        (live, None, {}, ("none", None, "skipped")),
    ]:
        facts: dict[str, Any] = changes  # pyright: ignore[reportAssignmentType]
        row = await harness.event(event_id := await harness.record(url, **facts))
        assert (row["destination_source"], row["destination_url"], row["status"]) == expected
        delivery = await harness.delivery(event_id)
        if expected[2] == "skipped":
            assert delivery is None
        else:
            assert delivery is not None
            assert delivery["destination_key"] == destination_key(harness.env, str(expected[1]))
    assert not await test.broken()


@pytest.mark.covers("W-69", "W-76")
async def test_while_delivery_is_off_events_are_stored_and_skipped(test: Harness) -> None:
    await test.secret()
    await save(test, enabled=False)
    for url in (OWN, None):
        row = await test.event(event_id := await test.record(url))
        assert row["status"] == "skipped"
        assert row["destination_url"] == (url or SAVED)
        assert await test.delivery(event_id) is None


@pytest.mark.covers("W-11")
async def test_a_rolled_back_action_leaves_no_event(test: Harness) -> None:
    async def action(tx: Tx) -> None:
        await test.record_in(tx, OWN)
        raise RuntimeError("the deed failed")

    with pytest.raises(RuntimeError):
        await test.services.db.transact(action)
    assert await test.services.db.fetch("SELECT 1 FROM webhook_events WHERE merchant_id = $1", test.env.merchant_id) == []


async def test_a_change_is_reported_once(test: Harness) -> None:
    source_id = new_id()
    await test.record(OWN, source_id=source_id)
    await test.record(OWN, source_id=source_id, sequence=2)
    with pytest.raises(asyncpg.UniqueViolationError):
        await test.record(OWN, source_id=source_id, sequence=2)


async def test_without_a_secret_an_event_is_held_and_the_activation_lets_it_go(test: Harness, receiver: Receiver) -> None:
    async with test.working():
        event_id = await test.record(receiver.url)
        row = await test.event(event_id)
        assert (row["status"], row["next_attempt_at"]) == ("held", None)
        assert not await test.broken()
        await test.services.transact(lambda work: actions.generate_secret(work, test.env), clock.now())
        assert (await test.event(event_id))["status"] == "held"
        await test.services.transact(lambda work: actions.activate_secret(work, test.env), clock.now())
        await test.until(event_id, "delivered")
    assert len(receiver.received) == 1
    assert not await test.broken()


async def test_what_is_recorded_while_a_secret_becomes_active_is_not_lost(test: Harness) -> None:
    """The deed reads before the activation commits and commits after it: neither saw the other."""
    recorded, activated = asyncio.Event(), asyncio.Event()

    async def action() -> Any:
        async with test.services.db.transaction() as tx:  # which defers nothing
            event_id = await test.record_in(tx, OWN)
            recorded.set()
            await asyncio.wait_for(activated.wait(), 20)
        return event_id

    selling = asyncio.create_task(action())
    await asyncio.wait_for(recorded.wait(), 20)
    await test.secret()
    activated.set()
    event_id = await selling
    assert (await test.event(event_id))["status"] == "held"
    await sweep(test.services)
    assert (await test.event(event_id))["status"] == "pending"
    assert not await test.broken()


async def test_retries_end_after_72_hours(test: Harness) -> None:
    event_id = await test.record(OWN)
    assert await test.delivery(event_id) is None
    planned = await test.planned(event_id)
    assert planned is not None
    held_for = planned["run_at"] - (await test.event(event_id))["created_at"]
    assert held_for.total_seconds() == pytest.approx(72 * 3600, abs=5)
    await test.execute("UPDATE webhook_deliveries_later SET run_at = now() WHERE event_id = $1", event_id)
    async with test.working():
        await test.until(event_id, "canceled")
    assert await test.delivery(event_id) is None
    assert await test.planned(event_id) is None
    assert await test.history(event_id) == []
    assert not await test.broken()


@pytest.mark.covers("S-59")
async def test_secrets_are_sealed_and_bound_to_their_place(test: Harness) -> None:
    secret = await test.secret()
    rows = await test.services.db.fetch("SELECT * FROM webhook_secrets WHERE merchant_id = $1", test.env.merchant_id)
    assert len(rows) == 1
    assert secret.encode() not in b"".join(str(dict(row)).encode() + bytes(row["ciphertext"]) for row in rows)
    encrypted = Encrypted(rows[0]["key_id"], rows[0]["nonce"], rows[0]["ciphertext"])
    assert secrets.decrypt(test.services.keys, test.env, 1, encrypted) == secret
    for env, version in ((test.env, 2), (msgspec.structs.replace(test.env, mode="live"), 1)):
        with pytest.raises(DecryptionError):
            secrets.decrypt(test.services.keys, env, version, encrypted)
