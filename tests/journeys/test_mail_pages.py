"""A person verifies an address and sets another password, by clicking. What is mailed is read in the operators' mailbox."""

import pytest
from playwright.async_api import Browser, Page, expect

from tests.accounts.merchants.authenticator import log_in
from tests.browser import IN_A_BROWSER, WIDE, Look, Visitor, by_look, visitor
from tests.cast import PASSWORD, Actor
from tests.pages.console.operator_pages import invite
from tests.running import Service

pytestmark = [*IN_A_BROWSER, pytest.mark.long]
NEW = "a quite different staple"
NEWEST = "yet another staple"
VERIFY = """
- banner:
  - link "Tollhouse"
- main:
  - heading "Verify your email address" [level=1]
  - paragraph: /Do you want to use alice-.*@example.com for your merchant account/
  - button "Verify email address"
  - paragraph
"""
RESET = """
- banner:
  - link "Tollhouse"
- main:
  - heading "Reset your password" [level=1]
  - paragraph
  - text: Email
  - textbox "Email": /alice/
  - text: New password
  - textbox "New password"
  - paragraph
  - button "Reset password"
"""
CHANGE = """
- main:
  - navigation "Breadcrumb":
    - link "Security"
  - heading "Change password" [level=1]
  - paragraph
  - text: Email
  - textbox "Email": /alice/
  - text: Current password
  - textbox "Current password"
  - text: New password
  - textbox "New password"
  - paragraph
  - button "Change password"
  - link "Forgot your password?"
"""


@by_look(WIDE)
async def test_coming_back_to_an_account(look: Look, browser: Browser, service: Service, alice: Actor) -> None:
    async with visitor(browser, look, service.url) as someone, visitor(browser, look, service.url) as olga:
        await take_the_desk(olga, service, f"olga-{alice.merchant_id[-12:]}@house.example")
        await someone.sign_in(alice)
        await verify(someone, olga)
        await forget_the_password(someone, olga, alice)
        await change_the_password(someone)
    (await log_in(alice, password=NEWEST)).ok()


async def take_the_desk(olga: Visitor, service: Service, email: str) -> None:
    """By an invitation."""
    await olga.page.goto(service.url + await invite(service, email))
    await olga.page.fill("#password", PASSWORD)
    await olga.click("Save password")
    await olga.open_part("Emails")


async def link_of(olga: Visitor, about: str) -> str:
    """Where the link of the newest mail leads, once it is there."""
    page = olga.page
    row = page.locator("tbody tr").first
    while not (await row.count() and about in await row.inner_text() and "Shown" in await row.inner_text()):
        await page.reload()
    await row.locator("a.hit").click()
    await expect(page.locator("h1")).to_have_text(about)
    if about == "Address verification":
        await olga.see("operator-mail")
    link = await page.locator("a:has-text('Open link')").get_attribute("href")
    await olga.open_part("Emails")
    await olga.glance("operator-mails")
    return link or ""


async def verify(someone: Visitor, olga: Visitor) -> None:
    """From the banner to the page of the address, and by the link, twice."""
    page = someone.page
    await page.click(".unverified a")
    await expect(page.locator("h1")).to_have_text("Email address")
    await someone.see("mail-address")
    await someone.click("Write a new link to the log")
    await expect(page.locator("[role=status]")).to_contain_text("in the server log")
    await page.goto(await link_of(olga, "Address verification"))
    await expect(page.locator("body")).to_match_aria_snapshot(VERIFY)
    await someone.see("mail-verify")
    await someone.click("Verify email address")
    await expect(page.locator("[role=status]")).to_contain_text("is verified")
    await page.click("text=Go to the dashboard")
    await expect(page.locator("h1")).to_be_visible()
    await expect(page.locator(".unverified")).to_have_count(0)
    await someone.open_settings("Security")
    await page.click("main a:has-text('Email address')")
    await expect(page.locator(".badge")).to_have_text("Verified")


async def forget_the_password(someone: Visitor, olga: Visitor, alice: Actor) -> None:
    """At the sign-in page; then the link, a password that is too short, a good one, and the link once more."""
    page = someone.page
    await page.click("[popovertarget=account]")
    await someone.click("Sign out")
    await page.click("text=Forgot your password?")
    await expect(page.locator("h1")).to_have_text("Forgot your password?")
    await someone.see("mail-forgot")
    await page.fill("#email", alice.email)
    await page.press("#email", "Enter")
    await expect(page.locator("[role=status]")).to_contain_text(alice.email)
    link = await link_of(olga, "Password reset")
    await page.goto(link)
    await expect(page.locator("body")).to_match_aria_snapshot(RESET)
    await someone.see("mail-reset")
    await page.fill("#password", "short")
    await someone.click("Reset password")
    await expect(page.locator("#password-wrong")).to_be_visible()
    await someone.glance("mail-reset-wrong")
    await page.fill("#password", NEW)
    await someone.click("Reset password")
    await expect(page.locator("[role=status]")).to_contain_text("Sign in with your new password")
    await page.goto(link)
    await expect(page.locator("h1")).to_have_text("This link does not work")
    await someone.see("mail-link-over")
    await come_in(page, someone, alice)


async def come_in(page: Page, someone: Visitor, alice: Actor) -> None:
    """With the new password."""
    await page.goto(f"{alice.service.url}/signin")
    await page.fill("#email", alice.email)
    await page.fill("#password", NEW)
    await someone.click("Sign in")
    await page.wait_for_url("**/test/home")


async def change_the_password(someone: Visitor) -> None:
    """By the keyboard alone, with a wrong one first."""
    page = someone.page
    await someone.open_settings("Security")
    await page.click("text=Change password")
    await expect(page.locator("body")).to_match_aria_snapshot(CHANGE)
    await someone.see("mail-password")
    for current in ("not my password", NEW):
        await page.focus("#present")
        await page.keyboard.type(current)
        await page.keyboard.press("Tab")
        await page.keyboard.type(NEWEST)
        await page.keyboard.press("Enter")
        if current != NEW:
            await expect(page.locator("#present-wrong")).to_have_text("Incorrect password.")
    await expect(page.locator("[role=status]")).to_contain_text("All other sessions were signed out")
