"""What merchants are told of payments: the eleven types, with the deed or not at all, at the right address, in order."""

from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from typing import Any
from uuid import uuid4

import pytest

from tests.cast import Actor, sign_up
from tests.journeys.test_get_paid import activate_secret
from tests.payments.bank import attempt, bank_says, play, refund, sell, until
from tests.payments.shop import choose, open_link
from tests.receiver import Receiver
from tests.running import Service
from tollhouse.webhooks.events.record import EVENT_TYPES

ELEVEN = {
    "payment.succeeded", "payment.failed", "payment.expired", "payment.refund_required", "payment.refunded",
    "payment.chargeback", "balance.updated", "withdrawal.processing", "withdrawal.completed", "withdrawal.failed",
    "conversion.completed",
}  # fmt: skip
OF_PAYMENTS = {name for name in ELEVEN if name.startswith(("payment.", "balance."))}


@pytest.fixture(scope="module")
def compatible(make_service: Callable[..., Service]) -> Service:
    """Saved addresses still work here."""
    return make_service(fresh=True, NOTIFY_DEPRECATED_WH="true")


@pytest.fixture
async def dora(compatible: Service) -> AsyncIterator[Actor]:
    """Dora sells there."""
    async with sign_up(compatible, "dora", "Dora's Dolls") as actor:
        yield actor


async def live_through_everything(actor: Actor, **changes: Any) -> None:
    """Everything that a merchant is told of."""
    paid = await sell(actor, **changes)
    await give_back(actor, paid, "4.00")
    (await play(actor, paid, "chargeback")).ok()
    (await play(actor, paid, "chargeback_won")).ok()
    for outcome in ("fail", "expire", "late", "duplicate"):
        await sell(actor, outcome, **changes)
    part = await sell(actor, "underpay", **changes)
    (await play(actor, part, "expire")).ok()
    (await actor.post(f"/transactions/{part['id']}/accept")).ok()
    (await actor.post("/test/balances/fund", {"currency": "EUR", "amount": "1.00"})).ok(201)


async def give_back(actor: Actor, paid: dict[str, Any], amount: str | None = None) -> None:
    """A refund that succeeds, whoever says so first: the bank here, or the worker."""
    back = (await refund(actor, paid, amount)).ok(201).body
    await bank_says(actor, back, "succeed")
    await until(actor, f"/refunds/{back['id']}", "succeeded")


async def reported(actor: Actor) -> list[dict[str, Any]]:
    """Every event of the merchant, oldest first."""
    listed = (await actor.get("/webhook-events?limit=100")).ok().body["webhook_events"]
    return list(reversed(listed))


@pytest.mark.covers("P-157")
async def test_of_the_eleven_types_and_no_other(alice: Actor, dora: Actor) -> None:
    await live_through_everything(alice)
    assert {event["type"] for event in await reported(alice)} == OF_PAYMENTS
    assert set(EVENT_TYPES) == ELEVEN
    await activate_secret(dora)
    saved = {"url": "http://127.0.0.1:1099/hook", "event_types": sorted(ELEVEN)}
    (await dora.call("PUT", "/webhook", saved)).ok()
    for unknown in ("payment.created", "refund.succeeded", "Payment.Succeeded", "webhook.test", "*", ""):
        refused = await dora.call("PUT", "/webhook", saved | {"event_types": ["payment.succeeded", unknown]})
        assert set(refused.field_errors()) == {"event_types.1"}, unknown
    assert (await dora.get("/webhook")).ok().body["event_types"] == sorted(ELEVEN)


@pytest.mark.covers("P-158")
async def test_with_the_action_or_not_at_all(alice: Actor) -> None:
    """That a crash leaves no event without its deed either is shown where deeds are killed at every statement."""
    paid = await sell(alice)
    before = await reported(alice)
    (await refund(alice, paid, "10.01")).refused("refund_amount_exceeds_remaining", 422)
    (await play(alice, paid, "fail")).refused("invalid_state", 409)
    (await play(alice, paid, "chargeback_won")).refused("invalid_state", 409)
    (await alice.post(f"/transactions/{paid['id']}/accept")).refused("invalid_state", 409)
    (await alice.post(f"/payment-links/{paid['payment_link_id']}/cancel")).refused("invalid_state", 409)
    (await alice.post("/test/balances/fund", {"currency": "EUR", "amount": "0"})).refused("validation_failed", 422)
    assert await reported(alice) == before
    assert [(event["type"], event["status"], event["destination_url"]) for event in before] == [
        ("payment.succeeded", "skipped", None),
        ("balance.updated", "skipped", None),
    ]
    assert before[0]["payload"]["data"]["object"]["id"] == paid["id"]


@pytest.mark.covers("P-159")
async def test_the_address_of_the_request_and_not_the_saved_one(dora: Actor, receiver: Receiver) -> None:
    await activate_secret(dora)
    saved, own = receiver.url, f"{receiver.url}/own"
    (await dora.call("PUT", "/webhook", {"url": saved, "event_types": ["payment.succeeded", "balance.updated"]})).ok()
    with_address, without = await sell(dora, webhook_url=own), await sell(dora)
    await give_back(dora, with_address)
    # At its own address: paid, balance, refund asked for, refunded, balance. At the saved one: paid, balance.
    arrived = await receiver.wait(count=7)
    got = {path: sorted(one.body["type"] for one in arrived if one.path == path) for path in ("/hook", "/hook/own")}
    assert got == {
        "/hook": ["balance.updated", "payment.succeeded"],
        "/hook/own": ["balance.updated"] * 3 + ["payment.refunded", "payment.succeeded"],
    }
    subjects = {(one.path, one.body["data"]["object"]["id"]) for one in arrived if one.body["type"].startswith("payment.")}
    assert subjects == {("/hook/own", with_address["id"]), ("/hook", without["id"])}
    assert {event["destination_url"] for event in await reported(dora)} == {saved, own}


@pytest.mark.covers("P-160")
async def test_versions_rise_and_what_is_sent_again_is_the_same(alice: Actor, receiver: Receiver) -> None:
    await activate_secret(alice)
    await live_through_everything(alice, webhook_url=receiver.url)
    link = await open_link(alice, max_payments=None, webhook_url=receiver.url)
    for _ in range(3):
        await attempt(alice, link)
    (await choose(link)).ok(303)
    events = await reported(alice)
    versions: dict[Any, list[int]] = defaultdict(list)
    for event in events:
        shown = event["payload"]["data"]["object"]
        subject = shown.get("id") or shown["currency"]
        versions[event["type"], subject].append(shown["version"])
        versions[subject].append(shown["version"])
        assert event["payload"]["sequence"] == shown["version"]
    assert all(found == sorted(set(found)) for found in versions.values()), versions
    assert max(len(found) for found in versions.values()) >= 10

    first = (await receiver.wait("payment.chargeback"))[0]
    event_id = first.headers["X-Service-Event-Id"]
    (await alice.post(f"/webhook-events/{event_id}/redeliver", key=str(uuid4()))).ok(202)
    _, again = await receiver.wait("payment.chargeback", 2)
    assert again.raw == first.raw
    assert again.headers["X-Service-Event-Id"] == event_id == again.body["id"]
