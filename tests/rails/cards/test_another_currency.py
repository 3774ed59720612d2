"""A link in dollars is paid by card in euros: the card is charged at the fixed rate, and the merchant gets dollars."""

from datetime import timedelta

import pytest

from tests.payments.shop import COFFEE, choose
from tests.payments.transactions.test_other_currencies import READ_ONLY
from tests.rails.cards.steps import DUE_NOW, Shop
from tollhouse.kernel import clock
from tollhouse.rails.cards import payments
from tollhouse.transfers.conversions import prices


@pytest.fixture
async def dollars(shop: Shop) -> Shop:
    """Links in dollars may be paid in euros. A euro costs 1.25 dollars."""
    current = (await shop.alice.get("/settings", mode="live")).ok().body
    new = {name: value for name, value in current.items() if name not in READ_ONLY} | {"additional_currencies": ["EUR"]}
    (await shop.alice.call("PUT", "/settings", new, mode="live")).ok()
    await shop.services.db.transact(lambda tx: prices.post(tx, {"USD": "1.25"}, "olga", clock.now()))
    return shop


async def offer(shop: Shop) -> tuple[str, str]:
    """A customer has chosen to pay 10 dollars by card in euros: the payment's ID, and that of the provider's page."""
    link = (await shop.alice.post("/payment-links", COFFEE | {"amount": "10.00", "currency": "USD"}, mode="live")).ok(201)
    payment_id = (await choose(link.body, "card:EUR")).ok(303).query["payment"]
    return payment_id, await shop.page_of(payment_id)


async def test_a_card_is_charged_in_the_currency_of_the_method(dollars: Shop) -> None:
    payment_id, page_id = await offer(dollars)
    page = dollars.provider.sessions[page_id]
    assert (page["amount_total"], page["currency"]) == (800, "eur")
    intent = await dollars.provider.pay(page_id)
    await dollars.report("payment_intent.succeeded", intent["id"])
    paid = await dollars.payment(payment_id)
    assert (paid["status"], paid["amount_received"], paid["currency"]) == ("succeeded", "8.00", "EUR")
    assert (paid["price"]["amount"], paid["price"]["currency"]) == ("10.00", "USD")
    assert (await dollars.purse("USD"), (await dollars.purse("EUR"))[0]) == ((1_000, 0, 0), 0)


async def test_a_charge_counts_by_its_time_not_by_when_it_is_read(dollars: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """The provider reports a payment an hour after the rate has expired: it was charged before."""
    payment_id, page_id = await offer(dollars)
    await dollars.provider.pay(page_id)
    await dollars.alice.sql(DUE_NOW, payment_id)
    later = clock.now() + timedelta(hours=1)
    with monkeypatch.context() as patch:
        patch.setattr(clock, "now", lambda: later)
        await payments.poll_payments(dollars.services)
    assert (await dollars.payment(payment_id))["status"] == "succeeded"
    assert await dollars.purse("USD") == (1_000, 0, 0)
