"""Refunds: money is set aside, and leaves, or comes back. Disputes: the bank takes it, whether it is there or not."""

import asyncio

import msgspec
import pytest

from tests.cast import Actor
from tests.invariants import broken_invariants, last_id
from tests.payments.bank import attempt, bank_says, fresh, play, purse, refund, sell, until
from tests.payments.shop import events, open_link
from tests.running import CATALOGUE
from tollhouse.kernel.catalogue.methods import Fees


@pytest.fixture(autouse=True)
async def all_is_well(alice: Actor) -> object:
    """After each of these histories the books are in order."""
    began = last_id()
    yield
    assert await broken_invariants(alice.service.dsn, began) == []


@pytest.mark.long
@pytest.mark.covers("P-73")
async def test_everything_is_given_back(alice: Actor) -> None:
    paid = await sell(alice)
    back = (await refund(alice, paid, reason="duplicate", external_id="r-1", metadata={"by": "me"})).ok(201).body
    assert (back["status"], back["amount"], back["fee_refunded_minor"], back["reason"]) == (
        "pending",
        "10.00",
        0,
        "duplicate",
    )
    assert await purse(alice) == (0, 1_000, 0)
    assert (await alice.get("/balances/EUR")).ok().body["reserved_breakdown"]["refunds_minor"] == 1_000
    assert (await fresh(alice, paid))["refundable"] is False
    done = await until(alice, f"/refunds/{back['id']}", "succeeded")
    assert done["provider_reference"]
    after = await fresh(alice, paid)
    assert (after["status"], after["amount_refunded"], after["refunds"]) == ("refunded", "10.00", [done])
    assert await purse(alice) == (0, 0, 0)
    reported = [name for name, _ in await events(alice)]
    assert sorted(reported) == ["balance.updated"] * 3 + ["payment.refunded", "payment.succeeded"]
    assert (await alice.get("/refunds")).ok().body["refunds"] == [done]
    assert (await alice.get(f"/transactions/{paid['id']}/refunds")).ok().body == {
        "refunds": [done],
        "has_more": False,
        "next_cursor": None,
    }
    assert (await alice.get("/refunds?status=pending")).ok().body["refunds"] == []


@pytest.mark.covers("P-74", "P-75")
async def test_in_two_parts(alice: Actor) -> None:
    paid = await sell(alice)
    first = (await refund(alice, paid, "3.00")).ok(201).body
    (await refund(alice, paid, "7.01")).refused("refund_amount_exceeds_remaining", 422)
    (await bank_says(alice, first, "succeed")).ok()
    (await refund(alice, paid, "7.01")).refused("refund_amount_exceeds_remaining", 422)
    assert (await fresh(alice, paid))["status"] == "partially_refunded"
    second = (await refund(alice, paid, "7.00")).ok(201).body
    (await bank_says(alice, second, "succeed")).ok()
    assert (await fresh(alice, paid))["status"] == "refunded"
    assert [name for name, _ in await events(alice)].count("payment.refunded") == 2
    (await refund(alice, paid, "1.00")).refused("refund_not_allowed", 422)


@pytest.mark.covers("P-76")
async def test_thirty_at_once_share_what_is_left(alice: Actor) -> None:
    paid = await sell(alice)
    responses = await asyncio.gather(*(refund(alice, paid, "3.00") for _ in range(30)))
    assert sorted(answer.status for answer in responses) == [201] * 3 + [422] * 27
    assert await purse(alice) == (100, 900, 0)


@pytest.mark.covers("P-77")
async def test_what_is_not_there_cannot_be_refunded(alice: Actor) -> None:
    poor = await sell(alice, amount="20.00")
    await spend(alice, 500)
    refused = (await refund(alice, poor)).refused("insufficient_funds", 422)
    assert refused.body["details"] == {"available_minor": 1_500, "required_minor": 2_000, "currency": "EUR"}
    assert (await alice.get("/refunds")).ok().body["refunds"] == []
    assert (await fresh(alice, poor)) == poor
    (await refund(alice, poor, "15.00")).ok(201)


async def spend(actor: Actor, minor: int) -> None:
    """Take so much of the balance, as a withdrawal would."""
    await actor.sql(
        "SELECT ledger_post(gen_random_uuid(), 'test', 'adjustment', 'test', gen_random_uuid(), 0, now(), '{adjustment}',"
        " '{EUR}', ARRAY[$2::bigint], ARRAY[$1::uuid], '{available}', ARRAY[NULL::uuid], '{equity:adjustment}',"
        " ARRAY[gen_random_uuid(), gen_random_uuid()])",
        actor.merchant_id,
        minor,
    )


