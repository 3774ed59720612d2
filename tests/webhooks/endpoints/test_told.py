"""What is really sent is what the reference says of each event: its payload, held against its schema."""

from typing import Any

import jsonschema_rs
import msgspec
import pytest

from tests.cast import Actor
from tests.payments.shop import open_link
from tests.receiver import Receiver
from tollhouse.instance.api import reference
from tollhouse.instance.slices import EVENT_SPECS
from tollhouse.platform.database.packed_json import unpack
from tollhouse.platform.settings import config
from tollhouse.webhooks.events.record import EVENT_TYPES, TEST_EVENT

EUROS = {"amount": "1.00", "method_id": "sandbox:EUR", "receiver": "Nina"}


async def play(actor: Actor, first: str, *later: str) -> str:
    """A payment with which this happens, one after the other."""
    link = await open_link(actor)
    paid = (await actor.post(f"/test/payment-links/{link['id']}/simulate", {"outcome": first})).ok().body["id"]
    for outcome in later:
        (await actor.post(f"/test/transactions/{paid}/simulate", {"outcome": outcome})).ok()
    return paid


async def withdraw(actor: Actor, outcome: str) -> None:
    asked = (await actor.post("/withdrawals", EUROS, key=f"withdraw-{outcome}")).ok(201).body
    (await actor.post(f"/test/withdrawals/{asked['id']}/simulate", {"outcome": outcome})).ok()


async def do_everything(actor: Actor, address: str) -> None:
    """Whatever a merchant is told of."""
    await play(actor, "fail")
    await play(actor, "expire")
    await play(actor, "underpay", "expire")
    await play(actor, "succeed", "chargeback")
    paid = await play(actor, "succeed")
    refund = (await actor.post(f"/transactions/{paid}/refunds", {"amount": "0.20"}, key="refund")).ok(201).body
    (await actor.post(f"/test/refunds/{refund['id']}/simulate", {"outcome": "succeed"})).ok()
    (await actor.post("/test/balances/fund", {"currency": "EUR", "amount": "50.00"})).ok(201)
    await withdraw(actor, "complete")
    await withdraw(actor, "fail")
    (await actor.post("/conversions", {"from_currency": "EUR", "to_currency": "USD", "amount": "1.00"}, key="c")).ok(201)
    (await actor.dashboard("POST", "/webhook-secret/generate", {"mode": "test"})).ok()
    (await actor.dashboard("POST", "/webhook-secret/activate", {"mode": "test"})).ok()
    (await actor.post("/webhook/test", {"url": address})).ok(202)


@pytest.mark.long
async def test_every_payload_fits_its_schema(alice: Actor, receiver: Receiver) -> None:
    assert [reported.type for reported in EVENT_SPECS] == [*EVENT_TYPES, TEST_EVENT]
    await do_everything(alice, receiver.url)
    document: Any = msgspec.json.decode(reference.encoded(config.load({})))
    rows = await alice.sql("SELECT type, body FROM webhook_events WHERE merchant_id = $1::uuid", alice.merchant_id)
    for row in rows:
        request = document["webhooks"][row["type"]]["post"]["requestBody"]["content"]["application/json"]
        shape = {**request["schema"], "components": document["components"]}
        payload = msgspec.json.decode(unpack(row["body"]))
        found = list(jsonschema_rs.validator_for(shape, validate_formats=True).iter_errors(payload))
        assert not found, (row["type"], found[0].message, list(found[0].instance_path))
        reported = next(event_spec for event_spec in EVENT_SPECS if event_spec.type == row["type"])
        assert set(payload["data"]) == {"object", *reported.beside}
    assert {row["type"] for row in rows} == {*EVENT_TYPES, TEST_EVENT}
