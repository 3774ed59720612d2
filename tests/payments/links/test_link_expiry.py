"""Changing when a payment link expires, while customers pay it and the job closes links."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from tests.accounts.audit_log.reading import actions_listed, changed, newest
from tests.cast import Actor
from tests.forms import forms, post, seen
from tests.invariants import broken_invariants
from tests.payments.shop import balance, choose, let_expire, open_link, simulate
from tests.running import Service
from tollhouse.http.services import Services, Work
from tollhouse.kernel import clock
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId
from tollhouse.payments.links import new_link
from tollhouse.payments.transactions import link_closing
from tollhouse.transfers.orders.errors import InvalidState


def body_of(expires_at: datetime) -> dict[str, Any]:
    """The body of a request."""
    return {"expires_at": expires_at.isoformat()}


async def test_an_expiry_becomes_later_and_earlier(alice: Actor, carol: Actor) -> None:
    link = await open_link(alice)
    path = f"/payment-links/{link['id']}/expiry"
    later = datetime.now(UTC).replace(microsecond=123_456) + timedelta(days=300)
    (await carol.post(path, body_of(later))).refused("not_found", 404)
    changed_link = (await alice.post(path, body_of(later))).ok().body
    assert (changed_link["version"], changed_link["status"]) == (2, "active")
    assert datetime.fromisoformat(changed_link["expires_at"]) == later.replace(microsecond=123_000)
    assert changed_link == (await alice.get(f"/payment-links/{link['id']}")).ok().body
    same = {"expires_at": changed_link["expires_at"]}
    assert (await alice.post(path, same)).ok().body == changed_link
    earlier = (await alice.post(path, body_of(later - timedelta(days=299)))).ok().body
    assert earlier["version"] == 3
    assert (await actions_listed(alice)).count("payment_link.expiry_changed") == 2
    event = await newest(alice, "payment_link.expiry_changed")
    assert (event["subject"], event["name"], changed(event).keys()) == (link["id"], "Coffee", {"expires_at"})
    for body in (
        body_of(datetime.now(UTC) + timedelta(minutes=4)),
        body_of(datetime.now(UTC) + timedelta(days=366)),
        {"expires_at": "0001-01-01T00:00:00+23:00"},
        {"expires_at": "9999-12-31T23:59:59-23:00"},
        {"expires_at": "2030-01-01T00:00:00"},
        {"expires_at": None},
        {},
    ):
        assert (await alice.post(path, body)).field_errors().keys() == {"expires_at"}, body
    assert (await alice.get(f"/payment-links/{link['id']}")).ok().body == earlier


async def test_the_expiry_goes_by_the_test_clock(alice: Actor) -> None:
    link = await open_link(alice, expires_at=(datetime.now(UTC) + timedelta(days=300)).isoformat())
    (await alice.post("/test/clock/advance", {"seconds": 90 * 86_400})).ok()
    path = f"/payment-links/{link['id']}/expiry"
    assert (await alice.post(path, body_of(datetime.now(UTC) + timedelta(days=89)))).field_errors().keys() == {"expires_at"}
    (await alice.post(path, body_of(datetime.now(UTC) + timedelta(days=91)))).ok()
    (await alice.post("/test/clock/advance", {"seconds": 2 * 86_400})).ok()
    refused = (await alice.post(path, body_of(datetime.now(UTC) + timedelta(days=200)))).refused("invalid_state", 409)
    assert refused.body["details"] == {"status": "expired"}


async def test_a_page_changes_the_expiry_of_an_active_link(alice: Actor) -> None:
    link, over = await open_link(alice), await open_link(alice)
    at = f"/test/payment-links/{link['id']}"
    assert f"{at}/expiry" in forms(await seen(alice, at))
    assert (await post(alice, f"{at}/expiry", expires="30d")).location == at
    found = (await alice.get(f"/payment-links/{link['id']}")).ok().body
    lifetime = datetime.fromisoformat(found["expires_at"]) - datetime.fromisoformat(found["updated_at"])
    assert (found["version"], lifetime) == (2, timedelta(days=30))
    await post(alice, f"{at}/expiry", 422, expires="never")
    await let_expire(alice, over)
    closed = f"/test/payment-links/{over['id']}"
    assert f"{closed}/expiry" not in forms(await seen(alice, closed))
    assert "so its expiry was not changed." in (await post(alice, f"{closed}/expiry", 409, expires="1h")).text
    assert "Expiry of payment link changed" in await seen(alice, "/settings/audit")


async def test_payments_and_changes_race_and_both_count(alice: Actor, service: Service) -> None:
    link = await open_link(alice)
    (await choose(link)).ok(303)
    path, now = f"/payment-links/{link['id']}/expiry", datetime.now(UTC)
    answers = await asyncio.gather(
        *(alice.post(path, body_of(now + timedelta(days=days))) for days in range(2, 7)), *(simulate(link) for _ in range(3))
    )
    counted = sum(answer.status == 200 for answer in answers[:5])
    assert {answer.status for answer in answers[:5]} <= {200, 409}
    found = (await alice.get(f"/payment-links/{link['id']}")).ok().body
    assert (found["status"], found["payments_count"]) == ("completed", 1)
    assert found["version"] == 3 + counted
    assert (await balance(alice))["available_minor"] == 420
    assert await broken_invariants(service.dsn) == []


async def test_the_job_expires_a_link_by_the_expiry_that_it_has(alice: Actor, services: Services) -> None:
    link = await open_link(alice)
    env, link_id = MerchantEnv(MerchantId(UUID(alice.merchant_id)), "test"), UUID(link["id"])
    now = clock.now()

    async def expire(at: datetime) -> bool:
        return await services.transact(lambda work: link_closing.expire_due(work, env, link_id), at)

    async def change(work: Work) -> None:
        await new_link.change_expiry(work, env, link_id, now + timedelta(days=3))

    await services.transact(change, now)
    assert not await expire(now + timedelta(days=2))
    assert await expire(now + timedelta(days=4))
    with pytest.raises(InvalidState):
        await services.transact(change, now)
