"""What a conversion brings: rounded so that nobody ever gains by converting to and fro, whatever the prices."""

from datetime import UTC, datetime
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.running import CATALOGUE
from tollhouse.kernel.catalogue.conversion_pairs import ConversionPair
from tollhouse.transfers.conversions.model import ONE, Rate, exchange_from, exchange_to, rate_between, rate_of

NOW = datetime(2026, 11, 21, tzinfo=UTC)
CODES = ("EUR", "USD", "JPY", "BTC", "USDC")
PRICES = st.fractions(Fraction(1, 10**9), Fraction(10**9))
AMOUNTS = st.integers(1, 2**53 - 1)
FEES = st.integers(0, 9_999)


def pair(one: str, other: str, fee: int = 0) -> ConversionPair:
    """The pair of two currencies."""
    return ConversionPair(pair_id=f"{one}:{other}", fee_basis_points=fee)


@pytest.mark.long
@pytest.mark.covers("P-138")
@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from(CODES), PRICES), min_size=2, max_size=5, unique_by=lambda one: one[0]), AMOUNTS)
def test_a_circle_of_conversions_gains_nothing(prices: list[tuple[str, Fraction]], amount_minor: int) -> None:
    left_minor = amount_minor
    for (one, price), (other, next_price) in zip(prices, [*prices[1:], prices[0]], strict=True):
        left_minor = exchange_from(
            pair(one, other), rate_between(price, next_price, NOW), left_minor, CATALOGUE
        ).to_amount_minor
    assert left_minor <= amount_minor


@settings(deadline=None)
@given(st.sampled_from(CODES), st.sampled_from(CODES), PRICES, PRICES, st.integers(1, 10**12), FEES)
def test_the_least_that_must_be_given(
    one: str, other: str, price: Fraction, other_price: Fraction, wanted_minor: int, fee: int
) -> None:
    rate = rate_between(price, other_price, NOW)
    if rate.quintillionths == 0:
        return
    terms = pair(one, other, fee)
    made = exchange_to(terms, rate, wanted_minor, CATALOGUE)
    assert made.to_amount_minor == wanted_minor
    assert exchange_from(terms, rate, made.from_amount_minor, CATALOGUE).to_amount_minor >= wanted_minor
    assert (
        made.from_amount_minor == 1
        or exchange_from(terms, rate, made.from_amount_minor - 1, CATALOGUE).to_amount_minor < wanted_minor
    )


@pytest.mark.parametrize(
    ("one", "other", "rate", "fee", "given_minor", "fee_minor", "got_minor"),
    [
        ("EUR", "USD", "1.0842", 0, 1_000, 0, 1_084),
        ("EUR", "USD", "1.0842", 50, 1_000, 5, 1_078),
        ("EUR", "USD", "1.0842", 50, 1_001, 6, 1_078),
        ("EUR", "USD", "1.0842", 1, 1, 1, 0),
        ("EUR", "JPY", "162.35", 0, 1_000, 0, 1_623),
        ("JPY", "EUR", "0.0061595", 0, 1_000, 0, 615),
        ("USD", "EUR", "0.922339051835454", 0, 1, 0, 0),
        ("EUR", "BTC", "0.00001187", 0, 1_000, 0, 11_870),
    ],
)
def test_examples(one: str, other: str, rate: str, fee: int, given_minor: int, fee_minor: int, got_minor: int) -> None:
    made = exchange_from(pair(one, other, fee), rate_of(rate, NOW), given_minor, CATALOGUE)
    assert (made.fee_minor, made.to_amount_minor) == (fee_minor, got_minor)
    assert made.rate.text == rate


@settings(deadline=None)
@given(st.integers(1, 10**30))
def test_a_rate_is_read_as_it_is_written(quintillionths: int) -> None:
    rate = Rate(quintillionths, NOW)
    assert rate_of(rate.text, NOW) == rate
    assert Fraction(rate.text) == Fraction(quintillionths, ONE)


def test_what_is_no_rate() -> None:
    with pytest.raises(ValueError, match="not a rate"):
        rate_of("1e3", NOW)
