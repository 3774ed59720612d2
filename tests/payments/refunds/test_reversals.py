"""Confirmed money that is gone again, and back: in any order, however often, whoever had it by then."""

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any, Literal
from uuid import UUID

import asyncpg
import msgspec
import pytest

from tests.cast import Actor
from tests.forms import seen
from tests.invariants import broken_invariants, last_id
from tests.payments.bank import bank_says, fresh, play, purse, refund
from tests.payments.shop import choose, open_link
from tests.running import Service
from tests.transfers.withdrawals.steps import TO_NINA
from tollhouse.http.services import Services
from tollhouse.kernel import clock
from tollhouse.kernel.ids import new_id
from tollhouse.kernel.rails.provider import Observation, ObservedDispute, Payer
from tollhouse.payments.refunds import reversals
from tollhouse.rails.sandbox.provider import PAYER
from tollhouse.transfers.gate import gate

Outcome = Literal["seen", "vanished", "confirmed", "failed", "reversed", "reinstated"]


@pytest.fixture
async def services(service: Service, services: Services) -> AsyncIterator[Services]:
    """Services on the same database, to report to as a rail's job would."""
    before = last_id()
    yield services
    assert await broken_invariants(service.dsn, before) == []


async def attempted(alice: Actor, amount: str = "10.00", **changes: Any) -> str:
    """The id of a payment that a customer has begun, which is its reference in the sandbox."""
    link = await open_link(alice, amount=amount, **changes)
    return (await choose(link)).ok(303).query["payment"]


async def report(services: Services, payment_id: str, outcome: Outcome, name: str, minor: int = 0, **more: Any) -> bool:
    """Let the sandbox report this of a transfer. Whether anything changed."""
    seen = Observation(
        reference=payment_id, outcome=outcome, external_ref=name, amount_minor=minor, payer=Payer(PAYER), **more
    )
    return await reversals.observe(services, "sandbox", "test", seen, clock.now()) is not None


async def paid(alice: Actor, services: Services, minor: int = 1_000, **changes: Any) -> tuple[str, str]:
    """A payment of 10.00 for which this much is confirmed, and the name of its transfer."""
    payment_id, name = await attempted(alice, **changes), str(new_id())
    assert await report(services, payment_id, "confirmed", name, minor)
    return payment_id, name


async def release(services: Services, back: dict[str, Any]) -> None:
    """Let the gate release a refund, as the worker does before it submits it."""
    await services.transact(lambda work: gate.release(work.tx, UUID(back["id"]), work.now), clock.now())


async def state(alice: Actor, payment_id: str) -> tuple[str, int, int]:
    """Status, received amount, and what awaits a decision."""
    found = await fresh(alice, {"id": payment_id})
    return found["status"], found["amount_received_minor"], found["refund_required_amount_minor"]


async def lost(alice: Actor, payment_id: str) -> int:
    """What the platform lost by reversals of this payment, in the ledger."""
    [row] = await alice.sql(
        "SELECT coalesce(sum(CASE a.id WHEN p.debit_account_id THEN p.amount ELSE -p.amount END), 0)::bigint AS lost"
        " FROM payment_reversals v JOIN ledger_transactions l ON l.source_id = v.id AND l.source_type = 'payment_reversal'"
        " JOIN ledger_postings p ON p.transaction_id = l.id"
        " JOIN ledger_accounts a ON a.id IN (p.debit_account_id, p.credit_account_id)"
        "      AND a.code = 'expense:reversed_payment'"
        " WHERE v.transaction_id = $1::uuid",
        payment_id,
    )
    return row["lost"]


