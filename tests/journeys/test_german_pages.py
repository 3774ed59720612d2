"""Somebody who reads German, by clicking in headless Chromium: the choice in the foot, then the longest pages."""

import pytest
from playwright.async_api import Browser, expect

from tests.browser import IN_A_BROWSER, Look, Visitor, by_look, visitor
from tests.cast import PASSWORD, Actor, application
from tests.payments.shop import choose, open_link
from tests.running import Service
from tests.transfers.withdrawals.steps import fund

WITH_AXE = {"home", "consent", "checkout-pending"}
FOOT = """
- form "Sprache":
  - button "English"
  - text: Deutsch
"""

pytestmark = [*IN_A_BROWSER, pytest.mark.long]


async def see(someone: Visitor, path: str, name: str) -> None:
    """Open a page of the service and look at it; with axe, which knows most of them in English, at a few."""
    await someone.page.goto(path)
    await (someone.see if name in WITH_AXE else someone.glance)(f"german-{name}")


@by_look(Look("light", 390))
async def test_the_service_in_german(look: Look, browser: Browser, service: Service, alice: Actor, bob: Actor) -> None:
    await fund(alice)
    app = await application(bob)
    link = await open_link(alice, amount="1234.50", description="Zwei Kaffee und ein Rosinenbrötchen")
    async with visitor(browser, look, service.url) as someone:
        page = someone.page
        await page.goto(f"{service.url}/signin")
        await someone.click("Deutsch")
        await expect(page.locator("footer")).to_match_aria_snapshot(FOOT)
        await someone.see("german-signin")
        await page.fill("#email", alice.email)
        await page.fill("#password", PASSWORD)
        await someone.click("Anmelden")
        await withdraw(someone)
        for path, name in (
            ("/test/home", "home"),
            ("/test/developers/webhooks", "webhooks"),
            ("/test/conversions/rules", "rules"),
            ("/test/fulfillments/statistics", "statistics"),
            ("/developers/apps/new", "new-application"),
        ):
            await see(someone, service.url + path, name)
        await see(someone, service.url + app.authorize_path("account:read payments:write offline_access"), "consent")
        await see(someone, link["url"], "checkout")
        await see(someone, service.url + (await choose(link)).ok(303).location, "checkout-pending")
        await expect(page.locator("h1")).to_have_text("1.234,50 € bezahlen")
        await page.wait_for_selector("button:has-text('Kopieren')")


async def withdraw(someone: Visitor) -> None:
    """As far as the page that is confirmed, with an amount as it is written in German."""
    page = someone.page
    await someone.open_part("Auszahlungen")
    await page.click("text=Auszahlung erstellen")
    await page.click("a:has-text('Testauszahlung in EUR')")
    await page.fill("#amount", "12,345")
    await page.fill("#receiver", "Ninas Konto")
    await someone.click("Auszahlung prüfen")
    await someone.glance("german-withdrawal-wrong")
    await page.fill("#amount", "12,50")
    await someone.click("Auszahlung prüfen")
    await someone.glance("german-withdrawal-review")
    await expect(page.locator("main")).to_contain_text("12,50 € auszahlen")
