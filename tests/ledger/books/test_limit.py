"""How much a balance holds: 2^53 - 1 minor units by every way in, and what is set aside always comes back."""

import asyncio
from typing import Any
from uuid import uuid4

import asyncpg
import pytest

from tests.cast import Actor, Answer
from tests.invariants import broken_invariants
from tests.ledger.books.books import Books
from tests.pages.console.commands import operator
from tests.payments.bank import purse
from tests.payments.shop import balance, choose, open_link, simulate
from tests.running import Service
from tests.transfers.balance_payments.till import Till, open_till
from tollhouse.kernel.money import MINOR_MAX
from tollhouse.ledger.books.model import BalanceLimitExceeded, Posting

LIMIT = "90071992547409.91"
CENT = "0.01"
CODE = "balance_limit_exceeded"


async def fund(actor: Actor, amount: str, currency: str = "EUR") -> Answer:
    """Ask for test money."""
    return await actor.post("/test/balances/fund", {"currency": currency, "amount": amount}, key=str(uuid4()))


async def withdraw(actor: Actor, amount: str) -> dict[str, Any]:
    """A withdrawal that waits to be sent."""
    body = {"method_id": "sandbox:EUR", "amount": amount, "receiver": "Nina"}
    return (await actor.post("/withdrawals", body, key=str(uuid4()))).ok(201).body


async def play(actor: Actor, what: str, object_id: str, outcome: str) -> Answer:
    """Let the simulator do this to an object."""
    return await actor.post(f"/test/{what}/{object_id}/simulate", {"outcome": outcome})


async def transactions(actor: Actor) -> list[dict[str, Any]]:
    """All payments, newest first."""
    return (await actor.get("/transactions")).ok().body["transactions"]


async def test_the_limit_itself_is_held_and_no_cent_more(alice: Actor, service: Service) -> None:
    assert (await fund(alice, LIMIT)).ok(201).body["available_minor"] == MINOR_MAX
    (await fund(alice, CENT)).refused(CODE, 422)
    (await fund(alice, CENT, "USD")).ok(201)
    assert (await balance(alice))["total_minor"] == MINOR_MAX
    assert await broken_invariants(service.dsn) == []


async def test_what_is_set_aside_counts_and_always_comes_back(alice: Actor) -> None:
    (await fund(alice, LIMIT)).ok(201)
    canceled, failed = await withdraw(alice, "5.00"), await withdraw(alice, "7.00")
    (await fund(alice, CENT)).refused(CODE, 422)
    (await alice.post(f"/withdrawals/{canceled['id']}/cancel")).ok()
    (await play(alice, "withdrawals", failed["id"], "fail")).ok()
    assert await purse(alice) == (MINOR_MAX, 0, 0)


async def test_what_was_sent_comes_back_where_there_is_room(alice: Actor) -> None:
    (await fund(alice, LIMIT)).ok(201)
    sent = await withdraw(alice, "5.00")
    (await play(alice, "withdrawals", sent["id"], "complete")).ok()
    (await fund(alice, "4.00")).ok(201)
    (await play(alice, "withdrawals", sent["id"], "return")).refused(CODE, 422)
    assert (await alice.get(f"/withdrawals/{sent['id']}")).ok().body["status"] == "completed"
    (await play(alice, "withdrawals", (await withdraw(alice, "4.00"))["id"], "complete")).ok()
    assert (await play(alice, "withdrawals", sent["id"], "return")).ok().body["status"] == "failed"
    assert await purse(alice) == (MINOR_MAX, 0, 0)


async def test_a_refund_or_a_won_dispute_comes_back_where_there_is_room(alice: Actor) -> None:
    refunded, disputed = [(await play(alice, "payment-links", (await open_link(alice))["id"], "succeed")).ok().body
                          for _ in range(2)]  # fmt: skip
    refund = await alice.post(f"/transactions/{refunded['id']}/refunds", {"reason": "other", "receiver": "Nina"}, key="r")
    refund = refund.ok(201).body
    (await play(alice, "refunds", refund["id"], "succeed")).ok()
    (await play(alice, "transactions", disputed["id"], "chargeback")).ok()
    (await fund(alice, LIMIT)).ok(201)
    (await play(alice, "refunds", refund["id"], "return")).refused(CODE, 422)
    (await play(alice, "transactions", disputed["id"], "chargeback_won")).refused(CODE, 422)
    (await play(alice, "withdrawals", (await withdraw(alice, "8.40"))["id"], "complete")).ok()
    (await play(alice, "refunds", refund["id"], "return")).ok()
    (await play(alice, "transactions", disputed["id"], "chargeback_won")).ok()
    assert await purse(alice) == (MINOR_MAX, 0, 0)


