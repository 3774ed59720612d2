"""A person stays signed in, ends sessions, and reads the security log; an operator ends sessions: in headless Chromium."""

import pytest
from playwright.async_api import Browser, expect

from tests.browser import IN_A_BROWSER, SMALL, WIDE, Look, Visitor, by_look, visitor
from tests.cast import PASSWORD, Actor
from tests.pages.console.operator_pages import invite
from tests.running import Service

pytestmark = [*IN_A_BROWSER, pytest.mark.long]
SESSIONS, LOG = "/settings/sessions", "/settings/security/log"


async def stay(someone: Visitor, alice: Actor) -> None:
    """Sign in with keys alone, and tick that it stays."""
    page = someone.page
    await page.goto(f"{alice.service.url}/signin")
    await page.fill("#email", alice.email)
    await page.fill("#password", PASSWORD)
    await someone.press("#stay", "Space")
    await someone.see("session-sign-in")
    await page.press("#password", "Enter")
    await page.wait_for_url("**/home")


@by_look(WIDE)
async def test_sessions_are_ended(look: Look, browser: Browser, service: Service, alice: Actor) -> None:
    async with (
        visitor(browser, look, service.url) as someone,
        visitor(browser, look, service.url, scripts=False) as other,
    ):
        (await alice.dashboard("POST", "/logout")).ok(204)
        await stay(someone, alice)
        page = someone.page
        await page.goto(service.url + SESSIONS)
        await expect(page.locator("main")).to_contain_text("Stays signed in until")
        await expect(page.locator("main")).to_contain_text("You have no other sessions.")
        await someone.see("session-one")
        await other.sign_in(alice)
        await page.reload()
        await someone.see("session-two")
        await page.get_by_role("button", name="Sign out session").click()
        await expect(page.locator("[role=status]")).to_contain_text("Signed out.")
        await other.page.goto(service.url + SESSIONS)
        await expect(other.page).to_have_url(f"{service.url}/signin?to=%2Fsettings%2Fsessions")
        await other.sign_in(alice)
        await other.page.goto(service.url + SESSIONS)
        await other.see("session-without-script")
        await page.goto(f"{service.url}/settings/security")
        await someone.see("session-security")
        await page.goto(service.url + LOG)
        await someone.see("session-log")
        await other.press("button:has-text('Sign out everywhere')")
        await expect(other.page.locator("[role=status]")).to_contain_text("You are signed out everywhere.")
        await other.see("session-everywhere")
        await page.reload()
        await expect(page.locator("h1")).to_have_text("Sign in")


@by_look(WIDE)
async def test_an_operator_ends_sessions(look: Look, browser: Browser, service: Service, alice: Actor) -> None:
    people = f"{service.url}/operator/merchants/{alice.merchant_id}"
    async with visitor(browser, look, service.url) as someone, visitor(browser, look, service.url) as olga:
        await someone.sign_in(alice)
        page = olga.page
        await page.goto(service.url + await invite(service, f"olga-{alice.merchant_id[-12:]}@house.example"))
        await page.fill("#password", PASSWORD)
        await olga.click("Save password")
        await page.wait_for_url("**/operator")
        await page.goto(people)
        await page.click("a:has-text('Users and sessions')")
        await olga.see("operator-people")
        await page.select_option("#user_id", label=alice.email)
        await page.fill("#reason", "   ")
        await olga.click("End sessions")
        await expect(page.locator("#reason-wrong")).to_be_visible()
        await olga.glance("operator-people-wrong")
        await page.fill("#reason", "A phone was stolen")
        await olga.press("button:has-text('End sessions')")
        await page.wait_for_url(f"{people}?action=*")
        await olga.see("operator-sessions-ended")
        await page.goto(f"{people}/people")
        await expect(page.locator("main")).to_contain_text("Not signed in anywhere.")
        await olga.glance("operator-people-signed-out")
        await someone.page.goto(service.url + LOG)
        await expect(someone.page.locator("h1")).to_have_text("Sign in")
        await someone.sign_in(alice)
        await someone.page.wait_for_url("**/home")
        await someone.page.goto(service.url + LOG)
        await expect(someone.page.locator("main")).to_contain_text("Operator")
        await someone.see("session-log-operator")


@by_look(SMALL)
async def test_in_german(look: Look, browser: Browser, service: Service, alice: Actor) -> None:
    async with visitor(browser, look, service.url) as someone:
        page = someone.page
        await page.context.set_extra_http_headers({"Accept-Language": "de"})
        await page.goto(f"{service.url}/signin")
        await someone.see("session-sign-in-german")
        await page.fill("#email", alice.email)
        await page.fill("#password", PASSWORD)
        await page.check("#stay")
        await page.press("#password", "Enter")
        await page.wait_for_url("**/home")
        await page.goto(service.url + SESSIONS)
        await someone.see("session-german")
        await page.goto(service.url + LOG)
        await someone.see("session-log-german")
