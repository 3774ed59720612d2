"""Rotation with overlap: which secrets sign until when, and that nothing but the time ends it."""

import hashlib
import hmac
from datetime import timedelta

import pytest

from tests.cast import Actor
from tests.receiver import Received, Receiver
from tests.webhooks.events.harness import Harness
from tollhouse.kernel import clock
from tollhouse.webhooks.endpoints import actions
from tollhouse.webhooks.events import secrets

PREVIOUS = "X-Service-Signature-Previous"
UNTIL = "UPDATE webhook_secrets SET signs_until = $2 WHERE merchant_id = $1 AND signs_until IS NOT NULL"


def signed(secret: str, got: Received) -> str:
    return hmac.new(secret.encode(), got.raw, hashlib.sha256).hexdigest()


async def rotated(test: Harness, hours: int) -> str:
    return await test.services.transact(lambda work: actions.rotate_secret(work, test.env, hours), clock.now())


async def delivered(test: Harness, receiver: Receiver) -> Received:
    """A delivery of now."""
    receiver.received.clear()
    event_id = await test.record(receiver.url)
    async with test.working():
        await test.until(event_id, "delivered")
    [got] = receiver.received
    return got


@pytest.mark.long
async def test_both_sign_until_the_time_is_over(test: Harness, receiver: Receiver) -> None:
    old = await test.secret()
    assert PREVIOUS not in (await delivered(test, receiver)).headers
    new = await rotated(test, 1)
    got = await delivered(test, receiver)
    assert got.headers["X-Service-Signature"] == signed(new, got)
    assert got.headers[PREVIOUS] == signed(old, got)
    assert len(got.headers["webhook-signature"].split(" ")) == 2
    now = clock.now()
    assert len(await secrets.list_signing(test.services.db, test.env, now + timedelta(minutes=59))) == 2
    assert len(await secrets.list_signing(test.services.db, test.env, now + timedelta(minutes=61))) == 1
    await test.execute(UNTIL, test.env.merchant_id, now)  # a moment ago: no job has run
    got = await delivered(test, receiver)
    assert got.headers["X-Service-Signature"] == signed(new, got)
    assert PREVIOUS not in got.headers
    assert " " not in got.headers["webhook-signature"]


@pytest.mark.parametrize("hours", [0, 24])
async def test_another_rotation_ends_an_overlap(test: Harness, receiver: Receiver, hours: int) -> None:
    await test.secret()
    second = await rotated(test, 24)
    third = await rotated(test, hours)
    got = await delivered(test, receiver)
    assert got.headers["X-Service-Signature"] == signed(third, got)
    assert got.headers.get(PREVIOUS) == (signed(second, got) if hours else None)


async def test_a_secret_that_is_activated_overlaps_as_well(test: Harness, receiver: Receiver) -> None:
    old = await test.secret()
    new = await test.services.transact(lambda work: actions.generate_secret(work, test.env), clock.now())
    await test.services.transact(lambda work: actions.activate_secret(work, test.env, 24), clock.now())
    got = await delivered(test, receiver)
    assert (got.headers["X-Service-Signature"], got.headers[PREVIOUS]) == (signed(new, got), signed(old, got))


async def test_the_first_secret_has_nothing_to_overlap_with(test: Harness, receiver: Receiver) -> None:
    await rotated(test, 24)
    assert PREVIOUS not in (await delivered(test, receiver)).headers


@pytest.mark.parametrize("hours", [-1, 25, 1.5, "1", True])
async def test_other_hours_are_refused(alice: Actor, hours: object) -> None:
    refused = await alice.post("/webhook/rotate-secret", {"overlap_hours": hours})
    assert set(refused.field_errors()) == {"overlap_hours"}
    (await alice.post("/webhook/rotate-secret", {"overlap": 1})).refused("validation_failed", 422)
