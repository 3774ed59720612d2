"""Card payments: the provider's page, its events in any order and number, and what happens without them."""

import time
from datetime import datetime, timedelta
from itertools import permutations
from typing import Any

import pytest
from structlog.testing import capture_logs

from tests.payments.bank import refund
from tests.payments.shop import choose, visit
from tests.rails.cards.provider import DECLINED_CARD, OLD_SECRET, WEBHOOK_SECRET, signed
from tests.rails.cards.steps import Shop
from tollhouse.http.services import Services
from tollhouse.kernel import clock
from tollhouse.kernel.ids import Mode
from tollhouse.kernel.rails.provider import Observation
from tollhouse.ledger.books.model import BalanceLimitExceeded
from tollhouse.pages.checkout import attempts
from tollhouse.payments.refunds import reversals
from tollhouse.payments.refunds.jobs import submit_refunds
from tollhouse.rails.cards import payments
from tollhouse.rails.cards.stripe import client
from tollhouse.rails.cards.webhook_api import BODY_BYTES_MAX


async def test_a_customer_pays_on_the_page_of_the_provider(shop: Shop) -> None:
    link, payment_id, page_id = await shop.offer(amount="12.30")
    page = shop.provider.sessions[page_id]
    own_page = f"{link['url']}?payment={payment_id}"
    assert (page["amount_total"], page["currency"], page["client_reference_id"]) == (1_230, "eur", payment_id)
    assert (page["cancel_url"], page["success_url"]) == (own_page, f"{own_page}&returned=1")
    assert page["form"]["line_items[0][price_data][product_data][name]"] == "Alice's Coffee"
    assert page["expires_at"] - time.time() < 24 * 3600
    shown = await shop.alice.anonymously(
        "GET", own_page.removeprefix(shop.alice.service.url), headers={"Accept": "text/html"}
    )
    assert f'href="{page["url"]}"' in shown.ok().text
    assert "Continue to card payment" in shown.text
    assert "script-src 'self'" in shown.headers["Content-Security-Policy"]
    assert 'class="qr"' not in shown.text

    intent = await shop.provider.pay(page_id)
    back = await shop.alice.anonymously(
        "GET", page["success_url"].removeprefix(shop.alice.service.url), headers={"Accept": "text/html"}
    )
    assert "We are waiting for the payment provider" in back.ok().text  # that the customer is back proves nothing
    assert "Continue to card payment" not in back.text
    assert (await shop.payment(payment_id))["status"] == "pending"
    await shop.report("payment_intent.succeeded", intent["id"])
    paid = await shop.payment(payment_id)
    assert (paid["status"], paid["amount_received"], paid["method_type"]) == ("succeeded", "12.30", "card")
    assert await shop.purse() == (1_230, 0, 0)
    [row] = await shop.alice.sql("SELECT payer_account FROM rail_observations WHERE transaction_id = $1::uuid", payment_id)
    assert row["payer_account"] == intent["id"]


@pytest.mark.covers("P-167")
async def test_repeated_and_reordered_events_lead_to_one_state(shop: Shop) -> None:
    types = ("payment_intent.processing", "payment_intent.succeeded", "payment_intent.canceled")
    states = set[tuple[Any, ...]]()
    orders = list(permutations(types))
    for number, order in enumerate(orders, 1):
        _, payment_id, page_id = await shop.offer()
        declined = await shop.provider.pay(page_id, DECLINED_CARD)
        await shop.report("payment_intent.payment_failed", declined["id"])
        assert (await shop.payment(payment_id))["status"] == "pending"  # the customer tries another card
        intent = await shop.provider.pay(page_id)
        bodies = [shop.provider.event(event, intent["id"]) for event in order]
        bodies.append(shop.provider.event("checkout.session.completed", page_id))
        for at, raw in enumerate((*bodies, *reversed(bodies))):
            (await shop.send(raw)).ok()
            if (at + number) % 3 == 0:
                await payments.apply_events(shop.services)
        await payments.apply_events(shop.services)
        paid = await shop.payment(payment_id)
        states.add((paid["status"], paid["amount_received"], len(paid["timeline"])))
        assert await shop.purse() == (420 * number, 0, 0)
        kept = "SELECT count(*) AS n FROM provider_events WHERE object_id IN ($1, $2)"
        [row] = await shop.alice.sql(kept, intent["id"], page_id)
        assert row["n"] == len(bodies)
    assert states == {("succeeded", "4.20", 2)}
    assert (await shop.events()).count("payment.succeeded") == len(orders)


