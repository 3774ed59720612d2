"""Withdrawals of live mode: operators approve each, the rail is asked once, and what nobody knows stays on hold."""

from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

import msgspec
import pytest

from tests.cast import Actor
from tests.invariants import broken_invariants, last_id
from tests.pages.console.commands import operator
from tests.running import CATALOGUE
from tests.transfers.withdrawals.rails import OWN_IBAN, Line, PaperBank
from tests.transfers.withdrawals.steps import BY_SEPA, asked, cancel, carry, fresh, purse_live, reported, review, withdraw
from tollhouse.accounts.approvals.model import ApprovedBefore
from tollhouse.http.services import Services
from tollhouse.kernel.errors import NotFound
from tollhouse.kernel.rails.provider import PayoutState
from tollhouse.transfers.orders.errors import InvalidState


@pytest.fixture(autouse=True)
async def all_is_well(shop: Actor) -> AsyncIterator[None]:
    """After each of these histories the books are in order."""
    began = last_id()
    yield
    assert await broken_invariants(shop.service.dsn, began) == []


@pytest.mark.covers("P-113")
async def test_even_the_smallest_waits_for_an_operator(rich: Actor, services: Services, bank: PaperBank) -> None:
    new = await asked(rich, BY_SEPA | {"amount": "1.00"}, mode="live")
    assert (new["status"], new["review"], new["livemode"]) == (
        "pending_review",
        {"required": True, "decided_at": None, "note": None},
        True,
    )
    await carry(rich, services)
    assert (await fresh(rich, new, mode="live"))["status"] == "pending_review"
    await review(services, new)
    approved = await fresh(rich, new, mode="live")
    assert (approved["status"], approved["cancelable"]) == ("approved", True)
    assert approved["estimated_arrival"] > approved["review"]["decided_at"]
    await carry(rich, services)
    sent = await fresh(rich, new, mode="live")
    assert (sent["status"], sent["provider_reference"]) == ("processing", f"paper-{new['id']}")
    order = bank.orders[UUID(new["id"])]
    assert (order.amount_minor, order.receiver, order.provider_fields) == (
        100,
        BY_SEPA["receiver"],
        {"account_holder_name": "Nina"},
    )
    (await cancel(rich, new, mode="live")).refused("invalid_state", 409)
    bank.state = PayoutState("succeeded")
    await carry(rich, services)
    assert (await fresh(rich, new, mode="live"))["status"] == "completed"
    assert await purse_live(rich) == (9_900, 0)
    assert await reported(rich) == ["withdrawal.processing", "withdrawal.completed"]
    with pytest.raises(InvalidState):
        await review(services, new)


@pytest.mark.long
@pytest.mark.covers("P-123")
async def test_an_operator_at_the_command_line(rich: Actor, services: Services, bank: PaperBank) -> None:
    new, other = await asked(rich, BY_SEPA, mode="live"), await asked(rich, BY_SEPA, mode="live")
    waiting = (await operator(rich.service, "withdrawals", "list", "--json")).json["withdrawals"]
    mine = [transfer for transfer in waiting if transfer["merchant_id"] == rich.merchant_id]
    assert [(item["withdrawal_id"], item["amount"], item["receiver"]) for item in mine] == [
        (new["id"], "10.00", BY_SEPA["receiver"]),
        (other["id"], "10.00", BY_SEPA["receiver"]),
    ]
    assert (await operator(rich.service, "withdrawals", "reject", new["id"])).status == 2
    done = await operator(rich.service, "withdrawals", "reject", new["id"], "--reason", "Unknown payee", "--json")
    assert (done.status, done.json["action"], done.json["mode"]) == (0, "withdrawal_rejected", "live")
    shown = await fresh(rich, new, mode="live")
    assert (shown["status"], shown["failure_code"], shown["review"]["note"]) == (
        "failed",
        "review_rejected",
        "Unknown payee",
    )
    assert shown["failure_message"]
    assert await purse_live(rich) == (9_000, 1_000)
    assert await reported(rich) == ["withdrawal.failed"]
    again = await operator(rich.service, "withdrawals", "approve", new["id"])
    assert (again.status, again.talk) == (1, f"Withdrawal {new['id']} is failed.")
    assert (await operator(rich.service, "withdrawals", "approve", rich.merchant_id)).talk.startswith(
        "There is no withdrawal"
    )
    assert (await operator(rich.service, "withdrawals", "approve", other["id"])).status == 0
    await carry(rich, services)
    assert UUID(other["id"]) in bank.orders
    kept = await rich.sql(
        "SELECT action, reason FROM operator_actions WHERE merchant_id = $1::uuid AND action LIKE 'withdrawal%' ORDER BY at",
        rich.merchant_id,
    )
    assert [tuple(row) for row in kept] == [("withdrawal_rejected", "Unknown payee"), ("withdrawal_approved", None)]


@pytest.mark.usefixtures("bank")
async def test_a_large_one_needs_a_second_operator(
    rich: Actor, services: Services, monkeypatch: pytest.MonkeyPatch, line: Line
) -> None:
    method = msgspec.structs.replace(CATALOGUE.withdrawal_methods["sepa:EUR"], second_operator_above_minor=999)
    monkeypatch.setitem(CATALOGUE.withdrawal_methods, "sepa:EUR", method)
    new = await asked(rich, BY_SEPA, mode="live")
    await review(services, new, "olga")
    assert (await fresh(rich, new, mode="live"))["status"] == "pending_review"
    with pytest.raises(ApprovedBefore):
        await review(services, new, "olga")
    await carry(rich, services)
    assert line.times_sent(new) == 0
    await review(services, new, "omar")
    await carry(rich, services)
    assert line.times_sent(new) == 1


