"""The amount filter of the lists of payments, payment links and withdrawals, as people type it."""

from typing import Any

import pytest

from tests.cast import Actor
from tests.forms import seen
from tests.payments.shop import open_link, pay
from tollhouse.kernel.catalogue.typed_amounts import AN_AMOUNT, ORDER


async def shown(actor: Actor, path: str, **filters: Any) -> str:
    """The page of a list with these filters."""
    return (await actor.send("GET", path, params=filters)).ok(200).text


@pytest.mark.parametrize(
    ("filters", "is_found"),
    [
        ({"amount": "84,50"}, True),
        ({"amount": "84.5"}, True),
        ({"amount": "€84.50", "currency": "EUR"}, True),
        ({"amount": "84.50", "currency": "USD"}, False),
        ({"amount": "84.51"}, False),
        ({"amount_from": "84.50"}, True),
        ({"amount_from": "84.51"}, False),
        ({"amount_to": "84.50"}, True),
        ({"amount_to": "84,49"}, False),
        ({"amount_from": "80", "amount_to": "1 000"}, True),
        ({"amount_from": "85", "amount_to": "1.000,00"}, False),
    ],
)
async def test_amounts_are_understood_as_typed(alice: Actor, filters: dict[str, str], is_found: bool) -> None:
    link = await open_link(alice, amount="84.50")
    await pay(link)
    for path in ("/test/payments", "/test/payment-links", "/test/payments.csv"):
        assert (link["id"] in await shown(alice, path, **filters)) is is_found


@pytest.mark.parametrize("path", ["/test/payments", "/test/payment-links", "/test/withdrawals"])
@pytest.mark.parametrize(
    ("filters", "message"),
    [
        ({"amount": "1,234"}, "This can mean 1,234.00 or 1.23"),
        ({"amount_from": "much"}, AN_AMOUNT),
        ({"amount_to": "-3"}, AN_AMOUNT),
        ({"amount_from": "20", "amount_to": "10"}, ORDER),
    ],
)
async def test_what_is_no_amount_is_said_at_its_field(
    alice: Actor, path: str, filters: dict[str, str], message: str
) -> None:
    await open_link(alice)
    page = (await alice.send("GET", path, params=filters)).ok(422).text
    assert message in page
    assert 'aria-invalid="true"' in page


async def test_an_active_amount_is_a_chip_that_can_be_removed(alice: Actor) -> None:
    await pay(await open_link(alice))
    page = await seen(alice, "/test/payments?amount_from=10&amount_to=20&currency=EUR")
    assert "<b>10 \N{EN DASH} 20</b>" in page
    assert 'href="?currency=EUR" aria-label="Remove filter: Amount"' in page
