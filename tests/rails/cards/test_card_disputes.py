"""Disputes at the card provider: what they take, in whatever order they are heard of, and how merchants respond."""

from itertools import permutations
from typing import Any

import pytest
from structlog.testing import capture_logs

from tests.rails.cards.steps import Shop
from tollhouse.kernel import clock
from tollhouse.kernel.rails.disputes import Evidence
from tollhouse.payments.disputes.actions import deliver_responses
from tollhouse.payments.refunds import reversals
from tollhouse.rails.cards import payments
from tollhouse.rails.cards.payments import DISPUTE_TYPES
from tollhouse.rails.cards.stripe.objects import StripeDispute
from tollhouse.rails.cards.stripe.observed import evidence_form, observe_dispute

DUE_NOW = "UPDATE chargebacks SET next_delivery_at = opened_at WHERE id = $1::uuid AND next_delivery_at IS NOT NULL"


async def respond(shop: Shop, dispute: dict[str, Any], how: str) -> None:
    """Submit or accept, and let the worker tell the provider."""
    (await shop.alice.post(f"/disputes/{dispute['id']}/{how}", None, mode="live")).ok()
    await deliver_responses(shop.services)


@pytest.mark.covers("P-167")
async def test_events_of_disputes_lead_to_one_state_in_any_order_and_number(shop: Shop) -> None:
    """Also if the dispute is heard of before the payment, and if an earlier state is read late."""
    states = set[tuple[Any, ...]]()
    orders = [order for order in permutations(sorted(DISPUTE_TYPES)) if order[0].endswith(("created", "closed"))][::6]
    for number, order in enumerate(orders):
        outcome = ("won", "lost")[number % 2]
        _, payment_id, page_id = await shop.offer(amount="10.00")
        intent = await shop.provider.pay(page_id)
        opened = shop.provider.disputes.open(intent["id"], 1_000)
        earlier = observe_dispute(_read(opened), page_id)
        assert earlier is not None
        bodies = [shop.provider.event(event, opened["id"]) for event in order]
        bodies.insert(number % len(bodies), shop.provider.event("payment_intent.succeeded", intent["id"]))
        for at, raw in enumerate((*bodies, *reversed(bodies))):
            if at == number % 4 + 1:
                opened["status"] = outcome
            (await shop.send(raw)).ok()
            if (at + number) % 3 == 0:
                await payments.apply_events(shop.services)
        await payments.apply_events(shop.services)
        assert await reversals.observe(shop.services, "card", "live", earlier, clock.now()) is None
        shown = await shop.dispute(payment_id)
        states.add((outcome, (await shop.payment(payment_id))["status"], None if shown is None else shown["status"]))
    won, lost = (len(orders) + 1) // 2, len(orders) // 2
    assert await shop.purse() == (1_000 * won, 0, 0), lost
    assert states <= {("won", "succeeded", "won"), ("won", "succeeded", None), ("lost", "chargeback", "lost")}
    assert {state[0] for state in states} == {"won", "lost"}


def _read(opened: dict[str, Any]) -> StripeDispute:
    return StripeDispute(
        id=opened["id"],
        status=opened["status"],
        amount=opened["amount"],
        currency="eur",
        reason=opened["reason"],
        payment_intent=opened["payment_intent"],
    )


async def test_lost_events_are_made_up_for(shop: Shop) -> None:
    payment_id, intent_id = await shop.sell(amount="10.00")
    inquiry = shop.provider.disputes.open(intent_id, 1_000, status="warning_needs_response")
    await payments.poll_all_disputes(shop.services)
    assert await shop.dispute(payment_id) is None  # an inquiry takes no money
    inquiry["status"] = "needs_response"
    await payments.poll_all_disputes(shop.services)
    shown = await shop.dispute(payment_id)
    assert shown is not None
    assert (shown["status"], shown["reason"], shown["amount_minor"]) == ("needs_response", "product_not_received", 1_000)
    due = "SELECT extract(epoch FROM respond_by)::bigint AS due FROM chargebacks WHERE id = $1::uuid"
    assert (await shop.alice.sql(due, shown["id"]))[0]["due"] == inquiry["evidence_details"]["due_by"]
    inquiry["evidence_details"]["due_by"] += 3_600
    await payments.poll_all_disputes(shop.services)
    assert (await shop.alice.sql(due, shown["id"]))[0]["due"] == inquiry["evidence_details"]["due_by"]
    assert await shop.purse() == (0, 0, 0)
    inquiry["status"] = "lost"
    await payments.poll_all_disputes(shop.services)
    shown = await shop.dispute(payment_id)
    assert (shown and shown["status"], (await shop.payment(payment_id))["status"]) == ("lost", "chargeback")
    inquiry["status"] = "won"  # an appeal
    await payments.poll_all_disputes(shop.services)
    assert ((await shop.payment(payment_id))["status"], await shop.purse()) == ("succeeded", (1_000, 0, 0))


