"""A merchant looks at its business, by clicking in headless Chromium: home, balances, ledger, projects, settings."""

import pytest
from playwright.async_api import Browser, expect

from tests.browser import IN_A_BROWSER, WIDE, Look, Visitor, by_look, visitor
from tests.cast import Actor
from tests.payments.bank import refund, sell
from tests.running import Service

EMPTY = """
- main:
  - heading /Welcome, / [level=1]
  - region "First steps":
    - heading "First steps" [level=2]
    - progressbar "First steps"
    - list:
      - listitem:
        - text: /Done/
        - heading "Create a project" [level=3]
      - listitem:
        - heading "Make a test payment" [level=3]
        - link "Create payment link"
      - listitem:
        - link "Set up webhooks"
      - listitem:
        - link "Create API key"
      - listitem:
        - link "Set up"
      - listitem:
        - link "Submit project"
  - complementary:
    - region "For developers":
      - textbox "API base URL"
      - list
  - region "Payments":
    - link "View all"
    - heading "No payments yet" [level=3]
    - link "Create payment link"
    - button "Create sample data"
"""
HOME = """
- main:
  - heading "Home" [level=1]
  - navigation "Period":
    - link "Today"
    - link "7 days"
    - link "14 days"
    - link "30 days"
    - link "This month"
    - link "This quarter"
  - group: Custom period or currency
  - link "Create payment link"
  - region "Gross volume":
    - paragraph: /€/
    - img /Gross volume in EUR.* Highest value/
    - group:
      - table "Gross volume"
  - region "Balance":
    - link "View all (Balances)"
    - paragraph: Available in EUR
    - link "Withdraw funds"
  - region "Needs attention":
    - list:
      - listitem:
        - paragraph:
          - link /Webhook events failed in the last 7 days. 1/
  - region "Key figures":
    - link /Successful payments/
    - link /Success rate .* 1 failed/
    - link /Average payment/
    - link /Refunded/
  - region "First steps":
    - list:
      - listitem:
        - text: /Done/
        - heading "Create a project" [level=3]
      - listitem:
        - text: /Done/
        - heading "Make a test payment" [level=3]
      - listitem:
        - link "Set up webhooks"
      - listitem:
        - text: /Done/
        - heading "Call the API from your server" [level=3]
      - listitem:
        - link "Set up"
      - listitem:
        - link "Submit project"
  - region "Recent payments":
    - link "View all"
    - table "Recent payments":
      - rowgroup:
        - row "Product Status Date Amount"
  - region "Payment methods":
    - term: Test payment in EUR
    - definition: /%/
    - term: SEPA bank transfer
    - definition: /%/
"""
BALANCES = """
- main:
  - heading "Balances" [level=1]
  - region "EUR Euro":
    - link "Ledger EUR"
    - paragraph: Available
    - link "Withdraw EUR"
    - link "Convert EUR"
  - region "USD US Dollar":
    - link "Ledger USD"
  - region "Currencies without a balance":
    - list
"""
SETTINGS = """
- main:
  - heading "Settings" [level=1]
  - navigation "Settings":
    - link "Business"
    - link "Payments"
    - link "Connected applications"
    - link "Security"
    - link "Audit log"
  - status: Settings saved.
  - region "Business":
    - heading "Business" [level=2]
    - textbox "Business name"
    - combobox "Time zone"
  - region "Account"
  - region "Payment settings":
    - list
  - button "Save settings"
"""

pytestmark = [*IN_A_BROWSER, pytest.mark.long]


@by_look(WIDE)
async def test_looking_at_the_business_by_clicking(look: Look, browser: Browser, service: Service, alice: Actor) -> None:
    async with visitor(browser, look, service.url) as someone:
        await someone.sign_in(alice)
        await see_nothing_yet(someone)
        await sell_for_a_month(alice)
        await see_what_came_in(someone)
        await see_the_books(someone)
        await open_a_project(someone)
        await set_the_clock(someone)
        await set_how_to_be_paid(someone)


async def sell_for_a_month(alice: Actor) -> None:
    """A payment every eighth day, half of them before; one fails, one is given back in part."""
    paid = [await sell(alice, amount=f"{20 + 7 * place}.50") for place in range(7)]
    await alice.sql(
        "UPDATE transactions SET succeeded_at = succeeded_at - place * interval '8 days'"
        " FROM unnest($1::uuid[]) WITH ORDINALITY AS sold (sold_id, place) WHERE id = sold_id",
        [payment["id"] for payment in paid],
    )
    await sell(alice, "fail")
    await sell(alice, amount="1200.00", currency="USD")
    (await refund(alice, paid[0], "4.20")).ok(201)
    await alice.sql(
        "UPDATE transactions SET method_id = 'sepa:EUR' WHERE id = ANY ($1::uuid[])", [payment["id"] for payment in paid[:1]]
    )
    await alice.sql("SELECT running_totals_rebuild($1::uuid)", alice.merchant_id)
    await alice.sql(
        "INSERT INTO webhook_failures (event_id, merchant_id, mode, failed_at)"
        " VALUES (gen_random_uuid(), $1::uuid, 'test', now())",
        alice.merchant_id,
    )


