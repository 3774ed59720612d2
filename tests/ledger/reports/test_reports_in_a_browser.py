"""A merchant reads its reports and sends failed events again, by clicking in headless Chromium."""

from datetime import UTC, datetime, timedelta

import pytest
from aiohttp import web
from playwright.async_api import Browser, expect

from tests.browser import IN_A_BROWSER, NARROW, Look, Visitor, by_look, visitor
from tests.cast import Actor
from tests.journeys.test_get_paid import activate_secret
from tests.ledger.reports.conftest import Harness
from tests.payments.bank import sell
from tests.receiver import Receiver
from tests.running import Service

pytestmark = [*IN_A_BROWSER, pytest.mark.long]
REPORT = """
- heading "Reports" [level=1]
- navigation "Period":
  - link "Today"
- group: Custom period, currency or project
- navigation "Report views":
  - link "Summary"
  - link "By method"
- region / to /:
  - paragraph:
    - link "PDF"
    - link "XLSX"
    - link "CSV"
  - table / to /:
    - rowgroup:
      - row "Currency Opening Payments Fees Reversals Withdrawals Other Closing"
    - rowgroup:
      - row /EUR/
      - row /USD/
- region "EUR over time":
  - img /Payments and fees in EUR.* Highest value/
  - group
- region "Balance changes in EUR":
  - table "Balance changes in EUR"
- region "Fees in EUR":
  - table "Fees in EUR"
"""
FAILED = """
- heading "Resend failed events" [level=1]
- search "Filter events":
  - combobox "Failed in the last"
  - combobox "Type"
  - button "Apply"
- region "2 events":
  - heading "2 events" [level=2]
  - button "Resend 2 events"
"""


@by_look(NARROW)
async def test_reports_and_failed_events(
    look: Look, browser: Browser, service: Service, alice: Actor, harness: Harness, receiver: Receiver
) -> None:
    async with visitor(browser, look, service.url) as someone:
        await someone.sign_in(alice)
        await earn(alice, harness, receiver)
        await read_reports(someone)
        await resend_failed_events(someone)


async def earn(alice: Actor, harness: Harness, receiver: Receiver) -> None:
    """For a month, with fees; two payments of today are told to a receiver that takes nothing yet."""
    await activate_secret(alice)
    today = datetime.now(UTC)
    for days in range(1, 29, 3):
        await harness.post(today - timedelta(days=days), "payment", 100_00 + 17_35 * days % 90_00)
        await harness.post(today - timedelta(days=days), "payment_fee", -11_50 - days)
    await harness.post(today - timedelta(days=9), "withdrawal", -400_00)
    await harness.post(today - timedelta(days=3), "payment", 1_234_567_89, "USD")

    async def refuse(_request: web.Request) -> web.StreamResponse:
        return web.Response(status=503)

    receiver.answer = refuse
    for amount in ("250.00", "120.50"):
        await sell(alice, amount=amount, webhook_url=receiver.url)
    await receiver.wait("payment.succeeded", 2)
    receiver.answer = None


async def read_reports(someone: Visitor) -> None:
    """Of the usual days, of another currency, of days that are none; and as a file."""
    page = someone.page
    await someone.open_part("Reports")
    await expect(page.locator("main")).to_match_aria_snapshot(REPORT)
    await page.click("summary:has-text('Show as table')")
    await someone.see("reports")
    async with page.expect_download() as saved:
        await page.get_by_role("link", name="CSV").click()
    assert (await saved.value).suggested_filename.startswith("report-test-")
    await page.click("text=By method")
    await expect(page.locator("#methods-EUR")).to_have_text("By method, in EUR")
    await someone.see("reports-methods")
    await page.click("text=Summary")
    await page.get_by_role("link", name="USD").click()
    await expect(page.locator("#over-time")).to_have_text("USD over time")
    await page.click("summary:has-text('Custom')")
    await page.fill("#from", "2026-02-01")
    await page.fill("#to", "2026-01-01")
    await someone.click("Apply")
    await expect(page.locator("#to")).to_have_attribute("aria-invalid", "true")
    await someone.glance("reports-wrong")


async def resend_failed_events(someone: Visitor) -> None:
    """All of them, and see how far it is."""
    page = someone.page
    await someone.open_part("Events")
    await someone.filter_by("Status", "failed")
    await page.click("text=Resend failed events")
    await page.select_option("#type", "payment.succeeded")
    await someone.click("Apply")
    await expect(page.locator("main")).to_match_aria_snapshot(FAILED)
    await someone.see("redeliver")
    await someone.click("Resend 2 events")
    await expect(page.locator("#progress")).to_have_text("Completed")
    await expect(page.locator("main")).to_contain_text("2 of 2 events resent")
    await someone.glance("redeliver-over")
