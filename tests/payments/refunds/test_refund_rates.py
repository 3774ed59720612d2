"""What giving a converted payment back costs: its price now, with the margin, whatever the payment once yielded."""

import asyncio
from typing import Any
from uuid import UUID

import msgspec

from tests.cast import Actor, Answer
from tests.invariants import broken_invariants, last_id
from tests.payments.courier import Courier
from tests.payments.transactions import test_other_currencies_live as live
from tests.payments.transactions.test_other_currencies_live import COFFEE_IN_YEN, attempt, balances, money, position
from tests.transfers.conversions.steps import convert
from tests.transfers.conversions.test_positions import adjust
from tollhouse.http.services import Services, Work
from tollhouse.kernel import clock
from tollhouse.payments.refunds import reversals, review
from tollhouse.transfers.conversions import prices, prices_store

yen = live.yen
DOOR = "Door 7"


async def post_price(services: Services, yens_for_a_euro: str) -> None:
    await services.db.transact(lambda tx: prices.post(tx, {"JPY": yens_for_a_euro}, "olga", clock.now()))


async def paid_in_yen(yen: Actor, courier: Courier, services: Services) -> dict[str, Any]:
    paid = await attempt(yen)
    settled = await reversals.observe(services, courier.name, courier.mode, money(paid), clock.now())
    assert settled is not None
    assert settled.status == "succeeded"
    return paid


async def refund(yen: Actor, paid: dict[str, Any], key: str, amount: str | None = None) -> Answer:
    body = {"reason": "other", "receiver": DOOR} | ({} if amount is None else {"amount": amount})
    return await yen.post(f"/transactions/{paid['id']}/refunds", body, mode="live", key=key)


async def reject(services: Services, made: Answer) -> None:
    """An operator keeps the refund here, so its money returns."""

    async def action(work: Work) -> None:
        await review.reject(work, await review.lock(work.tx, UUID(made.body["id"])), "Not this door")

    await services.transact(action, clock.now())


async def test_a_refund_costs_what_the_money_costs_now(yen: Actor, courier: Courier, services: Services) -> None:
    """At half of the rate twice as much is given, and at twice of the rate half: there is nothing to wait for."""
    since = last_id()
    first, second = await paid_in_yen(yen, courier, services), await paid_in_yen(yen, courier, services)
    assert await balances(yen) == (840, 0)
    await post_price(services, "50")
    dearer = (await refund(yen, first, "dearer", "200")).ok(201).body
    assert dearer["exchange"] == {
        "from_currency": "EUR",
        "from_amount": "4.05",
        "from_amount_minor": 405,
        "to_currency": "JPY",
        "to_amount": "200",
        "to_amount_minor": 200,
        "rate": "50",
        "rate_as_of": dearer["exchange"]["rate_as_of"],
        "fee": "0.05",
        "fee_minor": 5,
    }
    assert await balances(yen) == (840 - 405, 0)
    assert (await refund(yen, first, "more")).body["error"] == "insufficient_funds"  # 225 yen cost 4.55
    await post_price(services, "200")
    cheaper = (await refund(yen, second, "cheaper", "200")).ok(201).body
    assert (cheaper["exchange"]["from_amount_minor"], cheaper["exchange"]["rate"]) == (102, "200")
    read = (await yen.get(f"/refunds/{cheaper['id']}", mode="live")).ok().body
    of_payment = (await yen.get(f"/transactions/{second['id']}", mode="live")).ok().body["refunds"][0]
    assert read["exchange"] == of_payment["exchange"] == cheaper["exchange"]
    assert await broken_invariants(yen.service.dsn, since) == []


async def test_what_returns_is_worth_its_price_now_and_at_most_what_it_cost(
    yen: Actor, courier: Courier, services: Services
) -> None:
    since, paid = last_id(), await paid_in_yen(yen, courier, services)
    one = await refund(yen, paid, "one", "200")
    assert one.ok(201).body["exchange"]["from_amount_minor"] == 203  # 2.00 and 1 %, both rounded up
    two = await refund(yen, paid, "two", "200")
    await post_price(services, "50")
    await reject(services, one)
    assert await balances(yen) == (420 - 203, 0)  # worth 3.96 by now
    await post_price(services, "200")
    await reject(services, two)
    assert await balances(yen) == (420 - 203 + 99, 0)  # worth 0.99 by now
    assert await broken_invariants(yen.service.dsn, since) == []


