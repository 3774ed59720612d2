"""A card provider beside the ledger: what is in flight is named, and what nobody can explain is a difference."""

from collections.abc import AsyncIterator

import pytest

from tests.invariants import broken_invariants, last_id
from tests.pages.console.commands import operator
from tests.pages.console.operator_pages import signed_in_operator
from tests.payments.bank import refund
from tests.rails.cards.balance.books import Books
from tollhouse.accounts.approvals.model import OperatorContext
from tollhouse.instance.monitoring.database_metrics import read_metrics
from tollhouse.kernel import clock
from tollhouse.kernel.actor import OPERATOR
from tollhouse.pages.console import actions
from tollhouse.payments.refunds.jobs import submit_refunds
from tollhouse.rails.balances import measuring, store
from tollhouse.rails.cards import balances


@pytest.fixture(autouse=True)
async def measured(books: Books) -> AsyncIterator[None]:
    """Whatever happened in a test, nothing is left to be explained."""
    yield
    await books.agreed()


async def test_payments_are_in_flight_until_both_have_them(books: Books) -> None:
    """Whoever is first; its fee until it is posted."""
    _, _, page_id = await books.shop.offer(amount="20.00")
    intent = await books.shop.provider.pay(page_id)
    charged = books.balance.transactions[-1]
    before = await books.agreed()
    assert before.in_flight == {"payments": 2_000, "provider_fees": -25}
    await books.shop.report("payment_intent.succeeded", intent["id"])
    posted = await books.agreed()  # and not settled
    assert (posted.in_flight, posted.ledger_units) == ({"provider_fees": -25}, before.ledger_units + 2_000)
    await books.read()
    settled = await books.agreed()
    assert (settled.in_flight, settled.ledger_units) == ({}, before.ledger_units + 1_975)
    assert settled.places == {"pending": books.balance.total["eur"]}
    charged["status"] = "available"
    found = await books.agreed()
    assert found.places == {"available": 1_975} | ({"pending": rest} if (rest := books.balance.total["eur"] - 1_975) else {})


async def test_the_ledger_may_be_ahead(books: Books) -> None:
    """A payment that the provider lists later."""
    await books.shop.sell(amount="20.00")
    charged = books.balance.transactions.pop()
    assert (await books.agreed()).in_flight == {"payments": -2_000}
    books.balance.transactions.append(charged)
    await books.read()
    assert (await books.agreed()).in_flight == {}


async def test_refunds_disputes_and_payouts(books: Books) -> None:
    payment_id, intent_id = await books.shop.sell(amount="20.00")
    asked = (await refund(books.shop.alice, {"id": payment_id}, "5.00", mode="live")).ok(201).body
    assert (await books.agreed()).in_flight == {"provider_fees": -25}
    due = "UPDATE refunds SET next_look_at = created_at WHERE id = $1::uuid"
    await books.shop.alice.sql(due, asked["id"])
    await submit_refunds(books.services)
    await books.read()
    assert (await books.agreed()).in_flight == {"refunds": -500}
    await books.shop.alice.sql(due, asked["id"])
    await submit_refunds(books.services)
    assert (await books.agreed()).in_flight == {}

    dispute = books.shop.provider.disputes.open(intent_id, 1_500)
    source = {"id": dispute["id"], "object": "dispute", "payment_intent": intent_id}
    books.balance.add("dispute", -1_500, source, fee=1_500)
    assert (await books.agreed()).in_flight == {"disputes": -1_500, "provider_fees": -1_500}
    await books.shop.report("charge.dispute.created", dispute["id"])
    assert (await books.agreed()).in_flight == {"provider_fees": -1_500}
    await books.read()
    assert (await books.agreed()).in_flight == {}
    dispute["status"] = "won"
    await books.shop.report("charge.dispute.closed", dispute["id"])
    assert (await books.agreed()).in_flight == {"disputes": -1_500}
    books.balance.add("dispute_reversal", 1_500, source)
    payout = books.balance.pay_out(1_000)
    assert (await books.agreed()).in_flight == {"payouts": -1_000}
    await books.read()
    assert (await books.agreed()).in_flight == {}
    books.balance.add("payout_reversal", 1_000, payout["source"])
    assert (await books.agreed()).in_flight == {"payouts": 1_000}
    await books.read()


