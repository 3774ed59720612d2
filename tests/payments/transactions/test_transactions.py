"""Transactions, balances and ledger entries: their shapes, their filters, and what a fee does to them."""

from typing import Any

import pytest

from tests.cast import Actor
from tests.invariants import broken_invariants
from tests.payments.shop import balance, choose, events, open_link, pay
from tollhouse.http.services import Services, Work
from tollhouse.kernel import clock
from tollhouse.kernel.catalogue.methods import Fees
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId, parse_id
from tollhouse.kernel.rails.provider import Observation
from tollhouse.payments.transactions import settlement
from tollhouse.payments.transactions import store as transaction_store
from tollhouse.platform.database.pool import Tx

FIELDS = {
    "id", "object", "type", "payment_link_id", "project_id", "external_id", "status", "amount", "amount_minor", "currency",
    "amount_received", "amount_received_minor", "fee", "fee_minor", "net", "net_minor", "amount_refunded",
    "amount_refunded_minor", "overpaid", "overpaid_minor", "refundable", "refundable_amount", "refundable_amount_minor",
    "refund_unavailable_reason", "method_id", "method_type", "payment_details", "price", "failure_code", "failure_message",
    "quantity",
    "refund_required_reason", "refund_required_amount", "refund_required_amount_minor", "late", "chargeback", "refunds",
    "timeline", "metadata", "mode", "livemode", "created_at", "updated_at", "succeeded_at", "version",
}  # fmt: skip
DETAILS = {
    "network", "asset", "pay_amount", "pay_amount_onchain", "address", "tx_hashes", "confirmations",
    "required_confirmations", "rate", "payer_hint",
}  # fmt: skip
BALANCE = {
    "object", "currency", "decimals", "available", "available_minor", "pending", "pending_minor", "reserved",
    "reserved_minor", "debt", "debt_minor", "total", "total_minor", "reserved_breakdown", "version", "updated_at", "mode",
    "livemode",
}  # fmt: skip
ENTRY = {
    "id", "object", "ledger_transaction_id", "account", "direction", "amount", "amount_minor", "signed_amount_minor",
    "balance_after", "balance_after_minor", "currency", "type", "source", "oauth_client_id", "description", "sequence",
    "created_at", "mode", "livemode",
}  # fmt: skip


async def settle_with(services: Services, actor: Actor, link: dict[str, Any], received_minor: int, fees: Fees) -> list[bool]:
    """Let the open attempt of a link succeed, twice."""
    (await choose(link)).ok(303)
    [attempt] = (await actor.get(f"/transactions?payment_link_id={link['id']}")).ok().body["transactions"]
    merchant_id, attempt_id = parse_id(actor.merchant_id), parse_id(attempt["id"])
    assert merchant_id is not None
    assert attempt_id is not None
    transaction = await transaction_store.get(services.db, MerchantEnv(MerchantId(merchant_id), "test"), attempt_id)
    assert transaction is not None
    reference = transaction.instructions.reference
    seen = Observation(reference=reference, outcome="confirmed", external_ref=reference, amount_minor=received_minor)

    async def action(tx: Tx) -> bool:
        done = await settlement.settle(Work(tx, services, clock.now()), transaction.env, transaction.id, seen, fees=fees)
        return done is not None

    return [await services.db.transact(action) for _ in range(2)]


@pytest.mark.covers("P-12")
async def test_every_documented_field_is_there(alice: Actor) -> None:
    await pay(await open_link(alice, metadata={"table": "5"}, external_id="order-1"))
    [transaction] = (await alice.get("/transactions")).ok().body["transactions"]
    assert set(transaction) == FIELDS
    assert set(transaction["payment_details"]) == DETAILS
    assert (transaction["metadata"], transaction["external_id"]) == ({"table": "5"}, "order-1")
    assert (transaction["method_id"], transaction["method_type"]) == ("sandbox:EUR", "simulator")
    assert (transaction["refunds"], transaction["chargeback"], transaction["late"]) == ([], None, False)
    assert transaction == (await alice.get(f"/transactions/{transaction['id']}")).ok().body
    mine = await balance(alice)
    assert set(mine) == BALANCE
    [entry] = (await alice.get("/ledger")).ok().body["ledger"]
    assert set(entry) == ENTRY
    for record in (transaction, mine, entry):
        assert (record["mode"], record["livemode"]) == ("test", False)
        for name, value in record.items():
            if name.endswith("_minor") and name.removesuffix("_minor") in record:
                assert record[name.removesuffix("_minor")] == f"{value // 100}.{value % 100:02d}", name