async def test_a_poll_reads_every_page_and_applies_what_it_can(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    paid = [await shop.sell(amount="10.00") for _ in range(2)]
    shop.provider.disputes.open(None, 700)
    shop.provider.disputes.open("pi_of_another_program", 700)
    for _, intent_id in paid:
        shop.provider.disputes.open(intent_id, 400)
    monkeypatch.setattr(shop.provider.disputes, "answers_per_page", 1)
    await payments.poll_all_disputes(shop.services)
    amounts = [(await shop.payment(payment_id))["chargeback"]["amount"] for payment_id, _ in paid]
    assert amounts == ["4.00", "4.00"]  # of a part
    shop.provider.is_down = True
    with capture_logs() as logged:
        await payments.poll_all_disputes(shop.services)
    assert [line["event"] for line in logged if line["log_level"] == "warning"][-1:] == ["disputes_not_read"]


async def test_evidence_is_submitted_once_and_the_outcome_shown(shop: Shop) -> None:
    payment_id, intent_id = await shop.sell(amount="10.00")
    opened = shop.provider.disputes.open(intent_id, 1_000)
    await shop.report("charge.dispute.created", opened["id"])
    shown = await shop.dispute(payment_id)
    assert shown is not None
    evidence = {
        "shipping_carrier": "DHL",
        "refund_policy": "Within 14 days.",
        "uncategorized_text": "It arrived.",
        "customer_communication": "Thank you!",
    }
    (await shop.alice.call("PUT", f"/disputes/{shown['id']}/evidence", evidence, mode="live")).ok()
    shop.provider.lose_answers = 2
    await respond(shop, shown, "submit")
    waits = "SELECT next_delivery_at IS NOT NULL AS waits FROM chargebacks WHERE id = $1::uuid"
    assert (await shop.alice.sql(waits, shown["id"]))[0]["waits"]  # nobody knows yet
    await shop.alice.sql(DUE_NOW, shown["id"])
    await deliver_responses(shop.services)
    assert not (await shop.alice.sql(waits, shown["id"]))[0]["waits"]
    assert shop.provider.posts.count(f"/v1/disputes/{opened['id']}") == 1
    assert opened["evidence"] == {
        "shipping_carrier": "DHL",
        "refund_policy_disclosure": "Within 14 days.",
        "uncategorized_text": "It arrived.\n\nCustomer communication:\nThank you!",
    }
    opened["status"] = "won"
    await shop.report("charge.dispute.closed", opened["id"])
    shown = await shop.dispute(payment_id)
    assert (shown and shown["status"], await shop.purse()) == ("won", (1_000, 0, 0))


async def test_an_accepted_dispute_is_closed_at_the_provider(shop: Shop) -> None:
    payment_id, intent_id = await shop.sell(amount="10.00")
    opened = shop.provider.disputes.open(intent_id, 1_000)
    await shop.report("charge.dispute.created", opened["id"])
    shown = await shop.dispute(payment_id)
    assert shown is not None
    await respond(shop, shown, "accept")
    assert opened["status"] == "lost"
    [row] = await shop.alice.sql("SELECT status, response FROM chargebacks WHERE id = $1::uuid", shown["id"])
    assert (row["status"], row["response"]) == ("lost", "accepted")


async def test_evidence_that_the_provider_refuses_is_logged_and_not_repeated(shop: Shop) -> None:
    payment_id, intent_id = await shop.sell(amount="10.00")
    opened = shop.provider.disputes.open(intent_id, 1_000)
    await shop.report("charge.dispute.created", opened["id"])
    shown = await shop.dispute(payment_id)
    assert shown is not None
    (await shop.alice.call("PUT", f"/disputes/{shown['id']}/evidence", {"service_date": "Monday"}, mode="live")).ok()
    opened["evidence_details"]["due_by"] = 0
    with capture_logs() as logged:
        await respond(shop, shown, "submit")
        await deliver_responses(shop.services)
    assert [line["event"] for line in logged if line["log_level"] == "error"] == ["dispute_response_rejected"]
    assert shop.provider.posts.count(f"/v1/disputes/{opened['id']}") == 1


def test_evidence_is_in_the_words_of_the_provider() -> None:
    assert evidence_form(Evidence(service_documentation="Signed.", product_description="Tea")) == {
        "evidence[product_description]": "Tea",
        "evidence[uncategorized_text]": "Service documentation:\nSigned.",
    }
