"""A person guards an account at the dashboard, by clicking in headless Chromium: second factor, step-up, sessions."""

from collections.abc import AsyncIterator

import pytest
from playwright.async_api import Browser, Page, expect

from tests.browser import CHROMIUM, Look, Visitor, by_look, chromium, visitor
from tests.cast import PASSWORD, Actor
from tests.merchants.authenticator import Authenticator, elsewhere, grow_old, log_in
from tests.running import Service

LOOKS = [Look("light", 1280, axe=False), Look("dark", 390, axe=True)]
"""Once with the CSP and once with axe, and each width and theme once."""

pytestmark = [
    pytest.mark.browser,
    pytest.mark.xdist_group("browser"),
    pytest.mark.skipif(CHROMIUM is None, reason="NO CHROMIUM ON THIS MACHINE: the browser journeys were not run"),
]
SECURITY_OFF = """
- heading "Security" [level=1]
- region "Second factor":
  - heading "Second factor" [level=2]
  - paragraph
  - button "Set up a second factor"
- region "Where you are signed in":
  - heading "Where you are signed in" [level=2]
  - paragraph
  - paragraph:
    - link "See your sessions"
- region "If you lose your way in"
"""
SETUP = """
- paragraph:
  - link "Security"
- heading "Set up a second factor" [level=1]
- region "1. Tell your authenticator":
  - heading "1. Tell your authenticator" [level=2]
  - paragraph
  - img "The key as a code to scan"
  - paragraph: "Or type this key:"
  - code
  - paragraph:
    - link "Open an authenticator on this device"
- region "2. Enter the code it shows":
  - heading "2. Enter the code it shows" [level=2]
  - text: Code
  - paragraph
  - textbox "Code"
  - paragraph:
    - button "Switch it on"
"""
SESSIONS = """
- paragraph:
  - link "Security"
- heading "Where you are signed in" [level=1]
- paragraph
- region /Chrom/:
  - heading /Chrom.* on Linux/ [level=2]
  - text: This session
- region "Firefox on Linux":
  - heading "Firefox on Linux" [level=2]
  - button /End this session of 127.0.0.1/
- button "End all other sessions"
"""


@pytest.fixture(scope="module")
async def browser() -> AsyncIterator[Browser]:
    async with chromium() as one:
        yield one


async def press(page: Page, button: str) -> None:
    await page.click(f"button:has-text('{button}')")


async def glance(someone: Visitor, name: str) -> None:
    """See a page that has nothing which axe does not see on another one."""
    if not someone.look.axe:
        await someone.see(name)


async def give_password(page: Page, actor: Actor) -> None:
    await page.goto(f"{actor.service.url}/signin")
    await page.fill("#email", actor.email)
    await page.fill("#password", PASSWORD)
    await press(page, "Sign in")


@by_look(LOOKS)
async def test_guarding_an_account(look: Look, browser: Browser, service: Service, alice: Actor) -> None:
    async with visitor(browser, look, service.url) as someone:
        await give_password(someone.page, alice)
        authenticator = await switch_on(someone)
        await sign_in_again(someone, alice, authenticator)
        await prove_again(someone, alice, authenticator)
        await end_a_session(someone, alice, authenticator)
        await switch_off(someone, alice, authenticator)
    (await log_in(alice)).ok()


async def switch_on(someone: Visitor) -> Authenticator:
    """Scan, or type; a wrong code first."""
    page = someone.page
    await page.click(".side a:has-text('Security')")
    await expect(page.locator("main")).to_match_aria_snapshot(SECURITY_OFF)
    await someone.see("security-off")
    await press(page, "Set up a second factor")
    await expect(page.locator("main")).to_match_aria_snapshot(SETUP)
    await someone.see("security-setup")
    authenticator = Authenticator((await page.inner_text("#key")).replace(" ", ""), [])
    await page.fill("#code", "000000")
    await press(page, "Switch it on")
    await glance(someone, "security-setup-wrong")
    await page.fill("#code", authenticator.code())
    await press(page, "Switch it on")
    await someone.see("security-codes")
    authenticator.backup_codes = await page.locator("li code").all_inner_texts()
    assert len(authenticator.backup_codes) == 10
    await page.click("text=I have kept them")
    await someone.see("security-on")
    return authenticator


async def sign_in_again(someone: Visitor, alice: Actor, authenticator: Authenticator) -> None:
    """By the keyboard alone, with a wrong code and then a right one."""
    page = someone.page
    await press(page, "Sign out")
    await give_password(page, alice)
    await someone.see("security-code")
    for code in ("000000", await authenticator.next_code(alice)):
        await page.focus("#code")
        await page.keyboard.type(code)
        await page.press("#code", "Enter")
        if code == "000000":
            await page.wait_for_selector("[role=alert]")
            await glance(someone, "security-code-wrong")
    await page.wait_for_url("**/test/home")


async def prove_again(someone: Visitor, alice: Actor, authenticator: Authenticator) -> None:
    """Before a form is shown, and beside one that was sent too late."""
    page = someone.page
    await grow_old(alice)
    await page.goto(f"{alice.service.url}/test/withdrawals/new/sandbox:EUR")
    await glance(someone, "security-stepup")
    await page.fill("#stepup_password", PASSWORD)
    await page.fill("#stepup_code", await authenticator.next_code(alice))
    await press(page, "Confirm")
    assert page.url.endswith("/test/withdrawals/new/sandbox:EUR")
    await page.click(".side a:has-text('API keys')")
    await page.fill("#name", "Shop server")
    await grow_old(alice)
    await press(page, "Create a test key")
    await page.fill("#stepup_password", "a wrong password")
    await page.fill("#stepup_code", "000000")
    await press(page, "Confirm")
    await someone.see("security-stepup-beside")
    await page.fill("#stepup_password", PASSWORD)
    await page.fill("#stepup_code", authenticator.backup_codes[0])
    await press(page, "Confirm")
    assert (await page.inner_text("#new-key")).startswith("th_test_")


async def end_a_session(someone: Visitor, alice: Actor, authenticator: Authenticator) -> None:
    """Of another browser."""
    page = someone.page
    (await alice.dashboard("POST", "/logout")).ok(204)
    async with elsewhere(alice, "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0") as other:
        body = {"email": alice.email, "password": PASSWORD, "code": authenticator.backup_codes[1]}
        (await other.dashboard("POST", "/login", body)).ok()
        await page.click(".side a:has-text('Security')")
        await page.click("text=See your sessions")
        await expect(page.locator("main")).to_match_aria_snapshot(SESSIONS)
        await someone.see("security-sessions")
        await press(page, "End this session")
        await glance(someone, "security-sessions-ended")
        (await other.dashboard("GET", "/session")).refused("authentication_required", 401)


async def switch_off(someone: Visitor, alice: Actor, authenticator: Authenticator) -> None:
    """New backup codes first."""
    page = someone.page
    await page.click(".side a:has-text('Security')")
    await page.fill("#code", await authenticator.next_code(alice))
    await press(page, "Make new backup codes")
    await page.click("text=I have kept them")
    await page.click("text=Switch it off")
    await someone.see("security-switch-off")
    await page.fill("#code", await authenticator.next_code(alice))
    await press(page, "Switch it off")
    await glance(someone, "security-switched-off")