async def test_credited_money_that_is_gone_is_charged_back_and_comes_back_once(alice: Actor, services: Services) -> None:
    payment_id, name = await paid(alice, services)
    assert await report(services, payment_id, "reversed", name)
    assert not await report(services, payment_id, "reversed", name)
    found = await fresh(alice, {"id": payment_id})
    assert (found["status"], found["chargeback"]["reason"], found["chargeback"]["amount_minor"]) == (
        "chargeback",
        "reorganized",
        1_000,
    )
    assert (found["chargeback"]["fee_minor"], await purse(alice)) == (0, (0, 0, 0))
    dispute = f"/disputes/{found['chargeback']['id']}"
    seen = (await alice.get(dispute)).ok().body
    assert (seen["status"], seen["evidence_due_at"], [one["status"] for one in seen["history"]]) == (
        "under_review",
        None,
        ["under_review"],
    )
    (await alice.call("PUT", f"{dispute}/evidence", {"uncategorized_text": "Sent"})).refused("invalid_state")
    (await alice.post(f"{dispute}/accept", {})).refused("invalid_state")
    assert await report(services, payment_id, "reinstated", name)
    assert not await report(services, payment_id, "reinstated", name)
    assert not await report(services, payment_id, "reversed", name), "the report is older than that of its end"
    found = await fresh(alice, {"id": payment_id})
    assert (found["status"], found["chargeback"]["status"], await purse(alice)) == ("succeeded", "won", (1_000, 0, 0))
    for block in ("b", "c"):  # another block is dropped
        assert await report(services, payment_id, "reversed", name, reversal_ref=block)
        assert await purse(alice) == (0, 0, 0)
        assert await report(services, payment_id, "reinstated", name, reversal_ref=block)
    assert await purse(alice) == (1_000, 0, 0)


async def test_reports_in_the_wrong_order(alice: Actor, services: Services) -> None:
    payment_id, name = await paid(alice, services)
    assert not await report(services, payment_id, "reinstated", name)
    assert not await report(services, payment_id, "reversed", name)
    assert await purse(alice) == (1_000, 0, 0)
    early, other = await attempted(alice), str(new_id())
    assert await report(services, early, "seen", other, 1_000)
    assert await report(services, early, "reversed", other)
    assert (await state(alice, early))[0] == "pending"
    assert await report(services, early, "confirmed", other, 1_000)
    assert ((await state(alice, early))[0], await purse(alice)) == ("chargeback", (1_000, 0, 0))
    assert await report(services, early, "reinstated", other)
    assert ((await state(alice, early))[0], await purse(alice)) == ("succeeded", (2_000, 0, 0))
    last, third = await attempted(alice), str(new_id())
    for outcome in ("reversed", "reinstated", "reversed"):
        assert not await report(services, last, outcome, third)
    assert await report(services, last, "confirmed", third, 1_000)
    assert await purse(alice) == (3_000, 0, 0)
    assert not await report(services, last, "reversed", third, 1_000, currency="USD", reversal_ref="x")
    assert not await report(services, str(new_id()), "reversed", third)


async def test_what_was_spent_or_refunded_becomes_debt(alice: Actor, services: Services) -> None:
    payment_id, name = await paid(alice, services)
    back = (await refund(alice, {"id": payment_id}, "4.00")).ok(201).body
    (await bank_says(alice, back, "succeed")).ok()
    assert await report(services, payment_id, "reversed", name)
    assert (await purse(alice), await lost(alice, payment_id)) == ((0, 0, 400), 0)
    assert (await state(alice, payment_id))[0] == "chargeback"
    assert await report(services, payment_id, "reinstated", name)
    assert (await purse(alice), await lost(alice, payment_id)) == ((600, 0, 0), 0)
    assert (await state(alice, payment_id))[0] == "partially_refunded"

    whole, other = await paid(alice, services)
    back = (await refund(alice, {"id": whole})).ok(201).body
    (await bank_says(alice, back, "succeed")).ok()
    assert await report(services, whole, "reversed", other)
    assert ((await state(alice, whole))[0], await lost(alice, whole)) == ("chargeback", 0)
    assert (await fresh(alice, {"id": whole}))["chargeback"]["amount_minor"] == 1_000
    assert await purse(alice) == (0, 0, 400)
    assert await report(services, whole, "reinstated", other)
    assert ((await state(alice, whole))[0], await purse(alice)) == ("refunded", (600, 0, 0))

    spent, third = await paid(alice, services)
    assert await purse(alice) == (1_600, 0, 0)
    assert await report(services, spent, "reversed", third, 300)
    assert await purse(alice) == (1_300, 0, 0), "a part of it"
    (await alice.post("/withdrawals", TO_NINA | {"amount": "9.00"}, key="out")).ok(201)
    there = (await purse(alice))[0]
    assert await report(services, spent, "reversed", third, reversal_ref="the rest")
    assert (await purse(alice))[::2] == (0, 700 - there)


