"""The floor of refunds, how many of a payment there can be, and the network fee that the merchant pays."""

import asyncio

import asyncpg
import msgspec
import pytest

from tests.cast import Actor
from tests.invariants import broken_invariants, last_id
from tests.payments.bank import bank_says, purse, refund, sell
from tests.running import CATALOGUE

ONE_MORE = """
    INSERT INTO refunds (id, merchant_id, mode, transaction_id, rail, currency, amount_minor, unapplied_minor, hold_id,
                         status, reason, metadata, created_at, updated_at)
    SELECT gen_random_uuid(), merchant_id, mode, transaction_id, rail, currency, 1, 0, hold_id, 'pending', 'other', '{}',
           now(), now()
    FROM refunds WHERE transaction_id = $1::uuid LIMIT 1
"""


@pytest.fixture(autouse=True)
async def all_is_well(alice: Actor) -> object:
    """After each of these histories the books are in order."""
    began = last_id()
    yield
    assert await broken_invariants(alice.service.dsn, began) == []


async def test_a_part_has_a_floor_and_the_rest_has_none(alice: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    paid = await sell(alice)
    method = msgspec.structs.replace(CATALOGUE.methods["sandbox:EUR"], minimum_refund_minor=300)
    monkeypatch.setitem(CATALOGUE.methods, "sandbox:EUR", method)
    small = await refund(alice, paid, amount="2.99")
    assert (small.status, small.body["error"], small.body["details"]) == (
        422,
        "amount_below_minimum",
        {"minimum_minor": 300},
    )
    (await refund(alice, paid, amount="9.00")).ok(201)
    (await refund(alice, paid)).ok(201)  # 1.00: all that is left
    methods = (await alice.get("/payment-methods")).ok().body["payment_methods"]
    assert {method["method_id"]: method["minimum_refund_minor"] for method in methods}["sandbox:EUR"] == 300


@pytest.mark.long
async def test_twenty_refunds_and_then_all_that_is_left(alice: Actor) -> None:
    """Also of many at once, and past the program: the database refuses one more."""
    paid = await sell(alice)
    made = await asyncio.gather(*(refund(alice, paid, amount="0.01") for _ in range(30)))
    statuses = [response.status for response in made]
    assert (statuses.count(201), statuses.count(409)) == (20, 10)
    refused = next(response for response in made if response.status == 409)
    assert (refused.body["error"], refused.body["details"]) == ("refund_limit_reached", {"limit": 20})
    assert (await refund(alice, paid, amount="9.79")).status == 409
    with pytest.raises(asyncpg.CheckViolationError, match="has 20 refunds"):
        await alice.sql(ONE_MORE, paid["id"])
    (await refund(alice, paid, amount="9.80")).ok(201)


async def test_the_network_fee_is_the_merchants(alice: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is added to what is debited, and returns if the refund fails. The floor is five times the fee."""
    method = msgspec.structs.replace(CATALOGUE.withdrawal_methods["sandbox:EUR"], network_fee_minor=20)
    paid, other = await sell(alice), await sell(alice)
    monkeypatch.setitem(CATALOGUE.withdrawal_methods, "sandbox:EUR", method)
    small = await refund(alice, paid, amount="0.99")
    assert (small.body["error"], small.body["details"]) == ("amount_below_minimum", {"minimum_minor": 100})
    first = (await refund(alice, paid, amount="9.85")).ok(201).body
    assert (first["amount_minor"], first["network_fee"], first["network_fee_minor"]) == (985, "0.20", 20)
    assert await purse(alice) == (995, 1_005, 0)
    fees = await refund(alice, paid)  # 0.15 are left
    assert (fees.status, fees.body["error"], fees.body["details"]) == (422, "amount_below_fees", {"fees_minor": 20})
    (await bank_says(alice, first, "fail")).ok()
    assert await purse(alice) == (2_000, 0, 0)
    second = (await refund(alice, other)).ok(201).body
    (await bank_says(alice, second, "succeed")).ok()
    assert await purse(alice) == (980, 0, 0)
