"""The payment file is valid by its schema, whatever names and words are in it, and the same for the same batch."""

from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.bank.camt import CUSTOMER_IBAN
from tests.bank.steps import ACCOUNT
from tests.bank.test_payouts import said
from tollhouse.kernel import clock
from tollhouse.rails.bank.batch import EVERY_BANK_READS, Batch, Transfer, plain, write
from tollhouse.rails.bank.transfer import BankAccount

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
