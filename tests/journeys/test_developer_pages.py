"""An owner looks after an application, and a merchant after what is connected, by clicking in headless Chromium."""

import re
from collections.abc import AsyncIterator

import pytest
from playwright.async_api import Browser, Page, expect

from tests.browser import CHROMIUM, Look, Visitor, by_look, chromium, visitor
from tests.cast import PASSWORD, Actor, Application, application
from tests.request_log.reading import written
from tests.running import Service

LOOKS = [Look("light", 1280, axe=False), Look("dark", 390, axe=True)]
"""It is a long way: so once with the CSP and once with axe, and each width and theme once."""
SCOPE = "account:read payments:read payments:write offline_access"

pytestmark = [
    pytest.mark.browser,
    pytest.mark.xdist_group("browser"),
    pytest.mark.skipif(CHROMIUM is None, reason="NO CHROMIUM ON THIS MACHINE: the browser journeys were not run"),
]


@pytest.fixture(scope="module")
async def browser() -> AsyncIterator[Browser]:
    async with chromium() as one:
        yield one


async def press(page: Page, button: str) -> None:
    await page.click(f"button:has-text('{button}')")


async def tab(page: Page, name: str) -> None:
    await page.click(f".tabs a:has-text('{name}')")


async def glance(someone: Visitor, name: str) -> None:
    """See a page that has nothing which axe does not see on another one."""
    if not someone.look.axe:
        await someone.see(name)


async def sign_in(someone: Visitor, actor: Actor) -> None:
    page = someone.page
    await page.goto(f"{actor.service.url}/signin")
    await page.fill("#email", actor.email)
    await page.fill("#password", PASSWORD)
    await press(page, "Sign in")


@by_look(LOOKS)
async def test_looking_after_an_application(
    look: Look, browser: Browser, service: Service, alice: Actor, bob: Actor, carol: Actor
) -> None:
    app = await application(bob)
    token = (await app.connect(alice, SCOPE))["access_token"]
    await app.connect(carol, SCOPE)
    (await app.api(token, "GET", "/account")).ok()
    (await app.api(token, "POST", "/payment-links", {"amount": "ten", "currency": "EUR"})).refused("validation_failed", 422)
    await written(alice, 2)
    async with visitor(browser, look, service.url) as someone:
        await sign_in(someone, alice)
        await look_up_requests(someone)
        await disconnect_the_app(someone)
    async with visitor(browser, look, service.url) as someone:
        await sign_in(someone, bob)
        await read_the_overview(someone, app)
        await save_against_somebody_else(someone, app)
        await find_a_connection(someone)
        await replace_the_secret(someone)
        await pause_and_revoke(someone)


async def look_up_requests(someone: Visitor) -> None:
    """What the application asked for; the one that was refused."""
    page = someone.page
    await page.click(".side a:has-text('Requests')")
    await someone.see("requests")
    await page.select_option("#status", "4xx")
    await press(page, "Filter")
    assert await page.locator("tbody tr").count() == 1
    await page.click("tbody a")
    await someone.see("request")
    await expect(page.locator("main")).to_match_aria_snapshot("""
        - paragraph:
          - link "All requests"
        - heading "POST /payment-links" [level=1]
        - region "Request":
          - heading "Request" [level=2]
          - textbox "Request ID"
          - button "Copy Request ID"
        - region "Body that was sent":
          - group "Body that was sent"
        - region "Answer":
          - group "Answer": /validation_failed/
        - region "Ask it again":
          - textbox "Command": /^curl/
    """)
    await page.click("text=All requests")
    await page.fill("#path", "nowhere")
    await press(page, "Filter")
    await glance(someone, "requests-no-match")
    await page.click(".modes a:has-text('Live')")
    await glance(someone, "requests-none")


async def disconnect_the_app(someone: Visitor) -> None:
    """What it may do, and the end of it."""
    page = someone.page
    await page.click(".side a:has-text('Connected apps')")
    await someone.see("connected-apps")
    await page.click("tbody a")
    await someone.see("connected-app")
    await expect(page.locator("main")).to_match_aria_snapshot("""
        - heading "Northwind Ledger" [level=1]
        - region "Connection":
          - paragraph: Bookkeeping for small studios.
        - region "What it may do":
          - list:
            - listitem: /Read your account/
        - region "Disconnect Northwind Ledger?":
          - paragraph:
            - link "balance payments"
          - button "Disconnect this application"
    """)
    await press(page, "Disconnect this application")
    await glance(someone, "connected-app-ended")
    assert "It has no access any more." in await page.inner_text("[role=status]")