@pytest.mark.usefixtures("bank")
async def test_an_approved_one_can_still_be_rejected_or_canceled(rich: Actor, services: Services, line: Line) -> None:
    new, other = await asked(rich, BY_SEPA, mode="live"), await asked(rich, BY_SEPA, mode="live")
    await review(services, new)
    await review(services, new, rejected="On second thought")
    await review(services, other)
    assert (await cancel(rich, other, mode="live")).ok().body["status"] == "canceled"
    await carry(rich, services)
    assert line.times_sent(new) == line.times_sent(other) == 0
    assert await purse_live(rich) == (10_000, 0)
    with pytest.raises(NotFound):
        await review(services, {"id": rich.merchant_id})


@pytest.mark.covers("P-124")
@pytest.mark.parametrize("cut", ["before", "after"])
async def test_of_unknown_fate_it_stays_on_hold_and_is_sent_once(
    rich: Actor, services: Services, line: Line, bank: PaperBank, cut: str
) -> None:
    new = await asked(rich, BY_SEPA, mode="live")
    await review(services, new)
    line.cut, line.dead = ("before" if cut == "before" else "after"), True
    for _ in range(5):
        await carry(rich, services)
        assert (await fresh(rich, new, mode="live"))["status"] == "processing"
        assert await purse_live(rich) == (9_000, 1_000)
        (await cancel(rich, new, mode="live")).refused("invalid_state", 409)
    assert line.times_sent(new) == (0 if cut == "before" else 1)
    line.cut, line.dead = None, False
    for _ in range(3):
        await carry(rich, services)
    assert line.times_sent(new) == 1
    bank.state = PayoutState("succeeded")
    await carry(rich, services)
    assert (await fresh(rich, new, mode="live"))["status"] == "completed"


@pytest.mark.usefixtures("line")
async def test_what_the_rail_refuses_comes_back(rich: Actor, services: Services, bank: PaperBank) -> None:
    bank.declines = True
    new = await asked(rich, BY_SEPA, mode="live")
    await review(services, new)
    await carry(rich, services)
    shown = await fresh(rich, new, mode="live")
    assert (shown["status"], shown["failure_code"]) == ("failed", "receiver_invalid")
    assert await purse_live(rich) == (10_000, 0)
    assert await reported(rich) == ["withdrawal.processing", "withdrawal.failed"]


async def test_while_its_rail_is_down_it_waits(rich: Actor, services: Services, line: Line, bank: PaperBank) -> None:
    new = await asked(rich, BY_SEPA, mode="live")
    await review(services, new)
    bank.down = True
    await carry(rich, services)
    assert (await fresh(rich, new, mode="live"))["status"] == "approved"
    refused = (await withdraw(rich, BY_SEPA, mode="live")).refused("method_unavailable", 422)
    assert refused.body["details"] == {"unavailable_reason": "provider_down"}
    bank.down = False
    await carry(rich, services)
    assert line.times_sent(new) == 1


@pytest.mark.covers("P-128")
@pytest.mark.usefixtures("line")
async def test_what_the_rail_wants_to_know(rich: Actor) -> None:
    problems = (await withdraw(rich, BY_SEPA | {"provider_fields": {}}, mode="live")).field_errors()
    assert problems == {"provider_fields.account_holder_name": "missing"}
    wrong: dict[str, Any] = {"account_holder_name": 5, "branch": "ABNANL2A", "reference": "x" * 141}
    answer = await withdraw(rich, (BY_SEPA | {"provider_fields": wrong, "webhook_url": "http://a.example/h"}), mode="live")
    assert answer.field_errors() == {
        "provider_fields.account_holder_name": "invalid_type",
        "provider_fields.branch": "unknown_field",
        "provider_fields.reference": "invalid_value",
        "webhook_url": "invalid_url",
    }
    assert any(problem["message"].startswith("/provider_fields/branch: ") for problem in answer.body["errors"])
    own = (await withdraw(rich, BY_SEPA | {"receiver": OWN_IBAN}, mode="live")).refused("invalid_receiver", 422)
    assert [problem["field"] for problem in own.body["errors"]] == ["receiver"]


@pytest.mark.parametrize(("paid_minor", "variance_minor"), [(30, 0), (10, 20), (45, -15), (0, 30)])
async def test_the_real_cost_of_a_rail_is_paid_by_the_service(
    rich: Actor,
    services: Services,
    bank: PaperBank,
    monkeypatch: pytest.MonkeyPatch,
    paid_minor: int,
    variance_minor: int,
) -> None:
    method = msgspec.structs.replace(CATALOGUE.withdrawal_methods["sepa:EUR"], network_fee_minor=30)
    monkeypatch.setitem(CATALOGUE.withdrawal_methods, "sepa:EUR", method)
    new = await asked(rich, BY_SEPA, mode="live")
    assert (new["network_fee_minor"], new["receive_minor"]) == (30, 970)
    await review(services, new)
    await carry(rich, services)
    bank.state = PayoutState("succeeded", network_fee_minor=paid_minor, tx_hash="0xabc")
    await carry(rich, services)
    assert (await fresh(rich, new, mode="live"))["tx_hash"] == "0xabc"
    assert await purse_live(rich) == (9_000, 0)
    [row] = await rich.sql(
        "SELECT coalesce(sum(CASE a.id WHEN p.credit_account_id THEN p.amount ELSE -p.amount END), 0) AS kept"
        " FROM ledger_postings p JOIN ledger_transactions t ON t.id = p.transaction_id"
        " JOIN ledger_accounts a ON a.id IN (p.debit_account_id, p.credit_account_id) AND a.code = 'expense:network_fee'"
        " WHERE t.source_id = $1::uuid",
        new["id"],
    )
    assert row["kept"] == variance_minor
