"""Payments in another currency in live mode: positions, limits, rates that are too old, and two of everything at once."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any, cast
from uuid import uuid4

import msgspec
import pytest

from tests.cast import Actor
from tests.invariants import broken_invariants, last_id
from tests.payments.courier import Courier
from tests.payments.shop import COFFEE, approve_project, choose
from tests.payments.transactions.test_other_currencies import READ_ONLY
from tests.running import CATALOGUE
from tests.transfers.conversions.steps import convert
from tollhouse.http.services import Services
from tollhouse.kernel import clock
from tollhouse.kernel.catalogue.conversion_pairs import ConversionPair
from tollhouse.kernel.catalogue.methods import Method
from tollhouse.kernel.rails.provider import Observation
from tollhouse.payments.refunds import reversals
from tollhouse.transfers.conversions import prices, prices_store
from tollhouse.transfers.conversions.model import CurrencyPosition

YEN = Method(
    method_id="courier:JPY",
    name="Yen by courier",
    type="card",
    rail="courier",
    confirmation="instant",
    rate_margin_basis_points=100,
)
COFFEE_IN_YEN = 425
"""4.20 EUR at 100 JPY for a euro, with a margin of 1 %, rounded up: 424.24…"""


@pytest.fixture
async def yen(alice: Actor, courier: Courier, services: Services, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Actor]:
    """A merchant that accepts yen in live mode, which cost a hundredth of a euro."""
    monkeypatch.setitem(CATALOGUE.methods, YEN.method_id, YEN)
    assert courier.health().available
    await approve_project(alice, "live")
    current = (await alice.get("/settings", mode="live")).ok().body
    new = {name: value for name, value in current.items() if name not in READ_ONLY} | {"additional_currencies": ["JPY"]}
    (await alice.call("PUT", "/settings", new, mode="live")).ok()
    await services.db.transact(lambda tx: prices.post(tx, {"JPY": "100"}, "olga", clock.now()))
    yield alice
    await services.db.transact(lambda tx: prices_store.set_position_limit(tx, "JPY", None))


async def position(services: Services, currency: str) -> int:
    return (await prices_store.list_positions(services.db)).get(currency, CurrencyPosition()).position_minor


async def attempt(actor: Actor) -> dict[str, Any]:
    """An attempt to pay a new link in yen."""
    link = (await actor.post("/payment-links", COFFEE, mode="live")).ok(201).body
    (await choose(link, YEN.method_id)).ok(303)
    return (await actor.get(f"/transactions?payment_link_id={link['id']}", mode="live")).ok().body["transactions"][0]


def money(paid: dict[str, Any], amount_minor: int = COFFEE_IN_YEN) -> Observation:
    reference = f"ticket-{paid['id']}"
    return Observation(reference=reference, outcome="confirmed", external_ref=str(uuid4()), amount_minor=amount_minor)


async def balances(actor: Actor) -> tuple[int, int]:
    found = [(await actor.get(f"/balances/{code}", mode="live")).ok().body["available_minor"] for code in ("EUR", "JPY")]
    return found[0], found[1]


@pytest.mark.long
async def test_the_position_moves_by_what_is_converted(yen: Actor, courier: Courier, services: Services) -> None:
    since, paid = last_id(), await attempt(yen)
    assert (paid["amount_minor"], paid["price"]["margin_bps"], paid["price"]["rate"]) == (COFFEE_IN_YEN, 100, "0.01")
    euros, yens = await position(services, "EUR"), await position(services, "JPY")
    await services.db.transact(lambda tx: prices_store.set_position_limit(tx, "JPY", max(1, abs(yens))))
    link = (await yen.post("/payment-links", COFFEE, mode="live")).ok(201).body
    assert (await choose(link, YEN.method_id)).status == 422  # above the limit no new payment begins
    await services.db.transact(lambda tx: prices_store.set_position_limit(tx, "JPY", None))
    observation = money(paid)
    settled = await asyncio.gather(
        *(reversals.observe(services, courier.name, courier.mode, observation, clock.now()) for _ in range(3))
    )
    assert [item.status for item in settled if item is not None] == ["succeeded"]
    assert await balances(yen) == (420, 0)
    assert await position(services, "EUR") - euros == -420
    assert await position(services, "JPY") - yens == COFFEE_IN_YEN - 5  # the margin is the platform's income
    for outcome, status, balance in (("reversed", "chargeback", 0), ("reinstated", "succeeded", 410)):
        changed = msgspec.structs.replace(observation, outcome=outcome, amount_minor=0)
        settled = await asyncio.gather(
            *(reversals.observe(services, courier.name, courier.mode, changed, clock.now()) for _ in range(3))
        )
        assert [item.status for item in settled if item is not None] == [status]
        assert await balances(yen) == (balance, 0)
    assert await broken_invariants(yen.service.dsn, since) == []


async def test_the_fixed_rate_is_for_the_amount_asked_for(
    yen: Actor, courier: Courier, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    since, twice, stale = last_id(), await attempt(yen), await attempt(yen)
    await services.db.transact(lambda tx: prices.post(tx, {"JPY": "200"}, "olga", clock.now()))
    too_much = money(twice, 20 * COFFEE_IN_YEN)
    paid = await reversals.observe(services, courier.name, courier.mode, too_much, clock.now())
    assert paid is not None
    assert (paid.status, paid.credited_minor) == ("succeeded", 20 * COFFEE_IN_YEN)
    of_the_rest = (19 * COFFEE_IN_YEN - 81) * 100 // 200  # 19 times as many, less 1 % rounded up, at half the price
    assert await balances(yen) == (420 + of_the_rest, 0)
    off = ConversionPair(pair_id="JPY:EUR", enabled=False)
    monkeypatch.setitem(cast("dict[str, ConversionPair]", CATALOGUE.conversion_pairs), off.pair_id, off)
    paid = await reversals.observe(services, courier.name, courier.mode, money(stale, 2 * COFFEE_IN_YEN), clock.now())
    assert paid is not None
    assert (paid.status, paid.credited_minor, paid.unapplied_minor) == ("succeeded", COFFEE_IN_YEN, COFFEE_IN_YEN)
    assert await balances(yen) == (840 + of_the_rest, 0)
    assert await broken_invariants(yen.service.dsn, since) == []


async def test_without_a_recent_rate_there_is_no_payment_and_late_money_waits(
    yen: Actor, courier: Courier, services: Services
) -> None:
    since, paid = last_id(), await attempt(yen)
    link = (await yen.post("/payment-links", COFFEE, mode="live")).ok(201).body
    later = clock.now() + timedelta(hours=2)
    await yen.sql("UPDATE merchant_settings SET late_payments = 'accept' WHERE merchant_id = $1::uuid", yen.merchant_id)
    late = await reversals.observe(services, courier.name, courier.mode, money(paid), later)
    assert late is not None
    assert (late.status, late.refund_required_reason) == ("refund_required", "late")
    assert await balances(yen) == (0, 0)
    accepted = (await yen.post(f"/transactions/{paid['id']}/accept", mode="live")).ok().body
    assert accepted["status"] == "succeeded"
    assert await balances(yen) == (420, 0)
    assert link["status"] == "active"
    assert await broken_invariants(yen.service.dsn, since) == []


@pytest.mark.long
async def test_payments_and_conversions_at_once_all_end(yen: Actor, courier: Courier, services: Services) -> None:
    since = last_id()
    paid = [await attempt(yen) for _ in range(4)]
    first = await reversals.observe(services, courier.name, courier.mode, money(paid[0]), clock.now())
    assert first is not None
    some = {"from_currency": "EUR", "to_currency": "JPY", "amount": "0.10"}
    settled, made = await asyncio.gather(
        asyncio.gather(
            *(reversals.observe(services, courier.name, courier.mode, money(payment), clock.now()) for payment in paid[1:])
        ),
        asyncio.gather(*(convert(yen, some, mode="live") for _ in range(4))),
    )
    assert [item.status for item in settled if item is not None] == ["succeeded"] * 3
    assert [response.status for response in made] == [201] * 4
    euros, yens = await balances(yen)
    assert (euros, yens) == (4 * 420 - 40, 40)
    assert await broken_invariants(yen.service.dsn, since) == []
