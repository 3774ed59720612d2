"""The rate of a payment in another currency: rounded so that the platform never loses, and refused where it might."""

from datetime import UTC, datetime, timedelta
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.running import CATALOGUE
from tollhouse.accounts.environments.payment_settings import Settlement
from tollhouse.transfers.conversions.model import CurrencyPosition, PricedAmount
from tollhouse.transfers.conversions.payments import exchange_at_fixed_rate, fix_rate
from tollhouse.transfers.conversions.prices import Price

NOW = datetime(2026, 11, 21, tzinfo=UTC)
LATER = NOW + timedelta(minutes=15)
METHOD = CATALOGUE.methods["sandbox:ETH"]
ETHER_PER_EURO = Fraction("0.00034102")


def fixed(
    price_minor: int = 420,
    per_euro: Fraction = ETHER_PER_EURO,
    margin_bps: int = 0,
    settlement: Settlement = "convert",
    *,
    as_of: datetime = NOW,
    position: CurrencyPosition | None = None,
    currency: str = "ETH",
) -> PricedAmount | str:
    """What is to be paid in ether, or another currency, for a price in euros."""
    known = {"EUR": Price(Fraction(1), NOW), currency: Price(per_euro, as_of, position or CurrencyPosition())}
    method = replace(METHOD, method_id=f"sandbox:{currency}", rate_margin_basis_points=margin_bps)
    return fix_rate(method, ("EUR", price_minor), settlement, known, NOW, LATER, CATALOGUE)


def test_the_amount_is_rounded_up_and_has_the_margin() -> None:
    plain, dear, kept = fixed(), fixed(margin_bps=100), fixed(margin_bps=100, settlement="keep")
    assert isinstance(plain, PricedAmount)
    assert isinstance(dear, PricedAmount)
    assert isinstance(kept, PricedAmount)
    assert (plain.amount_minor, dear.amount_minor, kept.amount_minor) == (143_229, 144_676, 143_229)
    assert (dear.price.margin_bps, kept.price.margin_bps, dear.price.source) == (100, 0, "operator")
    tiny = fixed(1, Fraction(1, 10**18))
    assert isinstance(tiny, PricedAmount)
    assert tiny.amount_minor == 1


def test_without_a_rate_or_room_there_is_no_amount() -> None:
    assert fixed(as_of=NOW - timedelta(seconds=3_601)) == "rate_unavailable"
    full = CurrencyPosition(position_minor=0, limit_minor=143_228)
    assert fixed(position=full) == "rate_unavailable"
    assert isinstance(fixed(position=full, settlement="keep"), PricedAmount)
    assert isinstance(fixed(position=replace(full, limit_minor=143_229)), PricedAmount)
    assert fixed(2**53 - 1, Fraction(10**17)) == "amount_out_of_range"


@pytest.mark.long
@settings(deadline=None)
@given(
    st.integers(1, 10**10),
    st.fractions(Fraction(1, 10**8), Fraction(10**6)),
    st.integers(0, 5_000),
    st.sampled_from(["ETH", "JPY", "USDC"]),
    st.lists(st.integers(1, 10**6), min_size=1, max_size=4),
)
def test_parts_never_yield_more_than_the_price(
    price_minor: int, per_euro: Fraction, margin_bps: int, currency: str, parts: list[int]
) -> None:
    priced = fixed(price_minor, per_euro, margin_bps, currency=currency)
    if not isinstance(priced, PricedAmount):
        return
    amount_minor, price = priced.amount_minor, priced.price
    whole = exchange_at_fixed_rate(price, currency, amount_minor, amount_minor)
    assert whole is not None
    assert whole.to_amount_minor == price_minor
    assert 0 <= whole.fee_minor < whole.from_amount_minor
    given_minor = [max(1, amount_minor * part // sum(parts)) for part in parts]
    made = [exchange_at_fixed_rate(price, currency, amount_minor, one) for one in given_minor]
    yielded = sum(exchange.to_amount_minor for exchange in made if exchange is not None)
    assert yielded * amount_minor <= sum(given_minor) * price_minor
