"""A merchant moves money at the dashboard, by clicking in headless Chromium: withdraws, converts, delivers, captures."""

import pytest
from playwright.async_api import Browser, expect

from tests.browser import IN_A_BROWSER, NARROW, Look, Visitor, by_look, visitor
from tests.cast import Actor
from tests.running import Service
from tests.transfers.balance_payments.till import Till, open_till

pytestmark = [*IN_A_BROWSER, pytest.mark.long]


@by_look(NARROW)
async def test_moving_money_by_clicking(look: Look, browser: Browser, service: Service, alice: Actor, bob: Actor) -> None:
    async with visitor(browser, look, service.url) as someone:
        await someone.sign_in(alice)
        await see_nothing_yet(someone)
        till = await open_till(alice, bob)
        await order_gems(someone)
        await withdraw(someone)
        await convert(someone)
        await follow_a_rule(someone)
        await see_the_gems_delivered(someone)
        reserved = await till.reserve(description="Stall 7 at the harbour fair")
        await see_what_is_reserved(someone)
    async with visitor(browser, look, service.url) as someone:
        await someone.sign_in(bob)
        await capture_as_owner(someone, till)
    assert (await till.read(reserved)).ok().body["captured"] == "4.00"


async def see_nothing_yet(someone: Visitor) -> None:
    """Every list is empty, and says what it is for."""
    page = someone.page
    for name in ("Withdrawals", "Conversions", "Fulfillments", "Balance payments"):
        await someone.open_part(name)
        await someone.glance(f"money-{name.lower().replace(' ', '-')}-empty")
        await page.click(".mode a:has-text('Live')")
        await expect(page.locator("main")).to_contain_text("live mode")
        await page.click(".mode a:has-text('Test')")
    await page.click(".tabs a:has-text('Received')")
    await someone.glance("money-received-empty")


async def withdraw(someone: Visitor) -> None:
    """A wrong amount first; then all the way, and one that is canceled."""
    page = someone.page
    await someone.open_part("Withdrawals")
    await page.click("text=Create withdrawal")
    await someone.see("money-withdrawal-choose")
    await page.click("a:has-text('Test withdrawal in EUR')")
    await someone.see("money-withdrawal-form")
    await page.fill("#amount", "1000")
    await page.fill("#receiver", "Nina's account")
    await page.fill("[id='provider_fields.reference']", "Rent for May")
    await someone.click("Review withdrawal")
    await someone.see("money-withdrawal-wrong")
    await expect(page.locator("#amount")).to_have_attribute("aria-invalid", "true")
    await page.fill("#amount", "12.50")
    await someone.click("Review withdrawal")
    await someone.click("Edit")
    await someone.click("Review withdrawal")
    await someone.see("money-withdrawal-review")
    await someone.click("Withdraw €12.50")
    await page.wait_for_url("**/test/withdrawals/*-*")
    await someone.glance("money-withdrawal-approved")  # canceled before the worker sends it
    await someone.click("Cancel withdrawal")
    await someone.see("money-withdrawal-canceled")
    await expect(page.locator("main")).to_contain_text("The withdrawal was canceled")
    await page.click(".crumbs a >> nth=0")
    await someone.see("money-withdrawals")
    await page.click(".tabs a:has-text('Completed')")
    await expect(page.locator("main")).to_contain_text("No withdrawals match these filters.")
    await someone.glance("money-withdrawals-no-match")
    await page.click("text=Clear filters >> nth=0")
    await page.click(".mode a:has-text('Live')")
    await page.click("text=Create withdrawal")
    await someone.glance("money-withdrawal-none-live")
    await page.click(".mode a:has-text('Test')")


