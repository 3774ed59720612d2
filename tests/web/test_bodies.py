"""What a JSON body may be: the texts that are refused before anything is looked at, and what stands for nothing."""

from typing import Any
from uuid import uuid4

import pytest

from tests.cast import Actor, Answer
from tests.payments.bank import sell
from tests.payments.shop import COFFEE, open_link

LINKS = "/api/v2/integration/payment-links"
TEXTS = {
    "a member twice": b'{"display_name": "a", "display_name": "b", "amount": "1", "currency": "EUR"}',
    "a member twice, further in": b'{"display_name": "a", "metadata": {"a": "1", "a": "2"}}',
    "arrays without end": b"[" * 30_000 + b"]" * 30_000,
    "objects without end": b'{"a":' * 10_000 + b"1" + b"}" * 10_000,
    "deeper than anything of ours": b'{"metadata":' + b"[" * 100 + b"]" * 100 + b"}",
}


async def written(actor: Actor, path: str, text: bytes, **headers: str) -> Answer:
    """Post this text as JSON."""
    sent = {"X-API-Key": await actor.key(), "Content-Type": "application/json", **headers}
    return await actor.send("POST", path, data=text, headers=sent)


@pytest.mark.covers("P-7")
@pytest.mark.parametrize("name", TEXTS)
async def test_what_two_readers_could_read_in_two_ways_is_malformed(alice: Actor, name: str) -> None:
    (await written(alice, LINKS, TEXTS[name])).refused("invalid_request", 400)


async def test_where_nothing_is_asked_for_nothing_may_be_sent(alice: Actor) -> None:
    path = f"{LINKS}/{(await open_link(alice))['id']}/cancel"
    (await written(alice, path, b"{")).refused("invalid_request", 400)
    assert (await written(alice, path, b'{"reason": "x"}')).faults() == {"reason": "unknown_field"}
    (await written(alice, path, b"x", **{"Content-Type": "text/plain"})).refused("unsupported_media_type", 415)
    (await written(alice, path, b"{}")).ok()
    (await alice.anonymously("POST", path, headers={"X-API-Key": await alice.key()})).ok()


async def test_a_body_in_which_all_is_optional_may_be_left_out(alice: Actor) -> None:
    paid, key = await sell(alice), str(uuid4())
    path = f"/transactions/{paid['id']}/refunds"
    (await alice.call("POST", path)).refused("idempotency_key_required", 400)
    bare = (await alice.call("POST", path, key=key)).ok(201)
    assert bare.body["amount"] == paid["amount"]
    again = (await alice.call("POST", path, {}, key=key)).ok(201)
    assert (again.raw, again.headers["Idempotency-Replayed"]) == (bare.raw, "true")
    (await alice.call("POST", "/payment-links")).refused("invalid_request", 400)


async def test_null_says_what_absence_says(alice: Actor) -> None:
    paid = await sell(alice)
    refunded = (await alice.post(f"/transactions/{paid['id']}/refunds", {"reason": None, "amount": None}, key="k")).ok(201)
    assert (refunded.body["reason"], refunded.body["amount"]) == ("customer_request", paid["amount"])
    assert (await alice.post("/payment-links", COFFEE | {"currency": None})).status == 422


@pytest.mark.parametrize(
    ("path", "body", "faults"),
    [
        ("/payment-links", COFFEE | {"metadata": {"a": 1}}, {"metadata.a": "invalid_type"}),
        ("/payment-links", COFFEE | {"payment_method_ids": [5]}, {"payment_method_ids.0": "invalid_type"}),
    ],
)
async def test_a_fault_names_its_place(alice: Actor, path: str, body: dict[str, Any], faults: dict[str, str]) -> None:
    assert (await alice.post(path, body)).faults() == faults


async def test_a_fault_within_an_object_names_the_member(alice: Actor) -> None:
    shown = (await alice.get("/settings")).ok().body
    settable = (
        "default_currency", "link_expiry_minutes", "underpayment_tolerance_bps", "overpayment", "late_payments",
        "late_monitoring_days", "confirmations", "version",
    )  # fmt: skip
    body = {name: shown[name] for name in settable} | {
        "branding": {"x": 1},
        "payment_methods": [{"method_id": "sandbox:EUR"}],
    }
    refused = await alice.call("PUT", "/settings", body)
    assert refused.faults() == {"branding.x": "unknown_field", "payment_methods.0.enabled": "missing"}
