"""The amounts of a receipt and of the checkout: what is added makes each total, and what a total includes is not added."""

import re
from typing import Any
from uuid import UUID

import pytest

from tests.cast import Actor
from tests.payments.bank import until
from tests.payments.receipts.paying import paid, payment_id, read, text_of
from tests.payments.receipts.test_receipts import set_legal_details
from tests.payments.shop import choose, open_link, simulate, visit
from tollhouse.http.services import Services
from tollhouse.kernel import clock
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId
from tollhouse.payments.receipts.mails import load_receipt
from tollhouse.payments.receipts.model import Receipt

LINE = re.compile(r'<div(?: class="(?P<kind>[a-z ]+)")?><dt[^>]*>(?P<label>[^<]+)</dt><dd>(?P<amount>.*?)</dd>', re.DOTALL)
SALE: dict[str, Any] = {
    "amount": "41.80",
    "line_items": [{"name": "Game", "unit_amount": "29.80"}, {"name": "Cards", "unit_amount": "12.00"}],
    "tax_lines": [{"name": "7% VAT", "amount": "2.73"}],
}


def column(part: str) -> list[tuple[str, str, str]]:
    """The kind, label and amount of each line of a sum on a page."""
    text = part.partition('class="sum"')[2].partition("</dl>")[0]
    found = LINE.finditer(text)
    return [(line["kind"] or "", line["label"], re.sub(r"<[^>]+>", "", line["amount"])) for line in found]


WHOLE = [
    ("", "1 \N{MULTIPLICATION SIGN} Game", "€29.80"),
    ("", "1 \N{MULTIPLICATION SIGN} Cards", "€12.00"),
    ("total", "Total", "€41.80"),
    ("included", "including 7% VAT", "€2.73"),
    ("included", "Net amount", "€39.07"),
]


async def test_items_add_up_to_the_total_and_taxes_are_in_it(alice: Actor) -> None:
    page = await visit(await open_link(alice, **SALE), alice)
    assert column(page.ok().text) == WHOLE
    product = page.text.partition('<ul class="order">')[2].partition("</ul>")[0]
    assert ("Coffee" in product, "41.80" in product) == (True, False)  # else it would stand in one column with the items
    page_of_receipt = await paid(alice, **SALE)
    receipt = (await read(alice, page_of_receipt)).ok().text.partition('id="receipt"')[2]
    assert column(receipt) == [(kind, "Total paid" if label == "Total" else label, text) for kind, label, text in WHOLE]
    words = await text_of(alice, page_of_receipt)
    order = [
        words.index(text) for text in ("€29.80", "€12.00", "Total paid", "€41.80", "including 7% VAT", "€2.73", "€39.07")
    ]
    assert order == sorted(order)


@pytest.mark.parametrize(
    ("outcome", "amount", "labels"),
    [
        ("succeed", None, ["Total paid"]),
        ("overpay", "50.00", ["Amount", "Total paid"]),
        ("underpay", "41.70", ["Amount", "Total paid"]),
    ],
)
async def test_each_total_is_the_sum_above_it(
    alice: Actor, services: Services, outcome: str, amount: str | None, labels: list[str]
) -> None:
    for sale in (SALE, {"amount": "41.80"}):
        receipt = await _receipt(alice, services, outcome, amount, sale)
        assert [line.label for line in receipt.lines if line.kind == "total"] == labels
        _assert_adds_up(receipt)


@pytest.mark.long
async def test_what_is_returned_is_subtracted(alice: Actor, services: Services) -> None:
    page = await paid(alice, **SALE)
    payment = payment_id(page)
    refund = (await alice.post(f"/transactions/{payment}/refunds", {"amount": "11.80"}, key="r")).ok(201).body
    await until(alice, f"/refunds/{refund['id']}", "succeeded")
    receipt = await _load(alice, services, payment)
    assert [line.amount_minor for line in receipt.lines if line.kind == "total"] == [4_180, 3_000]
    _assert_adds_up(receipt)


async def test_the_tax_number_has_its_label(alice: Actor) -> None:
    for entered, english, german in (
        ("DE123456789", "VAT ID: DE123456789", "USt-IdNr.: DE123456789"),
        ("21/815/08150", "Tax number: 21/815/08150", "Steuernummer: 21/815/08150"),
    ):
        await set_legal_details(alice, tax_id=entered)
        page = await paid(alice, **SALE)
        for language, label in (("en", english), ("de", german)):
            assert label in (await read(alice, page, language)).ok().text
            assert label in await text_of(alice, page, language)


async def _receipt(actor: Actor, services: Services, outcome: str, amount: str | None, sale: dict[str, Any]) -> Receipt:
    page = (await choose(link := await open_link(actor, **sale))).ok(303).location
    await simulate(link, outcome, payment=payment_id(page), **({} if amount is None else {"amount": amount}))
    return await _load(actor, services, payment_id(page))


async def _load(actor: Actor, services: Services, payment: str) -> Receipt:
    env = MerchantEnv(MerchantId(UUID(actor.merchant_id)), "test")
    receipt = await load_receipt(services.db, env, UUID(payment), clock.now())
    assert receipt is not None
    return receipt


def _assert_adds_up(receipt: Receipt) -> None:
    """What is added since the last total, and that one, is the next total."""
    total = 0
    for place, line in enumerate(receipt.lines):
        if line.kind == "addend":
            total += line.amount_minor
        elif line.kind == "total" and place:
            assert line.amount_minor == total, line
        elif line.kind == "total":
            total = line.amount_minor
