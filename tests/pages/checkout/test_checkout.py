"""The hosted checkout, by forms alone: every state has its page, and what happens there reaches the books."""

import asyncio
import re

import pytest

from tests.cast import Actor, Answer, post_form
from tests.invariants import broken_invariants
from tests.payments.shop import approve_project, balance, choose, events, let_expire, open_link, pay, simulate, visit
from tests.running import Service

BUTTON = re.compile(r"<button[^>]*>([^<]+)")


def buttons(page: Answer) -> list[str]:
    """What can be pressed on this page, above its foot."""
    return BUTTON.findall(page.text.partition("</main>")[0])


def path_of(link: dict[str, str], actor: Actor) -> str:
    """The path of a checkout page."""
    return link["url"].removeprefix(actor.service.url)


async def state(link: dict[str, str], actor: Actor) -> str:
    """What the status endpoint says."""
    return (await actor.anonymously("GET", f"{path_of(link, actor)}/status")).ok().body["status"]


@pytest.mark.covers("P-52", "P-55")
async def test_a_customer_pays(alice: Actor, service: Service) -> None:
    link = await open_link(alice, description="With milk")
    page = (await visit(link, alice)).ok()
    for shown in ("Alice&#39;s Coffee", "€4.20", "Coffee", "With milk", "Test environment", 'value="sandbox:EUR"'):
        assert shown in page.text, shown
    assert buttons(page) == ["Continue"]
    assert await state(link, alice) == "open"

    chosen = (await choose(link)).ok(303).location
    assert chosen.startswith(f"/pay/{link['url'].rpartition('/')[2]}?payment=")
    page = (await visit(link, alice)).ok()
    assert buttons(page) == [
        "Pay in full",
        "Fail payment",
        "Underpay",
        "Overpay",
        "Add one confirmation",
        "Pay late",
        "Expire now",
    ]
    assert len(buttons((await alice.anonymously("GET", chosen, headers={"Accept": "text/html"})).ok())) == 7
    assert "Waiting for payment" in page.text
    assert await state(link, alice) == "pending"
    assert await events(alice) == []
    assert (await balance(alice))["available_minor"] == 0

    back = (await simulate(link)).ok(303)
    page = (await alice.anonymously("GET", back.location, headers={"Accept": "text/html"})).ok()
    assert "Paid" in page.text
    assert buttons(page) == ["Send receipt", "Pay again", "Charge back"]
    assert buttons(await visit(link, alice)) == ["Send receipt"]
    assert await state(link, alice) == "completed"

    link = (await alice.get(f"/payment-links/{link['id']}")).ok().body
    assert (link["status"], link["payments_count"], link["amount_paid"]) == ("completed", 1, "4.20")
    assert link["completed_at"] is not None
    transaction = (await alice.get(f"/transactions/{link['latest_transaction_id']}")).ok().body
    assert (transaction["status"], transaction["amount_received_minor"], transaction["net"]) == ("succeeded", 420, "4.20")
    assert [step["status"] for step in transaction["timeline"]] == ["pending", "succeeded"]
    assert (transaction["refundable"], transaction["refundable_amount_minor"]) == (True, 420)
    assert transaction["payment_details"]["network"] == "sandbox"
    assert (await balance(alice))["available"] == "4.20"
    assert await events(alice) == [("payment.succeeded", 2), ("balance.updated", 1)]
    assert await broken_invariants(service.dsn) == []


@pytest.mark.covers("P-56")
async def test_a_failed_payment_can_be_tried_again(alice: Actor) -> None:
    link = await open_link(alice)
    await pay(link, "fail")
    page = (await visit(link, alice)).ok()
    assert "The payment was declined. You were not charged." in page.text
    assert buttons(page) == ["Continue"]
    assert await state(link, alice) == "failed"
    [failed] = (await alice.get("/transactions")).ok().body["transactions"]
    assert (failed["status"], failed["failure_code"]) == ("failed", "card_declined")
    assert failed["failure_message"] == "The payment was declined."
    assert (failed["amount_received_minor"], failed["refundable"], failed["refund_unavailable_reason"]) == (
        0,
        False,
        "status",
    )
    assert await events(alice) == [("payment.failed", 2)]

    await pay(link)
    succeeded, again = (await alice.get("/transactions")).ok().body["transactions"]
    assert again == failed
    assert (succeeded["status"], succeeded["payment_link_id"]) == ("succeeded", link["id"])
    assert await state(link, alice) == "completed"


