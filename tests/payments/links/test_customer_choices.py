"""Links whose price the customer chooses: the quantity or the amount, within bounds, by every door."""

import asyncio
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import pytest

from tests.cast import Actor, Answer, post_form
from tests.forms import hidden, post, seen, wrong
from tests.invariants import broken_invariants, last_id
from tests.payments.links.test_line_items import BUN, ORDER
from tests.payments.links.test_tax_lines import NEW, VAT
from tests.payments.shop import COFFEE, open_link, simulate, visit
from tests.payments.transactions.test_other_currencies import ETHER, accept_currencies, transactions
from tollhouse.http.services import Services
from tollhouse.payments.transactions import link_closing

CUPS = {"quantity": {"min": 1, "max": 10}}
GIFT = {"min": "1.00", "max": "500.00", "preset": "10"}
LARGEST = "90071992547409.91"


async def open_gift(alice: Actor, **changes: Any) -> dict[str, Any]:
    """A link whose amount the customer chooses."""
    return (await alice.post("/payment-links", ORDER | {"customer_amount": GIFT} | changes)).ok(201).body


async def choose(link: dict[str, Any], method_id: str = "sandbox:EUR", /, **fields: str) -> Answer:
    """Choose a price and how to pay."""
    return await post_form(f"{link['url']}/method", {"method_id": method_id} | fields)


async def begin(link: dict[str, Any], method_id: str = "sandbox:EUR", /, **fields: str) -> str:
    """The ID of the payment that is shown afterwards."""
    return (await choose(link, method_id, **fields)).ok(303).location.rpartition("payment=")[2]


async def payment(alice: Actor, payment_id: str) -> dict[str, Any]:
    """The transaction."""
    return (await alice.get(f"/transactions/{payment_id}")).ok().body


async def test_links_say_what_customers_can_choose(alice: Actor) -> None:
    cups, gift = await open_link(alice, quantity={"max": 10}), await open_gift(alice)
    assert (cups["amount"], cups["quantity"], cups["customer_amount"]) == ("4.20", {"min": 1, "max": 10}, None)
    amounts = {
        "min": "1.00",
        "min_minor": 100,
        "max": "500.00",
        "max_minor": 50_000,
        "preset": "10.00",
        "preset_minor": 1_000,
    }
    assert (gift["amount"], gift["quantity"], gift["customer_amount"]) == ("10.00", None, amounts)
    without = await open_gift(alice, customer_amount={"min": "1", "max": LARGEST})
    assert (without["amount"], without["customer_amount"]["preset"]) == ("1.00", None)
    for link in (cups, gift, without):
        assert (await alice.get(f"/payment-links/{link['id']}")).ok().body == link


REFUSED: list[tuple[dict[str, Any], dict[str, str]]] = [
    (COFFEE | {"quantity": {"min": 1}}, {"quantity.max": "missing"}),
    (COFFEE | {"quantity": {"min": 0, "max": 1}}, {"quantity.min": "out_of_range"}),
    (COFFEE | {"quantity": {"max": 10_001}}, {"quantity.max": "out_of_range"}),
    (COFFEE | {"quantity": {"min": 3, "max": 2}}, {"quantity.max": "out_of_range"}),
    (COFFEE | {"quantity": {"max": 2}, "amount": LARGEST}, {"quantity.max": "out_of_range"}),
    (ORDER | {"quantity": {"max": 2}, "line_items": [BUN]}, {"quantity": "invalid_value"}),
    (ORDER | {"quantity": {"max": 2}}, {"amount": "missing"}),
    (COFFEE | {"customer_amount": GIFT}, {"customer_amount": "invalid_value"}),
    (ORDER | {"customer_amount": GIFT, "tax_lines": [VAT]}, {"tax_lines": "invalid_value"}),
    (ORDER | {"customer_amount": GIFT, "line_items": [BUN]}, {"line_items": "invalid_value"}),
    (ORDER | {"customer_amount": GIFT} | CUPS, {"quantity": "invalid_value"}),
    (ORDER | {"customer_amount": {"min": "1"}}, {"customer_amount.max": "missing"}),
    (ORDER | {"customer_amount": GIFT | {"min": "0"}}, {"customer_amount.min": "invalid_amount"}),
    (ORDER | {"customer_amount": GIFT | {"max": "0.99"}}, {"customer_amount.max": "out_of_range"}),
    (ORDER | {"customer_amount": GIFT | {"preset": "500.01"}}, {"customer_amount.preset": "out_of_range"}),
    (ORDER | {"customer_amount": GIFT | {"preset": "0.001"}}, {"customer_amount.preset": "invalid_amount"}),
]


