"""A merchant sells and gives back at the dashboard, by clicking in headless Chromium: links, payments, refunds, export."""

import csv

import pytest
from playwright.async_api import Browser, expect

from tests.browser import IN_A_BROWSER, WIDE, Look, Visitor, by_look, visitor
from tests.cast import PASSWORD, Actor
from tests.payments.bank import attempt, bank_says, play, refund, sell
from tests.payments.shop import open_link
from tests.running import Service

LIST = """
- heading "Payments" [level=1]
- link "Disputes 1 open"
- link "Export"
- link "Create payment link"
- navigation "Status":
  - link "All"
  - link "Needs a decision"
  - link "Chargebacks"
- search "Filter payments":
  - searchbox "External ID or email"
  - group: Status
  - group: Date
- region "Payments":
  - table "Payments":
    - rowgroup:
      - row "Amount Status Product Customer Method Date Actions"
    - rowgroup:
      - row /€3\\.00.* Failed Coffee Test payment in EUR/
      - row /€12\\.00.* Chargeback Ticket Test payment in EUR/
"""
REVIEW = """
- heading "Confirm refund" [level=1]
- term: Debited from your balance
- definition: €20.00
- term: Customer receives
- definition: €20.00
- term: Reason
- definition: Requested by customer
- term: Remaining refundable amount
- definition: €64.50
- term: Available balance afterwards
- definition: €64.50
- paragraph: The amount is reserved now, and you cannot cancel the refund. If it fails, the amount returns to your balance.
- button "Refund €20.00"
- button "Edit"
"""
PAYMENT = """
- navigation "Breadcrumb":
  - link "Payments"
- heading "Payment of €84.50" [level=1]
- link "Open in simulator"
- link "Refund payment"
- paragraph: Part of the payment was refunded.
- term: Customer
- definition:
  - link "nina@example.com"
- term: Net
- definition: €84.50
- region "Timeline":
  - heading "Timeline" [level=2]
  - list:
    - listitem:
      - paragraph:
        - text: Event
        - link "payment.refunded"
    - listitem:
      - paragraph: Payment partially refunded
      - paragraph:
        - text: · Refunded ·
        - link "Reserved \N{MINUS SIGN}€20.00"
    - listitem:
      - paragraph: Refund requested
      - paragraph:
        - link "Available \N{MINUS SIGN}€20.00 · Reserved +€20.00"
    - listitem:
      - paragraph:
        - text: Event
        - link "payment.succeeded"
    - listitem:
      - paragraph: Payment succeeded
      - paragraph:
        - link "Available +€84.50"
    - listitem:
      - paragraph: Customer chose Test payment in EUR
    - listitem:
      - paragraph: Payment link created
- region "Amounts":
  - heading "Amounts" [level=2]
  - term: Net
  - definition: €84.50
  - term: Refunded
  - definition: €20.00
- region "Refunds":
  - table "Refunds":
    - rowgroup:
      - row "Amount Status Reason Requested Actions"
    - rowgroup:
      - row /€20\\.00 Succeeded Requested by customer/
- region "Ledger entries"
- complementary "Details":
  - region "Details"
  - region "Payment method"
"""

pytestmark = [*IN_A_BROWSER, pytest.mark.long]


async def type_over(someone: Visitor, field: str, text: str) -> None:
    """Go there by keys alone, and type something else."""
    await someone.press(field, "Control+A")
    await someone.page.keyboard.type(text)


@by_look(WIDE)
async def test_selling_and_giving_back(look: Look, browser: Browser, service: Service, alice: Actor) -> None:
    async with visitor(browser, look, service.url) as someone:
        page = someone.page
        await page.goto(f"{service.url}/signin")
        await page.fill("#email", alice.email)
        await page.fill("#password", PASSWORD)
        await someone.click("Sign in")
        await see_nothing_yet(someone)
        await make_a_link(someone)
        await play_the_customer(someone)
        await give_a_part_back(someone)
        await decide_about_money_that_waits(someone, alice)
        await see_a_chargeback(someone, alice)
        await see_a_dispute_after_a_refund(someone, alice)
        await find_and_export(someone)
        await cancel_a_link(someone)


async def see_nothing_yet(someone: Visitor) -> None:
    """Both lists are empty, and say what they are for."""
    page = someone.page
    await someone.open_part("Payments")
    await someone.glance("payments-empty")
    await page.click(".mode a:has-text('Live')")
    await expect(page.locator("main")).to_contain_text("live mode")
    await page.click(".mode a:has-text('Test')")
    await someone.open_part("Payment links")
    await someone.glance("payment-links-empty")


async def make_a_link(someone: Visitor) -> None:
    """A wrong price first."""
    page = someone.page
    await page.click("text=Create payment link")
    await someone.see("payment-link-form")
    await page.fill("#display_name", "Dinner for two at the harbour, Friday at eight")
    await page.fill("#amount", "8,450")
    await page.click("summary:has-text('Checkout options')")
    await page.fill("#customer_email", "nina@example.com")
    await page.click("summary:has-text('Optional details')")
    await page.fill("#external_id", "table-7-2026-11-27")
    await someone.click("Create payment link")
    await someone.see("payment-link-wrong")
    await expect(page.locator("#amount")).to_have_attribute("aria-invalid", "true")
    await page.fill("#amount", "84.50")
    await someone.click("Create payment link")
    await page.wait_for_url("**/test/payment-links/*-*")
    await someone.see("payment-link")