async def test_unapplied_money_that_is_gone_no_longer_awaits_a_decision(alice: Actor, services: Services) -> None:
    payment_id = await attempted(alice)
    (await play(alice, {"id": payment_id}, "expire")).ok()
    first, second = str(new_id()), str(new_id())
    assert await report(services, payment_id, "confirmed", first, 1_000)
    assert await report(services, payment_id, "confirmed", second, 200)
    assert await state(alice, payment_id) == ("refund_required", 1_200, 1_200)
    assert await report(services, payment_id, "reversed", first)
    assert await state(alice, payment_id) == ("refund_required", 200, 200)
    assert await report(services, payment_id, "reversed", second)
    found = await fresh(alice, {"id": payment_id})
    assert (found["status"], found["failure_code"]) == ("failed", "payment_reversed")
    (await refund(alice, {"id": payment_id})).refused("refund_not_allowed")
    assert await report(services, payment_id, "reinstated", second)
    assert await state(alice, payment_id) == ("refund_required", 200, 200)
    back = (await refund(alice, {"id": payment_id})).ok(201).body
    (await bank_says(alice, back, "succeed")).ok()
    assert await report(services, payment_id, "reversed", second, reversal_ref="again")
    assert (await state(alice, payment_id), await purse(alice)) == (("chargeback", 200, 0), (0, 0, 200))
    assert await report(services, payment_id, "reinstated", first)
    assert await state(alice, payment_id) == ("chargeback", 1_200, 1_000)
    (await alice.post(f"/transactions/{payment_id}/accept", {})).ok()
    assert await purse(alice) == (800, 0, 0)
    assert await report(services, payment_id, "reinstated", second, reversal_ref="again")
    assert ((await state(alice, payment_id))[0], await purse(alice)) == ("succeeded", (1_000, 0, 0))
    assert await report(services, payment_id, "reversed", first, reversal_ref="again")
    assert await purse(alice) == (0, 0, 0)


async def test_a_part_that_is_gone_and_back_counts_again(alice: Actor, services: Services) -> None:
    payment_id, name = await paid(alice, services, 400)
    assert await report(services, payment_id, "reversed", name)
    assert await state(alice, payment_id) == ("pending", 0, 0)
    assert await report(services, payment_id, "confirmed", name + "b", 600)
    assert await report(services, payment_id, "reinstated", name)
    assert await state(alice, payment_id) == ("succeeded", 1_000, 0)
    assert await purse(alice) == (1_000, 0, 0)
    assert await report(services, payment_id, "reversed", name, reversal_ref="b")
    assert await report(services, payment_id, "reversed", name + "b")
    assert (await purse(alice), (await state(alice, payment_id))[0]) == ((0, 0, 0), "chargeback")
    assert await report(services, payment_id, "reinstated", name, reversal_ref="b")
    assert (await purse(alice), (await state(alice, payment_id))[0]) == ((400, 0, 0), "chargeback")
    assert await report(services, payment_id, "reinstated", name + "b")
    assert (await purse(alice), (await state(alice, payment_id))[0]) == ((1_000, 0, 0), "succeeded")


async def test_two_transfers_in_one_dropped_block(alice: Actor, services: Services) -> None:
    payment_id, name = await paid(alice, services, 400)
    assert await report(services, payment_id, "confirmed", name + "b", 600)
    for transfer in (name, name + "b"):
        assert await report(services, payment_id, "reversed", transfer, reversal_ref="block")
    assert (await purse(alice), (await state(alice, payment_id))[0]) == ((0, 0, 0), "chargeback")
    rows = await alice.sql("SELECT id::text FROM chargebacks WHERE transaction_id = $1::uuid", payment_id)
    shown = (await alice.get(f"/disputes?transaction_id={payment_id}")).ok().body["disputes"]
    assert {deposit["id"] for deposit in shown} == {row["id"] for row in rows}
    assert sorted(deposit["amount_minor"] for deposit in shown) == [400, 600]
    assert "You cannot respond." in await seen(alice, f"/test/disputes/{shown[0]['id']}")
    for transfer in (name + "b", name):
        assert await report(services, payment_id, "reinstated", transfer, reversal_ref="block")
    assert (await purse(alice), (await state(alice, payment_id))[0]) == ((1_000, 0, 0), "succeeded")