async def read_the_overview(someone: Visitor, app: Application) -> None:
    page = someone.page
    await page.click(".side a:has-text('Applications')")
    await glance(someone, "apps")
    await page.click("tbody a")
    await someone.see("app-overview")
    assert await page.input_value("#client-id") == app.client_id
    await expect(page.locator(".tabs")).to_match_aria_snapshot("""
        - navigation "Application":
          - link "Overview"
          - link "Settings"
          - link "Secret"
          - link "Connections"
          - link "Danger"
    """)


async def save_against_somebody_else(someone: Visitor, app: Application) -> None:
    """Somebody else saves meanwhile: nothing is lost, and what differs is shown. Then again, from the latest."""
    page = someone.page
    await tab(page, "Settings")
    await someone.see("app-settings")
    record = (await app.owner.dashboard("GET", f"/oauth/clients/{app.client_id}")).ok().body["client"]
    body = {name: record[name] for name in ("client_type", "website_url", "redirect_uris", "scopes", "version")}
    meanwhile = body | {"name": "Northwind Books", "description": "Ledgers for studios of any size."}
    (await app.owner.dashboard("PUT", f"/oauth/clients/{app.client_id}", meanwhile)).ok()
    await page.fill("#description", "Bookkeeping for harbours.")
    await page.uncheck("input[value='reports:read']")
    await press(page, "Save the settings")
    await someone.see("app-settings-conflict")
    assert await page.input_value("#description") == "Bookkeeping for harbours."
    await expect(page.locator("table")).to_match_aria_snapshot("""
        - table:
          - rowgroup:
            - row "Setting You typed Saved now"
          - rowgroup:
            - row "Name Northwind Ledger Northwind Books"
            - row "Description Bookkeeping for harbours. Ledgers for studios of any size."
            - row "Permissions that only one side has nothing reports:read"
    """)
    await page.click("a:has-text('Load the latest settings')")
    await page.fill("#name", " ")
    await page.fill("#redirect_uris", "https://northwind.example/cb\nhttp://northwind.example/cb")
    await press(page, "Save the settings")
    await glance(someone, "app-settings-wrong")
    assert await page.get_attribute("#redirect_uris", "aria-invalid") == "true"
    await page.fill("#name", "Northwind Ledger")
    await page.fill("#redirect_uris", "https://northwind.example/cb")
    await press(page, "Save the settings")
    assert "The settings are saved." in await page.inner_text("[role=status]")


async def find_a_connection(someone: Visitor) -> None:
    """By searching the page; with the keyboard alone."""
    page = someone.page
    await tab(page, "Connections")
    await someone.see("app-connections")
    await page.fill("#search", "carol")
    await expect(page.locator("#connected tr:visible")).to_have_count(1)
    assert "1 of 2" in await page.inner_text("[role=status]")
    await page.focus("#connected a:visible")
    await page.keyboard.press("Enter")
    await page.wait_for_url(re.compile("/connections/.+"))
    await someone.see("app-connection")
    await press(page, "Disconnect")
    assert "The merchant is disconnected." in await page.inner_text("[role=status]")


async def replace_the_secret(someone: Visitor) -> None:
    """With the keyboard alone; it is shown once."""
    page = someone.page
    await tab(page, "Secret")
    await someone.see("app-secret")
    await page.focus("#revoke_grants")
    await page.keyboard.press("Space")
    await page.keyboard.press("Tab")
    await page.keyboard.press("Enter")
    await page.wait_for_selector("#new-secret")
    await someone.see("app-secret-new")
    assert (await page.input_value("#new-secret")).startswith("thcs_")
    await page.click("text=I have stored it")
    assert await page.locator("#new-secret").count() == 0


async def pause_and_revoke(someone: Visitor) -> None:
    """The wrong name first."""
    page = someone.page
    await tab(page, "Danger")
    await someone.see("app-danger")
    await press(page, "Pause the application")
    await glance(someone, "app-paused")
    await page.fill("#confirm", "Northwind")
    await press(page, "Revoke the application")
    await glance(someone, "app-danger-wrong-name")
    await page.fill("#confirm", "Northwind Ledger")
    await press(page, "Revoke the application")
    await glance(someone, "app-revoked")
    await tab(page, "Settings")
    await glance(someone, "app-settings-revoked")
    assert await page.locator("main form").count() == 0
