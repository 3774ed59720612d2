"""The payment file is valid by its schema, whatever names and words are in it, and the same for the same batch."""

from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.rails.bank.camt import CUSTOMER_IBAN
from tests.rails.bank.steps import ACCOUNT
from tests.rails.bank.test_payouts import said
from tollhouse.kernel import clock
from tollhouse.kernel.bank_codes import parse_address
from tollhouse.rails.bank.files.batch import EVERY_BANK_READS, Batch, Transfer, outside_eea, plain, write
from tollhouse.rails.bank.files.transfer import BankAccount

SWISS_IBAN = "CH9300762011623852957"
ID = UUID("019a0000-0000-7000-8000-000000000000")


def batch(*transfers: Transfer, account: BankAccount = ACCOUNT) -> Batch:
    """A batch of these."""
    return Batch(ID, account, clock.now(), transfers)


@settings(deadline=None, max_examples=50)
@given(st.text(max_size=200), st.text(max_size=200), st.integers(1, 99_999_999_999))
def test_any_name_and_any_words(name: str, words: str, minor: int) -> None:
    made = batch(Transfer(ID.hex, minor, CUSTOMER_IBAN, name, words))
    [shown] = said(made, "p:Cdtr/p:Nm")
    assert 1 <= len(shown) <= 70
    assert set(shown) <= EVERY_BANK_READS
    assert write(made) == write(made)


def test_an_account_without_a_bic() -> None:
    made = batch(Transfer(ID.hex, 1, CUSTOMER_IBAN, "N", ""), account=BankAccount(ACCOUNT.iban, "Ŧøllhøuse"))
    assert said(made, "p:DbtrAgt/p:FinInstnId/p:Othr/p:Id") == ["NOTPROVIDED"]
    assert said(made, "p:Dbtr/p:Nm") == ["ollhouse"]
    assert said(made, "p:Ustrd") == []


def test_the_address_is_structured() -> None:
    address = parse_address("Königstraße 7; 10115; Berlin; DE")
    made = batch(Transfer(ID.hex, 1, SWISS_IBAN, "N", ""), account=BankAccount(ACCOUNT.iban, "Tollhouse", None, address))
    assert [said(made, f"p:Dbtr/p:PstlAdr/p:{name}") for name in ("StrtNm", "PstCd", "TwnNm", "Ctry")] == [
        ["Konigstrasse 7"],
        ["10115"],
        ["Berlin"],
        ["DE"],
    ]
    assert parse_address(str(address)) == address


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Main Street 7",
        "a; b; c",
        "a; b; c; Germany",
        "a; b; c; de",
        "; b; c; DE",
        "a; b; c; d; DE",
        f"{'x' * 71}; b; c; DE",
    ],
)
def test_what_is_no_address(text: str) -> None:
    assert parse_address(text) is None


@pytest.mark.parametrize(
    ("iban", "is_outside"), [(SWISS_IBAN, True), ("GB29NWBK60161331926819", True), (CUSTOMER_IBAN, False)]
)
def test_which_transfers_need_an_address(iban: str, is_outside: bool) -> None:
    assert bool(outside_eea(batch(Transfer(ID.hex, 1, iban, "N", "")))) is is_outside


def test_letters_become_those_that_every_bank_reads() -> None:
    assert plain("  Æther & Straße,\nÇa/Łódź <3> €5 ", 140) == "AEther + Strasse, Ca/Lodz 3 5"
    assert plain("x" * 200, 70) == "x" * 70


@pytest.mark.parametrize(
    "transfers",
    [
        (),
        (Transfer(ID.hex, 0, CUSTOMER_IBAN, "N", ""),),
        (Transfer(ID.hex, -1, CUSTOMER_IBAN, "N", ""),),
        (Transfer(ID.hex, 1, "DE00", "N", ""),),
        (Transfer(ID.hex, 1, f"{CUSTOMER_IBAN[:4]} {CUSTOMER_IBAN[4:]}", "N", ""),),
    ],
)
def test_what_is_never_written(transfers: tuple[Transfer, ...]) -> None:
    with pytest.raises(ValueError, match=r"a (batch|transfer)"):
        write(batch(*transfers))