async def test_without_a_rate_nothing_is_refunded_and_what_returns_stays_as_it_is(
    yen: Actor, courier: Courier, services: Services
) -> None:
    since, paid = last_id(), await paid_in_yen(yen, courier, services)
    one = await refund(yen, paid, "one", "200")
    await services.db.transact(lambda tx: prices_store.reject_prices(tx, {"JPY": "sources_differ"}, clock.now()))
    refused = await refund(yen, paid, "two")
    assert (refused.status, refused.body["error"]) == (422, "pair_unavailable")
    assert refused.body["details"] == {"unavailable_reason": "rate_stale"}
    await reject(services, one)
    assert await balances(yen) == (420 - 203, 200)
    assert await broken_invariants(yen.service.dsn, since) == []


async def test_what_a_position_limit_refuses_waits_for_the_merchant(
    yen: Actor, courier: Courier, services: Services
) -> None:
    since, paid = last_id(), await attempt(yen)
    await paid_in_yen(yen, courier, services)
    held, owed = await position(services, "JPY"), await position(services, "EUR")
    assert owed < 0  # the platform gave euros for the yen that it was paid, so each payment makes it larger
    await services.db.transact(lambda tx: prices_store.set_position_limit(tx, "EUR", -owed))
    observation = money(paid)
    settled = await asyncio.gather(
        *(reversals.observe(services, courier.name, courier.mode, observation, clock.now()) for _ in range(2))
    )
    states = [(item.status, item.refund_required_reason) for item in settled if item is not None]
    assert states == [("refund_required", "position_limit")]
    accepted = await yen.post(f"/transactions/{paid['id']}/accept", mode="live")
    assert (accepted.status, accepted.body["details"]) == (422, {"unavailable_reason": "position_limit"})
    free = (await refund(yen, paid, "free", "25")).ok(201).body  # it was never converted, so it costs nothing
    assert (free["exchange"], await balances(yen)) == (None, (420, 0))
    assert (await position(services, "JPY"), await position(services, "EUR")) == (held, owed)
    await services.db.transact(lambda tx: prices_store.set_position_limit(tx, "EUR", None))
    assert await broken_invariants(yen.service.dsn, since) == []


async def test_a_position_limit_refuses_a_refund(yen: Actor, courier: Courier, services: Services) -> None:
    since, paid = last_id(), await paid_in_yen(yen, courier, services)
    await adjust(services, yen, "EUR", 1_000_000)
    (await convert(yen, {"from_currency": "EUR", "to_currency": "JPY", "amount": "9000"}, mode="live")).ok(201)
    limit_minor = max(1, abs(await position(services, "EUR")))
    await services.db.transact(lambda tx: prices_store.set_position_limit(tx, "EUR", limit_minor))
    refused = await refund(yen, paid, "refused")
    assert (refused.status, refused.body["error"]) == (422, "pair_unavailable")
    assert refused.body["details"] == {"unavailable_reason": "position_limit"}
    await services.db.transact(lambda tx: prices_store.set_position_limit(tx, "EUR", None))
    (await refund(yen, paid, "refused")).ok(201)
    back = {"from_currency": "JPY", "to_currency": "EUR", "amount": str((await balances(yen))[1])}
    (await convert(yen, back, mode="live")).ok(201)  # other tests start from a position of what was paid
    assert await broken_invariants(yen.service.dsn, since) == []


async def test_a_chargeback_costs_what_the_money_costs_now(yen: Actor, courier: Courier, services: Services) -> None:
    """As far as the balance covers it; the rest is debt in the currency that was paid."""
    since, paid = last_id(), await attempt(yen)
    observation = money(paid)
    await reversals.observe(services, courier.name, courier.mode, observation, clock.now())
    await post_price(services, "50")
    gone = msgspec.structs.replace(observation, outcome="reversed", amount_minor=0)
    await reversals.observe(services, courier.name, courier.mode, gone, clock.now())
    assert await balances(yen) == (0, 0)
    debt = (await yen.get("/balances/JPY", mode="live")).ok().body
    assert debt["debt_minor"] == COFFEE_IN_YEN - 207  # 4.20 buy 207 yen by now
    back = msgspec.structs.replace(observation, outcome="reinstated", amount_minor=0)
    await reversals.observe(services, courier.name, courier.mode, back, clock.now())
    assert await balances(yen) == (408, 0)  # 207 yen less 1 %, rounded up, at 50
    assert await broken_invariants(yen.service.dsn, since) == []
