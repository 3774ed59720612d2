"""The `webhook_url` of a create request, from the request to the receiver."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cast import Actor, sign_up
from tests.certificates import self_signed
from tests.journeys.test_get_paid import activate_secret
from tests.payments.bank import until
from tests.payments.shop import COFFEE, approve_project, pay
from tests.receiver import Receiver
from tests.running import Service
from tests.transfers.conversions.steps import EURO_TO_DOLLAR
from tests.transfers.fulfillments.depot import GEMS
from tests.transfers.withdrawals.steps import TO_NINA
from tests.webhooks.endpoints.test_configuration import signed_with

Tls = tuple[ssl.SSLContext, Path]


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> Tls:
    """What the receiver speaks TLS with, and its authority."""
    return self_signed(tmp_path_factory.mktemp("tls"), "127.0.0.1")


@pytest.fixture(scope="module")
def trusting(make_service: Callable[..., Service], tls: Tls) -> Service:
    """A service that trusts the receiver's authority."""
    return make_service(fresh=True, TOLLHOUSE_WEBHOOK_CA_FILE=str(tls[1]))


@pytest.fixture
async def erin(trusting: Service) -> AsyncIterator[Actor]:
    """Erin sells there."""
    async with sign_up(trusting, "erin", "Erin's Easels") as actor:
        yield actor


@pytest.mark.covers("W-1", "W-4", "W-17", "W-19")
async def test_a_test_payment_is_reported_over_tls(erin: Actor, tls: Tls) -> None:
    secret = await activate_secret(erin)
    async with Receiver(tls=tls[0]) as receiver:
        link = (await erin.post("/payment-links", COFFEE | {"webhook_url": receiver.url})).ok(201).body
        await pay(link)
        await receiver.wait("payment.succeeded")
        [got] = receiver.of_type("payment.succeeded")
    assert signed_with(secret, got)
    event = await until(erin, f"/webhook-events/{got.headers['X-Service-Event-Id']}", "delivered")
    assert event["payload"] == got.body
    [attempt] = event["delivery_history"]
    assert (attempt["status"], attempt["http_status"], attempt["trigger"]) == ("succeeded", 200, "automatic")


@pytest.mark.covers("W-8")
@pytest.mark.parametrize(
    ("path", "asked", "event_type"),
    [
        ("/payment-links", COFFEE, "payment.succeeded"),
        ("/withdrawals", TO_NINA, "withdrawal.completed"),
        ("/conversions", EURO_TO_DOLLAR, "conversion.completed"),
        ("/fulfillments", GEMS, "balance.updated"),
    ],
)
async def test_every_create_takes_a_webhook_url(
    alice: Actor, receiver: Receiver, path: str, asked: dict[str, Any], event_type: str
) -> None:
    secret = await activate_secret(alice)
    (await alice.post("/test/balances/fund", {"currency": "EUR", "amount": "100.00"})).ok(201)
    created = (await alice.post(path, asked | {"webhook_url": receiver.url}, key="create")).ok(201).body
    if path == "/payment-links":
        await pay(created)
    got = (await receiver.wait(event_type))[0]
    assert signed_with(secret, got)
    data = got.body["data"]
    reported_of = data["source"] if event_type == "balance.updated" else data["object"]
    assert created["id"] in (reported_of["id"], reported_of.get("payment_link_id"))


@pytest.mark.long
@pytest.mark.covers("W-12")
async def test_creates_that_are_repeated_are_reported_once(alice: Actor, receiver: Receiver) -> None:
    await activate_secret(alice)
    asked = COFFEE | {"webhook_url": receiver.url}
    links = await asyncio.gather(*(alice.post("/payment-links", asked, key="order-1") for _ in range(5)))
    assert len({link.ok(201).raw for link in links}) == 1
    await pay(links[0].body)
    again = (await alice.post("/payment-links", asked, key="order-1")).ok(201)
    assert again.headers["Idempotency-Replayed"] == "true"
    paid = (await receiver.wait("payment.succeeded"))[0].body["data"]["object"]

    backs = await asyncio.gather(
        *(alice.post(f"/transactions/{paid['id']}/refunds", {"amount": "1.00"}, key="back-1") for _ in range(5))
    )
    assert len({back.ok(201).raw for back in backs}) == 1
    await until(alice, f"/refunds/{backs[0].body['id']}", "succeeded")
    await receiver.wait("payment.refunded")
    assert await reported(alice) == {"payment.succeeded": 1, "payment.refunded": 1, "balance.updated": 3}
    await receiver.wait(count=5)
    assert len({got.headers["X-Service-Event-Id"] for got in receiver.received}) == len(receiver.received) == 5


@pytest.mark.covers("W-2", "W-11")
async def test_creates_that_are_refused_are_not_reported(alice: Actor) -> None:
    await approve_project(alice, "live")
    plain = await alice.post("/payment-links", COFFEE | {"webhook_url": "http://example.com/"}, key="k", mode="live")
    assert list(plain.field_errors()) == ["webhook_url"]
    assert (await alice.get("/payment-links", mode="live")).ok().body["payment_links"] == []
    assert await reported(alice) == {}


async def reported(actor: Actor) -> dict[str, int]:
    """How many events of each type the merchant has."""
    rows = await actor.sql(
        "SELECT type, count(*) FROM webhook_events WHERE merchant_id = $1::uuid GROUP BY type", actor.merchant_id
    )
    return {row["type"]: row["count"] for row in rows}