async def see_nothing_yet(someone: Visitor) -> None:
    """Every page is empty, and says what it is for."""
    page = someone.page
    await expect(page.locator("body")).to_match_aria_snapshot(EMPTY)
    await someone.see("overview-home-empty")
    for name in ("Balances", "Ledger"):
        await someone.open_part(name)
        await someone.glance(f"overview-{name.lower()}-empty")
    await someone.open_part("Projects")
    await page.click(".mode a:has-text('Live')")
    await someone.glance("overview-projects-empty")
    await page.click(".mode a:has-text('Test')")


async def see_what_came_in(someone: Visitor) -> None:
    """In the usual period, in others, as a table; and days that are none."""
    page = someone.page
    await someone.open_part("Home")
    await page.click("summary:has-text('Show as table')")
    await someone.see("overview-home")
    await expect(page.locator("body")).to_match_aria_snapshot(HOME)
    await page.click("nav.seg a:has-text('This quarter')")
    await someone.glance("overview-home-quarter")
    await page.click("summary:has-text('Custom')")
    await page.select_option("#currency", "USD")
    await page.fill("#from", "2026-01-02")
    await page.fill("#to", "2026-01-01")
    await someone.click("Apply")
    await someone.see("overview-home-wrong")
    await expect(page.locator("#to")).to_have_attribute("aria-invalid", "true")
    await page.click("nav.seg a:has-text('Today')")
    await expect(page.locator("main .figure").first).to_have_text("$1,200.00")
    await someone.glance("overview-home-today")


async def see_the_books(someone: Visitor) -> None:
    """Balances, the entries behind one, filtered; and how many there are to be had as a file."""
    page = someone.page
    await someone.open_part("Balances")
    await someone.see("overview-balances")
    await expect(page.locator("body")).to_match_aria_snapshot(BALANCES)
    await page.click("text=Ledger EUR")
    await someone.see("overview-ledger")
    await page.click("text=Export as CSV")
    await someone.see("overview-export")
    async with page.expect_download() as saved:
        await page.click("text=Download")
    assert (await saved.value).suggested_filename.startswith("ledger-test-")
    await page.wait_for_selector("text=Download complete.")
    await page.click(".crumbs a:has-text('Ledger')")
    await someone.filter_by("Type", "conversion_in")
    await expect(page.locator(".chip.on")).to_have_text(["Currency EUR", "Type Conversion in"])
    await someone.glance("overview-ledger-no-match")
    await page.click("text=Clear filters >> nth=0")


async def open_a_project(someone: Visitor) -> None:
    """A wrong address first."""
    page = someone.page
    await someone.open_part("Projects")
    await page.click("text=Create project")
    await page.fill("#name", "Harbour fair")
    await page.evaluate("document.querySelector('#website_url').type = 'text'")
    await page.fill("#website_url", "ftp://fair")
    await someone.click("Create project")
    await someone.see("overview-project-wrong")
    await page.fill("#website_url", "https://fair.example")
    await someone.click("Create project")
    await someone.see("overview-projects")
    await page.click("a:has-text('Harbour fair')")
    await page.fill("#description", "Stall 7")
    await someone.click("Save")
    await someone.see("overview-project")


async def set_the_clock(someone: Visitor) -> None:
    """The days of the home page are others then."""
    page = someone.page
    await someone.open_part("Settings")
    await page.select_option("#time_zone", "Asia/Kathmandu")
    await someone.click("Save")
    await expect(page.locator("body")).to_match_aria_snapshot(SETTINGS)
    await someone.see("overview-settings")
    await someone.open_part("Home")
    await expect(page.locator("main")).to_contain_text("Asia/Kathmandu")


async def set_how_to_be_paid(someone: Visitor) -> None:
    """Something that is not right first."""
    page = someone.page
    await someone.open_settings("Payments")
    await page.select_option("#link_expiry_unit", "minutes")
    for minutes, result in (("1", "wrong"), ("90", "saved")):
        await page.fill("#link_expiry", minutes)
        await someone.click("Save")
        await someone.see(f"overview-payments-{result}")
    await expect(page.locator("main")).to_contain_text("Settings saved.")
