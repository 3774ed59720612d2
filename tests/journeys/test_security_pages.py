"""A person guards an account at the dashboard, by clicking in headless Chromium: second factor, step-up, sessions."""

import pytest
from playwright.async_api import Browser, expect

from tests.accounts.merchants.authenticator import Authenticator, elsewhere, grow_old, log_in
from tests.browser import IN_A_BROWSER, WIDE, Look, Visitor, by_look, visitor
from tests.cast import PASSWORD, Actor
from tests.running import Service

pytestmark = [*IN_A_BROWSER, pytest.mark.long]
SECURITY_OFF = """
- heading "Settings" [level=1]
- navigation "Settings"
- region "Two-factor authentication":
  - heading "Two-factor authentication" [level=2]
  - paragraph
  - paragraph: "Off"
  - button "Set up two-factor authentication"
- region "Sessions":
  - heading "Sessions" [level=2]
  - paragraph
  - paragraph:
    - link "View sessions"
- region "Account recovery"
"""
SETUP = """
- navigation "Breadcrumb":
  - link "Security"
- heading "Set up two-factor authentication" [level=1]
- region "1. Scan the QR code":
  - heading "1. Scan the QR code" [level=2]
  - paragraph
  - img "QR code with the setup key"
  - text: Setup key
  - textbox "Setup key"
  - paragraph:
    - link "Open in an app on this device"
- region "2. Enter the code":
  - heading "2. Enter the code" [level=2]
  - text: Code
  - textbox "Code"
  - paragraph
  - paragraph:
    - button "Turn on two-factor authentication"
"""
SESSIONS = """
- navigation "Breadcrumb":
  - link "Security"
- heading "Sessions" [level=1]
- paragraph
- button "Sign out all other sessions"
- heading /Chrom.* on Linux/ [level=2]
- text: Current session
- heading "Firefox on Linux" [level=2]
- button /Sign out session 127.0.0.1/
"""


@by_look(WIDE)
async def test_guarding_an_account(look: Look, browser: Browser, service: Service, alice: Actor) -> None:
    async with visitor(browser, look, service.url) as someone:
        await someone.sign_in(alice)
        authenticator = await switch_on(someone)
        await sign_in_again(someone, alice, authenticator)
        await prove_again(someone, alice, authenticator)
        await end_a_session(someone, alice, authenticator)
        await switch_off(someone, alice, authenticator)
    (await log_in(alice)).ok()


async def switch_on(someone: Visitor) -> Authenticator:
    """Scan, or type; a wrong code first."""
    page = someone.page
    await someone.open_settings("Security")
    await expect(page.locator("main")).to_match_aria_snapshot(SECURITY_OFF)
    await someone.see("security-off")
    await someone.click("Set up two-factor authentication")
    await expect(page.locator("main")).to_match_aria_snapshot(SETUP)
    await someone.see("security-setup")
    authenticator = Authenticator((await page.input_value("#key")).replace(" ", ""), [])
    await page.fill("#code", "000000")
    await someone.click("Turn on two-factor authentication")
    await someone.glance("security-setup-wrong")
    await page.fill("#code", authenticator.code())
    await someone.click("Turn on two-factor authentication")
    await someone.see("security-codes")
    authenticator.backup_codes = await page.locator("li code").all_inner_texts()
    assert len(authenticator.backup_codes) == 10
    await page.click("text=I have saved my backup codes")
    await someone.see("security-on")
    return authenticator


async def sign_in_again(someone: Visitor, alice: Actor, authenticator: Authenticator) -> None:
    """By the keyboard alone, with a wrong code and then a right one."""
    page = someone.page
    await someone.sign_out()
    await someone.sign_in(alice)
    await someone.see("security-code")
    for code in ("000000", await authenticator.next_code(alice)):
        await page.focus("#code")
        await page.keyboard.type(code)
        await page.press("#code", "Enter")
        if code == "000000":
            await page.wait_for_selector("[role=alert]")
            await someone.glance("security-code-wrong")
    await page.wait_for_url("**/test/home")


async def prove_again(someone: Visitor, alice: Actor, authenticator: Authenticator) -> None:
    """Before a form is shown, and beside one that was sent too late."""
    page = someone.page
    await grow_old(alice)
    await page.goto(f"{alice.service.url}/settings/security/off")
    await someone.glance("security-stepup")
    await page.fill("#stepup_password", PASSWORD)
    await page.fill("#stepup_code", await authenticator.next_code(alice))
    await someone.click("Confirm password")
    await expect(page).to_have_url(f"{alice.service.url}/settings/security/off")
    await page.goto(f"{alice.service.url}/live/developers/keys")
    await someone.see("api-keys-live")
    await page.fill("#name", "Shop server")
    await grow_old(alice)
    await someone.click("Create live key")
    await page.fill("#stepup_password", "a wrong password")
    await page.fill("#stepup_code", "000000")
    await someone.click("Confirm password")
    await someone.see("security-stepup-beside")
    await page.fill("#stepup_password", PASSWORD)
    await page.fill("#stepup_code", authenticator.backup_codes[0])
    await someone.click("Confirm password")
    assert (await page.input_value("#new-key")).startswith("th_live_")
    await expect(page.get_by_role("button", name="Copy New API key")).to_be_visible()


async def end_a_session(someone: Visitor, alice: Actor, authenticator: Authenticator) -> None:
    """Of another browser."""
    page = someone.page
    (await alice.dashboard("POST", "/logout")).ok(204)
    async with elsewhere(alice, "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0") as other:
        body = {"email": alice.email, "password": PASSWORD, "code": authenticator.backup_codes[1]}
        (await other.dashboard("POST", "/login", body)).ok()
        await someone.open_settings("Security")
        await page.click("text=View sessions")
        await expect(page.locator("main")).to_match_aria_snapshot(SESSIONS)
        await someone.see("security-sessions")
        await someone.click("Sign out session")
        await someone.glance("security-sessions-ended")
        (await other.dashboard("GET", "/session")).refused("authentication_required", 401)


async def switch_off(someone: Visitor, alice: Actor, authenticator: Authenticator) -> None:
    """New backup codes first."""
    page = someone.page
    await someone.open_settings("Security")
    await page.fill("#code", await authenticator.next_code(alice))
    await someone.click("Generate new backup codes")
    await page.click("text=I have saved my backup codes")
    await page.click("text=Turn off two-factor authentication")
    await someone.see("security-switch-off")
    await page.fill("#code", await authenticator.next_code(alice))
    await someone.click("Turn off two-factor authentication")
    await someone.glance("security-switched-off")
