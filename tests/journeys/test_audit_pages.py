"""A person reads at the dashboard who did what, by clicking in headless Chromium."""

import pytest
from playwright.async_api import Browser, expect

from tests.browser import IN_A_BROWSER, NARROW, Look, by_look, visitor
from tests.cast import Actor, application
from tests.forms import post
from tests.running import Service
from tests.transfers.withdrawals.steps import asked, fund

pytestmark = [*IN_A_BROWSER, pytest.mark.long]
MONEY = """
- heading "Settings" [level=1]
- navigation "Settings"
- region "Audit log":
  - heading "Audit log" [level=2]
  - link "Export as CSV"
  - paragraph: /kept for 730 days/
  - search "Filter the audit log":
    - link /Remove filter. Event/
    - link "Clear filters"
  - list:
    - listitem:
      - text: Withdrawal requested
      - link "€1,234.50"
      - text: Test
      - paragraph
      - paragraph:
        - link "Request"
      - group: /One detail/
"""


@by_look(NARROW)
async def test_reading_the_audit_log(look: Look, browser: Browser, service: Service, alice: Actor, bob: Actor) -> None:
    await (await application(bob)).connect(alice, "account:read payments:write")
    said = {"business_name": "Alice's Tea and Coffee", "time_zone": "Europe/Berlin", "seen_zone": "UTC"}
    await post(alice, "/settings/business", 303, seen_name="Alice's Coffee", **said)
    await fund(alice, "2000.00")
    await asked(alice, {"amount": "1234.50"})
    async with visitor(browser, look, service.url) as someone:
        page, actions_listed = someone.page, someone.page.locator(".audit > li")
        await someone.sign_in(alice)
        await someone.open_settings("Audit log")
        await expect(actions_listed).to_have_count(6)
        for place in range(4):
            await page.locator(".audit summary").nth(place).click()
        await someone.see("audit")
        await someone.filter_by("Event", "money")
        await expect(page.locator("main")).to_match_aria_snapshot(MONEY)
        await someone.filter_by("Actor", "operator")
        await expect(page.locator(".empty")).to_contain_text("No events match these filters.")
        await someone.glance("audit-nothing")
        await page.click(".empty a")
        await expect(actions_listed).to_have_count(6)
