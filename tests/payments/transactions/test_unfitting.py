"""Money that does not fit: too little, too much, too late, twice, after a cancel, in another currency."""

import pytest

from tests.cast import Actor
from tests.invariants import broken_invariants, last_id
from tests.payments.bank import attempt, fresh, play, purse, refund, sell, until
from tests.payments.shop import events, open_link


async def settings(actor: Actor, **changes: object) -> None:
    """Set how unfitting money is treated."""
    await actor.sql(
        "INSERT INTO merchant_settings (merchant_id, mode, default_currency, payment_methods, link_expiry_minutes,"
        " underpayment_tolerance_bps, overpayment, late_payments, late_monitoring_days, branding, confirmations, version,"
        " updated_at) VALUES ($1::uuid, 'test', 'EUR', '[]', 1440, 50, $2, $3, 14, '{}', '{}', 2, now())",
        actor.merchant_id,
        changes.get("overpayment", "credit"),
        changes.get("late_payments", "refund_required"),
    )


@pytest.fixture(autouse=True)
async def all_is_well(alice: Actor) -> object:
    """After each of these histories the books are in order."""
    began = last_id()
    yield
    assert await broken_invariants(alice.service.dsn, began) == []


@pytest.mark.covers("P-63")
async def test_a_little_too_little_is_enough(alice: Actor) -> None:
    paid = await attempt(alice, await open_link(alice, amount="10.00"), "underpay", amount="9.96")
    assert (paid["status"], paid["amount_received_minor"], paid["net_minor"]) == ("succeeded", 996, 996)
    assert await purse(alice) == (996, 0, 0)


@pytest.mark.covers("P-64")
async def test_the_rest_can_follow(alice: Actor) -> None:
    part = await sell(alice, "underpay")
    assert (part["status"], part["amount_received"], part["refundable"]) == ("pending", "9.90", False)
    assert await purse(alice) == (0, 0, 0)
    paid = (await play(alice, part, "succeed")).ok().body
    assert (paid["status"], paid["amount_received"], paid["overpaid_minor"]) == ("succeeded", "10.00", 0)
    assert await purse(alice) == (1_000, 0, 0)
    [entry] = (await alice.get("/ledger")).ok().body["ledger"]
    assert (entry["type"], entry["amount"]) == ("payment", "10.00")
    assert await events(alice) == [("payment.succeeded", 3), ("balance.updated", 1)]


@pytest.mark.covers("P-65", "P-66", "P-67")
async def test_part_of_the_money_when_the_time_is_over(alice: Actor) -> None:
    part = await sell(alice, "underpay")
    held = (await play(alice, part, "expire")).ok().body
    assert (held["status"], held["refund_required_reason"], held["refund_required_amount"]) == (
        "refund_required",
        "underpaid",
        "9.90",
    )
    assert await purse(alice) == (0, 0, 0)
    assert await events(alice) == [("payment.refund_required", 3)]
    taken = (await alice.post(f"/transactions/{part['id']}/accept", {}, key="mine")).ok().body
    assert (taken["status"], taken["net"], taken["refund_required_amount_minor"]) == ("succeeded", "9.90", 0)
    assert await purse(alice) == (990, 0, 0)
    again = await alice.post(f"/transactions/{part['id']}/accept", {}, key="mine-once-more")
    assert again.refused("invalid_state", 409).body["details"] == {"status": "succeeded"}
    assert (await events(alice))[1:] == [("payment.succeeded", 4), ("balance.updated", 1)]
    link = (await alice.get(f"/payment-links/{part['payment_link_id']}")).ok().body
    assert (link["status"], link["payments_count"], link["amount_paid"]) == ("expired", 1, "9.90")


@pytest.mark.covers("P-68")
async def test_late_money_waits_for_a_decision(alice: Actor) -> None:
    late = await sell(alice, "late")
    assert (late["status"], late["refund_required_reason"], late["late"]) == ("refund_required", "late", True)
    assert [step["status"] for step in late["timeline"]] == ["pending", "expired", "refund_required"]
    assert await purse(alice) == (0, 0, 0)
    assert [reported for reported, _ in await events(alice)] == ["payment.expired", "payment.refund_required"]


@pytest.mark.covers("P-68")
async def test_late_money_is_welcome_where_the_merchant_says_so(alice: Actor) -> None:
    await settings(alice, late_payments="accept")
    late = await sell(alice, "late")
    assert (late["status"], late["late"], late["refund_required_reason"]) == ("succeeded", True, None)
    assert await purse(alice) == (1_000, 0, 0)


@pytest.mark.covers("P-69")
async def test_too_much_is_credited(alice: Actor) -> None:
    paid = await sell(alice, "overpay")
    assert (paid["status"], paid["overpaid"], paid["net"]) == ("succeeded", "1.00", "11.00")
    assert await purse(alice) == (1_100, 0, 0)


@pytest.mark.long
@pytest.mark.covers("P-69")
async def test_too_much_is_kept_apart_where_the_merchant_says_so(alice: Actor) -> None:
    await settings(alice, overpayment="refund_required")
    paid = await sell(alice, "overpay")
    assert (paid["status"], paid["overpaid"], paid["refund_required_amount"]) == ("succeeded", "1.00", "1.00")
    assert await purse(alice) == (1_000, 0, 0)
    assert sorted(reported for reported, _ in await events(alice)) == [
        "balance.updated",
        "payment.refund_required",
        "payment.succeeded",
    ]
    back = (await refund(alice, paid, "1.00")).ok(201).body
    await until(alice, f"/refunds/{back['id']}", "succeeded")
    after = await fresh(alice, paid)
    assert (after["status"], after["refund_required_amount_minor"], after["refundable_amount"]) == ("succeeded", 0, "10.00")
    assert await purse(alice) == (1_000, 0, 0)


