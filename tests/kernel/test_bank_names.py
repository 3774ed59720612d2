"""Names that banks know: their check digits find what a hand gets wrong."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tollhouse.kernel.bank_codes import (
    REFERENCE_DIGITS,
    SEPA_IBAN_CHARS,
    creditor_reference,
    creditor_references,
    parse_bic,
    parse_iban,
)

BODIES = st.text("0123456789", min_size=REFERENCE_DIGITS, max_size=REFERENCE_DIGITS)


@pytest.mark.parametrize(
    "iban",
    [
        "DE89370400440532013000",
        "GB82WEST12345698765432",
        "FR1420041010050500013M02606",
        "NO9386011117947",
        "MT84MALT011000012345MTLCAST001S",
    ],
)
def test_accounts_as_people_write_them(iban: str) -> None:
    spaced = "\u00a0".join(iban[i : i + 4] for i in range(0, len(iban), 4))
    assert parse_iban(iban) == parse_iban(f" {iban.lower()} ") == parse_iban(spaced) == iban
    assert len(iban) == SEPA_IBAN_CHARS[iban[:2]]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "DE",
        "DE89370400440532013001",
        "DE8937040044053201300",
        "US64SVBKUS6S3300958879",
        "DE89370400440532013000\n0",
        "\uff24\uff2589370400440532013000",
        "DE8937040044053201300\u0660",
    ],
)
def test_what_is_no_account(text: str) -> None:
    assert parse_iban(text) is None


def test_banks() -> None:
    assert parse_bic(" cobadeffxxx ") == "COBADEFFXXX"
    assert parse_bic("COBADEFF") == "COBADEFF"
    assert parse_bic("COBADEF") is parse_bic("COBADEFFXX") is parse_bic("1OBADEFF") is None


def test_a_reference_of_the_standard() -> None:
    assert creditor_reference("539007547034") == "RF18539007547034"


@settings(deadline=None)
@given(BODIES, st.integers(2, 23), st.sampled_from("0123456789"))
def test_one_wrong_digit_is_found(body: str, at: int, digit: str) -> None:
    name = creditor_reference(body)
    assert creditor_references(f"for {name}.") == {name}
    wrong = name[:at] + digit + name[at + 1 :]
    assert wrong == name or creditor_references(wrong) == set()


@settings(deadline=None)
@given(BODIES, st.integers(2, 22))
def test_two_that_are_swapped_are_found(body: str, at: int) -> None:
    name = creditor_reference(body)
    swapped = name[:at] + name[at + 1] + name[at] + name[at + 2 :]
    assert swapped == name or creditor_references(swapped) == set()


def test_a_reference_is_found_however_it_is_spaced_and_whatever_is_around() -> None:
    one, two = creditor_reference("0" * 20), creditor_reference("1" * 20)
    assert creditor_references(f"re.{' '.join(one)}2026 / rf-{two[2:].replace('1', 'l')}") == {one, two}
    assert creditor_references("RF") == creditor_references("RF18539007547034") == creditor_references("") == set()