async def test_disputes_of_a_provider(alice: Actor, services: Services) -> None:
    payment_id, name = await paid(alice, services)
    due = clock.now() + timedelta(days=7)
    first = ObservedDispute(id="dp_1", reason="fraudulent", evidence_due_at=due)
    second = ObservedDispute(id="dp_2", reason="product_not_received")
    assert await report(services, payment_id, "reversed", name, 300, dispute=first)
    assert await report(services, payment_id, "reversed", name, 500, dispute=second)
    assert await purse(alice) == (200, 0, 0)
    later = due + timedelta(days=1)
    update = ObservedDispute(id="dp_1", reason="fraudulent", evidence_due_at=later)
    assert not await report(services, payment_id, "reversed", name, 300, dispute=update)
    rows = await alice.sql(
        "SELECT provider_reference, respond_by, status FROM chargebacks WHERE transaction_id = $1::uuid ORDER BY 1",
        payment_id,
    )
    assert [(row["provider_reference"], row["status"]) for row in rows] == [("dp_1", "open"), ("dp_2", "open")]
    assert rows[0]["respond_by"] == later
    ended = ObservedDispute(id="dp_2", reason="product_not_received", closed="lost")
    assert await report(services, payment_id, "reversed", name, 500, dispute=ended)
    assert not await report(services, payment_id, "reversed", name, 500, dispute=ended)
    won = ObservedDispute(id="dp_1", reason="fraudulent", closed="won")
    assert await report(services, payment_id, "reversed", name, 300, dispute=won)
    assert not await report(services, payment_id, "reinstated", name, 300, dispute=won)
    assert (await purse(alice), (await state(alice, payment_id))[0]) == ((500, 0, 0), "chargeback")
    third = ObservedDispute(id="dp_3", reason="fraudulent", closed="lost")
    assert await report(services, payment_id, "reversed", name, 900, dispute=third), "no more than is left"
    assert await purse(alice) == (0, 0, 0)


async def test_a_lost_dispute_is_won_if_its_money_is_there_again(alice: Actor, services: Services) -> None:
    payment_id, name = await paid(alice, services)
    lost = ObservedDispute(id="dp_1", reason="fraudulent", evidence_due_at=clock.now(), closed="lost")
    assert await report(services, payment_id, "reversed", name, dispute=lost)
    found = (await fresh(alice, {"id": payment_id}))["chargeback"]
    assert (found["status"], await purse(alice)) == ("lost", (0, 0, 0))
    with pytest.raises(asyncpg.CheckViolationError):
        await services.db.execute("UPDATE chargebacks SET status = 'won' WHERE id = $1", UUID(found["id"]))
    assert await report(services, payment_id, "reinstated", name, dispute=lost)
    assert (await purse(alice), (await state(alice, payment_id))[0]) == ((1_000, 0, 0), "succeeded")
    assert (await alice.get(f"/disputes/{found['id']}")).ok().body["status"] == "won"


async def test_the_schema_keeps_what_a_reversal_took(alice: Actor, services: Services) -> None:
    payment_id, name = await paid(alice, services)
    await report(services, payment_id, "reversed", name)

    for statement in (
        "UPDATE payment_reversals SET lost_minor = 1, amount_minor = amount_minor + 1 WHERE transaction_id = $1",
        "UPDATE payment_reversals SET status = 'expected' WHERE transaction_id = $1",
        "DELETE FROM payment_reversals WHERE transaction_id = $1",
    ):
        with pytest.raises(asyncpg.IntegrityConstraintViolationError):
            await services.db.execute(statement, UUID(payment_id))


async def test_a_dispute_after_a_refund_is_recorded_charged_and_has_the_refund_as_evidence(
    alice: Actor, services: Services
) -> None:
    again, other = await paid(alice, services)
    back = (await refund(alice, {"id": again})).ok(201).body
    (await bank_says(alice, back, "succeed")).ok()
    due = clock.now() + timedelta(days=7)
    second = ObservedDispute(id="dp_2", reason="duplicate", evidence_due_at=due)
    assert await report(services, again, "reversed", other, dispute=second)
    won = msgspec.structs.replace(second, closed="won")
    assert await report(services, again, "reversed", other, dispute=won)
    assert (await purse(alice), (await state(alice, again))[0]) == ((0, 0, 0), "refunded")

    payment_id, name = await paid(alice, services)
    back = (await refund(alice, {"id": payment_id})).ok(201).body
    (await bank_says(alice, back, "succeed")).ok()
    assert (await purse(alice), (await state(alice, payment_id))[0]) == ((0, 0, 0), "refunded")
    opened = ObservedDispute(id="dp_1", reason="fraudulent", evidence_due_at=due)
    assert await report(services, payment_id, "reversed", name, 1_000, dispute=opened)
    assert (await purse(alice), await lost(alice, payment_id)) == ((0, 0, 1_000), 0)
    found = (await fresh(alice, {"id": payment_id}))["chargeback"]
    dispute = (await alice.get(f"/disputes/{found['id']}")).ok().body
    assert (dispute["status"], dispute["amount_minor"]) == ("needs_response", 1_000)
    assert back["id"] in dispute["evidence"]["uncategorized_text"]
    assert "10.00 EUR" in dispute["evidence"]["uncategorized_text"]
    assert "was refunded" in await seen(alice, f"/test/disputes/{found['id']}")
    (await alice.post(f"/disputes/{found['id']}/submit", None)).ok()
    lost_dispute = msgspec.structs.replace(opened, closed="lost")
    assert await report(services, payment_id, "reversed", name, 1_000, dispute=lost_dispute)
    assert await purse(alice) == (0, 0, 1_000), "the customer has the money twice, and the merchant owes it"
    assert (await refund(alice, {"id": payment_id})).refused("payment_charged_back")


