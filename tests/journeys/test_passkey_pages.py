"""Passkeys in headless Chromium with a virtual authenticator: adding, signing in, confirming, losing and recovering."""

from typing import Any

import pytest
from playwright.async_api import Browser, Page, expect

from tests.accounts.merchants.authenticator import grow_old
from tests.browser import IN_A_BROWSER, NARROW, WIDE, Look, Visitor, by_look, visitor
from tests.cast import PASSWORD, Actor
from tests.pages.console.operator_pages import signed_in_operator
from tests.running import Service

pytestmark = [*IN_A_BROWSER, pytest.mark.long]
PLATFORM = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
    "automaticPresenceSimulation": True,
}


class VirtualAuthenticator:
    """The authenticator of a page's browser."""

    def __init__(self, send: Any, authenticator_id: str) -> None:
        self.send = send
        self.id = authenticator_id

    async def call(self, name: str, **parameters: Any) -> Any:
        """A command about it."""
        return await self.send(f"WebAuthn.{name}", {"authenticatorId": self.id} | parameters)

    async def lose(self) -> None:
        """All its passkeys are gone."""
        await self.call("clearCredentials")


async def authenticator_of(page: Page) -> VirtualAuthenticator:
    """Give the browser of this page an authenticator."""
    session: Any = await page.context.new_cdp_session(page)
    send = session.send
    await send("WebAuthn.enable", {"enableUI": False})
    made = await send("WebAuthn.addVirtualAuthenticator", {"options": PLATFORM})
    return VirtualAuthenticator(send, made["authenticatorId"])


def local(service: Service) -> str:
    """The address at which this machine has passkeys."""
    return service.url.replace("127.0.0.1", "localhost")


async def sign_in_by_password(someone: Visitor, url: str, email: str) -> None:
    """At the page for it, where nothing suggests passkeys yet."""
    await someone.page.goto(f"{url}/signin")
    await someone.page.fill("#email", email)
    await someone.page.fill("#password", PASSWORD)
    await someone.page.get_by_role("button", name="Sign in", exact=True).click()


@by_look(WIDE)
async def test_a_passkey_from_adding_to_losing_it(look: Look, browser: Browser, service: Service, alice: Actor) -> None:
    url = local(service)
    async with visitor(browser, look, url) as someone:
        page = someone.page
        authenticator = await authenticator_of(page)
        await sign_in_by_password(someone, url, alice.email)
        codes = await add_the_first(someone, url)
        await someone.sign_out()
        await page.wait_for_url(f"{url}/**/home")  # the browser suggests the passkey, and it is used
        await confirm_with_it(someone, url, alice)
        await authenticator.call("setAutomaticPresenceSimulation", enabled=False)
        await someone.sign_out()
        await someone.see("passkey-sign-in")
        await authenticator.lose()
        await sign_in_by_password(someone, url, alice.email)
        await someone.see("passkey-second-factor")
        await authenticator.call("setAutomaticPresenceSimulation", enabled=True)
        await page.get_by_role("button", name="Use a passkey").click()
        await expect(page.get_by_role("alert")).to_contain_text("No passkey was used.")
        await page.fill("#code", codes[0])
        await page.get_by_role("button", name="Sign in", exact=True).click()
        await page.wait_for_url(f"{url}/**/home")
        await page.goto(f"{url}/settings/security")
        await page.get_by_role("button", name="Remove Work laptop").click()
        await someone.agree(
            "Remove the passkey “Work laptop”? Two-factor authentication is then off, and the backup codes are deleted."
        )
        await expect(page.locator("main")).to_contain_text("No passkeys yet.")


