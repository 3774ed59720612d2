"""A person reads at the dashboard who did what, by clicking in headless Chromium."""

from collections.abc import AsyncIterator

import pytest
from playwright.async_api import Browser, expect

from tests.browser import CHROMIUM, Look, by_look, chromium, visitor
from tests.cast import PASSWORD, Actor, application
from tests.forms import post
from tests.running import Service
from tests.withdrawals.desk import asked, fund

LOOKS = [Look("light", 1280, axe=False), Look("dark", 390, axe=True)]
"""Once with the CSP and once with axe, and each width and theme once."""

pytestmark = [
    pytest.mark.browser,
    pytest.mark.xdist_group("browser"),
    pytest.mark.skipif(CHROMIUM is None, reason="NO CHROMIUM ON THIS MACHINE: the browser journeys were not run"),
]
MONEY = """
- heading "Audit log" [level=1]
- search "Filter the log"
- paragraph: /kept for 730 days/
- link "Export as CSV"
- list:
  - listitem:
    - text: Withdrawal requested
    - link "1,234.50 EUR"
    - text: Test
    - paragraph
    - paragraph:
      - link "Request"
    - group: /One detail/
"""


@pytest.fixture(scope="module")
async def browser() -> AsyncIterator[Browser]:
    async with chromium() as one:
        yield one


@by_look(LOOKS)
async def test_reading_the_audit_log(look: Look, browser: Browser, service: Service, alice: Actor, bob: Actor) -> None:
    await (await application(bob)).connect(alice, "account:read payments:write")
    said = {"business_name": "Alice's Tea and Coffee", "time_zone": "Europe/Berlin", "seen_zone": "UTC"}
    await post(alice, "/settings/business", 303, seen_name="Alice's Coffee", **said)
    await fund(alice, "2000.00")
    await asked(alice, {"amount": "1234.50"})
    async with visitor(browser, look, service.url) as someone:
        page = someone.page
        await page.goto(f"{service.url}/signin")
        await page.fill("#email", alice.email)
        await page.fill("#password", PASSWORD)
        await page.click("button:has-text('Sign in')")
        await page.click(".side a:has-text('Audit log')")
        await expect(page.locator(".deeds > li")).to_have_count(6)
        for summary in await page.locator(".deeds summary").all():
            await summary.click()
        await someone.see("audit")
        await page.select_option("#what", "money")
        await page.click("button:has-text('Filter')")
        await expect(page.locator("main")).to_match_aria_snapshot(MONEY)
        await page.select_option("#who", "operator")
        await page.click("button:has-text('Filter')")
        await expect(page.locator(".empty")).to_contain_text("Nothing of the log matches.")
        await someone.see("audit-nothing")
        await page.click("main >> text=Clear filters >> nth=0")
        await expect(page.locator(".deeds > li")).to_have_count(6)
