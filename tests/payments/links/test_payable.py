"""Links that nobody can pay: the API says so and why, the pages warn, and the checkout agrees."""

from typing import Any

import msgspec
import pytest

from tests.cast import Actor
from tests.forms import seen
from tests.payments.courier import COURIER, Courier
from tests.payments.shop import COFFEE, approve_project, let_expire, open_link, pay, visit
from tests.payments.transactions.test_other_currencies import READ_ONLY
from tests.running import CATALOGUE
from tollhouse.http.services import Services
from tollhouse.kernel import clock
from tollhouse.kernel.catalogue.methods import Method
from tollhouse.kernel.rails.provider import Health
from tollhouse.transfers.conversions import prices

NONE_CHOSEN = "No payment method is available."
WARNING = "Customers cannot pay it"


@pytest.fixture
async def seller(alice: Actor, courier: Courier) -> Actor:
    """A merchant who takes euros by one rail in live mode, and nothing else."""
    assert courier.health().available
    await approve_project(alice, "live")
    return alice


async def live_link(actor: Actor, **changes: Any) -> dict[str, Any]:
    link = (await actor.post("/payment-links", COFFEE | changes, mode="live")).ok(201).body
    assert (await actor.get(f"/payment-links/{link['id']}", mode="live")).ok().body == link
    listed = (await actor.get("/payment-links?limit=1", mode="live")).ok().body["payment_links"]
    assert listed == [link]
    return link


def state(link: dict[str, Any]) -> tuple[bool, str | None]:
    return link["payable"], link["unpayable_reason"]


async def again(actor: Actor, link: dict[str, Any], mode: str = "live") -> tuple[bool, str | None]:
    return state((await actor.get(f"/payment-links/{link['id']}", mode=mode)).ok().body)


async def change_settings(actor: Actor, mode: str, **changes: Any) -> None:
    current = (await actor.get("/settings", mode=mode)).ok().body
    new = {name: value for name, value in current.items() if name not in READ_ONLY} | changes
    (await actor.call("PUT", "/settings", new, mode=mode)).ok()


async def test_a_link_in_a_currency_that_no_rail_takes_is_created_and_warned_of(seller: Actor) -> None:
    assert state(await live_link(seller)) == (True, None)
    link = await live_link(seller, currency="USD")
    assert state(link) == (False, "no_method")
    assert state(await live_link(seller, currency="BTC")) == (False, "provider_not_configured")
    assert NONE_CHOSEN in (await visit(link, seller)).ok().text
    page = await seen(seller, f"/live/payment-links/{link['id']}")
    assert f"{WARNING}: no payment method takes USD." in page
    assert "Active. Customers can pay it." not in page
    assert WARNING in await seen(seller, "/live/payment-links?currency=USD")
    assert WARNING not in await seen(seller, "/live/payment-links?currency=EUR")


async def test_the_form_warns_while_it_is_filled_in(seller: Actor) -> None:
    path = "/live/payment-links/new?display_name=Coffee"
    assert WARNING not in await seen(seller, f"{path}&amount=4.20&currency=EUR")
    assert WARNING not in await seen(seller, f"{path}&currency=EUR")
    for entered in ("amount=4.20&currency=USD", "currency=USD", "amount=4.20&currency=EUR&payment_method_ids=sepa:EUR"):
        page = await seen(seller, f"{path}&{entered}")
        assert WARNING in page, entered
        assert "No payment method" in page, entered