async def add_the_first(someone: Visitor, url: str) -> list[str]:
    """On the page of the account; the backup codes."""
    page = someone.page
    await page.goto(f"{url}/settings/security")
    await someone.see("passkeys-none")
    await page.get_by_role("link", name="Add a passkey").click()
    await someone.see("passkey-new")
    await page.fill("#name", "Work laptop")
    await page.get_by_role("button", name="Create passkey").click()
    await page.wait_for_selector("li code")
    await someone.see("passkey-codes")
    codes = await page.locator("li code").all_inner_texts()
    await page.get_by_role("link", name="I have saved my backup codes").click()
    await someone.see("passkeys-one")
    await page.get_by_role("link", name="Add a passkey").click()
    await page.get_by_role("button", name="Create passkey").click()
    await expect(page.get_by_role("alert")).to_contain_text("This device already has a passkey for your account.")
    return codes


async def confirm_with_it(someone: Visitor, url: str, alice: Actor) -> None:
    """Before a page, and beside a form that was sent too late."""
    page = someone.page
    await grow_old(alice)
    await page.goto(f"{url}/settings/security/passkeys/new")
    await someone.see("passkey-stepup")
    await page.get_by_role("button", name="Use a passkey").click()
    await expect(page).to_have_url(f"{url}/settings/security/passkeys/new")
    await page.goto(f"{url}/live/developers/keys")
    await page.fill("#name", "Shop server")
    await grow_old(alice)
    await someone.click("Create live key")
    await page.get_by_role("button", name="Use a passkey").click()
    assert (await page.input_value("#new-key")).startswith("th_live_")


@by_look(NARROW)
async def test_in_german(look: Look, browser: Browser, service: Service, alice: Actor) -> None:
    url = local(service)
    async with visitor(browser, look, url) as someone:
        page = someone.page
        await authenticator_of(page)
        await page.context.set_extra_http_headers({"Accept-Language": "de"})
        await page.goto(f"{url}/signin")
        await someone.see("passkey-sign-in-german")
        await page.fill("#email", alice.email)
        await page.fill("#password", PASSWORD)
        await page.get_by_role("button", name="Anmelden", exact=True).click()
        await page.wait_for_url(f"{url}/**/home")
        await page.goto(f"{url}/settings/security/passkeys/new")
        await someone.see("passkey-new-german")
        await page.get_by_role("button", name="Passkey erstellen").click()
        await page.wait_for_selector("li code")
        await page.goto(f"{url}/settings/security")
        await someone.see("passkeys-german")


@by_look(WIDE)
async def test_an_operator_signs_in_and_decides_with_a_passkey(look: Look, browser: Browser, service: Service) -> None:
    url = local(service)
    async with signed_in_operator(service) as olga, visitor(browser, look, url) as someone:
        page = someone.page
        await authenticator_of(page)
        await page.goto(f"{url}/operator/signin")
        await someone.see("passkey-operator-sign-in")
        await page.fill("#email", olga.email)
        await page.fill("#password", PASSWORD)
        await page.get_by_role("button", name="Sign in", exact=True).click()
        await page.wait_for_url(f"{url}/operator")
        await page.goto(f"{url}/operator/security/passkeys/new")
        await page.get_by_role("button", name="Create passkey").click()
        await page.wait_for_selector("li code")
        await page.goto(f"{url}/operator/security")
        await someone.see("passkey-operator-security")
        await page.locator(".top [popovertarget=account]").click()
        await page.get_by_role("button", name="Sign out").click()
        await page.wait_for_url(f"{url}/operator")  # the browser suggests the passkey, and it is used
        await olga.sql("UPDATE operator_sessions SET created_at = created_at - interval '15 minutes'")
        await page.goto(f"{url}/operator/stepup?to=/operator/projects")
        await page.get_by_role("button", name="Use a passkey").click()
        await page.wait_for_url(f"{url}/operator/projects")


async def test_without_script_the_pages_work(browser: Browser, service: Service, alice: Actor) -> None:
    url = local(service)
    async with visitor(browser, WIDE, url, scripts=False) as someone:
        page = someone.page
        await sign_in_by_password(someone, url, alice.email)
        await page.goto(f"{url}/settings/security/passkeys/new")
        await expect(page.locator("main")).to_contain_text("JavaScript is turned off.")
        await expect(page.get_by_role("button", name="Create passkey")).to_be_hidden()
