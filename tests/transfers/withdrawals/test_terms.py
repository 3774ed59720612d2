"""What a withdrawal costs and how much may be withdrawn: fees, limits, quotes, and everything that is refused."""

from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

import pytest

from tests.cast import Actor, application
from tests.invariants import broken_invariants, last_id
from tests.payments.bank import purse, until
from tests.transfers.withdrawals.steps import asked, cancel, fund, play, priced, quote, reported, withdraw
from tollhouse.kernel.catalogue.methods import Fees

SEED_FIELDS = {
    "method_id", "available", "minimum_minor", "maximum_minor", "daily_limit_minor", "network_fee_modes", "fees",
    "receiver_type", "provider_fields", "manual_review",
}  # fmt: skip


@pytest.fixture(autouse=True)
async def all_is_well(shop: Actor) -> AsyncIterator[None]:
    """After each of these histories the books are in order."""
    began = last_id()
    yield
    assert await broken_invariants(shop.service.dsn, began) == []


@pytest.fixture
def two_euros(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fees of 1.50 and 0.50."""
    priced(monkeypatch, fees=Fees(fixed_minor=100, basis_points=50, maximum_minor=1_000), network_fee_minor=50)


@pytest.mark.covers("P-112", "P-38")
async def test_the_methods_of_each_environment(shop: Actor) -> None:
    live = {
        withdrawal_method["method_id"]: withdrawal_method
        for withdrawal_method in (await shop.get("/withdrawal-methods", mode="live")).ok().body["withdrawal_methods"]
    }
    test = {
        withdrawal_method["method_id"]: withdrawal_method
        for withdrawal_method in (await shop.get("/withdrawal-methods")).ok().body["withdrawal_methods"]
    }
    assert set(live) == {"sepa:EUR", "bitcoin:BTC", "ethereum:ETH", "ethereum:USDC"}  # USDT is taken in, and not sent out
    assert set(test) - set(live) == {
        f"sandbox:{code}" for code in ("EUR", "USD", "GBP", "JPY", "BTC", "ETH", "USDC", "USDT")
    }
    assert all(set(transaction) >= SEED_FIELDS for transaction in [*live.values(), *test.values()])
    assert all(
        transaction["manual_review"] == {"always_required": True, "threshold_minor": 0} for transaction in live.values()
    )
    assert {transaction["unavailable_reason"] for transaction in live.values()} == {"provider_not_configured"}
    sandbox = test["sandbox:EUR"]
    assert (sandbox["available"], sandbox["unavailable_reason"], sandbox["manual_review"]["always_required"]) == (
        True,
        None,
        False,
    )
    assert (sandbox["maximum_minor"], sandbox["daily_limit_minor"], sandbox["network_fee_modes"]) == (
        None,
        None,
        ["deduct", "add"],
    )
    assert sandbox["fees"] == {
        "system": {"fixed_minor": 0, "percent_bps": 0, "minimum_minor": 0, "maximum_minor": None},
        "network": {"model": "none", "amount_minor": 0, "as_of": None},
    }
    assert (test["sepa:EUR"]["unavailable_reason"], live["sepa:EUR"]["receiver_type"]) == ("not_in_environment", "iban")
    assert live["sepa:EUR"]["provider_fields"]["required"] == ["account_holder_name"]


@pytest.mark.covers("P-114")
async def test_the_limits_of_an_amount(shop: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    await fund(shop)
    priced(monkeypatch, minimum_minor=500, maximum_minor=2_000)
    low = (await withdraw(shop, {"amount": "4.99"})).refused("amount_below_minimum", 422)
    high = (await withdraw(shop, {"amount": "20.01"})).refused("amount_above_maximum", 422)
    assert (low.body["details"], high.body["details"]) == ({"minimum_minor": 500}, {"maximum_minor": 2_000})
    await asked(shop, {"amount": "5.00"})
    await asked(shop, {"amount": "20.00"})
    priced(monkeypatch, maximum_minor=None)
    await asked(shop, {"amount": "75.00"})
    assert await purse(shop) == (0, 10_000, 0)


@pytest.mark.covers("P-115")
@pytest.mark.usefixtures("two_euros")
async def test_fees_are_deducted_or_added(shop: Actor) -> None:
    await fund(shop, "202.00")
    less = await asked(shop, {"amount": "100.00"})
    assert (less["network_fee_mode"], less["debit"], less["receive"]) == ("deduct", "100.00", "98.00")
    assert (less["system_fee"], less["network_fee"]) == ("1.50", "0.50")
    more = await asked(shop, {"amount": "100.00", "network_fee_mode": "add"})
    assert (more["debit"], more["receive"]) == ("102.00", "100.00")
    assert await purse(shop) == (0, 20_200, 0)
    for one in (less, more):
        (await play(shop, one, "complete")).ok()
    assert await purse(shop) == (0, 0, 0)
    moved = (await shop.get("/ledger?account=reserved&source_type=withdrawal")).ok().body["ledger"]
    assert sorted((entry["type"], entry["signed_amount_minor"]) for entry in moved if entry["signed_amount_minor"] < 0) == [
        ("network_fee", -50),
        ("network_fee", -50),
        ("withdrawal", -10_000),
        ("withdrawal", -9_800),
        ("withdrawal_fee", -150),
        ("withdrawal_fee", -150),
    ]


@pytest.mark.covers("P-116")
@pytest.mark.usefixtures("two_euros")
async def test_added_fees_must_be_there_too(shop: Actor) -> None:
    await fund(shop, "101.00")
    refused = (await withdraw(shop, {"amount": "100.00", "network_fee_mode": "add"})).refused("insufficient_funds", 422)
    assert refused.body["details"] == {"available_minor": 10_100, "required_minor": 10_200, "currency": "EUR"}
    assert await purse(shop) == (10_100, 0, 0)


@pytest.mark.covers("P-117")
async def test_fees_that_eat_everything(shop: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    await fund(shop)
    priced(monkeypatch, fees=Fees(fixed_minor=150), network_fee_minor=50)
    for amount in ("2.00", "1.00", "0.01"):
        (await withdraw(shop, {"amount": amount})).refused("amount_below_fees", 422)
        (await quote(shop, amount=amount)).refused("amount_below_fees", 422)
    assert (await asked(shop, {"amount": "2.01"}))["receive_minor"] == 1
    assert (await asked(shop, {"amount": "2.00", "network_fee_mode": "add"}))["debit_minor"] == 400


@pytest.mark.covers("P-118")
async def test_a_fee_mode_that_the_method_does_not_have(shop: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    await fund(shop)
    priced(monkeypatch, network_fee_modes=("add",))
    assert (await withdraw(shop, {"network_fee_mode": "deduct"})).field_errors() == {"network_fee_mode": "invalid_value"}
    assert (await withdraw(shop, {"network_fee_mode": "share"})).field_errors() == {"network_fee_mode": "invalid_value"}
    assert (await asked(shop))["network_fee_mode"] == "add"


@pytest.mark.covers("P-122")
@pytest.mark.parametrize(("outcome", "code"), [("fail", "payout_declined"), ("reject", "review_rejected")])
async def test_what_fails_is_available_again(shop: Actor, outcome: str, code: str) -> None:
    await fund(shop)
    new = await asked(shop)
    failed = (await play(shop, new, outcome)).ok().body
    assert (failed["status"], failed["failure_code"], failed["completed_at"]) == ("failed", code, None)
    assert failed["failure_message"]
    assert await purse(shop) == (10_000, 0, 0)
    assert (await reported(shop))[-1] == "withdrawal.failed"
    (await play(shop, new, "complete")).refused("invalid_state", 409)


@pytest.mark.covers("P-125")
@pytest.mark.usefixtures("two_euros")
async def test_what_arrived_and_came_back(shop: Actor) -> None:
    await fund(shop)
    new = await asked(shop, {"amount": "100.00"})
    back = (await play(shop, new, "return")).ok().body
    assert (back["status"], back["failure_code"]) == ("failed", "returned")
    assert back["completed_at"]
    assert await purse(shop) == (9_800, 0, 0)
    assert await reported(shop) == ["withdrawal.processing", "withdrawal.completed", "withdrawal.failed"]
    (await play(shop, new, "return")).refused("invalid_state", 409)


async def test_the_simulator_step_by_step(shop: Actor) -> None:
    await fund(shop)
    new = await asked(shop)
    assert (await play(shop, new, "approve")).ok().body["status"] == "approved"
    assert (await play(shop, new, "process")).ok().body["status"] == "processing"
    (await play(shop, new, "approve")).refused("invalid_state", 409)
    (await play(shop, new, "reject")).refused("invalid_state", 409)
    assert (await play(shop, new, "stick")).ok().body["status"] == "processing"
    assert (await play(shop, new, "complete")).ok().body["status"] == "completed"
    (await shop.post(f"/test/withdrawals/{uuid4()}/simulate", {"outcome": "fail"})).refused("not_found", 404)
    (await shop.post(f"/test/withdrawals/{new['id']}/simulate", {"outcome": "fail"}, mode="live")).refused(
        "test_mode_only", 403
    )


@pytest.mark.covers("P-126")
async def test_the_limit_of_a_day(shop: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    await fund(shop, "500.00")
    priced(monkeypatch, daily_limit_minor=10_000)
    first = await asked(shop, {"amount": "60.00"})
    refused = (await withdraw(shop, {"amount": "50.00"})).refused("daily_limit_exceeded", 422)
    assert refused.body["details"]["remaining_minor"] == 4_000
    assert refused.body["details"]["resets_at"].endswith("T00:00:00.000Z")
    (await withdraw(shop, {"amount": "100.01"})).refused("daily_limit_exceeded", 422)
    (await cancel(shop, first)).ok()
    second = await asked(shop, {"amount": "50.00"})
    await asked(shop, {"amount": "50.00"})
    (await withdraw(shop, {"amount": "0.01"})).refused("daily_limit_exceeded", 422)
    (await play(shop, second, "fail")).ok()
    await asked(shop, {"amount": "50.00"})
    (await shop.post("/test/clock/advance", {"seconds": 86_400})).ok()
    await asked(shop, {"amount": "100.00"})


@pytest.mark.covers("P-129")
async def test_a_quote_is_kept_to_for_a_minute(shop: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    await fund(shop, "500.00")
    priced(monkeypatch, fees=Fees(fixed_minor=100))
    kept, late = [(await quote(shop, network_fee_mode="add")).ok(201).body for _ in range(2)]
    assert (kept["debit"], kept["receive"], kept["manual_review_required"]) == ("11.00", "10.00", False)
    assert kept["network_fee_estimate"] is None
    assert await purse(shop) == (50_000, 0, 0)
    priced(monkeypatch, fees=Fees(fixed_minor=300))
    for other in ({"amount": "10.01"}, {"network_fee_mode": "deduct"}):
        assert set((await withdraw(shop, other | {"quote_id": kept["id"]})).field_errors().values()) == {"quote_mismatch"}
    new = await asked(shop, {"quote_id": kept["id"]})
    assert (new["network_fee_mode"], new["system_fee_minor"], new["quote_id"]) == ("add", 100, kept["id"])
    (await withdraw(shop, {"quote_id": kept["id"]})).refused("quote_already_used", 409)
    (await withdraw(shop, {"quote_id": str(uuid4())})).refused("not_found", 404)
    (await shop.post("/test/clock/advance", {"seconds": 60})).ok()
    (await withdraw(shop, {"quote_id": late["id"]})).refused("quote_expired", 409)
    quoted = (await quote(shop)).ok(201).body
    await asked(shop, {"quote_id": quoted["id"]})


async def test_another_merchants_quote_is_not_there(shop: Actor, neighbour: Actor) -> None:
    await fund(neighbour)
    mine = (await quote(shop)).ok(201).body
    (await withdraw(neighbour, {"quote_id": mine["id"]})).refused("not_found", 404)
    new = await _of(shop)
    for path in (f"/withdrawals/{new['id']}", f"/withdrawals/{uuid4()}", "/withdrawals/nothing"):
        (await neighbour.get(path)).refused("not_found", 404)
    (await cancel(neighbour, new)).refused("not_found", 404)
    (await shop.get(f"/withdrawals/{new['id']}", mode="live")).refused("not_found", 404)


@pytest.mark.covers("P-130")
async def test_who_may_only_read_may_get_a_quote(shop: Actor) -> None:
    await fund(shop)
    app = await application(shop)
    token = (await app.connect(shop, "withdrawals:read"))["access_token"]
    body = {"method_id": "sandbox:EUR", "amount": "10.00"}
    (await app.api(token, "GET", "/withdrawal-methods")).ok()
    (await app.api(token, "POST", "/withdrawal-quotes", body)).ok(201)
    (await app.api(token, "POST", "/withdrawals", body | {"receiver": "Nina"}, key="k")).refused("missing_scope", 403)


@pytest.mark.covers("P-131")
async def test_methods_that_there_are_not(shop: Actor) -> None:
    for method_id in ("sandbox", "sandbox:XXX", "SANDBOX:EUR", "", "sandbox:eur"):
        (await withdraw(shop, {"method_id": method_id})).refused("method_unavailable", 422)
    refused = (await withdraw(shop, {"method_id": "bitcoin:BTC"})).refused("method_unavailable", 422)
    assert refused.body["details"] == {"unavailable_reason": "not_in_environment"}
    refused = (await withdraw(shop, {"method_id": "bitcoin:BTC"}, mode="live")).refused("method_unavailable", 422)
    assert refused.body["details"] == {"unavailable_reason": "provider_not_configured"}
    refused = (await withdraw(shop, mode="live")).refused("method_unavailable", 422)
    assert refused.body["details"] == {"unavailable_reason": "not_in_environment"}


@pytest.mark.covers("P-132")
async def test_an_external_id_is_of_one_withdrawal(shop: Actor) -> None:
    await fund(shop)
    first = await asked(shop, {"external_id": "rent-11"})
    again = (await withdraw(shop, {"external_id": "rent-11"})).refused("duplicate_external_id", 409)
    assert again.body["details"] == {"existing_id": first["id"]}
    assert await purse(shop) == (9_000, 1_000, 0)


async def test_everything_that_is_wrong_is_reported_at_once(shop: Actor) -> None:
    body = {
        "amount": 10,
        "receiver": "Nina",
        "provider_fields": {"iban": "x"},
        "webhook_url": "nonsense",
        "external_id": "",
        "description": "x" * 1_001,
        "metadata": {"a b": "c"},
    }
    assert set((await withdraw(shop, body)).field_errors()) == {
        "amount", "provider_fields.iban", "webhook_url", "external_id", "description", "metadata",
    }  # fmt: skip
    assert (await withdraw(shop, {"receiver": None, "cheque": True})).field_errors() == {
        "receiver": "missing",
        "cheque": "unknown_field",
    }
    for receiver in ("", "x" * 257, "sandbox-invalid"):
        (await withdraw(shop, {"receiver": receiver})).refused("invalid_receiver", 422)
    assert (await withdraw(shop, {"receiver": "a\tb"})).field_errors() == {"receiver": "invalid_value"}
    for amount in ("0", "-1", "1e3", "1.001", "10.0 ", "1,0"):
        assert (await withdraw(shop, {"amount": amount})).field_errors() == {"amount": "invalid_amount"}
    (await withdraw(shop, {"amount": "90071992547409.91", "network_fee_mode": "add"})).refused("insufficient_funds", 422)


@pytest.mark.parametrize(
    ("receiver", "ends"), [("sandbox-declined", "receiver_invalid"), ("sandbox-fails", "payout_declined")]
)
async def test_receivers_that_nobody_can_pay(alice: Actor, receiver: str, ends: str) -> None:
    await fund(alice)
    new = await asked(alice, {"receiver": receiver})
    failed = await until(alice, f"/withdrawals/{new['id']}", "failed")
    assert failed["failure_code"] == ends
    assert await purse(alice) == (10_000, 0, 0)


async def methods(actor: Actor, mode: str) -> dict[str, dict[str, Any]]:
    """Every method of an environment."""
    shown = (await actor.get("/withdrawal-methods", mode=mode)).ok().body["withdrawal_methods"]
    return {method["method_id"]: method for method in shown}


async def _of(actor: Actor) -> dict[str, Any]:
    await fund(actor)
    return await asked(actor)
