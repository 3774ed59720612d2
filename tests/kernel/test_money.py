"""Amounts: what is read, what is refused, and that reading what was written gives it back."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tollhouse.kernel.catalogue.methods import Fees
from tollhouse.kernel.money import MINOR_MAX, format_minor, parse_amount, percentage

NO_AMOUNTS = [
    "0", "0.00", "-1", "+1", "4.205", "1e400", "1e3", "NaN", "Infinity", "", " ", " 4", "4 ", "4\n", "١٢", "٤.0", "².5",
    ".5", "1.", ".", "1,000", "1_000", "0x10", "1.2.3", "90071992547409.92", "9" * 19,
    "00.10", "010", "00",
]  # fmt: skip


@given(minor=st.integers(1, MINOR_MAX), decimals=st.integers(0, 8))
def test_reading_what_was_written_gives_it_back(minor: int, decimals: int) -> None:
    written = format_minor(minor, decimals)
    assert parse_amount(written, decimals) == minor
    assert len(written.partition(".")[2]) == decimals


@given(minor=st.integers(-MINOR_MAX, -1), decimals=st.integers(0, 8))
def test_a_negative_amount_is_written_and_never_read(minor: int, decimals: int) -> None:
    assert format_minor(minor, decimals) == f"-{format_minor(-minor, decimals)}"
    assert parse_amount(format_minor(minor, decimals), decimals) is None


@pytest.mark.long
@given(text=st.text(max_size=30), decimals=st.integers(0, 8))
def test_whatever_is_read_is_above_zero_and_within_bounds(text: str, decimals: int) -> None:
    minor = parse_amount(text, decimals)
    assert minor is None or 0 < minor <= MINOR_MAX


@pytest.mark.parametrize("text", NO_AMOUNTS)
def test_what_is_no_amount(text: str) -> None:
    assert parse_amount(text, 2) is None


@pytest.mark.parametrize(
    ("text", "decimals", "minor"),
    [("10.50", 2, 1050), ("10.5", 2, 1050), ("10", 2, 1000), ("0.01", 2, 1), ("1500", 0, 1500), ("0.00000001", 8, 1)],
)
def test_what_is_an_amount(text: str, decimals: int, minor: int) -> None:
    assert parse_amount(text, decimals) == minor


@pytest.mark.parametrize(("text", "decimals"), [("1500.5", 0), ("1500.0", 0), ("0.000000001", 8), ("10.500", 2)])
def test_more_digits_than_the_currency_has_are_refused_never_rounded(text: str, decimals: int) -> None:
    assert parse_amount(text, decimals) is None


@pytest.mark.parametrize(
    ("minor", "basis_points", "share"),
    [
        (1050, 0, 0),
        (10_000, 290, 290),
        (10_001, 290, 291),
        (1, 1, 1),
        (49, 100, 1),
        (100, 100, 1),
        (101, 100, 2),
        (MINOR_MAX, 10_000, MINOR_MAX),
        (MINOR_MAX, 1, 900_719_925_475),
    ],
)
def test_a_share_is_rounded_up(minor: int, basis_points: int, share: int) -> None:
    assert percentage(minor, basis_points) == share


@given(minor=st.integers(1, MINOR_MAX), basis_points=st.integers(0, 10_000))
def test_a_share_is_the_least_that_is_no_less_than_its_part(minor: int, basis_points: int) -> None:
    share = percentage(minor, basis_points)
    assert Fraction(share - 1) < Fraction(minor * basis_points, 10_000) <= share <= minor
    assert (share > 0) == (basis_points > 0)


@given(
    minor=st.integers(1, MINOR_MAX),
    fixed=st.integers(0, 10_000),
    basis_points=st.integers(1, 10_000),
    minimum=st.integers(0, 10_000),
    maximum=st.none() | st.integers(1, 10_000),
)
def test_a_fee_with_a_percentage_is_between_one_and_the_amount(
    minor: int, fixed: int, basis_points: int, minimum: int, maximum: int | None
) -> None:
    fee = Fees(fixed, basis_points, minimum, maximum).of(minor)
    assert 1 <= fee <= minor
    assert maximum is None or fee <= maximum


@pytest.mark.parametrize(
    ("fees", "amount_minor", "fee_minor"),
    [
        (Fees(), 1050, 0),
        (Fees(fixed_minor=25, basis_points=290), 1050, 56),
        (Fees(basis_points=1, minimum_minor=10), 1050, 10),
        (Fees(basis_points=5_000, maximum_minor=100), 1050, 100),
        (Fees(fixed_minor=25), 10, 10),
    ],
)
def test_a_fee_is_bounded_and_never_more_than_the_amount(fees: Fees, amount_minor: int, fee_minor: int) -> None:
    assert fees.of(amount_minor) == fee_minor