async def test_a_customers_money_waits_and_can_be_taken_later(alice: Actor, service: Service) -> None:
    (await fund(alice, LIMIT)).ok(201)
    paid = (await play(alice, "payment-links", (await open_link(alice))["id"], "succeed")).ok().body
    assert (paid["status"], paid["refund_required_reason"], paid["refund_required_amount_minor"]) == (
        "refund_required",
        "balance_limit",
        420,
    )
    accept = f"/transactions/{paid['id']}/accept"
    (await alice.post(accept)).refused(CODE, 422)
    assert await purse(alice) == (MINOR_MAX, 0, 0)
    page = await alice.send("GET", f"/test/payments/{paid['id']}", headers={"Accept": "text/html"})
    assert "Your balance limit would be exceeded" in page.ok().text
    (await play(alice, "withdrawals", (await withdraw(alice, "4.20"))["id"], "complete")).ok()
    assert (await alice.post(accept)).ok().body["status"] == "succeeded"
    assert await purse(alice) == (MINOR_MAX, 0, 0)
    assert await broken_invariants(service.dsn) == []


@pytest.mark.parametrize("method", ["api", "checkout"])
async def test_overpaying_the_largest_link(alice: Actor, service: Service, method: str) -> None:
    """One payment counts what a balance can hold; the rest is a payment of its own. Both wait for a decision."""
    link = await open_link(alice, amount=LIMIT)
    if method == "api":
        (await play(alice, "payment-links", link["id"], "overpay")).ok()
    else:
        (await choose(link)).ok(303)
        (await simulate(link, "overpay")).ok(303)
    rest, first = await transactions(alice)
    assert (first["amount_received_minor"], rest["amount_received_minor"]) == (MINOR_MAX, MINOR_MAX // 10)
    for one in (first, rest):
        assert (one["status"], one["refund_required_reason"]) == ("refund_required", "balance_limit")
    assert (await alice.post(f"/transactions/{first['id']}/accept")).ok().body["status"] == "succeeded"
    (await alice.post(f"/transactions/{rest['id']}/accept")).refused(CODE, 422)
    body = {"reason": "duplicate", "receiver": "Nina"}
    refund = (await alice.post(f"/transactions/{rest['id']}/refunds", body, key="r")).ok(201).body
    (await play(alice, "refunds", refund["id"], "succeed")).ok()
    assert (await balance(alice))["available_minor"] == MINOR_MAX
    assert await broken_invariants(service.dsn) == []


async def test_a_payment_in_parts_counts_no_more_than_a_balance_holds(alice: Actor, service: Service) -> None:
    link = await open_link(alice, amount=LIMIT)
    paid = (await play(alice, "payment-links", link["id"], "underpay")).ok().body
    simulate_path = f"/test/transactions/{paid['id']}/simulate"
    (await alice.post(simulate_path, {"outcome": "overpay", "amount": LIMIT})).ok()
    (await alice.post(simulate_path, {"outcome": "duplicate"})).refused("invalid_state", 409)
    rest, first = await transactions(alice)
    assert first["amount_received_minor"] == MINOR_MAX
    assert rest["amount_received_minor"] == paid["amount_received_minor"]
    assert await broken_invariants(service.dsn) == []


async def test_two_payments_that_pass_the_limit_together(alice: Actor, service: Service) -> None:
    """Nobody has a balance yet: there is no row that both could wait for, until one of them has made it."""
    links = [await open_link(alice, amount="60000000000000.00") for _ in range(4)]
    paid = await asyncio.gather(*(play(alice, "payment-links", link["id"], "succeed") for link in links))
    assert sorted(payment.ok().body["status"] for payment in paid) == ["refund_required"] * 3 + ["succeeded"]
    assert (await balance(alice))["total"] == "60000000000000.00"
    assert await broken_invariants(service.dsn) == []


async def test_money_from_everywhere_at_once(alice: Actor, bob: Actor, service: Service) -> None:
    """Payments, test money and balance payments meet at one balance: exactly as many are taken as fit."""
    till = await open_till(alice, bob, "90000000000000.00")
    part = "30000000000000.00"
    links = [await open_link(bob, amount=part) for _ in range(2)]
    responses = await asyncio.gather(
        *(till.pay(part) for _ in range(2)),
        *(fund(bob, part) for _ in range(2)),
        *(play(bob, "payment-links", link["id"], "succeed") for link in links),
    )
    assert all(response.status in {200, 201} or response.body["error"] == CODE for response in responses), [
        response.text for response in responses
    ]
    waiting = [transaction for transaction in await transactions(bob) if transaction["status"] == "refund_required"]
    refused = [response for response in responses if response.status not in {200, 201}]
    assert (len(waiting) + len(refused), (await balance(bob))["total"]) == (3, "90000000000000.00")
    assert await broken_invariants(service.dsn) == []


async def test_balance_payments(alice: Actor, bob: Actor, service: Service) -> None:
    till: Till = await open_till(alice, bob)
    reserved_one, paid = await till.reserve(), (await till.pay()).ok(201).body
    (await fund(bob, "90071992547399.91")).ok(201)
    (await till.pay()).refused(CODE, 422)
    (await till.act(reserved_one, "capture")).refused(CODE, 422)
    (await till.as_owner(reserved_one, "capture")).refused(CODE, 422)
    page = f"/test/balance-payments/received/{till.app.client_id}/{reserved_one['id']}"
    shown = await bob.form(f"{page}/capture", {"amount": "10.00"})
    assert (shown.status, "would exceed its limit" in shown.text) == (422, True)
    assert (await till.read(reserved_one)).ok().body["status"] == "reserved"
    (await fund(alice, "90071992547319.91")).ok(201)
    (await till.act(paid, "refund")).refused(CODE, 422)
    (await till.as_owner(paid, "refund")).refused(CODE, 422)
    assert (await till.act(reserved_one, "release")).ok().body["status"] == "released"
    assert await broken_invariants(service.dsn) == []


async def test_conversions(alice: Actor, service: Service) -> None:
    (await fund(alice, "100.00")).ok(201)
    (await fund(alice, LIMIT, "USD")).ok(201)
    body = {"from_currency": "EUR", "to_currency": "USD", "amount": "10.00"}
    (await alice.post("/conversions", body, key="1")).refused(CODE, 422)
    assert (await balance(alice))["available_minor"] == 10_000
    assert await broken_invariants(service.dsn) == []


async def test_adjustments(alice: Actor, service: Service) -> None:
    words = ("--mode", "test", "--currency", "EUR", "--reason", "Paid twice", "--amount")
    assert (await operator(service, "adjust", alice.merchant_id, *words, LIMIT)).status == 0
    refused = await operator(service, "adjust", alice.merchant_id, *words, CENT)
    assert (refused.status, "would exceed its limit" in refused.talk) == (1, True)
    assert (await balance(alice))["available_minor"] == MINOR_MAX


async def test_what_repays_a_debt_takes_no_room(alice: Actor) -> None:
    paid = (await play(alice, "payment-links", (await open_link(alice))["id"], "succeed")).ok().body
    (await play(alice, "withdrawals", (await withdraw(alice, "4.20"))["id"], "complete")).ok()
    (await play(alice, "transactions", paid["id"], "chargeback")).ok()
    (await fund(alice, LIMIT)).ok(201)
    assert ((await balance(alice))["available_minor"], (await balance(alice))["debt_minor"]) == (MINOR_MAX - 420, 0)


async def test_the_database_refuses_it_too(books: Books) -> None:
    await books.fund(MINOR_MAX)
    with pytest.raises(BalanceLimitExceeded):
        await books.fund(1)
    await books.post(Posting("settlement", "EUR", 5, books.mine, books.pending))
    for code in ("available", "pending"):
        with pytest.raises(asyncpg.CheckViolationError) as refused:
            await books.pool.execute(
                "UPDATE ledger_accounts SET balance = balance + 1 WHERE merchant_id = $1 AND code = $2",
                books.env.merchant_id,
                code,
            )
        assert refused.value.constraint_name == "ledger_accounts_limit"
    with pytest.raises(asyncpg.CheckViolationError):
        await books.pool.execute(
            "INSERT INTO ledger_accounts (mode, currency, merchant_id, code, normal_side, guarded, balance)"
            " VALUES ('test', 'EUR', $1, 'reserved', 'credit', true, 1)",
            books.env.merchant_id,
        )


async def test_a_balance_that_was_above_it_before_can_be_spent(books: Books) -> None:
    await books.fund(MINOR_MAX)
    async with books.undone() as tx:
        await tx.raw.execute("ALTER TABLE ledger_accounts DISABLE TRIGGER never_above_limit")
        mine = "WHERE merchant_id = $1 AND code = 'available'"
        await tx.execute(f"UPDATE ledger_accounts SET balance = balance + 5 {mine}", books.env.merchant_id)  # noqa: S608
        await tx.raw.execute("ALTER TABLE ledger_accounts ENABLE TRIGGER never_above_limit")
        await tx.execute(f"UPDATE ledger_accounts SET balance = balance - 1 {mine}", books.env.merchant_id)  # noqa: S608
        with pytest.raises(asyncpg.CheckViolationError):
            await tx.execute(f"UPDATE ledger_accounts SET balance = balance + 1 {mine}", books.env.merchant_id)  # noqa: S608
