"""What a payment link sells, line by line: in the API, in the form, at checkout, on the receipt, and in the database."""

from typing import Any

import asyncpg
import pytest

from tests.cast import Actor
from tests.forms import hidden, post, seen, wrong
from tests.payments.links.test_tax_lines import NEW, VAT
from tests.payments.shop import COFFEE, open_link, pay, visit

ESPRESSO = {"name": "Espresso", "quantity": 2, "unit_amount": "2.10"}
BUN = {"name": "Bun", "unit_amount": "0.5"}
ORDER = {name: value for name, value in COFFEE.items() if name != "amount"}


async def test_a_link_lists_what_it_sells(alice: Actor) -> None:
    link = (await alice.post("/payment-links", ORDER | {"line_items": [ESPRESSO, BUN], "tax_lines": [VAT]})).ok(201).body
    assert (link["amount"], link["amount_minor"]) == ("4.70", 470)
    prices = {"unit_amount": "2.10", "unit_amount_minor": 210, "amount": "4.20", "amount_minor": 420}
    assert link["line_items"][0] == {"name": "Espresso", "quantity": 2} | prices
    assert [(line_item["quantity"], line_item["amount"]) for line_item in link["line_items"]] == [(2, "4.20"), (1, "0.50")]
    assert (await alice.get(f"/payment-links/{link['id']}")).ok().body == link
    for shown in (
        "2 \N{MULTIPLICATION SIGN} Espresso",
        "€4.20",
        "1 \N{MULTIPLICATION SIGN} Bun",
        "€0.50",
        "Net amount",
        "VAT 19%",
        "Total",
        "€4.70",
    ):
        assert shown in (await visit(link, alice)).ok().text, shown
    assert "2 \N{MULTIPLICATION SIGN} Espresso" in await seen(alice, f"/test/payment-links/{link['id']}")
    await pay(link)
    receipt = (await visit(link, alice)).ok().text.partition('id="receipt"')[2]
    for shown in ("2 \N{MULTIPLICATION SIGN} Espresso", "1 \N{MULTIPLICATION SIGN} Bun", "€0.50", "Total paid", "€4.70"):
        assert shown in receipt, shown
    assert (await open_link(alice))["line_items"] == []
    assert (await open_link(alice, line_items=[ESPRESSO]))["amount"] == "4.20"
    free = {"name": "Water", "quantity": 10_000, "unit_amount": "0"}
    assert (await open_link(alice, line_items=[ESPRESSO, free]))["line_items"][1]["amount_minor"] == 0


ITEMS: list[tuple[dict[str, Any], dict[str, str]]] = [
    ({}, {"amount": "missing"}),
    ({"amount": None, "line_items": [ESPRESSO]}, {"amount": "invalid_amount"}),
    ({"amount": "4.21", "line_items": [ESPRESSO]}, {"line_items": "out_of_range"}),
    ({"line_items": [ESPRESSO | {"unit_amount": "0"}]}, {"line_items": "out_of_range"}),
    ({"line_items": [ESPRESSO | {"unit_amount": "90071992547409.91"}]}, {"line_items": "out_of_range"}),
    ({"line_items": [BUN] * 101}, {"line_items": "invalid_value"}),
    ({"line_items": [BUN | {"unit_amount": "-0.10"}]}, {"line_items.0.unit_amount": "invalid_amount"}),
    ({"line_items": [BUN, BUN | {"unit_amount": "0.001"}]}, {"line_items.1.unit_amount": "invalid_amount"}),
    ({"line_items": [BUN | {"quantity": 0}]}, {"line_items.0.quantity": "out_of_range"}),
    ({"line_items": [BUN | {"quantity": 10_001}]}, {"line_items.0.quantity": "out_of_range"}),
    ({"line_items": [BUN | {"quantity": True}]}, {"line_items.0.quantity": "invalid_type"}),
    ({"line_items": [BUN | {"name": " "}]}, {"line_items.0.name": "invalid_value"}),
    ({"line_items": [BUN | {"name": "x" * 121}]}, {"line_items.0.name": "invalid_value"}),
    ({"line_items": [BUN], "tax_lines": [VAT]}, {"tax_lines": "out_of_range"}),
]


async def test_line_items_add_up_to_the_amount(alice: Actor) -> None:
    for changes, expected in ITEMS:
        assert (await alice.post("/payment-links", ORDER | changes)).field_errors() == expected, changes


async def test_the_database_accepts_no_other_sum(alice: Actor) -> None:
    link = await open_link(alice)
    lines = ('[{"name": "Bun", "quantity": 2, "unit_amount_minor": 209}]', "{}", '[{"name": "Bun"}]')
    for items in lines:
        with pytest.raises(asyncpg.PostgresError):
            await alice.sql("UPDATE payment_links SET line_items = $1::jsonb WHERE id = $2::uuid", items, link["id"])


FORM = {"display_name": "Game", "currency": "EUR", "max_payments": "1", "item_name_2": "Game", "item_price_2": "64,90"}


async def test_the_form_sums_its_rows(alice: Actor) -> None:
    fields = hidden((await alice.send("GET", NEW)).ok())
    typed = FORM | {"item_name_4": "Card", "item_quantity_4": "3", "item_price_4": "1", "tax_name": "VAT", "tax_rate": "19"}
    where = (await post(alice, NEW, 303, **fields | typed)).location
    link = (await alice.get(f"/payment-links/{where.rpartition('/')[2]}")).ok().body
    assert [(line_item["name"], line_item["quantity"], line_item["amount"]) for line_item in link["line_items"]] == [
        ("Game", 1, "64.90"),
        ("Card", 3, "3.00"),
    ]
    assert (link["amount"], link["tax_lines"][0]["amount"]) == ("67.90", "10.84")


async def test_what_is_wrong_with_a_row_is_said_at_its_field(alice: Actor) -> None:
    fields = hidden((await alice.send("GET", NEW)).ok())
    for typed, field in (
        ({"amount": "60"}, "amount"),
        ({"item_quantity_2": "two"}, "item_quantity_2"),
        ({"item_price_2": "1,234"}, "item_price_2"),
        ({"item_price_5": "1"}, "item_name_5"),
    ):
        assert wrong(await post(alice, NEW, 422, **fields | FORM | typed)).keys() == {field}, typed