@pytest.mark.covers("P-70")
async def test_money_after_a_cancel(alice: Actor) -> None:
    part = await sell(alice, "underpay")
    (await alice.post(f"/payment-links/{part['payment_link_id']}/cancel")).ok()
    held = await fresh(alice, part)
    assert (held["status"], held["refund_required_reason"]) == ("refund_required", "after_cancel")
    link = await open_link(alice)
    (await alice.post(f"/payment-links/{link['id']}/cancel")).ok()
    after = await attempt(alice, link)
    assert (after["status"], after["refund_required_reason"]) == ("refund_required", "after_cancel")
    assert await purse(alice) == (0, 0, 0)


async def test_money_seen_before_a_cancel_is_honoured(alice: Actor) -> None:
    seen = await sell(alice, "processing")
    assert (seen["status"], seen["payment_details"]["confirmations"]) == ("processing", 1)
    (await alice.post(f"/payment-links/{seen['payment_link_id']}/cancel")).ok()
    assert (await fresh(alice, seen))["status"] == "processing"
    assert (await play(alice, seen, "processing")).ok().body["payment_details"]["confirmations"] == 2
    assert (await play(alice, seen, "succeed")).ok().body["status"] == "succeeded"
    link = (await alice.get(f"/payment-links/{seen['payment_link_id']}")).ok().body
    assert (link["status"], link["payments_count"]) == ("canceled", 1)
    assert await purse(alice) == (1_000, 0, 0)


@pytest.mark.covers("P-58")
async def test_a_second_customer_pays_what_is_paid(alice: Actor) -> None:
    link = await open_link(alice, amount="10.00")
    first, second = await attempt(alice, link), await attempt(alice, link)
    assert (first["status"], second["status"]) == ("succeeded", "refund_required")
    assert second["refund_required_reason"] == "duplicate"
    assert await purse(alice) == (1_000, 0, 0)


async def test_the_same_customer_pays_twice(alice: Actor) -> None:
    paid = await sell(alice, "duplicate")
    assert paid["status"] == "succeeded"
    second, _ = (await alice.get("/transactions")).ok().body["transactions"]
    assert (second["status"], second["refund_required_reason"], second["refund_required_amount"]) == (
        "refund_required",
        "duplicate",
        "10.00",
    )
    assert await purse(alice) == (1_000, 0, 0)


@pytest.mark.long
@pytest.mark.covers("P-81")
async def test_giving_back_what_was_kept_apart_touches_no_balance(alice: Actor) -> None:
    late = await sell(alice, "late")
    back = (await refund(alice, late)).ok(201).body
    assert back["amount"] == "10.00"
    (await alice.post(f"/transactions/{late['id']}/accept", {})).refused("invalid_state", 409)
    await until(alice, f"/refunds/{back['id']}", "succeeded")
    after = await fresh(alice, late)
    assert (after["status"], after["amount_refunded"], after["refundable"]) == ("refunded", "10.00", False)
    assert (await alice.get("/ledger")).ok().body["ledger"] == []
    assert [reported for reported, _ in await events(alice)][-1] == "payment.refunded"


@pytest.mark.covers("P-57")
async def test_the_clock_ends_a_link_once(alice: Actor) -> None:
    tried, untried = await sell(alice, "processing"), await open_link(alice)
    pending = await open_link(alice, expires_at=None)
    moved = (await alice.post("/test/clock/advance", {"seconds": 90_000})).ok().body
    assert moved["ahead_seconds"] == 90_000
    for link_id in (tried["payment_link_id"], untried["id"], pending["id"]):
        assert (await alice.get(f"/payment-links/{link_id}")).ok().body["status"] == "expired"
    assert (await fresh(alice, tried))["status"] == "processing"
    (await alice.post("/test/clock/advance", {"seconds": 90_000})).ok()
    assert [reported for reported, _ in await events(alice)] == ["payment.expired", "payment.expired"]
    assert (await alice.get("/ledger")).ok().body["ledger"] == []
    later = await open_link(alice)
    assert later["status"] == "active"
    assert (await attempt(alice, later))["status"] == "succeeded"


@pytest.mark.covers("P-62")
@pytest.mark.parametrize(("amount", "code"), [("100.02", "card_declined"), ("99.95", "insufficient_funds")])
async def test_amounts_that_fail(alice: Actor, amount: str, code: str) -> None:
    failed = await sell(alice, amount=amount)
    assert (failed["status"], failed["failure_code"]) == ("failed", code)


@pytest.mark.long
@pytest.mark.covers("P-62")
async def test_amounts_that_do_something_later(alice: Actor) -> None:
    disputed, slow, part = [await sell(alice, amount=amount) for amount in ("2.59", "100.77", "40.40")]
    assert (disputed["status"], slow["status"], part["status"]) == ("succeeded", "processing", "pending")
    assert part["amount_received"] == "40.00"
    await until(alice, f"/transactions/{disputed['id']}", "chargeback")
    await until(alice, f"/transactions/{slow['id']}", "succeeded")
