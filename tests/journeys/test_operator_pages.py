"""An operator's day by clicking in headless Chromium: no CSP violation, no axe violation, nothing too wide."""

from uuid import uuid4

import pytest
from playwright.async_api import Browser, expect

from tests.browser import IN_A_BROWSER, WIDE, Look, Visitor, by_look, visitor
from tests.cast import PASSWORD, Actor
from tests.pages.console.operator_pages import KEPT, invite, signed_in_operator
from tests.payments.shop import COFFEE, open_link, pay
from tests.receiver import Receiver
from tests.running import Service

pytestmark = [*IN_A_BROWSER, pytest.mark.long]


@by_look(WIDE)
async def test_an_operators_day_by_clicking(
    look: Look, browser: Browser, service: Service, alice: Actor, receiver: Receiver
) -> None:
    email = f"olga-{uuid4().hex[:8]}@house.example"
    link = await invite(service, email)
    project = {
        "name": "Night Owls",
        "mode": "live",
        "website_url": "https://owls.example",
        "description": "Books for those who read\nwhen others sleep.",
    }
    (await alice.dashboard("POST", "/projects", project)).ok(201)
    await pay(await open_link(alice, webhook_url=receiver.url))
    async with visitor(browser, look, service.url) as olga:
        await come_in(olga, service.url + link, email)
        await review_the_project(olga)
        await suspend_and_reactivate(olga, alice)
        await look_around(olga, alice)
    (await alice.post("/payment-links", COFFEE, mode="live")).ok(201)
    kept = await alice.sql(KEPT, alice.merchant_id)
    assert [(row["action"], row["reason"]) for row in kept] == [
        ("project_approved", "Imprint is there"),
        ("merchant_suspended", "Chargebacks"),
        ("merchant_reactivated", "Settled by telephone"),
        ("adjustment_approved", "Balance of the former provider"),
    ]


async def come_in(olga: Visitor, link: str, email: str) -> None:
    """By her invitation; then out, and in again at the second try, to the page she wanted."""
    page = olga.page
    await page.goto(link)
    await olga.see("operator-welcome")
    await page.fill("#password", "short")
    await olga.click("Save password")
    await olga.see("operator-welcome-wrong")
    await page.fill("#password", PASSWORD)
    await olga.click("Save password")
    await page.wait_for_url("**/operator")
    await olga.see("operator-overview")
    await page.goto(link)
    await olga.see("operator-welcome-over")
    await page.goto(link.partition("/operator/")[0] + "/operator")
    await page.click("[popovertarget=account]")
    await olga.click("Sign out")
    await page.goto(link.partition("/operator/")[0] + "/operator/projects")
    await olga.see("operator-signin")
    for password in ("a wrong password", PASSWORD):
        await page.fill("#email", email)
        await page.fill("#password", password)
        await olga.click("Sign in")
        await page.wait_for_load_state()
    await page.wait_for_url("**/operator/projects")


async def review_the_project(olga: Visitor) -> None:
    """She reads it and approves it."""
    page = olga.page
    await olga.see("operator-projects")
    await page.click("table a:has-text('Night Owls') >> nth=0")
    await olga.see("operator-project")
    await page.fill("#remark", "Imprint is there")
    await olga.click("Approve")
    await page.wait_for_url("**/operator/projects/*?action=*")
    await olga.see("operator-project-approved")
    await expect(page.locator("main")).to_contain_text("Done: project approved")


async def suspend_and_reactivate(olga: Visitor, alice: Actor) -> None:
    """She finds the merchant and suspends it; another operator is first to let it go on."""
    page = olga.page
    await olga.open_part("Merchants")
    await page.fill("#search", alice.email)
    await olga.click("Search")
    await olga.see("operator-merchants")
    await page.click('table a:has-text("Alice\'s Coffee")')
    await olga.see("operator-merchant")
    await page.click("a:has-text('Suspend')")
    await olga.see("operator-suspend")
    await page.fill("#reason", "   ")
    await olga.click("Suspend merchant")
    await olga.see("operator-suspend-wrong")
    await page.fill("#reason", "Chargebacks")
    await olga.click("Suspend merchant")
    await page.wait_for_url("**?action=*")
    await olga.see("operator-merchant-suspended")
    (await alice.get("/balances")).refused("account_suspended", 403)
    await page.click("a:has-text('Reactivate')")
    await olga.see("operator-reactivate")
    async with signed_in_operator(alice.service, "otto") as otto:
        path = f"/operator/merchants/{alice.merchant_id}/reactivate"
        (await otto.form(path, {"reason": "Settled by telephone"})).ok(303)
    await page.fill("#reason", "Settled")
    await olga.click("Reactivate merchant")
    await olga.see("operator-merchant-too-late")
    await expect(page.locator("[role=alert]")).to_contain_text("is not suspended")


async def adjust(olga: Visitor, alice: Actor) -> None:
    """A large credit waits for another operator, a debit of more than is there is refused."""
    page = olga.page
    await page.goto(f"{alice.service.url}/operator/merchants/{alice.merchant_id}")
    await page.click("a:has-text('Adjust balance')")
    await page.fill("#amount", "25,000.00")
    await page.fill("#reason", "Balance of the former provider")
    await olga.click("Adjust balance")
    await expect(page.locator("main")).to_contain_text("Nothing has been booked yet.")
    await olga.see("operator-adjust")
    await page.goto(f"{alice.service.url}/operator/merchants/{alice.merchant_id}")
    await olga.see("operator-merchant-adjusting")


async def look_around(olga: Visitor, alice: Actor) -> None:
    """Deliveries that fail, the history, and a search that finds nothing."""
    page = olga.page
    await olga.open_part("Deliveries")
    await olga.see("operator-deliveries")
    await page.goto(f"{alice.service.url}/operator/deliveries/{alice.merchant_id}/test")
    await expect(page.locator("table")).to_contain_text("Held")
    await olga.see("operator-failing")
    await page.click(".seg a:has-text('Live')")
    await olga.see("operator-failing-none")
    await olga.open_part("Payments")
    await olga.see("operator-payments")
    await page.fill("#search", "nothing is called so")
    await olga.click("Search")
    await olga.glance("operator-payments-none")
    await adjust(olga, alice)
    await olga.open_part("History")
    await olga.see("operator-history")
    await page.goto(f"{alice.service.url}/operator/merchants?search=nobody+has+this+name")
    await olga.see("operator-merchants-none")
    await page.goto(f"{alice.service.url}/operator/merchants/{uuid4()}")
    await olga.see("operator-error")