@pytest.mark.covers("P-167")
async def test_only_signed_events_are_taken(shop: Shop) -> None:
    raw = shop.provider.event("payment_intent.succeeded", "pi_of_nobody")
    now = int(time.time())
    refused = {
        "missing": None,
        "another secret": signed(raw, b"whsec_guessed"),
        "old": signed(raw, at=now - 400),
        "of the future": signed(raw, at=now + 400),
        "of another body": signed(raw + b" "),
        "two times": f"t={now},{signed(raw)}",
        "no time": signed(raw).partition(",")[2],
        "no number": signed(raw).replace("t=", "t=x"),
        "no signature": f"t={now}",
        "another scheme": signed(raw).replace("v1=", "v0="),
        "too many": signed(raw, *[b"guessed"] * 9, WEBHOOK_SECRET),
        "not ASCII": f"t={now},v1=\xff",
    }
    for why, signature in refused.items():
        assert (await shop.send(raw, signature)).refused("invalid_signature", 400), why
    (await shop.send(raw, rail="sandbox")).refused("not_found", 404)
    (await shop.send(b"[]")).refused("invalid_request", 400)
    (await shop.send(shop.provider.event("payment_intent.succeeded", "../secrets"))).refused("invalid_request", 400)
    (await shop.send(b" " * (BODY_BYTES_MAX + 1))).refused("payload_too_large", 413)
    for irrelevant in ("customer.created", "payment_intent.created", "payment_intent.payment_failed"):
        (await shop.send(shop.provider.event(irrelevant, "of_no_interest"))).ok()
    kept = "SELECT count(*) AS n FROM provider_events WHERE object_id = ANY($1)"
    assert (await shop.alice.sql(kept, ["pi_of_nobody", "../secrets", "of_no_interest"]))[0]["n"] == 0
    (await shop.send(raw, signed(raw, OLD_SECRET))).ok()  # while the secret is rotated
    (await shop.send(raw, signed(raw, b"whsec_guessed", WEBHOOK_SECRET))).ok()
    assert (await shop.alice.sql(kept, ["pi_of_nobody"]))[0]["n"] == 1
    await payments.apply_events(shop.services)
    due = "SELECT tries, next_try_at FROM provider_events WHERE object_id = 'pi_of_nobody'"
    assert [tuple(row) for row in await shop.alice.sql(due)] == [(1, None)]


async def test_a_lost_event_is_made_up_for(shop: Shop) -> None:
    _, payment_id, page_id = await shop.offer()
    await shop.poll(payment_id)
    assert (await shop.payment(payment_id))["status"] == "pending"
    await shop.provider.pay(page_id)
    await shop.poll(payment_id)
    assert (await shop.payment(payment_id))["status"] == "succeeded"
    [row] = await shop.alice.sql("SELECT next_poll_at FROM card_payments WHERE transaction_id = $1::uuid", payment_id)
    assert row["next_poll_at"] is None


async def test_nobody_pays_for_a_link_that_has_ended(shop: Shop) -> None:
    """Its page is closed at once, and not only when it is polled."""
    link, payment_id, page_id = await shop.offer()
    shop.provider.is_down = True
    (await shop.alice.post(f"/payment-links/{link['id']}/cancel", mode="live")).ok()
    await payments.poll_payments(shop.services)
    again = "SELECT next_poll_at < now() + interval '2 min' AS is_soon FROM card_payments WHERE transaction_id = $1::uuid"
    assert [row["is_soon"] for row in await shop.alice.sql(again, payment_id)] == [True]
    shop.provider.is_down = False
    await shop.poll(payment_id)
    assert shop.provider.sessions[page_id]["status"] == "expired"
    await shop.poll(payment_id)
    assert [row["is_soon"] for row in await shop.alice.sql(again, payment_id)] == [None]

    link, payment_id, page_id = await shop.offer()
    (await shop.alice.post(f"/payment-links/{link['id']}/cancel", mode="live")).ok()
    await payments.poll_payments(shop.services)
    assert shop.provider.sessions[page_id]["status"] == "expired"

    link, payment_id, _ = await shop.offer()
    expires_at = (clock.now() + timedelta(minutes=20)).isoformat()
    (await shop.alice.post(f"/payment-links/{link['id']}/expiry", {"expires_at": expires_at}, mode="live")).ok()
    is_due = "SELECT next_poll_at <= now() AS is_due FROM card_payments WHERE transaction_id = $1::uuid"
    assert [row["is_due"] for row in await shop.alice.sql(is_due, payment_id)] == [True]

    link, payment_id, page_id = await shop.offer()
    await shop.provider.pay(page_id)
    (await shop.alice.post(f"/payment-links/{link['id']}/cancel", mode="live")).ok()
    await shop.poll(payment_id)  # the money was faster
    late = await shop.payment(payment_id)
    assert (late["status"], late["refund_required_reason"]) == ("refund_required", "after_cancel")
    assert await shop.purse() == (0, 0, 0)