async def test_choices_have_bounds(alice: Actor) -> None:
    for body, expected in REFUSED:
        found = (await alice.post("/payment-links", body)).field_errors()
        assert {name: code for name, code in found.items() if name in expected} == expected, body


async def test_customers_choose_how_many(alice: Actor) -> None:
    since, link = last_id(), await open_link(alice, **CUPS, tax_lines=[VAT], max_payments=None)
    page = (await visit(link, alice)).ok().text
    for shown in ('name="quantity" value="1"', "From 1 to 10, at €4.20 each.", "€3.53", "€0.67"):
        assert shown in page, shown
    path = link["url"].removeprefix(alice.service.url)
    updated = (await alice.anonymously("GET", f"{path}?quantity=3", headers={"Accept": "text/html"})).ok().text
    for shown in ('name="quantity" value="3"', "3 \N{MULTIPLICATION SIGN} Coffee", "€12.60", "€10.59", "€2.01"):
        assert shown in updated, shown
    bought = await begin(link, quantity="3")
    assert "€12.60" in (await visit(link | {"url": f"{link['url']}?payment={bought}"}, alice)).ok().text
    (await simulate(link, payment=bought)).ok(303)
    paid = await payment(alice, bought)
    assert (paid["status"], paid["amount"], paid["quantity"]) == ("succeeded", "12.60", 3)
    receipt = (await visit(link | {"url": f"{link['url']}?payment={bought}"}, alice)).ok().text.partition('id="receipt"')[2]
    for shown in ("3 \N{MULTIPLICATION SIGN} Coffee", "€10.59", "€2.01", "Total paid", "€12.60"):
        assert shown in receipt, shown
    kept = (await alice.get(f"/payment-links/{link['id']}")).ok().body
    assert (kept["payments_count"], kept["amount_paid"]) == (1, "12.60")
    assert await broken_invariants(alice.service.dsn, since) == []


async def test_customers_choose_the_amount(alice: Actor) -> None:
    since, link = last_id(), await open_gift(alice, customer_amount={"min": "1.00", "max": "500.00"}, max_payments=None)
    path = link["url"].removeprefix(alice.service.url)
    first = (await visit(link, alice)).ok().text
    assert "From €1.00 to €500.00." in first
    assert "method_id" not in first, "the methods depend on the amount"
    assert "sandbox:EUR" in (await alice.anonymously("GET", f"{path}?amount=7,5", headers={"Accept": "text/html"})).ok().text
    given = await begin(link, amount="7,5")
    (await simulate(link, payment=given)).ok(303)
    paid = await payment(alice, given)
    assert (paid["status"], paid["amount"], paid["quantity"]) == ("succeeded", "7.50", None)
    assert (await alice.get(f"/payment-links/{link['id']}")).ok().body["amount_paid"] == "7.50"
    assert await broken_invariants(alice.service.dsn, since) == []


async def test_no_door_leads_to_another_price(alice: Actor) -> None:
    cups, gift, coffee = await open_link(alice, **CUPS), await open_gift(alice), await open_link(alice)
    for link, field, typed in (
        *((cups, "quantity", one) for one in ("0", "11", "-1", "1.5", "", "two", "9999999", "\u0663")),
        *((gift, "amount", one) for one in ("0.99", "500.01", "0", "", "-5", "5.001", "1,234", "1e2", LARGEST, "9" * 40)),
    ):
        assert wrong((await choose(link, **{field: typed})).ok(422)).keys() == {field}, typed
        shown = await visit(link | {"url": f"{link['url']}?{field}={typed}"}, alice)
        assert not typed or wrong(shown.ok(422)).keys() == {field}, typed
    for link, fields in ((cups, {}), (cups, {"amount": "0.01"}), (gift, {}), (gift, {"quantity": "2"})):
        (await choose(link, **fields)).ok(422)
    for link in (cups, gift):
        assert await transactions(alice, link) == []
    assert (await payment(alice, await begin(coffee, amount="0.01", quantity="9")))["amount"] == "4.20"
    for link, body in ((cups, {"quantity": 11}), (cups, {"customer_amount": "1"}), (coffee, {"customer_amount": "4.20"})):
        answer = await alice.post(f"/test/payment-links/{link['id']}/simulate", {"outcome": "succeed"} | body)
        assert list(answer.field_errors().values()) == ["out_of_range"], body
    for link, body, amount in (
        (cups, {"quantity": 10}, "42.00"),
        (gift, {"customer_amount": "2.5"}, "2.50"),
        (gift, {}, "10.00"),
    ):
        answer = await alice.post(f"/test/payment-links/{link['id']}/simulate", {"outcome": "processing"} | body)
        assert answer.ok().body["amount"] == amount


