"""The form of a withdrawal: earlier recipients, the largest amount, and the summary of the costs."""

import re
from typing import Any, get_args

import msgspec
import pytest
from playwright.async_api import Browser, expect

from tests.browser import WIDE, Look, by_look, in_a_browser, visitor
from tests.cast import Actor
from tests.forms import hidden, post, seen, wrong
from tests.running import Service
from tests.transfers.withdrawals.steps import BY_SEPA, TO_NINA, asked, fund, priced
from tests.transfers.withdrawals.test_rails import ACCOUNT
from tollhouse.kernel.catalogue.methods import Fees
from tollhouse.kernel.catalogue.withdrawal_methods import BUILT_IN, FeeMode, WithdrawalMethod
from tollhouse.rails.bank.files.transfer import BankTransfer
from tollhouse.transfers.withdrawals.model import largest_amount, mask, terms_of

NEW = "/test/withdrawals/new/sandbox:EUR"
SEPA = "/live/withdrawals/new/sepa:EUR"
TILE = re.compile(r'name="to" id="to-[0-9]+" value="([^"]+)"')
AMOUNT = re.compile(r'id="amount" name="amount" value="([^"]*)"')


@pytest.mark.parametrize(
    ("receiver", "kind", "shown"),
    [
        ("DE12760501010012345642", "iban", "DE12 7605 0101 •••• •••• 42"),
        ("NL91 ABNA 0417 1643 00", "iban", "NL91 ABNA 0417 •••• 00"),
        ("NO9386011117947", "iban", "NO93 8601 •••• •47"),
        ("0x71C7656EC7ab88b098defB751B7401B5f6d8976F", "evm_address", "0x71C7…d8976F"),
        ("sandbox-declined", "sandbox", "sandbox-declined"),
    ],
)
def test_account_numbers_are_masked(receiver: str, kind: str, shown: str) -> None:
    assert mask(receiver, kind) == shown  # type: ignore[arg-type]


@pytest.mark.parametrize("mode", get_args(FeeMode))
@pytest.mark.parametrize("available_minor", [0, 1, 49, 50, 51, 999, 10_000, 123_456])
def test_the_largest_amount_is_the_largest_that_the_balance_covers(mode: FeeMode, available_minor: int) -> None:
    fees = Fees(fixed_minor=30, basis_points=125, minimum_minor=40, maximum_minor=900)
    method = method_with(fees=fees, network_fee_minor=20)
    most = largest_amount(method, available_minor, mode)
    assert most == 0 or terms_of(method, most, mode).debit_minor <= available_minor
    assert terms_of(method, most + 1, mode).debit_minor > available_minor
    assert largest_amount(method_with(maximum_minor=48), available_minor, mode) == min(48, available_minor)


def method_with(**changes: Any) -> WithdrawalMethod:
    """The method of SEPA with other terms."""
    return msgspec.structs.replace(BUILT_IN["sepa:EUR"], **changes)


async def test_earlier_recipients_can_be_chosen(shop: Actor, neighbour: Actor) -> None:
    await fund(shop)
    assert 'name="to"' not in await seen(shop, NEW)
    for receiver, fields in (("Old", {}), ("Nina", {"account_holder_name": "Nina Bo", "reference": "May"}), ("Old", {})):
        await asked(shop, TO_NINA | {"receiver": receiver, "amount": "1.00", "provider_fields": fields})
    form = await seen(shop, NEW)
    first, second = TILE.findall(form)
    assert f'value="{first}" checked' in form
    assert "May" not in form
    page = await post(shop, NEW, 200, to=second, amount="10.00", network_fee_mode="deduct")
    assert "Nina Bo" in page.text
    assert 'name="provider_fields.reference"' not in page.text
    at = (await post(shop, f"{NEW}/confirm", **hidden(page))).location
    made = (await shop.get(at.removeprefix("/test"))).ok().body
    assert (made["receiver"], made["provider_fields"]) == ("Nina", {"account_holder_name": "Nina Bo"})
    again = await post(shop, NEW, 200, **hidden(page) | {"change": "yes"})
    [latest] = [match for match in TILE.findall(again.text) if match != first]
    assert f'value="{latest}" checked' in again.text
    for to in (second, "nonsense"):
        await post(neighbour, NEW, 404, to=to, amount="1.00")
    await post(shop, "/test/withdrawals/new/sandbox:USD", 404, to=second, amount="1.00")


async def test_an_earlier_recipient_that_became_invalid_is_an_error_at_the_choice(shop: Actor) -> None:
    await fund(shop)
    made = await asked(shop, {"amount": "1.00"})
    await shop.sql("UPDATE withdrawals SET receiver = 'sandbox-invalid' WHERE id = $1::uuid", made["id"])
    page = await post(shop, NEW, 422, to=made["id"], amount="10.00")
    assert wrong(page) == {"to": "Withdrawals to this recipient are not possible. Choose another recipient."}


