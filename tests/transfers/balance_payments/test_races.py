"""Many at once: one balance, one reservation, one moment. Exactly one wins, and the money is counted once."""

import asyncio

import pytest

from tests.cast import Actor
from tests.invariants import broken_invariants
from tests.transfers.balance_payments.till import SCOPES, Till, fund, open_till
from tollhouse.transfers.balance_payments import actions


@pytest.mark.covers("P-109")
async def test_ten_reservations_of_ten_on_fifty_five(alice: Actor, bob: Actor) -> None:
    till = await open_till(alice, bob, "55.00")
    responses = await asyncio.gather(*(till.pay(capture=False) for _ in range(10)))
    assert sorted(answer.status for answer in responses) == [201] * 5 + [422] * 5
    assert {answer.body["error"] for answer in responses if answer.status == 422} == {"insufficient_funds"}
    assert await till.purses() == (500, 5_000, 0)


async def test_thirty_reservations_over_one_balance(alice: Actor, bob: Actor) -> None:
    till = await open_till(alice, bob, "97.00")
    responses = await asyncio.gather(*(till.pay(capture=n % 2 == 0) for n in range(30)))
    assert sorted(answer.status for answer in responses) == [201] * 9 + [422] * 21
    available, reserved, owned = await till.purses()
    assert (available, reserved + owned) == (700, 9_000)
    assert await broken_invariants(alice.service.dsn) == []


async def test_one_external_id_thirty_times(till: Till) -> None:
    responses = await asyncio.gather(*(till.pay("1.00", external_id="one") for _ in range(30)))
    assert sorted(answer.status for answer in responses) == [201] + [409] * 29
    [made] = [answer.body["id"] for answer in responses if answer.status == 201]
    assert {answer.body["details"]["existing_id"] for answer in responses if answer.status == 409} == {made}
    assert await till.purses() == (9_900, 0, 100)


async def test_captures_and_releases(till: Till) -> None:
    for _ in range(5):
        before = await till.purses()
        reserved = await till.reserve()
        actions_listed = ["capture", "release"] * 5
        responses = await asyncio.gather(*(till.act(reserved, action) for action in actions_listed))
        won = [action for action, answer in zip(actions_listed, responses, strict=True) if answer.status == 200]
        assert sorted(answer.status for answer in responses) == [200] + [409] * 9
        after = await till.purses()
        assert (after[0] - before[0], after[1]) == (-1_000 if won == ["capture"] else 0, 0)


@pytest.mark.covers("P-104")
async def test_captures_at_the_moment_of_expiry(till: Till) -> None:
    """Several workers look, while the application captures: whoever is first, the money goes one way, once."""
    services = till.payer.service.create_services()
    try:
        for _ in range(5):
            before = await till.purses()
            reserved = await till.reserve()
            await till.payer.sql(
                "UPDATE balance_payments SET expires_at = clock_timestamp() + interval '30 ms' WHERE id = $1::uuid",
                reserved["id"],
            )
            captures = [till.act(reserved, "capture") for _ in range(6)]
            await asyncio.gather(*captures, *(actions.expire_reservations(services) for _ in range(4)))
            while (await till.purses())[1]:  # nobody was first yet: the moment is still to come
                await actions.expire_reservations(services)
            settled = (await till.read(reserved)).ok().body
            available, held, owned = await till.purses()
            paid = settled["captured_minor"]
            assert (settled["status"], paid) in {("captured", 1_000), ("expired", 0)}
            assert (available, held, owned) == (before[0] - paid, 0, before[2] + paid)
    finally:
        await services.db.close()


async def test_refunds_share_what_is_left(till: Till) -> None:
    paid = (await till.pay()).ok(201).body
    responses = await asyncio.gather(*(till.act(paid, "refund", "3.00") for _ in range(30)))
    assert sorted(answer.status for answer in responses) == [200] * 3 + [422] * 27
    assert await till.purses() == (9_900, 0, 100)


async def test_two_who_pay_each_other(alice: Actor, bob: Actor) -> None:
    """The accounts are locked in one order whoever pays, so that crossing payments cannot block each other."""
    there, back = await open_till(alice, bob), await open_till(bob, alice)
    responses = await asyncio.gather(*((there if n % 2 else back).pay("1.00") for n in range(30)))
    assert {answer.status for answer in responses} == {201}
    assert (await there.purses())[::2] == (10_000, 10_000)
    assert await broken_invariants(alice.service.dsn) == []


async def test_capture_and_revocation_of_the_application(till: Till) -> None:
    reserved = await till.reserve()
    revoked, captured = await asyncio.gather(
        till.app.owner.dashboard("DELETE", f"/oauth/clients/{till.app.client_id}"), till.as_owner(reserved, "capture")
    )
    assert (revoked.status, captured.status in {200, 409}) == (200, True)
    assert (await till.purses())[1] == (0 if captured.status == 200 else 1_000)


async def test_a_key_used_thirty_times_at_once(till: Till) -> None:
    body = {"amount": "1.00", "currency": "EUR"}
    responses = await asyncio.gather(*(till.post("", body, key="once") for _ in range(30)))
    assert {answer.status for answer in responses} <= {201, 409}
    assert len({answer.raw for answer in responses if answer.status == 201}) == 1
    assert await till.purses() == (9_900, 0, 100)


async def test_protection_holds_across_a_new_connection(till: Till) -> None:
    first = (await till.post("", {"amount": "1.00", "currency": "EUR"}, key="k")).ok(201)
    till.token = (await till.app.connect(till.payer, SCOPES))["access_token"]
    assert (await till.post("", {"amount": "1.00", "currency": "EUR"}, key="k")).raw == first.raw
    await fund(till.app.owner, "1.00")
    assert await till.purses() == (9_900, 0, 200)