@pytest.mark.covers("P-78")
@pytest.mark.parametrize("outcome", ["processing", "fail", "expire"])
async def test_only_what_was_paid_is_refunded(alice: Actor, outcome: str) -> None:
    unpaid = await sell(alice, outcome)
    assert (await refund(alice, unpaid)).refused("refund_not_allowed", 422).body["details"] == {"reason": "status"}


@pytest.mark.long
@pytest.mark.covers("P-79")
async def test_a_refund_that_fails_comes_back(alice: Actor) -> None:
    paid = await sell(alice, amount="51.50")
    back = (await refund(alice, paid)).ok(201).body
    failed = await until(alice, f"/refunds/{back['id']}", "failed")
    assert failed["failure_code"] == "refund_declined"
    after = await fresh(alice, paid)
    assert (after["status"], after["refundable_amount"], await purse(alice)) == ("succeeded", "51.50", (5_150, 0, 0))
    (await refund(alice, paid, "1.00")).ok(201)


async def test_a_refund_that_the_bank_returns(alice: Actor) -> None:
    paid = await sell(alice)
    back = (await refund(alice, paid)).ok(201).body
    (await bank_says(alice, back, "return")).ok()
    after = await fresh(alice, paid)
    assert (after["status"], after["amount_refunded_minor"], await purse(alice)) == ("succeeded", 0, (1_000, 0, 0))
    (await bank_says(alice, back, "return")).refused("invalid_state", 409)


async def test_a_receiver_must_be_readable(alice: Actor) -> None:
    paid = await sell(alice)
    assert (await refund(alice, paid, receiver="x" * 257)).field_errors() == {"receiver": "invalid_value"}
    assert (await refund(alice, paid, "1.001")).field_errors() == {"amount": "invalid_amount"}
    assert (await refund(alice, paid, "0")).field_errors() == {"amount": "invalid_amount"}


async def test_a_refund_needs_its_key_and_happens_once(alice: Actor) -> None:
    paid = await sell(alice)
    path = f"/transactions/{paid['id']}/refunds"
    (await alice.post(path, {})).refused("idempotency_key_required", 400)
    responses = await asyncio.gather(*(alice.post(path, {"amount": "1.00"}, key="once") for _ in range(30)))
    assert {answer.status for answer in responses} <= {201, 409}
    assert len({answer.raw for answer in responses if answer.status == 201}) == 1
    assert await purse(alice) == (900, 100, 0)


@pytest.mark.covers("P-82")
async def test_reading_is_not_refunding(alice: Actor) -> None:
    paid = await sell(alice)
    headers = {"X-API-Key": await alice.key(scopes=["payments:read"]), "Idempotency-Key": "k"}
    path = f"/api/v2/integration/transactions/{paid['id']}/refunds"
    (await alice.anonymously("POST", path, {}, headers)).refused("missing_scope", 403)


@pytest.mark.covers("P-83", "P-86")
async def test_a_dispute_that_is_won(alice: Actor) -> None:
    paid = await sell(alice)
    taken = (await play(alice, paid, "chargeback")).ok().body
    assert (taken["status"], taken["chargeback"]["status"], taken["chargeback"]["amount"]) == ("chargeback", "open", "10.00")
    assert await purse(alice) == (0, 0, 0)
    assert (await refund(alice, paid)).refused("payment_charged_back", 409)
    won = (await play(alice, paid, "chargeback_won")).ok().body
    assert (won["status"], won["chargeback"]["status"]) == ("succeeded", "won")
    assert await purse(alice) == (1_000, 0, 0)
    (await play(alice, paid, "chargeback_won")).refused("invalid_state", 409)
    reported = [name for name, _ in await events(alice)]
    assert sorted(reported) == ["balance.updated"] * 3 + ["payment.chargeback", "payment.succeeded"]
    assert (await play(alice, paid, "chargeback")).ok().body["status"] == "chargeback"


