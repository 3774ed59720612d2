"""A person changes the address for signing in, and undoes that from the old one, by clicking in headless Chromium."""

from datetime import timedelta

import pytest
from playwright.async_api import Browser, expect

from tests.accounts.mail.mail_worker import MailWorker
from tests.accounts.mail.test_address_changes import TURN_BACK, last_mail
from tests.accounts.merchants.authenticator import grow_old
from tests.browser import IN_A_BROWSER, SMALL, WIDE, Look, Visitor, by_look, visitor
from tests.cast import PASSWORD, Actor, sign_up

pytestmark = [*IN_A_BROWSER, pytest.mark.long]
PAGE = "/settings/security/address"
CONFIRM, CHANGED = "Confirm your new email address", "Your email address was changed"


async def request_change(someone: Visitor, dora: Actor, email: str) -> None:
    """From the settings of the account, with the password."""
    page = someone.page
    await page.goto(dora.service.url + PAGE)
    await page.fill("#email", email)
    await someone.click("Change email address")


@by_look(WIDE)
async def test_an_address_is_changed_and_restored(look: Look, browser: Browser, mail_worker: MailWorker) -> None:
    url = mail_worker.service.url
    async with (
        sign_up(mail_worker.service, "dora", "Dora's Deli") as dora,
        visitor(browser, look, url) as someone,
        visitor(browser, look, url, scripts=False) as elsewhere,
    ):
        await mail_worker.sql("UPDATE users SET verified_at = now() WHERE email = $1", dora.email)
        email = f"new-{dora.email}"
        confirm = await request(someone, dora, mail_worker, email)
        await confirm_it(elsewhere, url + confirm, email)
        undo = (await last_mail(mail_worker, dora.email, CHANGED)).path
        await see_it_changed(someone, dora, email)
        await undo_it(elsewhere, url + undo, dora)
        await someone.page.goto(url + PAGE)
        await expect(someone.page).to_have_url(f"{url}/signin?to=%2Fsettings%2Fsecurity%2Faddress")
        await elsewhere.page.goto(url + confirm)
        await expect(elsewhere.page.locator("h1")).to_have_text("This link does not work")
        await elsewhere.see("address-confirm-over")
        await mail_worker.sql(TURN_BACK, timedelta(hours=73))
        await elsewhere.page.goto(url + undo)
        await elsewhere.see("address-undo-over")


async def request(someone: Visitor, dora: Actor, mail_worker: MailWorker, email: str) -> str:
    """By the keyboard: the same address and a wrong one first; withdrawn, and requested again. The path of its link."""
    page = someone.page
    await someone.sign_in(dora)
    await page.wait_for_url("**/home")
    await someone.open_settings("Security")
    await page.click("main a:has-text('Email address')")
    await someone.see("address-none")
    for wrong in (dora.email, "nobody@nowhere@"):
        await page.eval_on_selector("form:has(#email)", "form => form.noValidate = true")
        await page.fill("#email", wrong)
        await page.press("#email", "Enter")
        await expect(page.locator("#email-wrong")).to_be_visible()
    await someone.glance("address-wrong")
    await grow_old(dora)
    await request_change(someone, dora, email)
    await someone.see("address-stepup")
    await page.fill("#stepup_password", PASSWORD)
    await someone.click("Confirm password")
    await expect(page.locator("[role=status]")).to_contain_text("A link was sent to the new address.")
    await someone.see("address-requested")
    first = (await last_mail(mail_worker, email, CONFIRM)).path
    await page.get_by_role("button", name="Withdraw").click()
    await expect(page.locator("[role=status]")).to_contain_text("The change was withdrawn.")
    await someone.glance("address-withdrawn")
    await page.goto(dora.service.url + first)
    await expect(page.locator("h1")).to_have_text("This link does not work")
    await request_change(someone, dora, email)
    return (await last_mail(mail_worker, email, CONFIRM)).path


async def confirm_it(elsewhere: Visitor, link: str, email: str) -> None:
    """At another browser, without scripts and sign-in; the link twice."""
    page = elsewhere.page
    await page.goto(link)
    await elsewhere.see("address-confirm")
    await elsewhere.press("button:has-text('Confirm email address')")
    await expect(page.locator("[role=status]")).to_contain_text(email)
    await elsewhere.see("address-confirmed")
    await page.goto(link)
    await expect(page.locator("[role=status]")).to_contain_text(f"{email} is confirmed.")


async def see_it_changed(someone: Visitor, dora: Actor, email: str) -> None:
    """The page of the address, as long as the change can be undone."""
    page = someone.page
    await page.goto(dora.service.url + PAGE)
    await expect(page.locator("main")).to_contain_text(f"Your address was changed from {dora.email}.")
    await expect(page.locator("#address")).to_have_text(email)
    await expect(page.locator("#email")).to_have_count(0)
    await someone.see("address-changed")


async def undo_it(elsewhere: Visitor, link: str, dora: Actor) -> None:
    """At the browser of the old address, where nobody is signed in; the link twice."""
    page = elsewhere.page
    await page.goto(link)
    await elsewhere.see("address-undo")
    await elsewhere.press("button:has-text('Undo change')")
    await expect(page.locator("[role=status]")).to_contain_text(f"Your account has the address {dora.email} again.")
    await elsewhere.see("address-undone")
    await page.goto(link)
    await expect(page.locator("[role=status]")).to_contain_text(dora.email)


@by_look(SMALL)
async def test_in_german(look: Look, browser: Browser, mail_worker: MailWorker) -> None:
    url = mail_worker.service.url
    async with sign_up(mail_worker.service, "dora", "Dora's Deli") as dora, visitor(browser, look, url) as someone:
        page = someone.page
        await someone.sign_in(dora)
        await page.wait_for_url("**/home")
        await someone.click("Deutsch")
        await page.goto(url + PAGE)
        await page.fill("#email", f"neu-{dora.email}")
        await someone.see("address-german")
        await someone.click("E-Mail-Adresse ändern")
        await someone.see("address-requested-german")
        confirm = (await last_mail(mail_worker, f"neu-{dora.email}", "Bestätigen Sie Ihre neue E-Mail-Adresse")).path
        await page.goto(url + confirm)
        await someone.see("address-confirm-german")
        await page.locator("main button, .card button").last.click()
        await someone.see("address-confirmed-german")
        await page.goto(url + PAGE)
        await someone.see("address-changed-german")
        await mail_worker.send()
        undo = next(mail.path for mail in mail_worker.postbox.to(dora.email) if "/address/undo/" in mail.text)
        await page.goto(url + undo)
        await someone.see("address-undo-german")
        await page.locator("button.danger").click()
        await someone.see("address-undone-german")
