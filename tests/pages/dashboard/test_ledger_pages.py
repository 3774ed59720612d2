"""The dashboard's pages about balances and the ledger, as a browser without scripts gets them; and the file."""

import csv
import re
from uuid import uuid4

import pytest

from tests.cast import Actor
from tests.forms import seen, signed_out, wrong
from tests.payments.bank import refund, sell

ROW = re.compile(
    r'<time datetime="([^"]+)" title="[^"]+">[^<]+</time></td>\s*'
    r'<td[^>]*class="amount e r1">([^<]+)</td><td[^>]*class="num e r2">([^<]+)</td>'
)
NEXT = re.compile(r'href="([^"]+)" rel="next"')


async def amounts(actor: Actor, query: str = "", mode: str = "test") -> list[tuple[str, str]]:
    """Each entry of the page: its amount, and the balance then."""
    return [(amount, then) for _, amount, then in ROW.findall(await seen(actor, f"/{mode}/ledger{query}"))]


async def lines(actor: Actor, query: str = "", mode: str = "test") -> list[dict[str, str]]:
    """The rows of the file."""
    answer = (await actor.send("GET", f"/{mode}/ledger.csv{query}")).ok()
    assert answer.headers["Content-Type"] == "text/csv; charset=utf-8; header=present"
    assert answer.headers["Content-Disposition"].startswith(f'attachment; filename="ledger-{mode}-')
    assert answer.text.endswith("\r\n")
    return list(csv.DictReader(answer.text.splitlines()))


async def test_balances_say_what_is_reserved_for_what(alice: Actor) -> None:
    page = await seen(alice, "/test/balances")
    assert "No balances yet" in page
    assert "Pay a test payment link in the simulator" in page
    assert "Currencies without a balance" in page
    paid = await sell(alice, amount="30.00")
    (await refund(alice, paid, "12.00")).ok(201)
    page = await seen(alice, "/test/balances")
    assert '<p class="figure l">€18.00</p>' in page
    assert '<a href="/test/payments">Refunds</a></dt><dd>€12.00</dd>' in page
    assert "<dt>Total</dt><dd>€30.00</dd>" in page
    assert 'href="/test/ledger?currency=EUR"' in page
    assert "Payments from your customers appear here." in await seen(alice, "/live/balances")


async def test_a_debt_is_reported(alice: Actor) -> None:
    paid = await sell(alice, amount="30.00")
    (
        await alice.post(
            "/withdrawals", {"method_id": "sandbox:EUR", "amount": "30.00", "receiver": "Nina"}, key=str(uuid4())
        )
    ).ok(201)
    (await alice.post(f"/test/transactions/{paid['id']}/simulate", {"outcome": "chargeback"})).ok()
    assert "This balance has a debt of €30.00. Incoming payments repay it first." in await seen(alice, "/test/balances")


async def test_every_change_of_a_balance_is_an_entry(alice: Actor) -> None:
    assert "No entries yet" in await seen(alice, "/test/ledger")
    paid = await sell(alice, amount="30.00")
    await sell(alice, amount="7.00", currency="USD")
    assert await amounts(alice) == [("+$7.00", "$7.00"), ("+€30.00", "€30.00")]
    assert f'href="/test/payments/{paid["id"]}"' in await seen(alice, "/test/ledger")
    assert await amounts(alice, mode="live") == []


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("?currency=EUR", 3),
        ("?currency=EUR&account=reserved", 1),
        ("?type=payment", 2),
        ("?type=nothing", 0),
        ("?currency=&account=&type=&from=&to=", 4),
        ("?from=2026-01-01&to=2026-01-01", 0),
        ("?from=2020-01-01", 4),
        ("?limit=1", 1),
    ],
)
async def test_filters(alice: Actor, query: str, found: int) -> None:
    paid = await sell(alice, amount="30.00")
    await sell(alice, amount="7.00", currency="USD")
    (await refund(alice, paid, "12.00")).ok(201)
    assert len(await amounts(alice, query)) == found
    assert len(await lines(alice, query)) == (4 if "limit" in query else found)
    counted = re.search(r"<b>(\d+) entr", await seen(alice, f"/test/ledger/export{query}"))
    assert counted
    assert int(counted[1]) == (4 if "limit" in query else found)
    if not found:
        page = await seen(alice, f"/test/ledger{query}")
        assert "No entries match these filters." in page
        assert "Clear filters" in page


async def test_a_long_list_is_turned_without_losing_or_repeating_an_entry(alice: Actor) -> None:
    for amount in range(1, 8):
        (await alice.post("/test/balances/fund", {"currency": "EUR", "amount": f"{amount}.00"})).ok(201)
    path, found = "/test/ledger?limit=3&currency=EUR", list[str]()
    while path:
        page = await seen(alice, path)
        found += [amount for _, amount, _ in ROW.findall(page)]
        path = match[1].replace("&amp;", "&") if (match := NEXT.search(page)) else ""
    assert found == [f"+€{amount}.00" for amount in range(7, 0, -1)]


async def test_the_file_says_what_the_api_says(alice: Actor) -> None:
    paid = await sell(alice, amount="30.00")
    (await refund(alice, paid, "12.00")).ok(201)
    rows = await lines(alice)
    said = (await alice.get("/ledger")).ok().body["ledger"]
    assert [row["id"] for row in rows] == [entry["id"] for entry in said]
    for row, entry in zip(rows, said, strict=True):
        assert (row["created_at"], row["source_id"]) == (entry["created_at"], entry["source"]["id"])
        assert row["amount"] == ("" if entry["signed_amount_minor"] > 0 else "-") + entry["amount"]
        assert (row["balance_after"], row["sequence"]) == (entry["balance_after"], str(entry["sequence"]))
    assert await lines(alice, mode="live") == []


async def test_invalid_days_are_reported(alice: Actor) -> None:
    page = (await alice.send("GET", "/test/ledger?from=2026-13-01&to=x", headers={"Accept": "text/html"})).ok(422)
    assert wrong(page).keys() == {"from", "to"}
    location = (await alice.send("GET", "/test/ledger/export?from=x")).ok(303).location
    assert location == "/test/ledger?from=x"
    await seen(alice, "/test/ledger.csv?from=x", 422)


async def test_nobody_else_sees_them(alice: Actor, carol: Actor) -> None:
    await sell(alice, amount="30.00")
    entry = (await alice.get("/ledger")).ok().body["ledger"][0]["id"]
    assert await amounts(carol) == []
    assert await lines(carol) == []
    for path in ("balances", "ledger", "ledger/export", "ledger.csv"):
        assert (await alice.anonymously("GET", f"/test/{path}")).ok(303).location == signed_out(f"/test/{path}")
        await seen(alice, f"/prod/{path}", 404)
    await seen(carol, f"/test/ledger?before={entry}", 404)
    await seen(alice, f"/live/ledger?before={entry}", 404)
    await seen(alice, "/test/ledger?before=x", 422)