async def test_a_page_that_expires_lets_the_customer_choose_again(shop: Shop) -> None:
    link, payment_id, page_id = await shop.offer()
    shop.provider.sessions[page_id]["status"] = "expired"
    await shop.report("checkout.session.expired", page_id)
    failed = await shop.payment(payment_id)
    assert (failed["status"], failed["failure_code"]) == ("failed", "canceled_by_customer")
    again = (await choose(link, "card:EUR")).ok(303).query["payment"]
    assert again != payment_id


async def test_the_amount_is_compared(shop: Shop) -> None:
    _, payment_id, page_id = await shop.offer(amount="10.00")
    shop.provider.sessions[page_id]["amount_total"] = 900
    intent = await shop.provider.pay(page_id)
    await shop.report("payment_intent.succeeded", intent["id"])
    assert (await shop.payment(payment_id))["status"] == "pending"
    _, payment_id, page_id = await shop.offer(amount="10.00")
    shop.provider.sessions[page_id]["currency"] = "usd"
    intent = await shop.provider.pay(page_id)
    await shop.report("payment_intent.succeeded", intent["id"])
    assert (await shop.payment(payment_id))["status"] == "pending"
    assert await shop.purse() == await shop.purse("USD") == (0, 0, 0)


async def test_a_provider_that_is_down_takes_no_payments_and_loses_no_events(shop: Shop) -> None:
    _, payment_id, page_id = await shop.offer()
    intent = await shop.provider.pay(page_id)
    link = (
        await shop.alice.post("/payment-links", {"display_name": "Tea", "amount": "3", "currency": "EUR"}, mode="live")
    ).body
    shop.provider.is_down = True
    refused = (await choose(link, "card:EUR")).ok(422)
    assert "Choose one of the payment methods below." in refused.text
    await shop.report("payment_intent.succeeded", intent["id"])
    assert (await shop.payment(payment_id))["status"] == "pending"
    shop.provider.is_down = False
    assert (await visit(link, shop.alice)).ok()
    due = "UPDATE provider_events SET next_try_at = received_at WHERE object_id = $1 AND next_try_at IS NOT NULL"
    await shop.alice.sql(due, intent["id"])
    await payments.apply_events(shop.services)
    assert (await shop.payment(payment_id))["status"] == "succeeded"


