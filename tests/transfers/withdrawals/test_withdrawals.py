"""Withdrawals of test mode: what is asked for is held, sent, and taken or given back."""

from typing import Any

import pytest

from tests.cast import Actor
from tests.invariants import broken_invariants, last_id
from tests.payments.bank import purse, until
from tests.payments.shop import events
from tests.transfers.withdrawals.steps import TO_NINA, asked, cancel, fund, reported


@pytest.fixture(autouse=True)
async def all_is_well(alice: Actor) -> object:
    """After each of these histories the books are in order."""
    began = last_id()
    yield
    assert await broken_invariants(alice.service.dsn, began) == []


@pytest.mark.covers("P-17")
async def test_without_a_key_nothing_is_created(alice: Actor) -> None:
    await fund(alice)
    (await alice.post("/withdrawals", TO_NINA)).refused("idempotency_key_required", 400)
    assert (await alice.get("/withdrawals")).ok().body == {"withdrawals": [], "has_more": False, "next_cursor": None}
    assert await purse(alice) == (10_000, 0, 0)


@pytest.mark.long
@pytest.mark.covers("P-121")
async def test_left_to_itself_it_arrives(alice: Actor) -> None:
    await fund(alice)
    hook = "http://127.0.0.1:9999/hook"
    said: dict[str, Any] = {"webhook_url": hook, "external_id": "w-1", "description": "Rent", "metadata": {"by": "me"}}
    new = await asked(alice, said | {"provider_fields": {"account_holder_name": "Nina"}})
    assert (new["object"], new["status"], new["amount"], new["debit_minor"], new["receive_minor"]) == (
        "withdrawal",
        "approved",
        "10.00",
        1_000,
        1_000,
    )
    assert {name: new[name] for name in said} == said
    assert (new["network_fee_mode"], new["cancelable"], new["review"]["required"]) == ("deduct", True, False)
    assert await purse(alice) == (9_000, 1_000, 0)
    assert (await alice.get("/balances/EUR")).ok().body["reserved_breakdown"]["withdrawals_minor"] == 1_000
    done = await until(alice, f"/withdrawals/{new['id']}", "completed")
    assert (done["cancelable"], done["estimated_arrival"], done["version"]) == (False, None, 4)
    assert done["provider_reference"]
    assert new["created_at"] < done["processing_at"] < done["completed_at"]
    assert await purse(alice) == (9_000, 0, 0)
    assert await reported(alice) == ["withdrawal.processing", "withdrawal.completed"]
    assert (await alice.get("/withdrawals?external_id=w-1")).ok().body["withdrawals"] == [done]
    assert (await alice.get("/withdrawals?status=approved")).ok().body["withdrawals"] == []
    rows = await alice.sql(
        "SELECT type, destination_url FROM webhook_events WHERE merchant_id = $1::uuid AND type <> 'balance.updated'",
        alice.merchant_id,
    )
    assert {row["destination_url"] for row in rows} == {hook}


@pytest.mark.covers("P-119")
async def test_canceled_in_time_everything_is_as_before(alice: Actor) -> None:
    await fund(alice)
    new = await asked(alice)
    assert await purse(alice) == (9_000, 1_000, 0)
    off = (await cancel(alice, new)).ok().body
    assert (off["status"], off["version"], off["cancelable"]) == ("canceled", 2, False)
    assert await purse(alice) == (10_000, 0, 0)
    assert await reported(alice) == []
    (await cancel(alice, new)).refused("invalid_state", 409)
    assert [name for name, _ in await events(alice)] == ["balance.updated"] * 3