async def play_the_customer(someone: Visitor) -> None:
    """From the link to its checkout, and back to what came of it."""
    page = someone.page
    link = page.url
    await page.click("text=Open checkout")
    await page.click("input[type=radio] >> nth=0")
    await page.click("main form button >> nth=0")
    await someone.click("Pay in full")
    await page.goto(link)
    await someone.glance("payment-link-paid")
    await someone.open_part("Payments")
    await someone.glance("payments-one")
    await page.click("tbody a.hit")
    await someone.see("payment")


async def give_a_part_back(someone: Visitor) -> None:
    """By keys alone; too much first."""
    page = someone.page
    await someone.press("main a[href$='/refund']")
    await page.wait_for_url("**/refund")
    await someone.see("refund-form")
    await type_over(someone, "#amount", "84.51")
    await someone.press("button:has-text('Review refund')")
    await page.wait_for_selector("#amount-wrong")
    await someone.see("refund-wrong")
    await type_over(someone, "#amount", "20.00")
    await someone.press("button:has-text('Review refund')")
    await page.wait_for_selector("text=Confirm refund")
    await expect(page.locator("main")).to_match_aria_snapshot(REVIEW)
    await someone.see("refund-review")
    await someone.press("button:has-text('Refund €20.00')")
    await page.wait_for_url("**/test/payments/*-*")
    while "Part of the payment was refunded" not in await page.inner_text("main"):
        await page.reload()  # the worker has not done its part yet
    await expect(page.locator("main")).to_match_aria_snapshot(PAYMENT)
    await someone.glance("payment-refunded")


async def decide_about_money_that_waits(someone: Visitor, alice: Actor) -> None:
    """Paid twice, and taken."""
    page = someone.page
    link = await open_link(alice, display_name="Coffee", amount="4.20")
    await attempt(alice, link)
    await attempt(alice, link)
    await someone.open_part("Payments")
    await page.click("tbody tr:has-text('Needs a decision') a.hit")
    await someone.see("payment-waits")
    await someone.click("Accept €4.20")
    await expect(page.locator("main")).to_contain_text("The payment was credited to your balance.")


async def see_a_chargeback(someone: Visitor, alice: Actor) -> None:
    """Its bank took it back."""
    page = someone.page
    await sell(alice, "chargeback", amount="12.00", display_name="Ticket")
    await sell(alice, "fail", amount="3.00")
    await someone.open_part("Payments")
    await page.click("tbody tr:has-text('Chargeback') a.hit")
    await someone.see("payment-chargeback")
    await page.get_by_role("link", name="Respond to dispute").click()
    await someone.see("dispute")
    await page.fill("#product_description", "A ticket")
    await someone.click("Review and submit")
    await expect(page.get_by_role("definition").filter(has_text="A ticket")).to_be_visible()


async def see_a_dispute_after_a_refund(someone: Visitor, alice: Actor) -> None:
    """Its customer got the money back, and disputes the payment all the same."""
    page = someone.page
    payment = await sell(alice, amount="18.00", display_name="Concert")
    back = (await refund(alice, payment)).ok(201).body
    (await bank_says(alice, back, "succeed")).ok()
    taken = (await play(alice, payment, "chargeback")).ok().body["chargeback"]
    await page.goto(f"{alice.service.url}/test/disputes/{taken['id']}")
    await someone.see("dispute-after-refund")
    await page.get_by_role("link", name="Review and submit").click()
    await expect(page.get_by_role("definition").filter(has_text=back["id"])).to_be_visible()
    await someone.click("Submit evidence")
    await expect(page.locator("main")).to_contain_text("Evidence submitted.")


async def find_and_export(someone: Visitor) -> None:
    """By a filter; the file comes with its progress."""
    page = someone.page
    await someone.open_part("Payments")
    await expect(page.locator("main")).to_match_aria_snapshot(LIST)
    await someone.see("payments")
    await page.click("summary:has-text('Status')")
    await page.select_option("#status", "expired")
    await someone.see("payments-filter")
    await page.click("details[open] button:has-text('Apply')")
    await expect(page.locator(".chip.on")).to_have_text("Status Expired")
    await expect(page.locator("main")).to_contain_text("No payments match these filters.")
    await someone.see("payments-no-match")
    await page.click("a[aria-label='Remove filter: Status']")
    await expect(page.locator("tbody tr")).not_to_have_count(0)
    await page.get_by_role("button", name="Actions for the payment of €12.00, Ticket").first.click()
    await expect(page.get_by_role("link", name="View payment link")).to_be_visible()
    await someone.see("payments-actions")
    await page.get_by_role("button", name="Copy payment ID").click()
    await expect(page.locator(".toast[aria-live]")).to_be_visible()
    await expect(page.get_by_role("link", name="View payment link")).not_to_be_visible()
    await page.click("a:has-text('Export')")
    await someone.see("payments-export")
    async with page.expect_download() as saving:
        await page.click("text=Download")
    await expect(page.locator("[role=status]")).to_have_text("Download complete.")
    await someone.glance("payments-exported")
    path = await (await saving.value).path()
    lines = list(csv.reader(path.read_text("utf-8").splitlines()))
    assert len(lines) == 1 + int(await page.get_attribute("a[data-rows]", "data-rows") or "0") == 7


async def cancel_a_link(someone: Visitor) -> None:
    """It asks first, by name."""
    page = someone.page
    await someone.open_part("Payment links")
    await page.click("text=Create payment link")
    await page.fill("#display_name", "Tea")
    await page.fill("#amount", "2")
    await someone.click("Create payment link")
    await page.click("text=Cancel payment link")
    await someone.see("payment-link-cancel")
    await someone.click("Cancel payment link")
    await page.wait_for_selector("text=Canceled. Customers can no longer pay it.")
    await page.click(".crumbs a")
    await someone.see("payment-links")
