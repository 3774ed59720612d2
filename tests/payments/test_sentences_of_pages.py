"""Sentences about money that must be true whatever happens next: at checkout, and at the merchant's page of the payment."""

from datetime import datetime
from typing import Any

import msgspec
import pytest

from tests.cast import Actor
from tests.forms import post, read, seen
from tests.payments.bank import attempt, play, purse, refund, sell
from tests.payments.courier import COURIER, Courier
from tests.payments.shop import approve_project, choose, let_expire, open_link, pay, simulate, visit
from tests.payments.transactions.test_other_currencies import accept_currencies, transactions
from tests.running import CATALOGUE
from tollhouse.http.services import Services
from tollhouse.kernel import clock
from tollhouse.kernel.rails.provider import Attempt, Instructions, Observation, RefundOrder, RefundState
from tollhouse.payments.refunds import reversals

LANGUAGES = ("en", "de")
NOT_CHARGED = ("You were not charged", "Ihnen wurde nichts berechnet")
NOTHING_RECEIVED = {"en": "We have not received a payment.", "de": "Wir haben keine Zahlung erhalten."}
TICKET = {"display_name": "Concert ticket", "amount": "12.50"}


class PageCourier(Courier):
    """Paid on a page of its own; what it gives back is never there."""

    async def start_payment(self, attempt: Attempt) -> Instructions:
        """Where to pay."""
        return Instructions(reference=f"ticket-{attempt.id}", words="Pay there.", redirect_url="https://pay.example/1")

    async def refund_state(self, order: RefundOrder, now: datetime) -> RefundState:  # noqa: ARG002 - of the interface
        """Pending, however late it is."""
        return RefundState("pending")


async def page(link: dict[str, Any], actor: Actor, language: str = "en") -> str:
    """The checkout page as it is read, in a language."""
    answer = await visit(link, actor, **{"Accept": "text/html", "Accept-Language": language})
    return read(answer.ok().text).replace("\N{NO-BREAK SPACE}", " ")


async def merchants_page(actor: Actor, payment_id: str, language: str = "en") -> str:
    """The merchant's page of a payment, as it is read."""
    headers = {"Accept": "text/html", "Accept-Language": language}
    answer = await actor.send("GET", f"/test/payments/{payment_id}", headers=headers)
    return read(answer.ok().text).replace("\N{NO-BREAK SPACE}", " ")


@pytest.mark.parametrize("end", ["expire", "cancel"])
async def test_an_ended_link_does_not_know_who_paid(alice: Actor, end: str) -> None:
    """A link that many can pay tells nobody that nothing was received; one for a single payment does, and what it means."""
    many, one = await open_link(alice, max_payments=5), await open_link(alice)
    await pay(many)
    (await choose(one)).ok(303)
    for link in (many, one):
        if end == "cancel":
            (await alice.post(f"/payment-links/{link['id']}/cancel")).ok()
        else:
            await let_expire(alice, link)
    sent = {"en": "If you have already sent the money, do not send it again", "de": "senden Sie es nicht noch einmal"}
    for language in LANGUAGES:
        of_many, of_one = await page(many, alice, language), await page(one, alice, language)
        assert NOTHING_RECEIVED[language] not in of_many
        assert NOTHING_RECEIVED[language] in of_one
        assert sent[language] in of_one
        assert not [words for words in NOT_CHARGED if words in of_many + of_one]


@pytest.mark.parametrize("language", LANGUAGES)
async def test_nobody_is_asked_to_pay_what_cannot_be_paid(alice: Actor, courier: Courier, language: str) -> None:
    assert courier.health().available
    await approve_project(alice, "live")
    body = TICKET | {"currency": "USD"}
    shown = await page((await alice.post("/payment-links", body, mode="live")).ok(201).body, alice, language)
    assert {"en": "Payment is not possible", "de": "Zahlung nicht möglich"}[language] in shown
    for words in ("You can pay until", "Sie können bis", "Choose how to pay", "Zahlungsmethode wählen", *NOT_CHARGED):
        assert words not in shown, words


