"""The page about fees shows the terms by which fees are charged."""

from typing import Any

import msgspec
import pytest

from tests.cast import Actor
from tests.forms import seen
from tests.payments.bank import sell
from tests.running import CATALOGUE
from tollhouse.kernel.catalogue.conversion_pairs import ConversionPair
from tollhouse.kernel.catalogue.methods import Fees

PAGE = "/test/fees"


def priced(monkeypatch: pytest.MonkeyPatch, methods: Any, **changes: Any) -> None:
    """The sandbox's method for EUR, as an operator's catalogue changes it."""
    monkeypatch.setitem(methods, "sandbox:EUR", msgspec.structs.replace(methods["sandbox:EUR"], **changes))


async def test_without_fees_everything_is_free(alice: Actor) -> None:
    page = await seen(alice, PAGE)
    assert "Of €100.00 you get €100.00" in page
    assert "Of 0.10 ETH you get 0.10 ETH" in page
    assert "Conversions have no fee." in page
    assert "Fulfillments: you pay the price of the product and nothing in addition" in page


async def test_the_figures_are_those_that_are_charged(alice: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    priced(monkeypatch, CATALOGUE.methods, fees=Fees(fixed_minor=39, basis_points=40, chargeback_minor=1_500))
    priced(monkeypatch, CATALOGUE.withdrawal_methods, fees=Fees(basis_points=100, minimum_minor=200), network_fee_minor=20)
    pair = ConversionPair(pair_id="EUR:USD", fee_basis_points=50)
    monkeypatch.setitem(CATALOGUE.conversion_pairs, pair.pair_id, pair)
    page = await seen(alice, PAGE)
    for text in (
        "0.4% + €0.39", "€15.00", "Of €100.00 you get €99.21", "1%, at least €2.00", "€0.20",
        "Of €100.00 the recipient gets €97.80", "EUR to USD", "0.5%", "Of €100.00 the fee is €0.50",
        "Conversions between other currencies have no fee.",
    ):  # fmt: skip
        assert text in page
    paid = await sell(alice, amount="100.00")
    assert paid["net"] == "99.21"
    assert '<a href="/test/fees#payments">How fees work</a>' in await seen(alice, f"/test/payments/{paid['id']}")
    assert "EUR. Fee: 0.4% + €0.39." in await seen(alice, "/test/settings/payments")


async def test_only_methods_that_can_be_used_are_shown(alice: Actor) -> None:
    page = await seen(alice, "/live/fees")
    assert "No payment methods are available in live mode." in page
    assert "No withdrawal methods are available in live mode." in page
    assert "sandbox" not in page
    assert (await alice.anonymously("GET", PAGE)).ok(303).location.startswith("/signin")