async def test_a_payment_with_a_fee(alice: Actor, services: Services) -> None:
    link = await open_link(alice, amount="10.00")
    fees = Fees(fixed_minor=25, basis_points=290)
    assert await settle_with(services, alice, link, 1_000, fees) == [True, False]
    [transaction] = (await alice.get("/transactions")).ok().body["transactions"]
    assert (transaction["fee"], transaction["fee_minor"], transaction["net"]) == ("0.54", 54, "9.46")
    assert (await balance(alice))["available_minor"] == 946
    fee, payment = (await alice.get("/ledger")).ok().body["ledger"]
    assert (payment["type"], payment["direction"], payment["signed_amount_minor"], payment["sequence"]) == (
        "payment", "credit", 1_000, 1,
    )  # fmt: skip
    assert (fee["type"], fee["direction"], fee["amount"], fee["signed_amount_minor"]) == (
        "payment_fee",
        "debit",
        "0.54",
        -54,
    )
    assert (fee["balance_after_minor"], fee["sequence"]) == (946, 2)
    assert payment["source"] == fee["source"] == {"type": "transaction", "id": transaction["id"]}
    assert fee["ledger_transaction_id"] == payment["ledger_transaction_id"]
    assert await events(alice) == [("payment.succeeded", 2), ("balance.updated", 2)]
    assert await broken_invariants(alice.service.dsn) == []


async def test_the_events_show_what_get_shows(alice: Actor) -> None:
    await pay(await open_link(alice, webhook_url="https://shop.example/hook"))
    [transaction] = (await alice.get("/transactions")).ok().body["transactions"]
    reported = {event["type"]: event for event in (await alice.get("/webhook-events")).ok().body["webhook_events"]}
    assert {event["destination_url"] for event in reported.values()} == {"https://shop.example/hook"}
    assert reported["payment.succeeded"]["payload"]["data"] == {"object": transaction}
    assert reported["payment.succeeded"]["payload"]["sequence"] == transaction["version"] == 2
    data = reported["balance.updated"]["payload"]["data"]
    assert data["object"] == await balance(alice)
    assert data["source"] == {"type": "transaction", "id": transaction["id"], "status": "succeeded", "version": 2}
    assert data["entries"] == (await alice.get("/ledger")).ok().body["ledger"]


async def test_transactions_are_filtered_and_paged(alice: Actor) -> None:
    first, second = await open_link(alice, external_id="one"), await open_link(alice, currency="USD")
    await pay(first, "fail")
    await pay(first)
    await pay(second)

    async def found(query: str) -> list[tuple[str, str]]:
        answer = (await alice.get(f"/transactions?{query}")).ok().body
        return [(transaction["status"], transaction["currency"]) for transaction in answer["transactions"]]

    assert await found("") == [("succeeded", "USD"), ("succeeded", "EUR"), ("failed", "EUR")]
    assert await found("status=failed") == [("failed", "EUR")]
    assert await found(f"payment_link_id={second['id']}") == [("succeeded", "USD")]
    assert await found("external_id=one&method_id=sandbox:EUR&limit=1") == [("succeeded", "EUR")]
    assert await found("currency=USD&page=2") == []
    (await alice.get("/transactions?status=paid")).refused("validation_failed", 422)


async def test_balances_list_every_currency(alice: Actor) -> None:
    await pay(await open_link(alice, amount="0.0015", currency="BTC"))
    listed = (await alice.get("/balances")).ok().body
    assert listed["has_more"] is False
    found = {one["currency"]: one for one in listed["balances"]}
    assert set(found) >= {"EUR", "USD", "GBP", "JPY", "BTC", "ETH", "USDC", "USDT"}
    assert (found["BTC"]["available"], found["BTC"]["decimals"], found["BTC"]["version"]) == ("0.00150000", 8, 1)
    assert (found["JPY"]["available"], found["JPY"]["version"], found["JPY"]["updated_at"]) == ("0", 0, None)
    assert found["BTC"] == await balance(alice, "BTC")
    for code in ("XXX", "btc"):
        (await alice.get(f"/balances/{code}")).refused("not_found", 404)


async def test_entries_are_filtered(alice: Actor) -> None:
    await pay(await open_link(alice))
    await pay(await open_link(alice, currency="USD"))
    [transaction] = (await alice.get("/transactions?currency=USD")).ok().body["transactions"]

    async def found(query: str) -> list[str]:
        return [entry["currency"] for entry in (await alice.get(f"/ledger?{query}")).ok().body["ledger"]]

    assert await found("") == ["USD", "EUR"]
    assert await found("currency=EUR&account=available&type=payment") == ["EUR"]
    assert await found(f"source_type=transaction&source_id={transaction['id']}") == ["USD"]
    assert await found("account=reserved") == []
    (await alice.get("/ledger?account=cash")).refused("validation_failed", 422)
