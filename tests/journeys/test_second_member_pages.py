"""A withdrawal above the team's amount: one person asks for it, another one approves, by clicking in headless Chromium."""

import pytest
from playwright.async_api import Browser, expect

from tests.browser import IN_A_BROWSER, WIDE, Look, by_look, visitor
from tests.cast import Actor, member
from tests.payments.bank import refund, sell
from tests.running import Service
from tests.transfers.withdrawals.steps import asked, fund

pytestmark = [*IN_A_BROWSER, pytest.mark.long]


@by_look(WIDE)
async def test_a_second_member_approves(look: Look, browser: Browser, service: Service, alice: Actor) -> None:
    await fund(alice, "1000.00")
    paid = await sell(alice, amount="400.00")
    async with (
        member(alice, "finance") as fin,
        visitor(browser, look, service.url) as owner,
        visitor(browser, look, service.url) as nina,
    ):
        await owner.sign_in(alice)
        await owner.page.goto(service.url + "/settings/team")
        await owner.page.fill("#second_EUR", "250.00")
        await owner.click("Save settings")
        await expect(owner.page.locator("[role=status]")).to_contain_text("Saved.")
        await owner.see("second-member-settings")
        withdrawal = f"{service.url}/test/withdrawals/{(await asked(alice, {'amount': '300.00'}))['id']}"
        (await refund(alice, paid, "280.00", receiver="Nina")).ok(201)
        await owner.page.goto(withdrawal)
        await expect(owner.page.locator("main")).to_contain_text("you asked for it")
        await owner.see("second-member-asked")
        await nina.sign_in(fin)
        await nina.page.goto(withdrawal)
        await nina.see("second-member-approve")
        await nina.click("Approve withdrawal")
        await expect(nina.page.locator("main")).to_contain_text("Approved by a second member")
        await nina.page.goto(f"{service.url}/test/payments/{paid['id']}")
        await expect(nina.page.locator("main")).to_contain_text("Waits for a second member.")
        await nina.see("second-member-refund")
        await owner.page.goto(service.url + "/settings/team")
        await owner.page.fill("#second_EUR", "500.00")
        await owner.click("Save settings")
        await expect(owner.page.locator("main")).to_contain_text("until another member confirms it")
        await owner.page.goto(service.url + "/settings/members")
        await owner.see("second-member-requested")
        await nina.page.goto(service.url + "/settings/members")
        await nina.see("second-member-confirm")
        await nina.click("Confirm change")
        await expect(nina.page.locator("[role=status]")).to_contain_text("Change confirmed.")
        await nina.page.goto(service.url + "/test/notifications")
        await nina.see("second-member-inbox")