async def test_what_the_books_refuse_holds_up_nothing_else(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    offered = [await shop.offer() for _ in range(3)]
    bad_page_id = offered[0][2]
    for _, _, page_id in offered:
        await shop.provider.pay(page_id)
        (await shop.send(shop.provider.event("checkout.session.completed", page_id))).ok()
    observe = reversals.observe

    async def refusing(services: Services, rail: str, mode: Mode, observed: Observation, now: datetime) -> Any:
        if observed.reference == bad_page_id:
            raise BalanceLimitExceeded
        return await observe(services, rail, mode, observed, now)

    monkeypatch.setattr(reversals, "observe", refusing)
    await payments.apply_events(shop.services)
    statuses = [(await shop.payment(payment_id))["status"] for _, payment_id, _ in offered]
    assert statuses == ["pending", "succeeded", "succeeded"]
    due = "SELECT tries, next_try_at < received_at + interval '10 min' AS is_soon FROM provider_events WHERE object_id = $1"
    assert [tuple(row) for row in await shop.alice.sql(due, bad_page_id)] == [(1, True)]  # sooner than its lease ends
    await shop.alice.sql("UPDATE provider_events SET tries = $2, next_try_at = received_at WHERE object_id = $1",
                         bad_page_id, payments.TRIES_MAX - 1)  # fmt: skip
    await payments.apply_events(shop.services)
    assert [tuple(row) for row in await shop.alice.sql(due, bad_page_id)] == [(payments.TRIES_MAX, None)]

    await shop.alice.sql("UPDATE card_payments SET next_poll_at = created_at WHERE transaction_id = ANY($1::uuid[])",
                         [payment_id for _, payment_id, _ in offered])  # fmt: skip
    await payments.poll_payments(shop.services)
    polled = "SELECT count(*) AS n FROM card_payments WHERE next_poll_at IS NULL AND transaction_id = ANY($1::uuid[])"
    [row] = await shop.alice.sql(polled, [payment_id for _, payment_id, _ in offered])
    assert row["n"] == 2
    monkeypatch.undo()
    await shop.poll(offered[0][1])
    assert (await shop.payment(offered[0][1]))["status"] == "succeeded"


async def test_pages_of_other_software_are_left_alone(shop: Shop) -> None:
    _, _, page_id = await shop.offer()
    other_id = f"{page_id}_other"
    shop.provider.sessions[other_id] = shop.provider.sessions[page_id] | {"id": other_id, "client_reference_id": None}
    intent = await shop.provider.pay(other_id)
    with capture_logs() as logged:
        await shop.report("checkout.session.completed", other_id)
        await shop.report("payment_intent.succeeded", intent["id"])
    assert [line for line in logged if line["log_level"] in {"warning", "error"}] == []
    done = "SELECT tries, next_try_at FROM provider_events WHERE object_id IN ($1, $2)"
    assert [tuple(row) for row in await shop.alice.sql(done, other_id, intent["id"])] == [(1, None)] * 2


async def test_old_events_are_deleted_when_they_were_processed(shop: Shop) -> None:
    _, _, page_id = await shop.offer()
    await shop.report("checkout.session.completed", page_id)
    (await shop.send(shop.provider.event("checkout.session.expired", page_id))).ok()
    kept = "SELECT type FROM provider_events WHERE object_id = $1 ORDER BY type"
    await payments.delete_old_events(shop.services)
    assert len(await shop.alice.sql(kept, page_id)) == 2
    aged = "UPDATE provider_events SET received_at = received_at - $2::interval WHERE object_id = $1"
    await shop.alice.sql(aged, page_id, payments.RETENTION)
    await payments.delete_old_events(shop.services)
    assert [row["type"] for row in await shop.alice.sql(kept, page_id)] == ["checkout.session.expired"]


@pytest.mark.long
def test_a_lease_is_longer_than_its_batch() -> None:
    request_s = client.TRIES * client.TIMEOUT_S + (client.TRIES - 1) * client.RETRY_AFTER_MS / 1000
    assert payments.LEASE.total_seconds() > payments.BATCH_SIZE * 2 * request_s


async def test_visitors_beyond_the_limit_share_a_page(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempts, "OPEN_ATTEMPTS_MAX", 2)
    link, _, _ = await shop.offer(max_payments=None)
    last = (await choose(link, "card:EUR")).ok(303).query["payment"]
    opened = len(shop.provider.sessions)
    assert (await choose(link, "card:EUR")).ok(303).query["payment"] == last
    assert len(shop.provider.sessions) == opened


async def test_an_answer_that_is_lost_opens_one_page(shop: Shop) -> None:
    before = len(shop.provider.sessions)
    shop.provider.lose_answers = 1
    await shop.offer()
    assert len(shop.provider.sessions) == before + 1


async def test_a_refund_whose_answers_are_lost_is_made_once(shop: Shop) -> None:
    _, payment_id, page_id = await shop.offer(amount="10.00")
    intent = await shop.provider.pay(page_id)
    await shop.report("payment_intent.succeeded", intent["id"])
    asked = (await refund(shop.alice, {"id": payment_id}, "4.00", mode="live")).ok(201).body
    assert (asked["receiver"], await shop.purse()) == (intent["id"], (600, 400, 0))
    shop.provider.lose_answers = 2
    await submit_refunds(shop.services)
    assert await shop.purse() == (600, 400, 0)  # nobody knows yet
    made = "SELECT status, provider_reference FROM refunds WHERE id = $1::uuid"
    assert [row["status"] for row in await shop.alice.sql(made, asked["id"])] == ["pending"]
    for _ in range(2):  # it is found, then polled
        await shop.alice.sql("UPDATE refunds SET next_look_at = created_at WHERE id = $1::uuid", asked["id"])
        await submit_refunds(shop.services)
    [row] = await shop.alice.sql(made, asked["id"])
    assert (row["status"], row["provider_reference"][:3]) == ("succeeded", "re_")
    refunds = await shop.provider.get(f"/v1/refunds?payment_intent={intent['id']}")
    assert [one["amount"] for one in refunds["data"]] == [400]
    assert (await shop.payment(payment_id))["status"] == "partially_refunded"
    assert await shop.purse() == (600, 0, 0)
    to_another = await refund(shop.alice, {"id": payment_id}, "1.00", mode="live", receiver="DE89370400440532013000")
    assert to_another.status in {403, 422}


async def test_a_signed_event_that_cannot_be_read_is_refused(shop: Shop) -> None:
    for raw in (b'{"id":"evt_1","type":"x","data":' + b"[" * 10_000 + b"]" * 10_000 + b"}", b"[" * 100_000, b"{", b"\xff"):
        (await shop.send(raw)).refused("invalid_request", 400)
