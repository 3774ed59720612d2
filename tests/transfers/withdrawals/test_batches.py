"""Batches of withdrawals: all of them are created, or none, and errors name the row and the member."""

import asyncio
import re
from typing import Any
from uuid import uuid4

import aiohttp
import asyncpg
import pytest

from tests.cast import Actor, Answer
from tests.forms import hidden, read, seen, wrong
from tests.invariants import broken_invariants, last_id
from tests.payments.bank import purse
from tests.transfers.withdrawals.steps import TO_NINA, asked, fund, leave_unsent, priced

PATH = "/withdrawal-batches"


@pytest.fixture(autouse=True)
async def all_is_well(shop: Actor) -> object:
    """After each of these histories the books are in order."""
    began = last_id()
    yield
    assert await broken_invariants(shop.service.dsn, began) == []
    await leave_unsent(shop)


def item(amount: str = "1.00", **changes: Any) -> dict[str, Any]:
    """One withdrawal of a batch."""
    return TO_NINA | {"amount": amount} | changes


async def test_all_are_created_once(shop: Actor, neighbour: Actor) -> None:
    await fund(shop)
    body = {"items": [item(external_id="a-1"), item("2.00"), item("3.00", receiver="Otto")], "description": "May"}
    (await shop.post(PATH, body)).refused("idempotency_key_required", 400)
    key = str(uuid4())
    answers = await asyncio.gather(*(shop.post(PATH, body, key=key) for _ in range(3)))
    answers.append(await shop.post(PATH, body, key=key))
    batch = answers[-1].ok(201).body
    assert (batch["object"], batch["item_count"], batch["description"]) == ("withdrawal_batch", 3, "May")
    assert batch["statuses"] == {"approved": 3}
    [total] = batch["totals"]
    assert (total["currency"], total["amount_minor"], total["debit_minor"], total["receive"]) == ("EUR", 600, 600, "6.00")
    assert await purse(shop) == (9_400, 600, 0)
    made = [(await shop.get(f"/withdrawals/{withdrawal_id}")).ok().body for withdrawal_id in batch["withdrawal_ids"]]
    assert [(one["amount"], one["receiver"], one["batch_id"]) for one in made] == [
        ("1.00", "Nina's account", batch["id"]),
        ("2.00", "Nina's account", batch["id"]),
        ("3.00", "Otto", batch["id"]),
    ]
    listed = (await shop.get(f"/withdrawals?batch_id={batch['id']}")).ok().body["withdrawals"]
    assert {withdrawal["id"] for withdrawal in listed} == set(batch["withdrawal_ids"])
    (await shop.post(f"/withdrawals/{made[0]['id']}/cancel", key=str(uuid4()))).ok()
    after = (await shop.get(f"{PATH}/{batch['id']}")).ok().body
    assert after["statuses"] == {"approved": 2, "canceled": 1}
    assert (await shop.get(PATH)).ok().body["withdrawal_batches"] == [after]
    (await neighbour.get(f"{PATH}/{batch['id']}")).refused("not_found", 404)
    with pytest.raises(asyncpg.IntegrityConstraintViolationError):
        await shop.sql("UPDATE withdrawals SET batch_row = 9 WHERE id = $1::uuid", made[0]["id"])


async def test_one_wrong_row_and_nothing_happens(shop: Actor) -> None:
    await fund(shop, "10.00")
    await asked(shop, {"amount": "1.00", "external_id": "used"})
    before = await purse(shop)
    nina = {"name": "Nina", "method_id": "sandbox:EUR", "receiver": "Nina"}
    cooling = (await shop.post("/withdrawal-recipients", nina)).ok(201).body["id"]
    new = {"method_id": "sandbox:EUR", "amount": "1.00"}
    items = [
        item(external_id="used"),
        item("0"),
        item(receiver="sandbox-invalid"),
        item(external_id="twice"),
        item(external_id="twice"),
        new | {"recipient_id": cooling},
        new | {"recipient_id": str(uuid4())},
        item(quote_id=str(uuid4())),
        item(method_id="nothing:EUR"),
        item(),
    ]
    assert (await shop.post(PATH, {"items": items}, key=str(uuid4()))).field_errors() == {
        "items.7.quote_id": "invalid_value"
    }
    del items[7]
    assert (await shop.post(PATH, {"items": items}, key=str(uuid4()))).field_errors() == {
        "items.0.external_id": "duplicate_external_id",
        "items.1.amount": "invalid_amount",
        "items.2.receiver": "invalid_receiver",
        "items.3.external_id": "duplicate_external_id",
        "items.4.external_id": "duplicate_external_id",
        "items.5.receiver": "recipient_not_active",
        "items.6.recipient_id": "not_found",
        "items.7.method_id": "method_unavailable",
    }
    for others in ([], [item()] * 501):
        assert set((await shop.post(PATH, {"items": others}, key=str(uuid4()))).field_errors()) == {"items"}
    (await shop.post(PATH, {"items": [item("5.00")] * 2}, key=str(uuid4()))).refused("insufficient_funds", 422)
    assert await purse(shop) == before
    assert (await shop.get(PATH)).ok().body["withdrawal_batches"] == []