@pytest.mark.covers("P-51")
async def test_what_is_over_shows_it_and_takes_nothing(alice: Actor) -> None:
    canceled, expired, paid = [await open_link(alice) for _ in range(3)]
    (await alice.post(f"/payment-links/{canceled['id']}/cancel")).ok()
    await let_expire(alice, expired)
    await pay(paid)
    for link, badge in ((canceled, "Canceled"), (expired, "Expired"), (paid, "Paid")):
        page = (await visit(link, alice)).ok()
        assert badge in page.text
        assert buttons(page) == (["Send receipt"] if link is paid else [])
        (await choose(link)).ok(303)
        (await simulate(link)).ok(303)
    assert len((await alice.get("/transactions")).ok().body["transactions"]) == 1
    assert (await balance(alice))["available_minor"] == 420


async def test_time_runs_out_between_choosing_and_paying(alice: Actor) -> None:
    link = await open_link(alice)
    (await choose(link)).ok(303)
    await let_expire(alice, link)
    (await simulate(link)).ok(303)
    assert "Expired" in (await visit(link, alice)).text
    (await alice.anonymously("GET", path_of(link, alice) + "/status")).refused("payment_link_expired", 410)
    assert (await balance(alice))["available_minor"] == 0


async def test_canceling_fails_the_open_attempt(alice: Actor) -> None:
    link = await open_link(alice)
    (await choose(link)).ok(303)
    (await alice.post(f"/payment-links/{link['id']}/cancel")).ok()
    (await simulate(link)).ok(303)
    [transaction] = (await alice.get("/transactions")).ok().body["transactions"]
    assert (transaction["status"], transaction["failure_code"]) == ("failed", "link_canceled")
    assert await events(alice) == [("payment.failed", 2)]
    assert (await balance(alice))["available_minor"] == 0


@pytest.mark.covers("P-51", "P-53")
@pytest.mark.parametrize("token", ["a" * 26, "nothing", "018f0000-0000-7000-8000-000000000000"])
async def test_an_unknown_address_is_not_found(alice: Actor, token: str) -> None:
    page = await alice.anonymously("GET", f"/pay/{token}", headers={"Accept": "text/html"})
    assert (page.status, page.headers["Content-Type"].partition(";")[0]) == (404, "text/html")
    assert (await post_form(f"{alice.service.url}/pay/{token}/method", {"method_id": "sandbox:EUR"})).status == 404
    assert (await post_form(f"{alice.service.url}/pay/{token}/simulate", {"outcome": "succeed"})).status == 404


async def test_the_id_of_a_link_opens_no_checkout(alice: Actor) -> None:
    link = await open_link(alice)
    assert (await alice.anonymously("GET", f"/pay/{link['id']}")).status == 404


@pytest.mark.covers("P-54")
async def test_live_has_no_simulator_and_says_what_is_missing(alice: Actor) -> None:
    await approve_project(alice, "live")
    body = {"display_name": "Coffee", "amount": "4.20", "currency": "EUR"}
    link = (await alice.post("/payment-links", body, mode="live")).ok(201).body
    page = (await visit(link, alice)).ok()
    assert "No payment method is available." in page.text
    assert buttons(page) == []
    for method_id in ("sandbox:EUR", "sepa:EUR"):
        assert (await choose(link, method_id)).status == 422
    assert (await simulate(link)).status == 404
    assert (await alice.get("/transactions", mode="live")).ok().body["transactions"] == []


@pytest.mark.parametrize("method_id", ["", "sandbox:USD", "sepa:EUR", "cash"])
async def test_a_method_that_is_not_offered_is_refused_on_the_page(alice: Actor, method_id: str) -> None:
    link = await open_link(alice)
    page = await post_form(f"{link['url']}/method", {"method_id": method_id}, Accept="text/html")
    assert page.status == 422
    assert "Choose one of the payment methods below." in page.text
    assert buttons(page) == ["Continue"]


