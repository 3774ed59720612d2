"""Idempotency-Key at payment links: one key, one link, however often and however many at once."""

import asyncio
import secrets
from typing import Any

import pytest

from tests.cast import Actor, application
from tests.invariants import broken_invariants
from tests.payments.shop import COFFEE, open_link


def a_key() -> str:
    return secrets.token_hex(8)


async def links(actor: Actor) -> list[dict[str, Any]]:
    return (await actor.get("/payment-links?limit=100")).ok().body["payment_links"]


@pytest.mark.covers("P-19", "P-20")
async def test_the_same_request_gets_the_same_answer_byte_for_byte(alice: Actor) -> None:
    key = a_key()
    first = (await alice.post("/payment-links", COFFEE, key=key)).ok(201)
    assert "Idempotency-Replayed" not in first.headers
    for body in (COFFEE, dict(reversed(COFFEE.items()))):
        again = (await alice.post("/payment-links", body, key=key)).ok(201)
        assert again.raw == first.raw
        assert again.headers["Idempotency-Replayed"] == "true"
    assert len(await links(alice)) == 1


@pytest.mark.covers("P-21", "P-22")
async def test_a_key_belongs_to_its_first_request(alice: Actor) -> None:
    key = a_key()
    link = (await alice.post("/payment-links", COFFEE, key=key)).ok(201).body
    (await alice.post("/payment-links", COFFEE | {"amount": "5"}, key=key)).refused("idempotency_key_reused", 422)
    (await alice.post(f"/payment-links/{link['id']}/cancel", key=key)).refused("idempotency_key_reused", 422)
    assert [link["status"] for link in await links(alice)] == ["active"]


@pytest.mark.covers("P-29")
async def test_a_error_releases_its_key(alice: Actor) -> None:
    key = a_key()
    (await alice.post("/payment-links", COFFEE | {"amount": "0"}, key=key)).refused("validation_failed", 422)
    (await alice.post("/payment-links", COFFEE | {"currency": "XXX"}, key=key)).refused("currency_not_supported", 422)
    (await alice.post("/payment-links", COFFEE, key=key)).ok(201)


@pytest.mark.covers("P-33")
async def test_a_replay_is_the_answer_of_then(alice: Actor) -> None:
    key = a_key()
    link = (await alice.post("/payment-links", COFFEE, key=key)).ok(201).body
    (await alice.post(f"/payment-links/{link['id']}/cancel")).ok()
    assert (await alice.post("/payment-links", COFFEE, key=key)).ok(201).body["status"] == "active"


@pytest.mark.covers("P-18")
@pytest.mark.parametrize(("key", "status"), [("k" * 255, 201), ("k" * 256, 400), ("", 400), ("a b", 400), ("é", 400)])
async def test_a_key_is_visible_ascii_and_bounded(alice: Actor, key: str, status: int) -> None:
    assert (await alice.post("/payment-links", COFFEE, key=key)).status == status


@pytest.mark.covers("P-24", "P-26")
async def test_a_key_is_the_callers_own_and_outlives_its_token(alice: Actor, bob: Actor) -> None:
    app, key = await application(bob), a_key()
    tokens = await app.connect(alice, "payments:write offline_access")
    first = (await app.api(tokens["access_token"], "POST", "/payment-links", COFFEE, key)).ok(201)
    tokens = (await app.refresh(tokens["refresh_token"])).ok().body
    again = (await app.api(tokens["access_token"], "POST", "/payment-links", COFFEE, key)).ok(201)
    assert again.raw == first.raw
    mine = (await alice.post("/payment-links", COFFEE, key=key)).ok(201)
    assert mine.body["id"] != first.body["id"]


@pytest.mark.covers("P-27")
async def test_all_keys_of_a_merchant_are_one_caller(alice: Actor) -> None:
    key = a_key()
    first = (await alice.post("/payment-links", COFFEE, key=key)).ok(201)
    headers = {"X-API-Key": await alice.key(scopes=["payments:write"]), "Idempotency-Key": key}
    assert (await alice.anonymously("POST", "/api/v2/integration/payment-links", COFFEE, headers)).ok(201).raw == first.raw


async def test_without_a_key_every_request_makes_a_link(alice: Actor) -> None:
    await open_link(alice)
    await open_link(alice)
    assert len(await links(alice)) == 2


@pytest.mark.covers("P-23")
async def test_fifty_at_once_with_one_key_make_one_link(alice: Actor) -> None:
    key = a_key()
    await alice.key()
    responses = await asyncio.gather(*(alice.post("/payment-links", COFFEE, key=key) for _ in range(50)))
    assert {answer.status for answer in responses} <= {201, 409}
    for answer in responses:
        if answer.status == 409:
            answer.refused("idempotency_in_progress")
            assert answer.headers["Retry-After"] == "1"
    made = [answer for answer in responses if answer.status == 201]
    assert len({answer.raw for answer in made}) == 1
    assert sum("Idempotency-Replayed" not in answer.headers for answer in made) == 1
    assert len(await links(alice)) == 1
    assert await broken_invariants(alice.service.dsn) == []