@pytest.mark.long
async def test_the_largest_batch(shop: Actor) -> None:
    await fund(shop, "1000.00")
    batch = (await shop.post(PATH, {"items": [item(external_id=f"row-{n}") for n in range(500)]}, key=str(uuid4()))).ok(201)
    assert batch.body["statuses"] == {"approved": 500}
    assert await purse(shop) == (50_000, 50_000, 0)


NEW = "/test/withdrawals/batches/new"
HEADER = "method_id,amount,receiver,recipient_id,account_holder_name,external_id"


async def uploaded(actor: Actor, content: str | bytes, status: int = 200) -> Answer:
    """The page after a file was uploaded."""
    form = aiohttp.FormData()
    form.add_field("file", content if isinstance(content, bytes) else content.encode(), filename="w.csv")
    return (await actor.send("POST", NEW, data=form, headers={"Accept": "text/html"})).ok(status)


async def test_a_file_is_reviewed_and_confirmed_once(shop: Actor) -> None:
    await fund(shop)
    template = (await shop.send("GET", "/test/withdrawals/batches/template.csv")).ok().text
    page = await uploaded(shop, template)
    assert "Create 2 withdrawals" in page.text
    assert "€14.20" in read(page.text)
    assert await purse(shop) == (10_000, 0, 0)
    confirmed = hidden(page)
    answers = await asyncio.gather(*(shop.form(f"{NEW}/confirm", confirmed) for _ in range(3)))
    answers.append(await shop.form(f"{NEW}/confirm", confirmed))
    at = f"/test/withdrawals/batches/{confirmed['batch_id']}"
    assert {answer.location for answer in answers} == {at}
    assert await purse(shop) == (8_580, 1_420, 0)
    details = await seen(shop, at)
    assert "Nina" in details
    assert "Otto" in details
    [one, _] = (await shop.get(f"/withdrawals?batch_id={confirmed['batch_id']}")).ok().body["withdrawals"]
    for page_with_link in (f"/test/withdrawals/{one['id']}", "/settings/audit"):
        assert f'href="{at}"' in await seen(shop, page_with_link)
    changed = await shop.form(f"{NEW}/confirm", confirmed | {"batch_id": str(uuid4()), "costs": "1:1"})
    assert changed.status == 422, "the external IDs are in use"


async def test_a_reached_daily_limit_is_named_on_the_review(shop: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    await fund(shop)
    priced(monkeypatch, daily_limit_minor=1_000)
    confirmed = hidden(await uploaded(shop, f"{HEADER}\nsandbox:EUR,6.00,Nina,,,\nsandbox:EUR,5.00,Otto,,,\n"))
    refused = await shop.form(f"{NEW}/confirm", confirmed)
    assert refused.status == 409
    assert "what is left of the method's daily limit" in read(refused.text)
    assert hidden(refused)["batch_id"] == confirmed["batch_id"]
    assert await purse(shop) == (10_000, 0, 0)


async def test_a_file_with_errors_names_row_and_column(shop: Actor) -> None:
    await fund(shop)
    semicolons = "\ufeff" + HEADER.replace(",", ";") + "\r\nsandbox:EUR;1,50;Jörg;;;\r\n"
    assert "€1.50" in read((await uploaded(shop, semicolons)).text)
    assert "€1.50" in read((await uploaded(shop, semicolons[1:].encode("cp1252"))).text)
    rows = f"{HEADER}\nsandbox:EUR,x,Nina,,,\nsandbox:EUR,1.00,sandbox-invalid,,,\nsandbox:EUR,1.00,,,,a\n"
    page = (await uploaded(shop, rows, 422)).text
    errors = re.findall(r'<td role="cell" class="num e r1">(\d+)</td><td role="cell" class="b r1 mono">(\w+)</td>', page)
    assert errors == [("2", "amount"), ("3", "receiver"), ("4", "receiver")]
    page = (await uploaded(shop, f"{HEADER}\n\n,,,,,\nsandbox:EUR,x,Nina,,,\n", 422)).text
    assert re.findall(r'<td role="cell" class="num e r1">(\d+)</td>', page) == ["4"], "empty rows count"
    files = (
        b"",
        b"\0",
        "amount\n1.00",
        HEADER,
        f"{HEADER},amount\n",
        HEADER + "\nsandbox:EUR,1.00,N,,,,,,9\n",
        b"x" * 300_000,
    )
    for content in files:
        assert set(wrong(await uploaded(shop, content, 422))) == {"file"}
    poor = f"{HEADER}\nsandbox:EUR,100.01,Nina,,,\n"
    assert "balance" in (await uploaded(shop, poor, 422)).text
    assert await purse(shop) == (10_000, 0, 0)
