"""An owner looks after an application, and a merchant after what is connected, by clicking in headless Chromium."""

import re

import pytest
from playwright.async_api import Browser, Page, expect

from tests.browser import IN_A_BROWSER, WIDE, Look, Visitor, by_look, visitor
from tests.cast import Actor, Application, application
from tests.running import Service
from tests.webhooks.request_log.reading import written

SCOPE = "account:read payments:read payments:write offline_access"

pytestmark = [*IN_A_BROWSER, pytest.mark.long]


async def tab(page: Page, name: str) -> None:
    await page.click(f".tabs a:has-text('{name}')")


@by_look(WIDE)
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
        await someone.sign_in(alice)
        await look_up_requests(someone)
        await disconnect_the_app(someone)
    async with visitor(browser, look, service.url) as someone:
        await someone.sign_in(bob)
        await read_the_overview(someone, app)
        await save_against_somebody_else(someone, app)
        await find_a_connection(someone)
        await replace_the_secret(someone)
        await pause_and_revoke(someone)


async def look_up_requests(someone: Visitor) -> None:
    """What the application asked for; the one that was refused."""
    page = someone.page
    await someone.open_part("API requests")
    await someone.see("requests")
    await someone.filter_by("Response", "4xx")
    await expect(page.locator("tbody tr")).to_have_count(1)
    await page.click("tbody a")
    await someone.see("request")
    await expect(page.locator("main")).to_match_aria_snapshot("""
        - navigation "Breadcrumb":
          - link "API requests"
        - heading "POST /payment-links" [level=1]
        - region "Request body":
          - heading "Request body" [level=2]
          - button "Copy Request body"
          - group "Request body"
        - region "Response body":
          - group "Response body":
            - code: /validation_failed/
        - region "Command":
          - button "Copy Command"
          - group "Command":
            - code: /^curl/
        - complementary:
          - region "Details":
            - term: Request ID
            - definition:
              - button "Copy Request ID"
    """)
    await page.get_by_role("navigation", name="Breadcrumb").get_by_role("link").click()
    await page.fill("#path", "nowhere")
    await page.press("#path", "Enter")
    await expect(page.locator("main")).to_contain_text("No requests match these filters.")
    await someone.glance("requests-no-match")
    await page.click("nav.mode a:has-text('Live')")
    await someone.glance("requests-none")
    await page.click("nav.mode a:has-text('Test')")


async def disconnect_the_app(someone: Visitor) -> None:
    """What it may do, and the end of it."""
    page = someone.page
    await someone.open_part("Settings")
    await tab(page, "Connected applications")
    await someone.see("connected-apps")
    await page.click("main a:has-text('Stop everything')")
    await expect(page.locator("main")).to_contain_text("1 connection of an application")
    await someone.see("stop-everything")
    await page.go_back()
    await page.click("tbody a")
    await someone.see("connected-app")
    await expect(page.locator("main")).to_match_aria_snapshot("""
        - heading "Northwind Ledger" [level=1]
        - paragraph: Bookkeeping for small studios.
        - region "Permissions":
          - group "Permissions of the application":
            - list:
              - listitem:
                - checkbox "Read your account" [checked]
        - region "Disconnect Northwind Ledger?":
          - paragraph:
            - link "Check your balance payments"
          - button "Disconnect application"
    """)
    await page.select_option("[name='limits.0.currency']", "EUR")
    await page.fill("[name='limits.0.per_day']", "20.00")
    await page.check("#proposals_only")
    await someone.click("Save limits")
    await someone.see("connected-app-limits")
    await expect(page.locator("main")).to_contain_text("Refunds: €20.00 of €20.00 left in 24 hours")
    await someone.click("Disconnect application")
    await someone.glance("connected-app-ended")
    await expect(page.locator("[role=status]")).to_contain_text("It can no longer access your account.")


async def read_the_overview(someone: Visitor, app: Application) -> None:
    page = someone.page
    await someone.open_part("Applications")
    await someone.glance("apps")
    await page.click("tbody a")
    await someone.see("app-overview")
    await expect(page.locator("#client-id")).to_have_value(app.client_id)
    await expect(page.locator(".tabs")).to_match_aria_snapshot("""
        - navigation "Application":
          - link "Overview"
          - link "Settings"
          - link "Client secret"
          - link "Connections 1"
          - link "Pause or revoke"
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
    await someone.click("Save settings")
    await someone.see("app-settings-conflict")
    await expect(page.locator("#description")).to_have_value("Bookkeeping for harbours.")
    await expect(page.locator("table")).to_match_aria_snapshot("""
        - table:
          - rowgroup:
            - row "Setting Your value Saved value"
          - rowgroup:
            - row /Name .*Northwind Ledger .*Northwind Books/
            - row /Description .*Bookkeeping for harbours. .*Ledgers for studios of any size./
            - row /Permissions that differ .*None .*reports:read/
    """)
    await page.click("a:has-text('Load the latest settings')")
    await page.fill("#name", " ")
    await page.fill("#redirect_uris", "https://northwind.example/cb\nhttp://northwind.example/cb")
    await someone.click("Save settings")
    await someone.glance("app-settings-wrong")
    await expect(page.locator("#redirect_uris")).to_have_attribute("aria-invalid", "true")
    await page.fill("#name", "Northwind Ledger")
    await page.fill("#redirect_uris", "https://northwind.example/cb")
    await someone.click("Save settings")
    await expect(page.locator("[role=status]")).to_contain_text("Settings saved.")


async def find_a_connection(someone: Visitor) -> None:
    """By searching the page; with the keyboard alone."""
    page = someone.page
    await tab(page, "Connections")
    await someone.see("app-connections")
    await page.fill("#search", "carol")
    await expect(page.locator("#connected tr:visible")).to_have_count(1)
    await expect(page.locator("[role=status]")).to_contain_text("1 of 2")
    await page.focus("#connected a:visible")
    await page.keyboard.press("Enter")
    await page.wait_for_url(re.compile("/connections/.+"))
    await someone.see("app-connection")
    await someone.click("Disconnect merchant")
    await expect(page.locator("[role=status]")).to_contain_text("Merchant disconnected.")


async def replace_the_secret(someone: Visitor) -> None:
    """With the keyboard alone; it is shown once."""
    page = someone.page
    await tab(page, "Client secret")
    await someone.see("app-secret")
    await page.focus("#revoke_grants")
    await page.keyboard.press("Space")
    await page.keyboard.press("Tab")
    await page.keyboard.press("Enter")
    await page.wait_for_selector("#new-secret")
    await someone.see("app-secret-new")
    assert (await page.input_value("#new-secret")).startswith("thcs_")
    await page.click("text=I copied the secret")
    await expect(page.locator("#new-secret")).to_have_count(0)


async def pause_and_revoke(someone: Visitor) -> None:
    """The wrong name first."""
    page = someone.page
    await tab(page, "Pause or revoke")
    await someone.see("app-danger")
    await page.fill("#confirm_pause", "Northwind Ledger")
    await someone.click("Pause application")
    await someone.glance("app-paused")
    await page.fill("#confirm", "Northwind")
    await someone.click("Revoke application")
    await someone.glance("app-danger-wrong-name")
    await page.fill("#confirm", "Northwind Ledger")
    await someone.click("Revoke application")
    await someone.glance("app-revoked")
    await tab(page, "Settings")
    await someone.glance("app-settings-revoked")
    await expect(page.locator("main form:not(footer form)")).to_have_count(0)
