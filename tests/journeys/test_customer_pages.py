"""A merchant looks a customer up by clicking in headless Chromium: list, page, notes."""

import pytest
from playwright.async_api import Browser, expect

from tests.browser import IN_A_BROWSER, NARROW, Look, by_look, visitor
from tests.cast import Actor
from tests.payments.bank import refund, sell
from tests.payments.shop import open_link
from tests.running import Service

pytestmark = [*IN_A_BROWSER, pytest.mark.long]
ANNA = "anna.schmidt-rottluff@customers.example"


async def prepare(alice: Actor) -> None:
    """What Anna did."""
    for amount, name in (("84.50", "Ticket"), ("12.00", "Coffee")):
        payment = await sell(alice, amount=amount, display_name=name, customer_email=ANNA, external_id=f"order-{amount}")
    (await refund(alice, payment, "2.00", reason="customer_request")).ok(201)
    await sell(alice, "chargeback", "30.00", customer_email=ANNA)
    await open_link(alice, customer_email="berta@customers.example")
    await open_link(alice, external_id="seat-7")


@by_look(NARROW)
async def test_looking_a_customer_up(look: Look, browser: Browser, service: Service, alice: Actor) -> None:
    async with visitor(browser, look, service.url) as someone:
        page = someone.page
        await someone.sign_in(alice)
        await someone.open_part("Customers")
        await expect(page.locator("main")).to_contain_text("No customers in test mode yet")
        await someone.see("customers-empty")
        await prepare(alice)
        await someone.open_part("Customers")
        await someone.see("customers")
        await page.fill("#search", "ANNA")
        await page.press("#search", "Enter")
        await page.click(f"main a:has-text('{ANNA}')")
        await expect(page.locator("main")).to_contain_text("3 payments in EUR")
        await someone.see("customer")
        await page.fill("#note", "Called about the ticket.\nWants an invoice by post.")
        await someone.click("Add note")
        await expect(page.locator("main")).to_contain_text("Note added.")
        await someone.see("customer-noted")
        await page.click("text=Delete note")
        await someone.agree("Delete this note? This cannot be undone.")
        await expect(page.locator("main")).to_contain_text("Note deleted.")
        await page.goto(f"{service.url}/test/payments")
        await someone.glance("payments-with-customers")


@by_look(Look("light", 390))
async def test_a_customer_in_german(look: Look, browser: Browser, service: Service, alice: Actor) -> None:
    await prepare(alice)
    async with visitor(browser, look, service.url, scripts=False) as someone:
        page = someone.page
        await someone.sign_in(alice)
        await someone.click("Deutsch")
        await page.goto(f"{service.url}/test/customers?kind=external_id")
        await someone.glance("german-customers-by-id")
        await page.goto(f"{service.url}/test/customers")
        await someone.glance("german-customers")
        await page.click(f"main a:has-text('{ANNA}')")
        await page.fill("#note", "Ruft zurück.")
        await someone.click("Notiz hinzufügen")
        await expect(page.locator("main")).to_contain_text("Notiz hinzugefügt.")
        await someone.see("german-customer")