async def test_what_nobody_explains_is_a_difference(books: Books) -> None:
    """A transfer by hand, until an operator books it; a payment that has been at one of the two alone for a day."""
    before = await books.agreed()
    books.balance.add("topup", 5_000, {"id": "tu_2", "object": "topup"})
    first = await books.status()
    shown = await operator(books.shop.alice.service, "rail-balances", "unexplained", "--json")
    [topup] = [
        balance_transaction
        for balance_transaction in shown.json["balance_transactions"]
        if balance_transaction["source"] == "tu_2"
    ]
    assert (topup["rail"], topup["category"], topup["net"], topup["currency"]) == ("card", "topup", "50.00", "EUR")
    assert (first.balance.difference_units, first.differs_since) == (5_000, first.balance.measured_at)
    since = last_id()
    await books.status()
    await books.status()
    [lasting] = [
        broken_invariant
        for broken_invariant in await broken_invariants(books.shop.alice.service.dsn, since)
        if "I32" in broken_invariant
    ]
    assert "card EUR differs by 50 since" in lasting
    [family] = [metric for metric in await read_metrics(books.services.db) if metric.name == "tollhouse_rail_difference"]
    assert [sample.value for sample in family.samples if sample.labels == {"rail": "card", "currency": "EUR"}] == [50]
    async with signed_in_operator(books.shop.alice.service) as olga:
        assert "Differs" in (await olga.send("GET", "/operator/books/rails")).ok().text
        assert "Pending at the provider" in (await olga.send("GET", "/operator/books/rails/card/EUR")).ok().text
    actions.ensure_measured(books.services, "card", "EUR")
    context = OperatorContext("olga@example.com", clock.now(), "Top-up.", on_command_line=True)
    currency = books.services.catalogue.currencies["EUR"]
    await books.services.transact(
        lambda work: actions.change_rail_float(work, "card", currency, 5_000, context), context.at, OPERATOR
    )
    assert (await books.agreed()).ledger_units == before.ledger_units + 5_000
    await books.shop.sell(amount="20.00")
    listed = books.balance.transactions.pop()
    later = clock.now() + 2 * balances.WINDOW
    await measuring.measure(books.services, books.cards, later)
    [missing] = await store.list_history(books.services.db, "card", "live", "EUR", 1)
    assert (missing.measured_at, missing.difference_units, missing.in_flight) == (later, -2_000, {})
    await books.shop.alice.sql("DELETE FROM rail_balances WHERE measured_at = $1", later)
    books.balance.transactions.append(listed)
    await books.read()


async def test_a_balance_that_changes_meanwhile_is_read_again(books: Books) -> None:
    """One that never rests cannot be measured; the last measurement stays."""
    last = await books.agreed()
    changes = [books.balance.pay_out, books.balance.pay_out]

    def change() -> None:
        if changes:
            changes.pop()(10)

    books.balance.while_read = change
    assert (await books.agreed()).in_flight == {"payouts": -20}
    books.balance.while_read = lambda: books.balance.pay_out(10)
    restless = await books.status()
    assert restless.failure == "the balance at the provider changed while it was read"
    assert restless.balance.measured_at > last.measured_at
    books.balance.while_read = lambda: None
    books.shop.provider.is_down = True
    down = await books.status()
    assert down.failure == "the provider does not state its balance: http_500"
    books.shop.provider.is_down = False


async def test_what_is_settled_in_another_currency_is_named(books: Books) -> None:
    """The provider credits yen, which have no minor units, for a payment in euros."""
    await books.shop.sell(amount="20.00")
    changed = books.balance.transactions[-1]
    changed |= {"currency": "jpy", "amount": 3_200, "fee": 40}
    await books.read()
    euros, yen = await books.agreed(), await books.agreed("JPY")
    assert (euros.in_flight, yen.in_flight) == ({"converted": -2_000}, {"converted": 3_200})
    assert (yen.outside_units - yen.ledger_units, yen.decimals) == (3_200, 0)
