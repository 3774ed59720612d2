"""The two journeys again, by clicking in headless Chromium: no CSP violation, no axe violation, nothing too wide."""

import pytest
from playwright.async_api import Browser, Page, expect

from tests.browser import IN_A_BROWSER, NARROW, Look, Visitor, by_look, visitor
from tests.cast import PASSWORD, Actor, Application
from tests.journeys.test_get_paid import COFFEE, activate_secret
from tests.receiver import Receiver
from tests.running import Service

ASKED = ("account:read", "payments:read", "balances:read", "payments:write", "withdrawals:write", "offline_access")

pytestmark = IN_A_BROWSER


async def fill(page: Page, **fields: str) -> None:
    for name, value in fields.items():
        await page.fill(f"#{name}", value)


@pytest.mark.long
@by_look(NARROW)
async def test_connecting_by_clicking(
    look: Look, browser: Browser, service: Service, bob: Actor, receiver: Receiver
) -> None:
    callback = receiver.url.replace("/hook", "/callback")
    async with visitor(browser, look, service.url, callback) as someone:
        await sign_in(someone, bob)
        app = await register_application(someone, bob, callback)
        await someone.sign_out()
        await someone.page.goto(service.url + app.authorize_path(" ".join(ASKED)))
        await sign_up_on_the_way(someone, f"ana-{bob.email}")
        code = await consent(someone)
    tokens = (await app.exchange(code)).ok().body
    assert tokens["scope"] == "account:read offline_access"
    account = (await app.api(tokens["access_token"], "GET", "/account")).ok().body
    assert account["business_name"] == "Harbour Games"


async def sign_in(someone: Visitor, actor: Actor) -> None:
    """At the second try: the first password is wrong."""
    page = someone.page
    await page.goto(actor.service.url)
    await someone.see("signin")
    await fill(page, email=actor.email, password="wrong password")  # noqa: S106 - wrong on purpose
    await someone.click("Sign in")
    await someone.see("signin-wrong")
    await fill(page, email=actor.email, password=PASSWORD)
    await someone.click("Sign in")
    await someone.see("home-empty")


async def register_application(someone: Visitor, owner: Actor, callback: str) -> Application:
    """By the form of the dashboard, which shows the secret once."""
    page = someone.page
    await someone.open_part("Applications")
    await page.click("text=Register application")
    await someone.see("application-new")
    await fill(page, name="Northwind Ledger", description="Bookkeeping for small studios.", redirect_uris=callback)
    await page.fill("#website_url", "https://northwind.example")
    for scope in ASKED:
        await page.check(f"input[value='{scope}']")
    await someone.click("Register application")
    await someone.see("application-registered")
    client_id = await page.input_value("#client-id")
    secret = await page.input_value("#client-secret")
    return Application(owner, client_id, secret, redirect_uri=callback)


async def sign_up_on_the_way(someone: Visitor, email: str) -> None:
    """The merchant has no account yet when the application sends her here."""
    page = someone.page
    await someone.see("signin-on-the-way")
    await page.click("text=Create an account")
    await someone.see("signup")
    await fill(page, business_name="Harbour Games", email=email, password="short")  # noqa: S106 - refused
    await someone.click("Create account")
    await someone.see("signup-wrong")
    await fill(page, password=PASSWORD)
    await someone.click("Create account")
    await page.wait_for_url("**/oauth/consent/**")


async def consent(someone: Visitor) -> str:
    """By keys alone she sees what is asked, ticks nothing, then less than was asked, and goes back with a code."""
    page = someone.page
    await someone.see("consent")
    await expect(page.locator("input[value='account:read']")).to_be_checked()
    await expect(page.locator("input[value='payments:write']")).not_to_be_checked()
    await expect(page.locator("input[value='offline_access']")).not_to_be_checked()
    for box in ("account:read", "payments:read", "balances:read"):
        await someone.press(f"input[value='{box}']", "Space")
    await someone.press("button:has-text('Allow selected')")
    await page.wait_for_selector("[role=alert]")
    await someone.see("consent-nothing-selected")
    await someone.press("input[value='account:read']", "Space")
    await someone.press("input[value='offline_access']", "Space")
    await someone.press("button:has-text('Allow selected')")
    await page.wait_for_url("**/callback?**")
    return dict(pair.split("=", 1) for pair in page.url.partition("?")[2].split("&"))["code"]


@by_look(NARROW)
async def test_paying_by_clicking(look: Look, browser: Browser, service: Service, alice: Actor, receiver: Receiver) -> None:
    await activate_secret(alice)
    async with visitor(browser, look, service.url) as someone:
        page = someone.page
        # Alice makes an API key.
        await page.goto(f"{service.url}/signin")
        await fill(page, email=alice.email, password=PASSWORD)
        await someone.click("Sign in")
        await someone.open_part("API keys")
        await someone.see("keys-empty")
        await page.fill("#name", "shop server")
        await someone.click("Create test key")
        await someone.see("keys-made")
        alice.keys["test None"] = (await page.input_value("#new-key")).strip()

        # A customer pays her link by keys alone: the first try fails, the second succeeds.
        link = (await alice.post("/payment-links", COFFEE | {"webhook_url": receiver.url})).ok(201).body
        await page.goto(link["url"])
        await someone.see("checkout")
        await someone.press("input[value='sandbox:EUR']", "Space")
        await someone.press("button:has-text('Continue')")
        await page.wait_for_selector("button[value='fail']")
        await someone.see("checkout-pending")
        await someone.press("button[value='fail']")
        await page.wait_for_selector("button:has-text('Continue')")
        await someone.see("checkout-failed")
        await someone.press("button:has-text('Continue')")
        await page.wait_for_selector("button[value='fail']")
        await someone.press("button[value='succeed']")
        await page.wait_for_selector("button[value='fail']", state="detached")
        await someone.see("checkout-paid")
        await expect(page.locator("main")).to_contain_text("Payment received")

        await page.goto(f"{service.url}/test/home")
        await someone.see("home")
        await expect(page.locator("main")).to_contain_text("4.20")
        await page.goto(f"{service.url}/pay/nothing-here")
        await someone.see("error")
    await receiver.wait("payment.succeeded")
