"""Checkout pages at the worst moments, in both languages, with the amounts that they must name.

Money that does not fit: a part that was seen, too much, too late, and a part when the link ended. Money that goes back: a
dispute that is open, and a refund that is pending.
"""

from datetime import datetime
from typing import Any

import pytest
from playwright.async_api import Browser, expect

from tests.browser import IN_A_BROWSER, NARROW, Look, by_look, visitor
from tests.cast import Actor
from tests.payments.bank import play, refund
from tests.payments.courier import COURIER, Courier
from tests.payments.shop import approve_project, choose, open_link, simulate
from tests.payments.transactions.test_other_currencies import accept_currencies
from tests.payments.transactions.test_partly_seen import DOLLARS, WalletCourier
from tests.running import CATALOGUE, Service
from tollhouse.kernel import clock
from tollhouse.kernel.rails.provider import Observation, RefundOrder, RefundState
from tollhouse.payments.refunds import reversals

pytestmark = [*IN_A_BROWSER, pytest.mark.long]
SENTENCES = {
    "underpaid": {
        "en": "3.00 USDC of 12.50 USDC detected, 9.50 USDC missing. Send the remaining 9.50 USDC with the same details.",
        "de": "3,00 USDC von 12,50 USDC erkannt, 9,50 USDC fehlen."
        " Senden Sie die restlichen 9,50 USDC mit denselben Angaben.",
    },
    "underpaid-at-a-rate": {
        "en": "Send the remaining 0.00326276 ETH with the same details, before the exchange rate expires.",
        "de": "Senden Sie die restlichen 0,00326276 ETH mit denselben Angaben, bevor der Wechselkurs abläuft.",
    },
    "overpaid": {
        "en": "You paid €2.50 more than requested. Alice's Coffee received the full amount."
        " Contact Alice's Coffee to get the difference back.",
        "de": "Sie haben 2,50 € mehr als angefordert bezahlt. Alice's Coffee hat den gesamten Betrag erhalten."
        " Wenden Sie sich an Alice's Coffee, um die Differenz zurückzubekommen.",
    },
    "late": {
        "en": "We received your payment of €12.50. Not all of it was sent before the link expired."
        " Alice's Coffee will accept or refund it. Do not send another payment.",
        "de": "Wir haben Ihre Zahlung über 12,50 € erhalten. Sie wurde nicht vollständig vor Ablauf des Links gesendet."
        " Alice's Coffee wird sie annehmen oder erstatten. Senden Sie keine weitere Zahlung.",
    },
    "expired-with-part": {
        "en": "We received your payment of €3.00. It is €9.50 less than the requested amount,"
        " and the link is no longer active."
        " Alice's Coffee will accept or refund it. Do not send another payment.",
        "de": "Wir haben Ihre Zahlung über 3,00 € erhalten. Es fehlen 9,50 € zum geforderten Betrag,"
        " und der Link ist nicht mehr aktiv."
        " Alice's Coffee wird sie annehmen oder erstatten. Senden Sie keine weitere Zahlung.",
    },
    "dispute-open": {
        "en": "Your bank has reversed this payment. Contact Alice's Coffee if this is a mistake.",
        "de": "Ihre Bank hat diese Zahlung zurückgebucht. Wenden Sie sich an Alice's Coffee, falls das ein Irrtum ist.",
    },
    "refund-pending": {"en": "A refund of €5.00 is in progress.", "de": "Eine Erstattung über 5,00 € ist in Bearbeitung."},
}
TICKET = {"display_name": "Concert ticket", "amount": "12.50"}


class SlowCourier(Courier):
    """Never back yet."""

    async def refund_state(self, order: RefundOrder, now: datetime) -> RefundState:  # noqa: ARG002 - of the interface
        """Pending, however late it is."""
        return RefundState("pending")


@pytest.fixture
async def pages(alice: Actor, service: Service, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The address of a page in each of the states."""
    await accept_currencies(alice, "ETH")
    await approve_project(alice, "live")
    found = {
        "underpaid-at-a-rate": await _simulated(alice, "processing", "sandbox:ETH", amount="0.001"),
        "overpaid": await _simulated(alice, "overpay", amount="15.00"),
        "late": await _simulated(alice, "late"),
        "dispute-open": await _simulated(alice, "succeed"),
        "expired-with-part": await _simulated(alice, "underpay", amount="3.00"),
    }
    (await play(alice, _payment(found["expired-with-part"]), "expire")).ok()
    (await play(alice, _payment(found["dispute-open"]), "chargeback")).ok()
    monkeypatch.setitem(service.rails.providers, (Courier.name, Courier.mode), WalletCourier())
    monkeypatch.setitem(CATALOGUE.methods, DOLLARS.method_id, DOLLARS)
    monkeypatch.setitem(CATALOGUE.methods, COURIER.method_id, COURIER)
    found["underpaid"] = await _observed(alice, service, DOLLARS.method_id, "seen", 3_000_000)
    monkeypatch.setitem(service.rails.providers, (Courier.name, Courier.mode), SlowCourier())
    found["refund-pending"] = await _observed(alice, service, COURIER.method_id, "confirmed", 1_250)
    (await refund(alice, _payment(found["refund-pending"]), "5.00", mode="live", receiver="Door 7")).ok(201)
    return {name: service.url + path for name, path in found.items()}


@by_look(NARROW)
@pytest.mark.parametrize("language", ["en", "de"])
async def test_the_worst_moments_name_their_amounts(
    look: Look, language: str, browser: Browser, service: Service, pages: dict[str, str]
) -> None:
    assert pages.keys() == SENTENCES.keys()
    async with visitor(browser, look, service.url) as someone:
        await someone.page.set_extra_http_headers({"Accept-Language": language})
        for name, url in pages.items():
            await someone.page.goto(url)
            await expect(someone.page.locator("main")).to_contain_text(SENTENCES[name][language])
            await (someone.see if language == "en" else someone.glance)(f"checkout-{name}-{language}")


async def _simulated(actor: Actor, outcome: str, method_id: str | None = None, **fields: str) -> str:
    link = await open_link(actor, **TICKET)
    path = (await choose(link, method_id)).ok(303).location
    (await simulate(link, outcome, payment=_payment(path)["id"], **fields)).ok(303)
    return path


async def _observed(actor: Actor, service: Service, method_id: str, outcome: Any, minor: int) -> str:
    """The page of a live payment for which the rail has reported this."""
    body = TICKET | {"currency": method_id.partition(":")[2]}
    path = (await choose((await actor.post("/payment-links", body, mode="live")).ok(201).body, method_id)).ok(303).location
    reference = f"ticket-{_payment(path)['id']}"
    services = service.create_services(connections=1)
    try:
        seen = Observation(reference=reference, outcome=outcome, external_ref=reference, amount_minor=minor)
        await reversals.observe(services, Courier.name, Courier.mode, seen, clock.now())
    finally:
        await services.close()
    return path


def _payment(path: str) -> dict[str, str]:
    return {"id": path.partition("payment=")[2]}