@pytest.mark.covers("P-83", "P-86")
async def test_a_dispute_costs_its_fee_whoever_wins(alice: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    """The service runs in this process, so that a fee can be set in it."""
    dear = msgspec.structs.replace(CATALOGUE.methods["sandbox:EUR"], fees=Fees(chargeback_minor=1_500))
    monkeypatch.setitem(CATALOGUE.methods, "sandbox:EUR", dear)
    paid = await sell(alice, amount="20.00")
    taken = (await play(alice, paid, "chargeback")).ok().body["chargeback"]
    assert (taken["amount"], taken["fee"], taken["fee_minor"]) == ("20.00", "15.00", 1_500)
    assert await purse(alice) == (0, 0, 1_500)
    owed, gone = (await alice.get("/ledger?source_type=chargeback")).ok().body["ledger"]
    assert (gone["type"], gone["account"], gone["signed_amount_minor"]) == ("chargeback", "available", -2_000)
    assert (owed["type"], owed["account"], owed["signed_amount_minor"]) == ("chargeback_fee", "debt", 1_500)
    assert [name for name, _ in await events(alice)].count("balance.updated") == 2
    won = (await play(alice, paid, "chargeback_won")).ok().body["chargeback"]
    assert (won["status"], won["fee"], await purse(alice)) == ("won", "15.00", (500, 0, 0))
    [income] = await alice.sql(
        "SELECT sum(p.amount)::int AS earned FROM ledger_postings p JOIN ledger_accounts a ON a.id = p.credit_account_id"
        " JOIN ledger_transactions l ON l.id = p.transaction_id"
        " WHERE a.code = 'income:chargeback_fee' AND l.source_id = $1::uuid",
        won["id"],
    )
    assert income["earned"] == 1_500


@pytest.mark.long
@pytest.mark.covers("P-84", "P-85", "P-87")
async def test_a_debt_is_repaid_first(alice: Actor) -> None:
    paid = await sell(alice)
    back = (await refund(alice, await sell(alice, amount="4.00"))).ok(201).body
    await spend(alice, 1_000)
    (await play(alice, paid, "chargeback")).ok()
    available, _, debt = await purse(alice)
    assert (available, debt) == (0, 1_000)
    (await refund(alice, paid)).refused("payment_charged_back", 409)
    await sell(alice, amount="2.00")
    assert (await purse(alice))[2] == 800
    (await alice.post("/test/balances/fund", {"currency": "EUR", "amount": "9.00"})).ok(201)
    assert (await purse(alice))[::2] == (100, 0)
    lost = (await play(alice, paid, "chargeback_lost")).ok().body
    assert (lost["status"], lost["chargeback"]["status"]) == ("chargeback", "lost")
    assert (await until(alice, f"/refunds/{back['id']}", "succeeded"))["amount"] == "4.00"


@pytest.mark.covers("P-88")
async def test_a_dispute_takes_what_is_left(alice: Actor) -> None:
    paid = await sell(alice)
    first = (await refund(alice, paid, "3.00")).ok(201).body
    (await bank_says(alice, first, "succeed")).ok()
    taken = (await play(alice, paid, "chargeback")).ok().body
    assert (taken["chargeback"]["amount"], await purse(alice)) == ("7.00", (0, 0, 0))
    assert (await play(alice, paid, "chargeback_won")).ok().body["status"] == "partially_refunded"


async def test_a_refund_on_its_way_when_the_dispute_comes(alice: Actor) -> None:
    paid = await sell(alice)
    back = (await refund(alice, paid, "3.00")).ok(201).body
    taken = (await play(alice, paid, "chargeback")).ok().body
    [left] = taken["refunds"]
    assert (left["id"], left["status"] in {"pending", "failed"}) == (back["id"], True)
    expected = "10.00" if left["status"] == "failed" else "7.00"
    assert taken["chargeback"]["amount"] == expected


@pytest.mark.covers("P-54")
async def test_the_simulator_is_for_test_mode(alice: Actor) -> None:
    for path in (
        "transactions/x/simulate",
        "payment-links/x/simulate",
        "refunds/x/simulate",
        "balances/fund",
        "clock/advance",
    ):
        (await alice.post(f"/test/{path}", {}, mode="live")).refused("test_mode_only", 403)


@pytest.mark.covers("P-93")
async def test_test_money(alice: Actor) -> None:
    body = {"currency": "EUR", "amount": "100.00"}
    first = (await alice.post("/test/balances/fund", body, key="f")).ok(201)
    assert (first.body["available"], first.body["currency"]) == ("100.00", "EUR")
    assert (await alice.post("/test/balances/fund", body, key="f")).raw == first.raw
    assert await purse(alice) == (10_000, 0, 0)
    assert (await alice.get("/balances/EUR", mode="live")).ok().body["available_minor"] == 0
    assert await events(alice) == [("balance.updated", 1)]
    assert (await alice.post("/test/balances/fund", {"currency": "XXX", "amount": "1"})).field_errors() == {
        "currency": "invalid_currency"
    }


async def test_paying_and_expiring_race(alice: Actor) -> None:
    for _ in range(5):
        link = await open_link(alice)
        pending = await attempt(alice, link, "processing")
        responses = await asyncio.gather(
            *(play(alice, pending, outcome) for outcome in ("succeed", "fail", "expire", "succeed", "overpay", "chargeback"))
        )
        assert {answer.status for answer in responses} <= {200, 409}