@pytest.mark.usefixtures("line")
async def test_a_form_never_has_a_whole_account_number(rich: Actor) -> None:
    await asked(rich, BY_SEPA | {"amount": "1.00"}, mode="live")
    form = await seen(rich, SEPA)
    assert "NL91 ABNA 0417 •••• 00" in form
    assert "NL91ABNA0417164300" not in form
    assert 'id="receiver" name="receiver" type="text" value=""' in form


async def test_the_largest_amount_is_filled_in(shop: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    await fund(shop)
    priced(monkeypatch, fees=Fees(basis_points=100), network_fee_minor=50)
    kept = {"receiver": "Nina", "description": "Kept", "maximum": "yes"}
    for mode, most in (("deduct", "100.00"), ("add", "98.51"), ("", "100.00")):
        page = await post(shop, NEW, 200, network_fee_mode=mode, **kept)
        assert AMOUNT.findall(page.text) == [most]
        assert 'value="Kept"' in page.text
        await post(shop, NEW, 200, **kept | {"maximum": ""}, amount=most, network_fee_mode=mode or "deduct")
    priced(monkeypatch, daily_limit_minor=3_000)
    assert AMOUNT.findall((await post(shop, NEW, 200, **kept)).text) == ["30.00"]
    await post(shop, "/language", language="de", back="/")
    assert AMOUNT.findall((await post(shop, NEW, 200, **kept)).text) == ["30,00"]


async def test_the_summary_has_the_terms_of_a_quote(shop: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    await fund(shop)
    quotes = await shop.sql("SELECT count(*) FROM withdrawal_quotes")
    assert "Enter an amount to see the fees and what arrives." in await seen(shop, NEW)
    priced(monkeypatch, fees=Fees(basis_points=100), network_fee_minor=50, minimum_minor=500)
    form = await seen(shop, f"{NEW}?amount=10,00&network_fee_mode=add")
    for text in (
        "€9.40 arrives",
        "€10.60 leaves your balance",
        "\N{MINUS SIGN}€0.10",
        "\N{MINUS SIGN}€0.50",
        "€89.40",
        'value="add" id="add" checked',
    ):
        assert text in form
    assert "Your balance is too low." in await seen(shop, f"{NEW}?amount=100&network_fee_mode=add")
    assert "The amount is below the minimum." in await seen(shop, f"{NEW}?amount=4.99")
    await seen(shop, f"{NEW}?receiver=x", 422)
    assert await shop.sql("SELECT count(*) FROM withdrawal_quotes") == quotes


@pytest.mark.long
@in_a_browser
@by_look(WIDE)
async def test_it_is_updated_while_typing(look: Look, browser: Browser, still: Service, shop: Actor) -> None:
    await fund(shop)
    await asked(shop, {"amount": "1.00"})
    async with visitor(browser, look, still.url) as someone:
        page = someone.page
        await someone.sign_in(shop)
        await page.goto(f"{still.url}{NEW}")
        await expect(page.locator("#receiver")).to_be_hidden()
        await page.locator("#amount").press_sequentially("12.50")
        await expect(page.locator(".total")).to_contain_text("€12.50")
        await someone.see("withdrawal-form")
        await page.click("text=Use maximum")
        await expect(page.locator("#amount")).to_have_value("99.00")
        await expect(page.locator(".total")).to_contain_text("€99.00")
        await page.click("label:has-text('Another recipient')")
        await page.fill("#receiver", "Carl")
        await someone.see("withdrawal-form-recipient")
        await page.press("#amount", "Enter")
        await expect(page.get_by_role("heading", name="Confirm withdrawal")).to_be_visible()
        await expect(page.locator("main")).to_contain_text("Carl")


async def test_every_wrong_field_is_named_at_once(rich: Actor, still: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(still.rails.providers, ("bank", "live"), BankTransfer(ACCOUNT))
    fields = hidden((await rich.send("GET", SEPA)).ok())
    typed = {"amount": "0.001", "receiver": "DE89370400440532013001", "webhook_url": "ftp://x", "external_id": "x" * 500}
    named = wrong(await post(rich, SEPA, 422, **fields | typed))
    assert named.keys() >= {"amount", "receiver", "webhook_url", "external_id"}
    assert named["receiver"].startswith("The check digits of this IBAN are wrong.")
    below = wrong(await post(rich, SEPA, 422, **fields | {"amount": "0.01", "receiver": "DE8937040044053201300"}))
    assert below.keys() >= {"amount", "receiver"}
    assert below["receiver"] == "An IBAN of DE has 22 characters; this one has 21."