async def convert(someone: Visitor) -> None:
    """Euros into dollars."""
    page = someone.page
    await someone.open_part("Conversions")
    await page.click("text=Create conversion")
    await someone.see("money-conversion-form")
    await page.select_option("#from_currency", "EUR")
    await page.select_option("#to_currency", "USD")
    await someone.click("Review conversion")
    await someone.glance("money-conversion-wrong")
    await page.fill("#amount", "10")
    await someone.click("Review conversion")
    await someone.see("money-conversion-review")
    await someone.click("Convert €10.00")
    await page.wait_for_url("**/test/conversions/*-*")
    await someone.see("money-conversion")
    await page.click(".crumbs a >> nth=0")
    await someone.see("money-conversions")


async def follow_a_rule(someone: Visitor) -> None:
    """Made, refused a second time, paused, deleted."""
    page = someone.page
    await page.click("a:has-text('Conversion rules')")
    await someone.see("money-rules-none")
    for result in ("made", "refused"):
        await page.select_option("#from_currency", "GBP")
        await page.select_option("#to_currency", "EUR")
        await page.select_option("#trigger", "on_threshold")
        await page.fill("#threshold", "50.00")
        await someone.click("Create rule")
        await someone.see(f"money-rules-{result}")
    await expect(page.locator("main")).to_contain_text("The rule conflicts with another rule")
    await someone.click("Pause")
    await someone.glance("money-rules-paused")
    await someone.click("Delete")
    await someone.agree("Delete the rule from GBP to EUR? New payments stay in GBP.")
    await expect(page.locator("main")).to_contain_text("No rules in test mode yet")


async def order_gems(someone: Visitor) -> None:
    """For Anna; the worker brings them while other things are done."""
    page = someone.page
    await someone.open_part("Fulfillments")
    await page.click("text=Create fulfillment")
    await someone.glance("money-fulfillment-choose")
    await page.click("a:has-text('Gems')")
    await someone.see("money-fulfillment-form")
    await page.fill("#quantity", "20")
    await page.fill("[id='recipient.player_id']", "anna")
    await page.select_option("[id='recipient.server']", "eu")
    await page.click("main summary")
    await page.fill("#webhook_url", "ftp://host/")
    await someone.click("Review fulfillment")
    await someone.see("money-fulfillment-wrong")
    await page.fill("#webhook_url", "")
    await someone.click("Review fulfillment")
    await someone.see("money-fulfillment-review")
    await someone.click("Deliver for €2.00")
    await page.wait_for_url("**/test/fulfillments/*-*")


async def see_the_gems_delivered(someone: Visitor) -> None:
    """And counted."""
    page = someone.page
    await someone.open_part("Fulfillments")
    await page.click("tbody a.hit")
    await someone.look_until_it_ended()
    await someone.see("money-fulfillment")
    await expect(page.locator("main")).to_contain_text("The order was delivered in full")
    await page.click(".crumbs a >> nth=0")
    await someone.see("money-fulfillments")
    await page.click("a:has-text('Statistics')")
    await someone.see("money-statistics")
    await expect(page.locator("main")).to_contain_text("100.00%")


async def see_what_is_reserved(someone: Visitor) -> None:
    """As the merchant who pays."""
    page = someone.page
    await someone.open_part("Balance payments")
    await someone.see("money-payments")
    await page.click("tbody a.hit")
    await someone.see("money-payment-reserved")
    await expect(page.locator("main")).to_contain_text("The amount is reserved until")


async def capture_as_owner(someone: Visitor, till: Till) -> None:
    """More than is reserved at first, then a part."""
    page = someone.page
    await someone.open_part("Balance payments")
    await page.click(".tabs a:has-text('Received')")
    await someone.see("money-received")
    await page.click("tbody a.hit")
    await page.fill("#amount", "10.01")
    await someone.click("Capture payment")
    await someone.see("money-received-wrong")
    await page.fill("#amount", "4.00")
    await someone.click("Capture payment")
    await someone.glance("money-received-captured")
    await expect(page.locator("main")).to_contain_text("The payment was captured")
    assert (await till.purses())[2] == 400