async def test_back_from_the_page_of_a_provider_nobody_is_asked_to_pay_again(
    alice: Actor, courier: Courier, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(alice.service.rails.providers, (courier.name, courier.mode), PageCourier())
    monkeypatch.setitem(CATALOGUE.methods, COURIER.method_id, msgspec.structs.replace(COURIER, push=False))
    await approve_project(alice, "live")
    link = (await alice.post("/payment-links", TICKET | {"currency": "EUR"}, mode="live")).ok(201).body
    path = (await choose(link, COURIER.method_id)).ok(303).location
    before, after = [read((await alice.send("GET", path + returned)).ok().text) for returned in ("", "&returned=1")]
    for words, is_before, is_after in (
        ("Pay €12.50", True, False),
        ("You can pay until", True, False),
        ("Amount due", True, False),
        ("Confirming your payment", False, True),
    ):
        assert (words in before.partition("<body")[2], words in after.partition("<body")[2]) == (is_before, is_after), words


async def test_what_was_detected_is_named(alice: Actor) -> None:
    whole, more = await open_link(alice, **TICKET), await open_link(alice, **TICKET)
    for link, amount in ((whole, "12.50"), (more, "15.00")):
        (await choose(link)).ok(303)
        (await simulate(link, "processing", amount=amount)).ok(303)
    assert "We have detected your payment of €12.50. You don't need to do anything else." in await page(whole, alice)
    assert "We have detected your payment of €15.00. You don't need to do anything else." in await page(more, alice)
    assert "Wir haben Ihre Zahlung über 15,00 € erkannt." in await page(more, alice, "de")


async def test_a_difference_that_went_back_is_not_offered(alice: Actor) -> None:
    link = await open_link(alice, **TICKET)
    paid = await attempt(alice, link, "overpay", amount="15.00")
    path = {"url": f"{link['url']}?payment={paid['id']}"}
    assert "Contact Alice's Coffee to get the difference back." in await page(path, alice)
    (await refund(alice, paid, "2.50")).ok(201)
    assert "to get the difference back" not in await page(path, alice)


@pytest.mark.parametrize("amount", ["5.00", None])
async def test_a_pending_refund_is_shown_to_both(
    alice: Actor, courier: Courier, services: Services, monkeypatch: pytest.MonkeyPatch, amount: str | None
) -> None:
    monkeypatch.setitem(alice.service.rails.providers, (courier.name, courier.mode), PageCourier())
    await approve_project(alice, "live")
    link = (await alice.post("/payment-links", TICKET | {"currency": "EUR"}, mode="live")).ok(201).body
    path = (await choose(link, COURIER.method_id)).ok(303).location
    paid = {"id": path.partition("payment=")[2]}
    reference = f"ticket-{paid['id']}"
    confirmed = Observation(reference=reference, outcome="confirmed", external_ref=reference, amount_minor=1_250)
    await reversals.observe(services, courier.name, courier.mode, confirmed, clock.now())
    (await refund(alice, paid, amount, mode="live", receiver="Door 7")).ok(201)
    wanted = amount or "12.50"
    url = {"url": f"{alice.service.url}{path}"}
    assert f"A refund of €{wanted} is in progress." in await page(url, alice)
    assert f"Eine Erstattung über {wanted.replace('.', ',')} € ist in Bearbeitung." in await page(url, alice, "de")
    shown = await seen(alice, f"/live/payments/{paid['id']}")
    assert f"A refund of €{wanted} is in progress." in shown
    assert f"<dt>Pending refunds</dt><dd>€{wanted}</dd>" in shown


async def test_the_merchants_page_does_not_deny_a_part(alice: Actor) -> None:
    part = await attempt(alice, await open_link(alice, **TICKET), "underpay", amount="3.00")
    shown = await merchants_page(alice, part["id"])
    assert "€3.00 of €12.50 received, €9.50 missing. The payment is not complete yet." in shown
    assert "No money has arrived yet" not in shown
    assert "€3.00 received" in shown
    assert "3,00 € eingegangen" in await merchants_page(alice, part["id"], "de")
    await accept_currencies(alice, "ETH")
    link = await open_link(alice, **TICKET)
    (await choose(link, "sandbox:ETH")).ok(303)
    (await simulate(link, "processing", amount="0.001")).ok(303)
    [on_its_way] = await transactions(alice, link)
    shown = await merchants_page(alice, on_its_way["id"])
    assert "0.001 ETH of 0.00426276 ETH detected, 0.00326276 ETH missing." in shown
    assert "It is credited once it is confirmed." not in shown
    assert "<dt>Awaiting confirmation</dt><dd>0.001 ETH</dd>" in shown


async def test_the_merchants_page_subtracts_a_chargeback(alice: Actor) -> None:
    sold = await sell(alice, amount="12.00")
    (await play(alice, sold, "chargeback")).ok()
    assert "<dt>Charged back</dt><dd>€12.00</dd>" in await merchants_page(alice, sold["id"])


async def test_a_refund_that_is_too_large_names_the_most(alice: Actor) -> None:
    sold = await sell(alice, amount="12.00")
    fields = {"amount": "99", "reason": "customer_request", "receiver": "", "external_id": ""}
    answer = await post(alice, f"/test/payments/{sold['id']}/refund", 422, **fields)
    assert "Enter 12.00 EUR or less." in read(answer.text)


async def test_the_form_of_a_refund_names_the_balance_that_pays_for_it(alice: Actor) -> None:
    """That of the currency into which the payment was converted."""
    await accept_currencies(alice, "ETH")
    link = await open_link(alice, **TICKET)
    (await choose(link, "sandbox:ETH")).ok(303)
    (await simulate(link)).ok(303)
    [paid] = await transactions(alice, link)
    assert await purse(alice) == (1_250, 0, 0)
    shown = await seen(alice, f"/test/payments/{paid['id']}/refund")
    assert "<dt>Available in your balance</dt><dd>€12.50</dd>" in shown