async def test_the_database_refuses_another_price(alice: Actor) -> None:
    cups, gift = await open_link(alice, **CUPS), await open_gift(alice)
    bought, given = await begin(cups, quantity="2"), await begin(gift, amount="5")
    copy = (
        "INSERT INTO transactions SELECT (jsonb_populate_record(t, jsonb_build_object('id', gen_random_uuid(),"
        " 'rail_reference', gen_random_uuid()) || $2::jsonb)).* FROM transactions t WHERE t.id = $1::uuid"
    )
    for payment_id, other in (
        (bought, '{"amount_minor": 841}'),
        (bought, '{"quantity": 11, "amount_minor": 4620}'),
        (bought, '{"quantity": null, "amount_minor": 420}'),
        (given, '{"amount_minor": 99}'),
        (given, '{"amount_minor": 50001}'),
        (given, '{"quantity": 1}'),
    ):
        with pytest.raises(asyncpg.CheckViolationError, match="is not for an amount of its link"):
            await alice.sql(copy, payment_id, other)
    await alice.sql(copy, given, '{"amount_minor": 50000}')
    for link, change in (
        (cups, "quantity_max = NULL"),
        (cups, "quantity_min = 11"),
        (cups, "amount_minor = 9007199254740991"),
        (gift, "customer_amount_min = 1001"),
        (gift, "customer_amount_max = 999"),
        (gift, "customer_amount_preset = 999"),
        (gift, "quantity_min = 1, quantity_max = 2"),
    ):
        with pytest.raises(asyncpg.CheckViolationError):
            await alice.sql(f"UPDATE payment_links SET {change} WHERE id = $1::uuid", link["id"])  # noqa: S608


async def test_a_part_for_one_amount_never_counts_for_another(alice: Actor, services: Services) -> None:
    since, link = last_id(), await open_gift(alice)
    small = await begin(link, amount="5")
    assert await begin(link, amount="5.00") == small, "the same amount is the same payment"
    large = await begin(link, amount="10")
    assert large != small
    (await simulate(link, "underpay", payment=small, amount="2.00")).ok(303)
    assert await begin(link, amount="7") == small, "money for it has arrived: nobody is asked for another amount"
    (await simulate(link, "underpay", payment=large, amount="9.00")).ok(303)
    for payment_id, received in ((small, 200), (large, 900)):
        found = await payment(alice, payment_id)
        assert (found["status"], found["amount_received_minor"]) == ("pending", received)
    (await simulate(link, payment=large)).ok(303)
    paid = await payment(alice, large)
    assert (paid["status"], paid["amount_received"], paid["overpaid_minor"]) == ("succeeded", "10.00", 0)
    kept = (await alice.get(f"/payment-links/{link['id']}")).ok().body
    assert (kept["status"], kept["amount_paid"], kept["payments_count"]) == ("completed", "10.00", 1)
    await link_closing.close_links(services)
    left = await payment(alice, small)
    assert (left["status"], left["refund_required_reason"]) == ("refund_required", "duplicate")
    assert (left["refund_required_amount"], left["net_minor"]) == ("2.00", 0)
    assert await broken_invariants(alice.service.dsn, since) == []


async def test_two_customers_choose_at_once(alice: Actor) -> None:
    since, link = last_id(), await open_gift(alice, max_payments=2)
    begun = await asyncio.gather(*(begin(link, amount=amount) for amount in ("3", "4")))
    assert len(set(begun)) == 2
    assert "0 of 2 payments made" in (await visit(link, alice)).ok().text
    await asyncio.gather(*(simulate(link, payment=one) for one in begun))
    assert [(await payment(alice, one))["amount_received"] for one in begun] == ["3.00", "4.00"]
    kept = (await alice.get(f"/payment-links/{link['id']}")).ok().body
    assert (kept["status"], kept["amount_paid"]) == ("completed", "7.00")
    single = await open_gift(alice)
    raced = await asyncio.gather(*(begin(single, amount=amount) for amount in ("3", "4")))
    await asyncio.gather(*(simulate(single, payment=outcome) for outcome in raced))
    found = [await payment(alice, outcome) for outcome in raced]
    assert sorted(transaction["status"] for transaction in found) == ["refund_required", "succeeded"]
    [first] = [transaction for transaction in found if transaction["status"] == "succeeded"]
    assert (await alice.get(f"/payment-links/{single['id']}")).ok().body["amount_paid"] == first["amount"]
    assert await broken_invariants(alice.service.dsn, since) == []


