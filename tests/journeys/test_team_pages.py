"""A person changes the merchant account, and an owner sets what the team may do, by clicking in headless Chromium."""

import pytest
from playwright.async_api import Browser, expect

from tests.browser import IN_A_BROWSER, NARROW, Look, by_look, visitor
from tests.cast import Actor, join
from tests.running import Service

pytestmark = [*IN_A_BROWSER, pytest.mark.long]


@by_look(NARROW)
async def test_changing_the_merchant_and_the_team(
    look: Look, browser: Browser, service: Service, alice: Actor, bob: Actor
) -> None:
    await join(bob, alice, "owner")
    async with visitor(browser, look, service.url) as someone:
        page = someone.page
        await someone.sign_in(bob)
        await page.goto(f"{service.url}/settings/team")
        await page.fill("#refund_EUR", "50")
        await someone.see("team-settings")
        await someone.click("Save settings")
        await expect(page.locator("#refund_EUR")).to_have_value("50.00")
        await page.click("[popovertarget=account]")
        await someone.glance("team-account-menu")
        await page.click("text=Change merchant account")
        await someone.see("team-merchants")
        await page.click("main table button")
        await page.click("[popovertarget=account]")
        await expect(page.locator("#account b")).not_to_contain_text("Alice")