async def test_a_refund_on_its_way_during_a_dispute_continues_and_its_evidence_follows(
    alice: Actor, services: Services
) -> None:
    for outcome, owed, draft in (("fail", 0, None), ("succeed", 400, "on 20")):
        payment_id, name = await paid(alice, services)
        back = (await refund(alice, {"id": payment_id}, "4.00")).ok(201).body
        await release(services, back)
        opened = ObservedDispute(id=f"dp_{outcome}", reason="fraudulent", evidence_due_at=clock.now() + timedelta(days=7))
        assert await report(services, payment_id, "reversed", name, dispute=opened)
        assert await purse(alice) == (0, 400, 400)
        path = f"/disputes/{(await fresh(alice, {'id': payment_id}))['chargeback']['id']}"
        assert "on its way" in (await alice.get(path)).ok().body["evidence"]["uncategorized_text"]
        (await bank_says(alice, back, outcome)).ok()
        text = (await alice.get(path)).ok().body["evidence"]["uncategorized_text"]
        assert await purse(alice) == (0, 0, owed)
        assert text is None if draft is None else draft in text and "on its way" not in text
        (await alice.post(f"/transactions/{payment_id}/accept", {})).refused("invalid_state")


async def test_a_refund_of_money_that_was_never_credited_is_charged_when_it_is_disputed(
    alice: Actor, services: Services
) -> None:
    payment_id = await attempted(alice)
    (await play(alice, {"id": payment_id}, "expire")).ok()
    name = str(new_id())
    assert await report(services, payment_id, "confirmed", name, 1_000)
    back = (await refund(alice, {"id": payment_id})).ok(201).body
    await release(services, back)
    assert await report(services, payment_id, "reversed", name)
    assert (await state(alice, payment_id), await purse(alice)) == (("chargeback", 1_000, 1_000), (0, 0, 1_000))
    (await alice.post(f"/transactions/{payment_id}/accept", {})).refused("invalid_state")
    (await bank_says(alice, back, "fail")).ok()
    assert (await state(alice, payment_id), await purse(alice)) == (("chargeback", 1_000, 1_000), (0, 0, 1_000))
    (await alice.post(f"/transactions/{payment_id}/accept", {})).ok()
    assert await purse(alice) == (0, 0, 0), "the money that the refund did not take is the merchant's"
    assert await report(services, payment_id, "reinstated", name)
    assert (await state(alice, payment_id), await purse(alice)) == (("succeeded", 1_000, 0), (1_000, 0, 0))


async def test_the_schema_bounds_refunds_by_what_is_kept_and_disputes_by_what_was_received(
    alice: Actor, services: Services
) -> None:
    payment_id, name = await paid(alice, services)
    for change in ("status = 'chargeback', charged_back_minor = 1001", "returning_minor = 1001", "refunded_minor = 1001"):
        with pytest.raises(asyncpg.CheckViolationError):
            await services.db.execute(f"UPDATE transactions SET {change} WHERE id = $1", UUID(payment_id))  # noqa: S608
    assert await report(services, payment_id, "reversed", name, 700)
    with pytest.raises(asyncpg.CheckViolationError, match="what the merchant keeps"):
        await services.db.execute("UPDATE transactions SET returning_minor = 301 WHERE id = $1", UUID(payment_id))