async def test_a_rail_that_is_down_is_another_reason_than_none(
    seller: Actor, courier: Courier, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = await live_link(seller)
    with monkeypatch.context() as down:
        down.setattr(courier, "health", lambda: Health(available=False, reason="provider_down"))
        assert await again(seller, link) == (False, "provider_down")
        assert NONE_CHOSEN in (await visit(link, seller)).ok().text
    assert await again(seller, link) == (True, None)


async def test_bounds_count_over_every_price_that_customers_can_choose(
    seller: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = msgspec.structs.replace(COURIER, minimum_minor=500, maximum_minor=600)
    monkeypatch.setitem(CATALOGUE.methods, COURIER.method_id, few)
    out_of_range = (False, "amount_out_of_range")
    chosen = {name: value for name, value in COFFEE.items() if name != "amount"}
    for changes, expected in (
        (COFFEE | {"amount": "4.99"}, out_of_range),
        (COFFEE | {"amount": "5.00"}, (True, None)),
        (COFFEE | {"amount": "6.01"}, out_of_range),
        (COFFEE | {"amount": "1.10", "quantity": {"min": 1, "max": 5}}, (True, None)),
        (COFFEE | {"amount": "1.10", "quantity": {"min": 1, "max": 4}}, out_of_range),
        (COFFEE | {"amount": "3.50", "quantity": {"min": 1, "max": 9}}, out_of_range),
        (chosen | {"customer_amount": {"min": "1.00", "max": "1000.00"}}, (True, None)),
        (chosen | {"customer_amount": {"min": "1.00", "max": "4.99"}}, out_of_range),
        (chosen | {"customer_amount": {"min": "6.01", "max": "9.00", "preset": "7.00"}}, out_of_range),
    ):
        link = (await seller.post("/payment-links", changes, mode="live")).ok(201).body
        assert state(link) == expected, changes
        if expected == out_of_range:
            assert "takes this amount" in await seen(seller, f"/live/payment-links/{link['id']}")


async def test_another_currency_can_pay_for_it(seller: Actor, services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    yen = Method(
        method_id="courier:JPY", name="Yen", type="card", rail="courier", confirmation="instant", minimum_minor=10_000
    )
    monkeypatch.setitem(CATALOGUE.methods, yen.method_id, yen)
    await change_settings(seller, "live", additional_currencies=["JPY"])
    link = await live_link(seller, currency="USD", amount="100.00")
    assert state(link) == (False, "rate_unavailable")
    await services.db.transact(lambda tx: prices.post(tx, {"JPY": "100", "USD": "1"}, "olga", clock.now()))
    assert await again(seller, link) == (True, None)
    assert "Yen" in (await visit(link, seller)).ok().text
    assert state(await live_link(seller, currency="USD", amount="99.00")) == (False, "amount_out_of_range")
    chosen = {"display_name": "Gift", "currency": "USD", "customer_amount": {"min": "1.00", "max": "5000.00"}}
    assert state((await seller.post("/payment-links", chosen, mode="live")).ok(201).body) == (True, None)


async def test_in_test_mode_the_merchant_alone_can_prevent_it(alice: Actor) -> None:
    link = await open_link(alice)
    assert state(link) == (True, None)
    await change_settings(alice, "test", payment_methods=[{"method_id": "sandbox:EUR", "enabled": False}])
    assert await again(alice, link, "test") == (False, "disabled_by_merchant")
    assert "/test/settings/payments" in (await seen(alice, f"/test/payment-links/{link['id']}"))


async def test_what_has_ended_is_not_payable_and_not_warned_of(alice: Actor) -> None:
    paid, canceled, expired = [await open_link(alice) for _ in range(3)]
    await pay(paid)
    assert state((await alice.post(f"/payment-links/{canceled['id']}/cancel")).ok().body) == (False, "not_active")
    await let_expire(alice, expired)
    for link in (paid, canceled, expired):
        assert await again(alice, link, "test") == (False, "not_active")
        assert WARNING not in await seen(alice, f"/test/payment-links/{link['id']}")
    assert WARNING not in await seen(alice, "/test/payment-links")


async def test_links_of_a_suspended_account_are_not_said_to_be_payable(alice: Actor) -> None:
    link = await open_link(alice)
    await alice.sql("UPDATE merchants SET suspended_at = now() WHERE id = $1::uuid", alice.merchant_id)
    page = await seen(alice, f"/test/payment-links/{link['id']}")
    assert "the account is suspended" in page
    assert "Customers can pay it." not in page
