"""What the checkout says of a part that was seen, of late money, and of a link that ended: never more than is true."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from tests.cast import Actor
from tests.forms import read
from tests.payments.courier import Courier
from tests.payments.shop import approve_project, choose, open_link, simulate, visit
from tests.payments.transactions.test_other_currencies import accept_currencies, transactions
from tests.running import CATALOGUE
from tollhouse.http.services import Services
from tollhouse.kernel import clock
from tollhouse.kernel.catalogue.methods import Method
from tollhouse.kernel.rails.provider import Attempt, Instructions, Observation
from tollhouse.payments.refunds import reversals

ADDRESS = "0x52908400098527886E0F7030069857D2E4169EE7"
URI = f"ethereum:0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48@1/transfer?address={ADDRESS}&uint256="
DOLLARS = Method(method_id="courier:USDC", name="USD Coin", type="card", rail="courier", confirmation="minutes")
NEVER_MORE = ("Do not send", "don't need to do anything else")
DO_NOT_SEND = ("Senden Sie keine", "Senden Sie den Rest daher nicht", "Sie müssen nichts")


class WalletCourier(Courier):
    """Paid from wallets."""

    async def start_payment(self, attempt: Attempt) -> Instructions:
        """An address, and the amount as a wallet reads it."""
        return Instructions(
            reference=f"ticket-{attempt.id}",
            words="Send it.",
            address=ADDRESS,
            pay_amount="12.50",
            uri=f"{URI}{attempt.amount_minor}",
        )


async def page(link: Mapping[str, Any], actor: Actor, language: str = "en") -> str:
    """The checkout page in a language."""
    shown = await visit(dict(link), actor, **{"Accept": "text/html", "Accept-Language": language})
    return read(shown.ok().text)


async def test_a_wallet_is_asked_for_the_rest_only(
    alice: Actor, courier: Courier, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    """3.00 of 12.50 is seen, then 9.50 more: from then on nothing invites to pay."""
    monkeypatch.setitem(alice.service.rails.providers, (courier.name, courier.mode), WalletCourier())
    monkeypatch.setitem(CATALOGUE.methods, DOLLARS.method_id, DOLLARS)
    await approve_project(alice, "live")
    body = {"display_name": "Ticket", "amount": "12.50", "currency": "USDC"}
    link = (await alice.post("/payment-links", body, mode="live")).ok(201).body
    paid = (await choose(link, DOLLARS.method_id)).ok(303).query["payment"]

    async def see(name: str, minor: int, outcome: Any = "seen") -> None:
        observation = Observation(
            reference=f"ticket-{paid}",
            outcome=outcome,
            external_ref=f"{paid}-{name}",
            amount_minor=minor,
            confirmations=0 if outcome == "seen" else None,
        )
        await reversals.observe(services, courier.name, courier.mode, observation, clock.now())

    shown = await page(link, alice)
    assert f'href="{URI}12500000"' in shown
    await see("part", 3_000_000)
    shown = await page(link, alice)
    assert "3.00 USDC of 12.50 USDC detected, 9.50 USDC missing." in shown
    assert "Send the remaining 9.50 USDC with the same details." in shown
    assert f'href="{URI}9500000"' in shown
    assert "12500000" not in shown
    assert not [words for words in NEVER_MORE if words in shown]
    german = await page(link, alice, "de")
    assert "3,00 USDC von 12,50 USDC erkannt, 9,50 USDC fehlen." in german
    assert not [words for words in DO_NOT_SEND if words in german]
    status = (await alice.anonymously("GET", f"{link['url'].removeprefix(alice.service.url)}/status")).ok().body
    assert (status["status"], status["amount_due"], status["amount_detected"]) == ("underpaid", "9.500000", "3.000000")
    await see("part", 3_000_000, "confirmed")
    shown = await page(link, alice)
    assert "3.00 USDC of 12.50 USDC received, 9.50 USDC missing." in shown
    assert f'href="{URI}9500000"' in shown
    await see("rest", 9_500_000)
    shown = await page(link, alice)
    assert "We have detected your payment of 12.50 USDC." in shown
    assert URI not in shown
    assert "Open in wallet app" not in shown
    assert "data:image/png" not in shown


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("en", ("You already sent €3.00.", "We received your payment of €3.00.")),
        ("de", ("Sie haben bereits 3,00 € gesendet.", "Wir haben Ihre Zahlung über 3,00 € erhalten.")),
    ],
)
@pytest.mark.parametrize("outcome", ["underpay", "processing"])
async def test_an_ended_page_names_what_was_sent(alice: Actor, outcome: str, language: str, words: tuple[str, ...]) -> None:
    """Received or only seen, before the job that closes links and after it."""
    link = await open_link(alice, amount="12.50")
    (await choose(link)).ok(303)
    (await simulate(link, outcome, amount="3.00")).ok(303)
    await alice.sql(
        "UPDATE payment_links SET created_at = now() - interval '3 d', expires_at = now() - interval '1 ms' WHERE id = $1",
        UUID(link["id"]),
    )
    shown = (await page(link, alice, language)).replace("\xa0", " ")
    if outcome == "underpay":
        assert any(word in shown for word in words)
    else:
        seen = {"en": "€3.00 of €12.50 detected, €9.50 missing.", "de": "3,00 € von 12,50 € erkannt, 9,50 € fehlen."}
        assert seen[language] in shown
        assert {"en": "do not send the rest", "de": "Senden Sie den Rest daher nicht"}[language] in shown
    denials = ("You were not charged", "Ihnen wurde nichts berechnet", "not received a payment", "keine Zahlung erhalten")
    assert not [denial for denial in denials if denial in shown]


async def test_money_for_an_earlier_rate_is_named_when_the_link_ends(alice: Actor) -> None:
    """A part was sent for the first rate, and nothing for the second: the page of the link does not say that nothing was."""
    await accept_currencies(alice, "ETH")
    link = await open_link(alice, amount="12.50")
    (await choose(link, "sandbox:ETH")).ok(303)
    (await simulate(link, "underpay", amount="0.001")).ok(303)
    (await alice.post("/test/clock/advance", {"seconds": 900})).ok()
    shown = await page(link, alice)
    assert "We have detected 0.001 ETH, but not the rest." in shown
    (await choose(link, "sandbox:ETH")).ok(303)
    newest, first = await transactions(alice, link)
    assert (newest["amount_received_minor"], first["amount_received"]) == (0, "0.00100000")
    (await alice.post("/test/clock/advance", {"seconds": 86_400 * 40})).ok()
    shown = await page(link, alice)
    assert "You were not charged" not in shown
    assert "We have not received a payment" not in shown
    assert "0.001 ETH" in shown


async def test_late_money_that_is_on_its_way_is_not_paid_twice(alice: Actor) -> None:
    """All of it is seen after the rate expired: no new rate is offered, and the reason is the rate, not the link."""
    await accept_currencies(alice, "ETH")
    link = await open_link(alice, amount="12.50")
    (await choose(link, "sandbox:ETH")).ok(303)
    [attempt] = await transactions(alice, link)
    (await alice.post("/test/clock/advance", {"seconds": 900})).ok()
    (await simulate(link, "processing", payment=attempt["id"])).ok(303)
    shown = await page(link, alice)
    assert "but not before the exchange rate expired" in shown
    assert "Get a new rate" not in shown
    (await simulate(link, "succeed", payment=attempt["id"])).ok(303)
    shown = await page(link, alice)
    assert "Not all of it was sent before the exchange rate expired." in shown
    assert "the link had expired" not in shown


async def test_the_simulator_says_why_it_adds_no_confirmation(alice: Actor) -> None:
    link = await open_link(alice)
    (await choose(link)).ok(303)
    (await simulate(link, "processing")).ok(303)
    assert "One confirmation is left." not in await page(link, alice)
    (await simulate(link, "processing")).ok(303)
    shown = await page(link, alice)
    assert "One confirmation is left. It confirms the payment" in shown
    assert 'value="processing" disabled' in shown


async def test_an_expired_link_says_when_it_expired(alice: Actor) -> None:
    """One that the simulator expires early, too: it shows, and the API has, the time at which it did."""
    link, before = await open_link(alice), clock.now() - timedelta(milliseconds=1)
    (await choose(link)).ok(303)
    (await simulate(link, "expire")).ok(303)
    shown = await page(link, alice)
    assert "This payment link expired on <time" in shown
    found = (await alice.get(f"/payment-links/{link['id']}")).ok().body
    assert clock.stamp(before) <= found["expires_at"] <= clock.stamp(clock.now())
    assert found["expires_at"] in shown
