"""A member reads the inbox, chooses emails, and unsubscribes, by clicking in headless Chromium."""

from uuid import UUID

import pytest
from playwright.async_api import Browser, expect

from tests.accounts.notifications.notifying import notify
from tests.browser import IN_A_BROWSER, NARROW, WIDE, Look, by_look, visitor
from tests.cast import Actor
from tests.running import Service
from tollhouse.accounts.mail.links import Subscription, unsubscribe_path
from tollhouse.accounts.mail.notices import NoticeFacts
from tollhouse.http.services import Services

pytestmark = [*IN_A_BROWSER, pytest.mark.long]


async def unsubscribe_link(services: Services, actor: Actor) -> str:
    """The path in an email about failed refunds."""
    [user] = await actor.sql("SELECT id FROM users WHERE email = $1", actor.email)
    return unsubscribe_path(services.keys, Subscription(user["id"], UUID(actor.merchant_id), "refund_failed"))


@by_look(WIDE)
async def test_reading_and_choosing(
    look: Look, browser: Browser, service: Service, alice: Actor, services: Services
) -> None:
    async with visitor(browser, look, service.url) as someone:
        page = someone.page
        await someone.sign_in(alice)
        await page.goto(f"{service.url}/live/notifications?kind=project_reviewed")
        await someone.glance("notifications-none-match")
        await page.goto(f"{service.url}/live/notifications")
        facts = NoticeFacts(amount="1234.50", currency="EUR", account="•••• 4300", reason="Name differs", name="Night Owls")
        for event in ("refund_failed", "withdrawal_completed", "withdrawal_rejected", "dispute_opened", "webhooks_failing"):
            await notify(services, alice, event, event, facts=facts)  # pyright: ignore[reportArgumentType]
        await page.reload()
        await expect(page.locator(".bell")).to_contain_text("unread notifications")
        await someone.see("notifications-inbox")
        row = page.locator("tr", has_text="Withdrawal completed: €1,234.50")
        await row.locator("button").click()
        await expect(row.locator("button")).to_have_count(0)
        await someone.click("Mark all as read")
        await expect(page.locator("[role=status]")).to_contain_text("marked as read")
        await someone.glance("notifications-read")
        await page.click("text=Choose emails")
        await page.select_option("#k-refund_failed", "daily")
        await someone.see("notifications-settings")
        await someone.click("Save notifications")
        await expect(page.locator("#k-refund_failed")).to_have_value("daily")
        await page.goto(service.url + await unsubscribe_link(services, alice))
        await someone.see("notifications-unsubscribe")
        await someone.click("Unsubscribe")
        await expect(page.locator("[role=status]")).to_contain_text("Failed refunds")
        await someone.see("notifications-unsubscribed")


@by_look(NARROW)
async def test_reading_in_german(look: Look, browser: Browser, service: Service, alice: Actor, services: Services) -> None:
    async with visitor(browser, look, service.url) as someone:
        page = someone.page
        await someone.sign_in(alice)
        await page.goto(f"{service.url}/test/notifications")
        await notify(
            services,
            alice,
            "withdrawal_completed",
            "one",
            mode="test",
            facts=NoticeFacts(amount="1234.50", currency="EUR", account="Nina Nowak"),
        )
        await someone.click("Deutsch")
        await page.goto(f"{service.url}/test/notifications")
        await expect(page.locator("main")).to_contain_text("1.234,50 €")
        await someone.see("notifications-german")
        await page.goto(f"{service.url}/settings/notifications")
        await someone.glance("notifications-settings-german")