@pytest.mark.parametrize("outcome", ["", "Succeed", "refund"])
async def test_the_simulator_knows_its_outcomes(alice: Actor, outcome: str) -> None:
    link = await open_link(alice)
    (await choose(link)).ok(303)
    assert (await simulate(link, outcome)).status == 422
    assert await state(link, alice) == "pending"


async def test_the_simulator_does_nothing_before_a_method_is_chosen(alice: Actor) -> None:
    link = await open_link(alice)
    (await simulate(link)).ok(303)
    assert await state(link, alice) == "open"


@pytest.mark.covers("P-60")
async def test_the_customer_returns_to_the_shop(alice: Actor) -> None:
    address = "https://shop.example/thanks?link={PAYMENT_LINK_ID}&payment={TRANSACTION_ID}"
    link = await open_link(alice, success_url=address)
    (await choose(link)).ok(303)
    assert "form-action" not in (await visit(link, alice)).headers["Content-Security-Policy"]
    back = await simulate(link)
    [transaction] = (await alice.get("/transactions")).ok().body["transactions"]
    assert back.ok(303).location == f"https://shop.example/thanks?link={link['id']}&payment={transaction['id']}"
    assert "Return to Alice" in (await visit(link, alice)).text


@pytest.mark.covers("P-61")
async def test_what_a_merchant_writes_is_escaped(alice: Actor) -> None:
    link = await open_link(alice, display_name="<script>alert(1)</script>", description="<b>bold</b>")
    page = (await visit(link, alice)).ok().text
    assert "<script>alert(1)" not in page
    assert "&lt;script&gt;" in page
    assert "<b>bold" not in page


async def test_the_page_keeps_to_itself(alice: Actor) -> None:
    link = await open_link(alice)
    page = await visit(link, alice)
    assert page.headers["Referrer-Policy"] == "no-referrer"
    assert "form-action 'self'" in page.headers["Content-Security-Policy"]
    assert "Set-Cookie" not in page.headers
    assert "Access-Control-Allow-Origin" not in page.headers


async def test_an_unchanged_status_is_304(alice: Actor) -> None:
    link = await open_link(alice)
    path = link["url"].removeprefix(alice.service.url) + "/status"
    first = (await alice.anonymously("GET", path)).ok()
    assert (first.body["status"], first.body["amount_due"], first.body["amount_due_minor"]) == ("open", "4.20", 420)
    tag = {"If-None-Match": first.headers["ETag"]}
    (await alice.anonymously("GET", path, headers=tag)).ok(304)
    await pay(link)
    changed = (await alice.anonymously("GET", path, headers=tag)).ok()
    assert (changed.body["status"], changed.body["amount_due_minor"]) == ("completed", 0)
    assert changed.body["amount_received"] == "4.20"


@pytest.mark.covers("P-59")
async def test_a_link_for_three_is_complete_after_three(alice: Actor) -> None:
    link = await open_link(alice, max_payments=3)
    for paid in (1, 2, 3):
        assert f"{paid - 1} of 3 sold" in (await visit(link, alice)).ok().text
        back = await pay(link)
        assert "Paid" in (await alice.anonymously("GET", back.location, headers={"Accept": "text/html"})).text
        shown = (await alice.get(f"/payment-links/{link['id']}")).ok().body
        assert (shown["payments_count"], shown["status"]) == (paid, "completed" if paid == 3 else "active")
    (await choose(link)).ok(303)
    (await simulate(link)).ok(303)
    assert (await balance(alice))["available_minor"] == 3 * 420
    assert " sold" not in (await visit(link, alice)).text
    assert " sold" not in (await visit(await open_link(alice), alice)).ok().text


async def test_a_link_without_limit_stays_open(alice: Actor) -> None:
    link = await open_link(alice, max_payments=None)
    for _ in range(2):
        await pay(link)
    assert " sold" not in (await visit(link, alice)).ok().text
    assert await state(link, alice) == "open"
    shown = (await alice.get(f"/payment-links/{link['id']}")).ok().body
    assert (shown["max_payments"], shown["payments_count"], shown["amount_paid_minor"]) == (None, 2, 840)