async def test_the_price_can_be_chosen_again_until_money_is_seen(alice: Actor) -> None:
    link = await open_gift(alice)
    first = await begin(link, amount="5")
    shown = (await visit(link, alice)).ok().text
    assert f"{link['url'].rpartition('/')[2]}?change=1&amp;amount=5.00" in shown
    again = (await visit(link | {"url": f"{link['url']}?change=1&amount=6"}, alice)).ok().text
    assert 'name="amount" value="6.00"' in again
    second = await begin(link, amount="6")
    assert second != first
    (await simulate(link, "processing", payment=second)).ok(303)
    detected = (await visit(link | {"url": f"{link['url']}?change=1"}, alice)).ok().text
    assert "Payment detected" in detected
    assert await begin(link, amount="8") == f"/pay/{link['url'].rpartition('/')[2]}", "its page is shown as it is"
    coffee = await open_link(alice)
    await begin(coffee)
    assert "change=1" not in (await visit(coffee, alice)).ok().text


async def test_another_currency_has_the_chosen_price(alice: Actor) -> None:
    await accept_currencies(alice, "ETH")
    since, link = last_id(), await open_link(alice, **CUPS)
    bought = await begin(link, ETHER, quantity="2")
    first = await payment(alice, bought)
    assert (first["price"]["amount"], first["currency"], first["quantity"]) == ("8.40", "ETH", 2)
    (await alice.post("/test/clock/advance", {"seconds": 900})).ok()
    assert 'type="hidden" name="quantity" value="2"' in (await visit(link, alice)).ok().text
    renewed = await begin(link, ETHER, quantity="2")
    assert renewed != bought
    (await simulate(link, payment=renewed)).ok(303)
    assert (await payment(alice, renewed))["price"]["amount"] == "8.40"
    assert (await alice.get(f"/payment-links/{link['id']}")).ok().body["amount_paid"] == "8.40"
    assert await broken_invariants(alice.service.dsn, since) == []


async def test_so_many_prices_are_open_and_no_more(alice: Actor) -> None:
    link = await open_gift(alice, max_payments=None)
    await begin(link, amount="1")
    await alice.sql(
        "INSERT INTO transactions SELECT (jsonb_populate_record(t, jsonb_build_object('id', gen_random_uuid(),"
        " 'rail_reference', gen_random_uuid(), 'amount_minor', 100 + n))).* FROM transactions t, generate_series(1, 99) n"
        " WHERE t.payment_link_id = $1::uuid",
        UUID(link["id"]),
    )
    refused = await choose(link, amount="50")
    assert (refused.status, int(refused.headers["Retry-After"]) <= 3_600) == (429, True)
    assert await begin(link, amount="1.99")
    await alice.sql(
        "UPDATE transactions SET created_at = created_at - interval '61 min' WHERE payment_link_id = $1::uuid",
        UUID(link["id"]),
    )
    assert (await payment(alice, await begin(link, amount="50")))["amount"] == "50.00"
    rows = await alice.sql("SELECT count(*) FROM transactions WHERE payment_link_id = $1::uuid", UUID(link["id"]))
    assert rows[0]["count"] == 101


async def test_the_form_lets_customers_choose(alice: Actor) -> None:
    fields = hidden((await alice.send("GET", NEW)).ok())
    typed = {"display_name": "Game", "currency": "EUR", "max_payments": ""}
    for choice, member, expected in (
        ({"amount": "5", "quantity_max": "7"}, "quantity", {"min": 1, "max": 7}),
        ({"amount_min": "1", "amount_max": "1.000,00"}, "customer_amount", ("1.00", "1000.00", None)),
        ({"amount": "20", "amount_min": "1", "amount_max": "50"}, "customer_amount", ("1.00", "50.00", "20.00")),
    ):
        answer = await post(alice, NEW, 303, **fields | typed | choice | {"key": str(uuid4())})
        made = (await alice.get(f"/payment-links/{answer.location.rpartition('/')[2]}")).ok().body[member]
        assert (made if member == "quantity" else (made["min"], made["max"], made["preset"])) == expected
        await seen(alice, answer.location)
    listed = await seen(alice, "/test/payment-links")
    assert "from €1.00" in listed
    assert "€5.00 each" in listed
    for choice, field in (
        ({"amount": "5", "quantity_min": "7"}, "quantity_max"),
        ({"amount": "5", "quantity_max": "many"}, "quantity_max"),
        ({"amount": "60", "amount_min": "1", "amount_max": "50"}, "amount"),
        ({"amount_min": "1"}, "amount_max"),
        ({"amount_max": "1,234", "amount_min": "1"}, "amount_max"),
    ):
        assert wrong(await post(alice, NEW, 422, **fields | typed | choice)).keys() == {field}, choice
