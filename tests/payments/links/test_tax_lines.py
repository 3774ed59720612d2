"""Taxes that a payment link includes: in the API, in the form, at checkout, and in the database."""

from typing import Any

import asyncpg
import pytest

from tests.cast import Actor
from tests.forms import hidden, post, seen, wrong
from tests.payments.shop import COFFEE, open_link, pay, visit

VAT = {"name": "VAT 19%", "amount": "0.67"}
NEW = "/test/payment-links/new"


async def test_a_link_includes_taxes(alice: Actor) -> None:
    link = await open_link(alice, tax_lines=[VAT, {"name": "Cup deposit tax", "amount": "0.1"}])
    assert link["tax_lines"] == [
        {"name": "VAT 19%", "amount": "0.67", "amount_minor": 67},
        {"name": "Cup deposit tax", "amount": "0.10", "amount_minor": 10},
    ]
    assert (await alice.get(f"/payment-links/{link['id']}")).ok().body == link
    page = (await visit(link, alice)).ok().text
    for shown in ("Net amount", "€3.43", "VAT 19%", "€0.67", "Cup deposit tax", "€0.10", "Total"):
        assert shown in page, shown
    assert "Includes VAT 19%" in await seen(alice, f"/test/payment-links/{link['id']}")
    assert (await open_link(alice))["tax_lines"] == []
    assert (await open_link(alice, tax_lines=None))["tax_lines"] == []


TAXES: list[tuple[dict[str, Any], dict[str, str]]] = [
    ({"tax_lines": [VAT] * 11}, {"tax_lines": "invalid_value"}),
    ({"tax_lines": [VAT | {"amount": "4.21"}]}, {"tax_lines": "out_of_range"}),
    ({"tax_lines": [VAT | {"amount": "4"}, VAT]}, {"tax_lines": "out_of_range"}),
    ({"tax_lines": [VAT | {"amount": "0"}]}, {"tax_lines.0.amount": "invalid_amount"}),
    ({"tax_lines": [VAT, VAT | {"amount": "0.001"}]}, {"tax_lines.1.amount": "invalid_amount"}),
    ({"tax_lines": [VAT | {"amount": 0.67}]}, {"tax_lines.0.amount": "invalid_amount"}),
    ({"tax_lines": [VAT | {"name": " "}]}, {"tax_lines.0.name": "invalid_value"}),
    ({"tax_lines": [VAT | {"name": "x" * 61}]}, {"tax_lines.0.name": "invalid_value"}),
    ({"tax_lines": [VAT | {"name": "V\u202eAT"}]}, {"tax_lines.0.name": "invalid_value"}),
    ({"tax_lines": [{"name": "VAT"}]}, {"tax_lines.0.amount": "missing"}),
    ({"tax_lines": VAT}, {"tax_lines": "invalid_type"}),
    ({"currency": "JPY", "amount": "420", "tax_lines": [VAT]}, {"tax_lines.0.amount": "invalid_amount"}),
]


async def test_a_tax_is_part_of_the_amount(alice: Actor) -> None:
    for changes, expected in TAXES:
        assert (await alice.post("/payment-links", COFFEE | changes)).field_errors() == expected, changes


async def test_the_whole_amount_can_be_tax(alice: Actor) -> None:
    assert (await open_link(alice, tax_lines=[VAT | {"amount": "4.20"}]))["tax_lines"][0]["amount_minor"] == 420


async def test_another_tax_is_another_request(alice: Actor) -> None:
    first = (await alice.post("/payment-links", COFFEE | {"tax_lines": [VAT]}, key="tax-1")).ok(201).body
    assert (await alice.post("/payment-links", COFFEE | {"tax_lines": [VAT]}, key="tax-1")).ok(201).body == first
    (await alice.post("/payment-links", COFFEE, key="tax-1")).refused("idempotency_key_reused", 422)


async def test_the_database_accepts_no_more_tax_than_the_amount(alice: Actor) -> None:
    link = await open_link(alice)
    for lines in ('[{"name": "VAT", "amount_minor": 421}]', "{}", "[" + ",".join(['{"amount_minor": 1}'] * 11) + "]"):
        with pytest.raises(asyncpg.PostgresError):
            await alice.sql("UPDATE payment_links SET tax_lines = $1::jsonb WHERE id = $2::uuid", lines, link["id"])


async def made(actor: Actor, **tax: str) -> dict[str, Any]:
    fields = hidden((await actor.send("GET", NEW)).ok())
    typed = {"display_name": "Game", "amount": "64,90", "currency": "EUR", "max_payments": "1"}
    where = (await post(actor, NEW, 303, **fields | typed | tax)).location
    return (await actor.get(f"/payment-links/{where.rpartition('/')[2]}")).ok().body


@pytest.mark.parametrize(
    ("tax", "line"),
    [
        ({"tax_name": "VAT", "tax_rate": "19"}, ("VAT 19%", "10.36")),
        ({"tax_name": "USt", "tax_rate": "7,5 %"}, ("USt 7,5%", "4.53")),
        ({"tax_name": "VAT", "tax_amount": "10,36"}, ("VAT", "10.36")),
        ({"tax_name": "VAT", "tax_rate": "19", "tax_amount": "10.35"}, ("VAT 19%", "10.35")),
    ],
)
async def test_the_form_computes_the_tax(alice: Actor, tax: dict[str, str], line: tuple[str, str]) -> None:
    assert [(tax_line["name"], tax_line["amount"]) for tax_line in (await made(alice, **tax))["tax_lines"]] == [line]


@pytest.mark.parametrize(
    ("tax", "field"),
    [
        ({"tax_name": "VAT", "tax_rate": "0"}, "tax_rate"),
        ({"tax_name": "VAT", "tax_rate": "100"}, "tax_rate"),
        ({"tax_name": "VAT", "tax_rate": "a lot"}, "tax_rate"),
        ({"tax_rate": "19"}, "tax_name"),
        ({"tax_name": "VAT"}, "tax_amount"),
        ({"tax_name": "VAT", "tax_amount": "70"}, "tax_amount"),
    ],
)
async def test_what_is_wrong_with_a_tax_is_said_at_its_field(alice: Actor, tax: dict[str, str], field: str) -> None:
    fields = hidden((await alice.send("GET", NEW)).ok())
    typed = {"display_name": "Game", "amount": "64.90", "currency": "EUR", "max_payments": "1"}
    assert wrong(await post(alice, NEW, 422, **fields | typed | tax)).keys() == {field}


async def test_a_paid_link_shows_its_taxes(alice: Actor) -> None:
    link = await open_link(alice, tax_lines=[VAT])
    await pay(link)
    assert "VAT 19%" in (await visit(link, alice)).ok().text


async def test_a_wrong_rate_is_named_with_all_other_errors(alice: Actor) -> None:
    fields = hidden((await alice.send("GET", NEW)).ok())
    typed = {"display_name": "", "amount": "x", "currency": "EUR", "max_payments": "0", "webhook_url": "ftp://x"}
    answer = await post(alice, NEW, 422, **fields | typed | {"tax_name": "VAT", "tax_rate": "x", "success_url": "x"})
    assert wrong(answer).keys() == {"display_name", "amount", "max_payments", "webhook_url", "tax_rate", "success_url"}
    assert "`errors`" not in answer.text