async def test_a_suspended_shop_takes_no_new_payment(alice: Actor) -> None:
    link = await open_link(alice)
    await alice.sql("UPDATE merchants SET suspended_at = now() WHERE id = $1::uuid", alice.merchant_id)
    page = (await visit(link, alice)).ok()
    assert "cannot accept payments at the moment" in page.text
    assert buttons(page) == []
    (await choose(link)).ok(303)
    assert await state(link, alice) == "paused"


async def test_fifty_at_once_pay_a_single_use_link_once(alice: Actor, service: Service) -> None:
    link = await open_link(alice)
    (await choose(link)).ok(303)
    responses = await asyncio.gather(*(simulate(link) for _ in range(50)))
    assert {answer.status for answer in responses} == {303}
    assert (await balance(alice))["available_minor"] == 420
    link = (await alice.get(f"/payment-links/{link['id']}")).ok().body
    assert (link["status"], link["payments_count"], link["amount_paid_minor"]) == ("completed", 1, 420)
    assert await events(alice) == [("payment.succeeded", 2), ("balance.updated", 1)]
    assert await broken_invariants(service.dsn) == []


async def test_success_and_failure_race_and_one_of_them_is_true(alice: Actor, service: Service) -> None:
    link = await open_link(alice)
    (await choose(link)).ok(303)
    outcomes = ["succeed", "fail"] * 10
    assert {answer.status for answer in await asyncio.gather(*(simulate(link, one) for one in outcomes))} == {303}
    [transaction] = (await alice.get("/transactions")).ok().body["transactions"]
    paid = transaction["status"] == "succeeded"
    assert (await balance(alice))["available_minor"] == (420 if paid else 0)
    assert (await alice.get(f"/payment-links/{link['id']}")).ok().body["payments_count"] == (1 if paid else 0)
    assert len(transaction["timeline"]) == 2
    assert await broken_invariants(service.dsn) == []


async def test_fifty_customers_of_a_single_use_link_share_one_attempt(alice: Actor, service: Service) -> None:
    link = await open_link(alice)
    chosen = await asyncio.gather(*(choose(link) for _ in range(50)))
    # Who comes when it is running is led to the link's own page, which shows it.
    [payment] = {answer.ok(303).query["payment"] for answer in chosen if "payment" in answer.query}
    responses = await asyncio.gather(*(simulate(link, payment=payment) for _ in range(50)))
    assert {answer.status for answer in responses} == {303}
    [found] = (await alice.get("/transactions?limit=100")).ok().body["transactions"]
    assert (found["id"], found["status"]) == (payment, "succeeded")
    assert (await balance(alice))["available_minor"] == 420
    assert await broken_invariants(service.dsn) == []


async def test_the_second_visitor_of_a_single_use_link_sees_the_running_attempt(alice: Actor) -> None:
    link = await open_link(alice)
    first = (await choose(link)).ok(303).location
    own = (await alice.anonymously("GET", first, headers={"Accept": "text/html"})).ok().text
    second = (await visit(link, alice)).ok().text
    assert "Waiting for payment" in second
    [reference] = set(re.findall(r"SANDBOX[-0-9A-Z]+|sandbox-[0-9a-f-]+", own)) or {""}
    assert reference in second
    (await choose(link)).ok(303)
    assert len((await alice.get("/transactions")).ok().body["transactions"]) == 1
    (await simulate(link, "fail")).ok(303)
    again = (await choose(link)).ok(303).location
    assert again != first
    assert len((await alice.get("/transactions")).ok().body["transactions"]) == 2


