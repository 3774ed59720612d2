"""What counts as an amount that somebody typed, in either language."""

import pytest

from tests.cast import Actor
from tests.forms import post, wrong
from tests.payments.bank import sell
from tollhouse.kernel.catalogue.currencies import BUILT_IN, Currency
from tollhouse.kernel.catalogue.typed_amounts import amount_texts, read_amount
from tollhouse.kernel.money import parse_amount

EUR, JPY, USDC = (BUILT_IN[code] for code in ("EUR", "JPY", "USDC"))
KWD = Currency(code="KWD", name="Kuwaiti dinar", type="fiat", decimals=3, symbol="KWD")


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("24.90", "24.90"),
        ("24,90", "24.90"),
        ("24,9", "24.9"),
        ("1234", "1234"),
        ("1.234,56", "1234.56"),
        ("1,234.56", "1234.56"),
        ("1 234,56", "1234.56"),
        ("1\N{NO-BREAK SPACE}234,56\N{NO-BREAK SPACE}€", "1234.56"),
        ("1\N{NARROW NO-BREAK SPACE}234.56", "1234.56"),
        ("1'234.56", "1234.56"),
        ("1,234,567", "1234567"),
        ("1.234.567,8", "1234567.8"),
        ("€24.90", "24.90"),
        ("24.90 EUR", "24.90"),
        (" 24,90 eur ", "24.90"),
        ("0,125", "0.125"),
        ("1234,567", "1234.567"),
        ("1,0000", "1.0000"),
    ],
)
def test_an_amount_that_can_mean_one_thing_is_understood(typed: str, meant: str) -> None:
    assert read_amount(typed, EUR) == meant


@pytest.mark.parametrize(
    "typed", ["", ",5", "5,", "1,2,3", "1,234.56,7", "12,34.5", "-5", "1e3", "24.90 USD", "$5", "\u0661\u0662", "EUR"]
)
def test_other_texts_are_left_to_be_refused(typed: str) -> None:
    assert read_amount(typed, EUR) == typed


@pytest.mark.parametrize(
    ("typed", "currency", "said"),
    [
        ("1,234", EUR, "This can mean 1234.00 or 1.234."),
        ("€1.234", EUR, "This can mean 1234.00 or 1.234."),
        ("12.345", None, "This can mean 12345.00 or 12.345."),
        ("1.234", USDC, "This can mean 1234.000000 or 1.234000."),
    ],
)
def test_an_amount_that_can_mean_two_things_is_an_error_that_names_both(
    typed: str, currency: Currency | None, said: str
) -> None:
    assert parse_amount(read_amount(typed, currency), 6) is None
    texts = amount_texts(currency, threshold=typed, amount="1.23")
    assert {name: str(text) for name, text in texts.items()} == {
        ("threshold", "invalid_amount"): f"{said} Enter the amount without a thousands separator."
    }


def test_the_decimals_of_the_currency_decide_what_three_digits_are() -> None:
    assert (read_amount("1.234", KWD), read_amount("1,234", KWD)) == ("1.234", "1.234")
    assert (read_amount("1.234", JPY), read_amount("1,234", JPY)) == ("1234", "1234")


async def test_every_form_says_so_at_its_field(alice: Actor) -> None:
    paid = await sell(alice, amount="30.00")
    rule = {"from_currency": "EUR", "to_currency": "USD", "trigger": "on_threshold", "percent": "40"}
    for path, field, more in (
        ("payment-links/new", "amount", {"currency": "EUR", "display_name": "Coffee", "key": paid["id"]}),
        ("withdrawals/new/sandbox:EUR", "amount", {"receiver": "Nina"}),
        ("conversions/new", "amount", {"from_currency": "EUR", "to_currency": "USD"}),
        ("conversions/new", "to_amount", {"from_currency": "EUR", "to_currency": "USD"}),
        ("conversions/rules", "threshold", rule),
        (f"payments/{paid['id']}/refund", "amount", {"reason": "duplicate"}),
    ):
        page = await post(alice, f"/test/{path}", 422, **{field: "1,234"}, **more)
        assert wrong(page)[field].startswith("This can mean 1,234.00 or 1.234."), path
        assert 'value="1,234"' in page.text, path


async def test_reviews_carry_what_was_typed(alice: Actor) -> None:
    await sell(alice, amount="2000.00")
    page = await post(
        alice, "/test/withdrawals/new/sandbox:EUR", 200, amount="1.234,56 €", receiver="Nina", network_fee_mode="deduct"
    )
    assert "Withdraw €1,234.56" in page.text
    page = await post(alice, "/test/conversions/new", 200, from_currency="EUR", to_currency="USD", amount="€1,000.00")
    assert "Convert €1,000.00" in page.text
