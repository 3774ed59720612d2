"""Refunds by bank go to the account that paid; to any other account they leave as withdrawals do: reviewed, in limits."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID, uuid4

import msgspec
import pytest

from tests.cast import INTEGRATION, Actor, Answer, sign_up
from tests.pages.console.commands import operator
from tests.pages.console.operator_pages import signed_in_operator
from tests.rails.bank.camt import CUSTOMER_IBAN, Line, paid
from tests.rails.bank.steps import ACCOUNT, Bank, context, earned, euros, offer, payment, refunded
from tests.rails.bank.test_payouts import left, refund, said
from tests.running import CATALOGUE, Service
from tollhouse.accounts.approvals.model import ApprovedBefore, OperatorContext, OperatorRefusedError
from tollhouse.kernel import clock
from tollhouse.kernel.ids import MerchantId
from tollhouse.pages.console import actions, reviews
from tollhouse.payments.refunds.jobs import submit_refunds
from tollhouse.rails.bank import payouts
from tollhouse.rails.bank.files.batch import Batch

OTHER_IBAN = "NL91ABNA0417164300"


@pytest.fixture
async def olga(service: Service) -> AsyncIterator[Actor]:
    """Olga is the operator."""
    async with signed_in_operator(service) as actor:
        yield actor


async def request(actor: Actor, payment_id: str, amount: str = "4.00", **body: Any) -> Answer:
    """Ask for a refund, with a key of its own."""
    path = f"/transactions/{payment_id}/refunds"
    return await actor.post(path, {"amount": amount} | body, key=str(uuid4()), mode="live")


async def elsewhere(actor: Actor, payment_id: str, amount: str = "4.00") -> str:
    """A refund to another account than the one that paid: its id."""
    asked = (await request(actor, payment_id, amount, receiver=OTHER_IBAN)).ok(201).body
    assert (asked["status"], asked["review"], asked["receiver"]) == ("pending", "required", OTHER_IBAN)
    return asked["id"]


async def approve(bank: Bank, refund_id: str, by: str = "olga@house.example", *, command: bool = False) -> None:
    """An operator approves it."""
    context = OperatorContext(by, clock.now(), on_command_line=command)
    await reviews.approve(bank.services, reviews.REFUNDS, UUID(refund_id), context)


async def suspend(actor: Actor, bank: Bank, *, ended: bool = False) -> None:
    """An operator suspends the merchant, or reactivates it."""
    merchant_id, context = MerchantId(UUID(actor.merchant_id)), OperatorContext("otto@house.example", clock.now())
    change = actions.reactivate if ended else actions.suspend
    await bank.services.transact(lambda work: change(work, merchant_id, context), context.at)


async def export(bank: Bank, by: OperatorContext, *payout_ids: str) -> Batch:
    """This operator takes these payouts to the bank, or all that may leave."""
    wanted = [UUID(payout_id) for payout_id in payout_ids] or None
    return await bank.services.transact(lambda work: payouts.export(work, ACCOUNT, wanted, by), by.at)


async def earned_beside(bank: Bank, service: Service) -> str:
    """A payout of another merchant that waits to be exported: its id."""
    async with sign_up(service, "neighbour", "The Other Shop") as actor:
        return await refunded(actor, bank, await earned(actor, bank))


async def let_due(actor: Actor) -> None:
    """Turn the clock: the worker's time to look after this merchant's refunds has come."""
    await actor.sql(
        "UPDATE refunds SET next_look_at = now() - interval '1 s' WHERE merchant_id = $1::uuid AND next_look_at IS NOT NULL",
        actor.merchant_id,
    )


async def test_a_refund_goes_back_to_the_account_that_paid(alice: Actor, bank: Bank) -> None:
    _, payment_id, reference = await offer(alice)
    await bank.shows(paid(reference, 1_000, name="Erika Müller"))
    asked = (await request(alice, payment_id)).ok(201).body
    assert (asked["receiver"], asked["review"]) == (CUSTOMER_IBAN, "not_required")
    await submit_refunds(bank.services)
    batch = await bank.export(asked["id"])
    assert said(batch, "p:CdtrAcct/p:Id/p:IBAN") == [CUSTOMER_IBAN]
    assert said(batch, "p:Cdtr/p:Nm") == ["Erika Muller"]


async def test_another_account_needs_the_permission_to_withdraw(alice: Actor, bank: Bank) -> None:
    payment_id = await earned(alice, bank)
    headers = {"X-API-Key": await alice.key("live", ["payments:read", "payments:write"]), "Idempotency-Key": str(uuid4())}
    path = f"{INTEGRATION}/transactions/{payment_id}/refunds"
    refused = await alice.anonymously("POST", path, {"amount": "4.00", "receiver": OTHER_IBAN}, headers)
    assert refused.refused("missing_scope", 403).body["scope"] == "withdrawals:write"
    spelt = f" {CUSTOMER_IBAN[:4]} {CUSTOMER_IBAN[4:].lower()} "
    same = await alice.anonymously("POST", path, {"amount": "4.00", "receiver": spelt}, headers)
    assert (same.ok(201).body["receiver"], same.body["review"]) == (CUSTOMER_IBAN, "not_required")
    assert await euros(alice) == (600, 400, 0)


async def test_another_account_waits_for_an_operator(alice: Actor, bank: Bank) -> None:
    payment_id = await earned(alice, bank)
    refund_id = await elsewhere(alice, payment_id)
    await submit_refunds(bank.services)
    assert refund_id not in await bank.payouts()
    assert (await refund(alice, refund_id))["provider_reference"] is None
    waiting = (await operator(alice.service, "refunds", "list", "--json")).json["refunds"]
    [listed] = [transfer for transfer in waiting if transfer["refund_id"] == refund_id]
    assert (listed["receiver"], listed["payer_account"], listed["approvals_needed"]) == (OTHER_IBAN, CUSTOMER_IBAN, 1)
    assert (await operator(alice.service, "refunds", "approve", refund_id, "--reason", "Asked by phone")).status == 0
    assert (await refund(alice, refund_id))["review"] == "approved"
    await submit_refunds(bank.services)
    batch = await bank.export(refund_id)
    assert said(batch, "p:CdtrAcct/p:Id/p:IBAN") == [OTHER_IBAN]
    assert said(batch, "p:Cdtr/p:Nm") == ["NOTPROVIDED"]
    await bank.shows(left(refund_id))
    assert (await refund(alice, refund_id))["status"] == "succeeded"
    assert await euros(alice) == (600, 0, 0)


async def test_a_rejected_refund_gives_the_money_back(alice: Actor, bank: Bank) -> None:
    payment_id = await earned(alice, bank)
    refund_id = await elsewhere(alice, payment_id)
    assert (await operator(alice.service, "refunds", "reject", refund_id)).status == 2
    assert (await operator(alice.service, "refunds", "reject", refund_id, "--reason", "Unknown account")).status == 0
    shown = await refund(alice, refund_id)
    assert (shown["status"], shown["failure_code"], shown["review"]) == ("failed", "review_rejected", "rejected")
    assert (await payment(alice, payment_id))["refundable_amount"] == "10.00"
    assert await euros(alice) == (1_000, 0, 0)
    with pytest.raises(OperatorRefusedError, match="is failed"):
        await approve(bank, refund_id)


async def test_another_account_counts_in_the_limits_of_withdrawals(
    alice: Actor, bank: Bank, monkeypatch: pytest.MonkeyPatch
) -> None:
    method = msgspec.structs.replace(
        CATALOGUE.withdrawal_methods["sepa:EUR"], minimum_minor=200, maximum_minor=500, daily_limit_minor=900
    )
    monkeypatch.setitem(CATALOGUE.withdrawal_methods, "sepa:EUR", method)
    payment_id = await earned(alice, bank, "30.00")
    (await request(alice, payment_id, "1.99", receiver=OTHER_IBAN)).refused("amount_below_minimum", 422)
    (await request(alice, payment_id, "5.01", receiver=OTHER_IBAN)).refused("amount_above_maximum", 422)
    first = await elsewhere(alice, payment_id, "5.00")
    (await request(alice, payment_id, "4.01", receiver=OTHER_IBAN)).refused("daily_limit_exceeded", 422)
    body = {"method_id": "sepa:EUR", "amount": "4.01", "receiver": OTHER_IBAN}
    body |= {"provider_fields": {"account_holder_name": "Nina"}}
    (await alice.post("/withdrawals", body, key=str(uuid4()), mode="live")).refused("daily_limit_exceeded", 422)
    (await request(alice, payment_id, "10.00")).ok(201)  # to the account that paid: no limit
    assert (await operator(alice.service, "refunds", "reject", first, "--reason", "No")).status == 0
    await elsewhere(alice, payment_id, "5.00")


@pytest.mark.parametrize("accounts", [(None,), (CUSTOMER_IBAN, OTHER_IBAN)], ids=["none", "several"])
async def test_who_paid_may_be_unknown(alice: Actor, bank: Bank, accounts: tuple[str | None, ...]) -> None:
    _, payment_id, reference = await offer(alice)
    for account in accounts:
        await bank.shows(paid(reference, 1_000 // len(accounts), account=account))
    refused = (await request(alice, payment_id)).refused("receiver_required", 422)
    assert [problem["field"] for problem in refused.body["errors"]] == ["receiver"]
    assert (await request(alice, payment_id, receiver=CUSTOMER_IBAN)).ok(201).body["review"] == "required"


async def test_money_that_waits_is_reviewed_too(alice: Actor, bank: Bank) -> None:
    """A duplicate is a payment of its own, which the merchant never had."""
    _, _, reference = await offer(alice)
    await bank.shows(paid(reference, 1_000), paid(reference, 1_000, account=OTHER_IBAN))
    [waiting] = [transaction for transaction in (await alice.get("/transactions", mode="live")).ok().body["transactions"]
                 if transaction["status"] == "refund_required"]  # fmt: skip
    assert (await request(alice, waiting["id"])).ok(201).body["receiver"] == OTHER_IBAN
    assert (await request(alice, waiting["id"], receiver=CUSTOMER_IBAN)).ok(201).body["review"] == "required"


async def test_the_dashboard_follows_the_same_rules(alice: Actor, bank: Bank) -> None:
    payment_id = await earned(alice, bank)
    path = f"/live/payments/{payment_id}/refund"
    assert CUSTOMER_IBAN in (await alice.send("GET", path)).ok().text
    typed = {"amount": "4.00", "reason": "other", "receiver": OTHER_IBAN, "external_id": ""}
    confirming = (await alice.form(path, typed)).ok()
    assert "An operator must approve the refund" in confirming.text
    key = confirming.text.partition('name="key" value="')[2][:36]
    seen = (await payment(alice, payment_id))["version"]
    (await alice.form(f"{path}/confirm", typed | {"key": key, "seen": str(seen), "cost": "400"})).ok(303)
    [made] = (await payment(alice, payment_id))["refunds"]
    assert (made["review"], made["receiver"]) == ("required", OTHER_IBAN)
    assert "Under review by an operator." in (await alice.send("GET", f"/live/payments/{payment_id}")).ok().text


async def test_operators_decide_on_their_pages(alice: Actor, bank: Bank, olga: Actor) -> None:
    payment_id = await earned(alice, bank)
    good, bad = await elsewhere(alice, payment_id), await elsewhere(alice, payment_id, "2.00")
    listed = (await olga.send("GET", "/operator/refunds?limit=100")).ok().text
    assert f'<a href="/operator/refunds/{good}">Review</a>' in listed
    shown = (await olga.send("GET", f"/operator/refunds/{good}")).ok().text
    for words in (OTHER_IBAN, CUSTOMER_IBAN, "€4.00", "sepa:EUR"):
        assert words in shown, words
    done = (await olga.form(f"/operator/refunds/{good}/approve", {"seen": "1", "remark": "Known"})).ok(303)
    assert "refund approved" in (await olga.send("GET", done.location)).ok().text
    (await olga.form(f"/operator/refunds/{good}/approve", {"seen": "2"})).ok(409)
    (await olga.form(f"/operator/refunds/{bad}/reject", {"seen": "1", "reason": ""})).ok(422)
    (await olga.form(f"/operator/refunds/{bad}/reject", {"seen": "1", "reason": "Unknown"})).ok(303)
    assert [(await refund(alice, one))["review"] for one in (good, bad)] == ["approved", "rejected"]
    (await olga.send("GET", f"/operator/refunds/{uuid4()}")).ok(404)
    assert "Refund of" in (await olga.send("GET", "/operator/history")).ok().text


async def test_one_person_cannot_be_two(alice: Actor, bank: Bank, olga: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    method = msgspec.structs.replace(CATALOGUE.withdrawal_methods["sepa:EUR"], second_operator_above_minor=1)
    monkeypatch.setitem(CATALOGUE.withdrawal_methods, "sepa:EUR", method)
    payment_id = await earned(alice, bank)
    refund_id = await elsewhere(alice, payment_id)
    (await olga.form(f"/operator/refunds/{refund_id}/approve", {"seen": "1"})).ok(303)
    with pytest.raises(ApprovedBefore, match="You already approved this"):
        await approve(bank, refund_id, olga.email.upper())
    same = await operator(alice.service, "refunds", "approve", refund_id, "--as", olga.email.upper())
    assert (same.status, "You already approved this" in same.talk) == (1, True)
    assert (await operator(alice.service, "refunds", "approve", refund_id, "--as", "nobody@house.example")).status == 1
    assert (await refund(alice, refund_id))["review"] == "required"
    by_command = await operator(alice.service, "refunds", "approve", refund_id)
    assert (by_command.status, "on the operator pages" in by_command.talk) == (1, True)
    assert (await refund(alice, refund_id))["review"] == "required"
    await approve(bank, refund_id)
    assert (await refund(alice, refund_id))["review"] == "approved"

    both = await elsewhere(alice, payment_id)
    for name in ("local administrator", olga.email):
        with pytest.raises(OperatorRefusedError, match="on the command line"):
            await approve(bank, both, name, command=True)
    await approve(bank, both, olga.email)
    assert (await refund(alice, both))["review"] == "required"
    await approve(bank, both)
    assert (await refund(alice, both))["review"] == "approved"


async def test_two_approvals_of_one_person_at_once(alice: Actor, bank: Bank, monkeypatch: pytest.MonkeyPatch) -> None:
    method = msgspec.structs.replace(CATALOGUE.withdrawal_methods["sepa:EUR"], second_operator_above_minor=1)
    monkeypatch.setitem(CATALOGUE.withdrawal_methods, "sepa:EUR", method)
    refund_id = await elsewhere(alice, await earned(alice, bank))
    tried = await asyncio.gather(*(approve(bank, refund_id) for _ in range(4)), return_exceptions=True)
    assert sum(answer is None for answer in tried) == 1
    assert (await refund(alice, refund_id))["review"] == "required"


async def test_nobody_approves_what_is_their_own(alice: Actor, bank: Bank) -> None:
    payment_id = await earned(alice, bank)
    refund_id = await elsewhere(alice, payment_id)
    for decide in (approve(bank, refund_id, alice.email), approve(bank, refund_id, alice.email.upper(), command=True)):
        with pytest.raises(OperatorRefusedError, match="is a user of merchant"):
            await decide
    own = OperatorContext(alice.email, clock.now())
    payout_id = await refunded(alice, bank, payment_id, "2.00")
    with pytest.raises(OperatorRefusedError, match="is a user of merchant"):
        await export(bank, own, payout_id)
    other = await earned_beside(bank, alice.service)
    leaving = [transfer.end_to_end_id for transfer in (await export(bank, own)).transfers]
    assert UUID(other).hex in leaving
    assert UUID(payout_id).hex not in leaving
    await export(bank, context(), payout_id)


async def test_after_a_reset_two_operators_are_needed(alice: Actor, bank: Bank) -> None:
    payment_id = await earned(alice, bank)
    refund_id, payout_id = await elsewhere(alice, payment_id), await refunded(alice, bank, payment_id, "2.00")
    await alice.sql("UPDATE users SET password_reset_at = now() WHERE merchant_id = $1::uuid", alice.merchant_id)
    await approve(bank, refund_id)
    assert (await refund(alice, refund_id))["review"] == "required"
    await approve(bank, refund_id, "otto@house.example")
    assert (await refund(alice, refund_id))["review"] == "approved"
    with pytest.raises(OperatorRefusedError, match="A second operator must approve the payout"):
        await export(bank, context(), payout_id)
    second = OperatorContext("otto@house.example", clock.now())
    await bank.services.transact(lambda work: payouts.approve(work, UUID(payout_id), second), second.at)
    with pytest.raises(OperatorRefusedError, match="You already approved this"):
        await bank.services.transact(lambda work: payouts.approve(work, UUID(payout_id), second), second.at)
    with pytest.raises(OperatorRefusedError, match="A second operator must approve the payout"):
        await export(bank, second, payout_id)
    await export(bank, context(), payout_id)


async def test_nothing_of_a_suspended_merchant_leaves(alice: Actor, bank: Bank) -> None:
    payment_id = await earned(alice, bank)
    waits, under_way = await elsewhere(alice, payment_id), (await request(alice, payment_id, "1.00")).ok(201).body["id"]
    payout_id, exported = (await refunded(alice, bank, payment_id, "2.00"), await refunded(alice, bank, payment_id, "3.00"))
    await alice.sql("UPDATE refunds SET next_look_at = next_look_at WHERE id = $1::uuid", under_way)
    late = (await request(alice, payment_id, "0.50")).status
    assert late == 422  # nothing is left of it
    batch = await bank.export(exported)
    await suspend(alice, bank)
    with pytest.raises(OperatorRefusedError, match="suspended"):
        await approve(bank, waits)
    with pytest.raises(OperatorRefusedError, match="suspended"):
        await bank.export(payout_id)
    with pytest.raises(OperatorRefusedError, match="suspended"):
        await payouts.batch(bank.services.db, batch.id)
    await suspend(alice, bank, ended=True)
    await approve(bank, waits)
    await suspend(alice, bank)
    await let_due(alice)
    await submit_refunds(bank.services)
    assert waits not in await bank.payouts()  # approved, and not handed in
    await suspend(alice, bank, ended=True)
    await let_due(alice)
    await submit_refunds(bank.services)
    await bank.export(waits, payout_id)
    assert await payouts.batch(bank.services.db, batch.id) is not None


async def test_export_and_suspension_cross(alice: Actor, bank: Bank) -> None:
    payment_id = await earned(alice, bank)
    for _ in range(4):
        payout_id = await refunded(alice, bank, payment_id, "1.00")
        exported, _ = await asyncio.gather(bank.export(payout_id), suspend(alice, bank), return_exceptions=True)
        status = (await bank.payouts())[payout_id].status
        assert status == ("exported" if isinstance(exported, Batch) else "prepared")
        await suspend(alice, bank, ended=True)


async def test_approval_and_suspension_cross(alice: Actor, bank: Bank) -> None:
    payment_id = await earned(alice, bank)
    for _ in range(4):
        refund_id = await elsewhere(alice, payment_id, "1.00")
        approved, _ = await asyncio.gather(approve(bank, refund_id), suspend(alice, bank), return_exceptions=True)
        await let_due(alice)
        await submit_refunds(bank.services)
        assert refund_id not in await bank.payouts()
        await suspend(alice, bank, ended=True)
        shown = await refund(alice, refund_id)
        assert shown["review"] == ("required" if isinstance(approved, OperatorRefusedError) else "approved")


async def test_a_refused_payout_is_not_in_the_file_any_more(alice: Actor, bank: Bank) -> None:
    payment_id = await earned(alice, bank)
    first, second = await refunded(alice, bank, payment_id), await refunded(alice, bank, payment_id, "2.00")
    batch = await bank.export(first, second)
    await bank.refuse(first)
    again = await payouts.batch(bank.services.db, batch.id)
    assert again is not None
    assert said(again, "p:EndToEndId") == [UUID(second).hex]
    assert (await bank.shows(Line(200, "DBIT", batch=batch.id.hex))).placed == 1
    assert (await refund(alice, second))["status"] == "succeeded"