@pytest.mark.parametrize("end", ["expired", "canceled"])
async def test_a_program_hears_that_a_link_is_over(alice: Actor, end: str) -> None:
    """A browser gets the page; so does everybody while the link is not over, or where a payment of it matters."""
    link, paid = await open_link(alice), await open_link(alice, max_payments=2)
    back = (await pay(paid)).location
    for one in (link, paid):
        (await alice.anonymously("GET", path_of(one, alice))).ok()
        if end == "expired":
            await let_expire(alice, one)
        else:
            (await alice.post(f"/payment-links/{one['id']}/cancel")).ok()
        (await visit(one, alice)).ok()
    assert end in (await visit(link, alice)).text.lower()
    for below in ("", "/status"):
        for accept in ("application/json", "*/*"):
            answer = await alice.anonymously("GET", path_of(link, alice) + below, headers={"Accept": accept})
            answer.refused(f"payment_link_{end}", 410)
            assert answer.body["request_id"] == answer.headers["X-Request-Id"]
    assert (await alice.anonymously("GET", back.replace("?", "/status?"))).ok().body["status"] == "succeeded"


async def test_another_sites_form_starts_nothing(alice: Actor) -> None:
    link = await open_link(alice)
    page = (await visit(link, alice)).ok().text.partition("</main>")[0]
    assert 'type="hidden"' not in page
    fields = {"method_id": "sandbox:EUR"}
    for headers in ({"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}, {"Origin": "https://evil.example"}):
        for action in ("method", "simulate"):
            refused = await post_form(f"{link['url']}/{action}", fields | {"outcome": "succeed"}, **headers)
            refused.refused("cross_origin_forbidden", 403)
    assert (await alice.get("/transactions")).ok().body["transactions"] == []
    (await post_form(f"{link['url']}/method", fields, Sec_Fetch_Site="same-origin")).ok(303)
    assert await events(alice) == []
    assert (await balance(alice))["available_minor"] == 0


async def test_fifty_customers_each_have_their_own_attempt_and_two_of_them_pay(alice: Actor, service: Service) -> None:
    link = await open_link(alice, max_payments=2)
    chosen = await asyncio.gather(*(choose(link) for _ in range(50)))
    payments = {answer.ok(303).query["payment"] for answer in chosen}
    assert len(payments) == 50
    responses = await asyncio.gather(*(simulate(link, payment=one) for one in payments))
    assert {answer.status for answer in responses} == {303}
    found = (await alice.get("/transactions?limit=100")).ok().body["transactions"]
    assert sorted(one["status"] for one in found) == ["refund_required"] * 48 + ["succeeded"] * 2
    assert {one["refund_required_reason"] for one in found if one["status"] == "refund_required"} == {"duplicate"}
    assert (await balance(alice))["available_minor"] == 840
    link = (await alice.get(f"/payment-links/{link['id']}")).ok().body
    assert (link["status"], link["payments_count"], link["amount_paid_minor"]) == ("completed", 2, 840)
    assert await broken_invariants(service.dsn) == []


async def test_so_many_attempts_stand_open_and_no_more(alice: Actor) -> None:
    link = await open_link(alice, max_payments=None)
    for _ in range(3):
        await asyncio.gather(*(choose(link) for _ in range(40)))
    rows = await alice.sql("SELECT count(*) FROM transactions WHERE payment_link_id = $1::uuid", link["id"])
    assert rows[0]["count"] == 100


async def test_paying_canceling_and_choosing_race(alice: Actor, service: Service) -> None:
    """Whoever is first, the link is either paid and credited, or canceled with its attempts failed."""
    for _ in range(5):
        link = await open_link(alice)
        (await choose(link)).ok(303)
        before = (await balance(alice))["available_minor"]
        cancel = alice.post(f"/payment-links/{link['id']}/cancel")
        responses = await asyncio.gather(simulate(link), cancel, choose(link), simulate(link), choose(link))
        assert all(answer.status in {200, 303, 409} for answer in responses)
        status = (await alice.get(f"/payment-links/{link['id']}")).ok().body["status"]
        attempts = (await alice.get(f"/transactions?payment_link_id={link['id']}")).ok().body["transactions"]
        assert status in {"completed", "canceled"}
        paid = [one for one in attempts if one["status"] == "succeeded"]
        assert len(paid) == (1 if status == "completed" else 0)
        assert {one["status"] for one in attempts} <= {"succeeded", "failed", "expired", "refund_required"}
        assert (await balance(alice))["available_minor"] - before == (420 if status == "completed" else 0)
    assert await broken_invariants(service.dsn) == []
