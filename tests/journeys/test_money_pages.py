"""A merchant moves money at the dashboard, by clicking in headless Chromium: withdraws, converts, delivers, captures."""

from collections.abc import AsyncIterator

import pytest
from playwright.async_api import Browser, Page

from tests.balance_payments.till import Till, open_till
from tests.browser import CHROMIUM, Look, Visitor, by_look, chromium, visitor
from tests.cast import PASSWORD, Actor
from tests.running import Service

LOOKS = [Look("light", 1280, axe=False), Look("dark", 390, axe=True)]
"""It is a long way: so once with the CSP and once with axe, and each width and theme once."""

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


async def open_part(page: Page, name: str) -> None:
    await page.click(f".side a:has-text('{name}')")


async def until_it_ended(page: Page) -> None:
    """Look again until the worker has done its part."""
    while await page.locator("text=Look again").count():
        await page.click("text=Look again")


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
async def test_moving_money_by_clicking(look: Look, browser: Browser, service: Service, alice: Actor, bob: Actor) -> None:
    async with visitor(browser, look, service.url) as someone:
        await sign_in(someone, alice)
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
        await sign_in(someone, bob)
        await capture_as_owner(someone, till)
    assert (await till.read(reserved)).ok().body["captured"] == "4.00"


async def see_nothing_yet(someone: Visitor) -> None:
    """Every list is empty, and says what it is for."""
    page = someone.page
    for name in ("Withdrawals", "Conversions", "Fulfillments", "Balance payments"):
        await open_part(page, name)
        await glance(someone, f"money-{name.lower().replace(' ', '-')}-empty")
        await page.click(".modes a:has-text('Live')")
        assert "live environment" in await page.inner_text("main")
        await page.click(".modes a:has-text('Test')")
    await page.click("text=You are paid")
    await glance(someone, "money-received-empty")


async def withdraw(someone: Visitor) -> None:
    """A wrong amount first; then all the way, and one that is canceled."""
    page = someone.page
    await open_part(page, "Withdrawals")
    await page.click("text=New withdrawal")
    await someone.see("money-withdrawal-choose")
    await page.click("a:has-text('Test withdrawal in EUR')")
    await someone.see("money-withdrawal-form")
    await page.fill("#amount", "1000")
    await page.fill("#receiver", "Nina's account")
    await page.fill("[id='provider_fields.reference']", "Rent for May")
    await press(page, "See what it costs")
    await someone.see("money-withdrawal-wrong")
    assert await page.get_attribute("#amount", "aria-invalid") == "true"
    await page.fill("#amount", "12.50")
    await press(page, "See what it costs")
    await press(page, "Change")
    await press(page, "See what it costs")
    await someone.see("money-withdrawal-review")
    await press(page, "Withdraw 12.50 EUR")
    await page.wait_for_url("**/test/withdrawals/*-*")
    await someone.see("money-withdrawal-approved")
    await press(page, "Cancel this withdrawal")
    await glance(someone, "money-withdrawal-canceled")
    assert "It was canceled" in await page.inner_text("main")
    await page.click("text=All withdrawals")
    await someone.see("money-withdrawals")
    await page.select_option("#status", "completed")
    await press(page, "Filter")
    await glance(someone, "money-withdrawals-no-match")
    await page.click("text=Clear filters >> nth=0")
    await page.click(".modes a:has-text('Live')")
    await page.click("text=New withdrawal")
    await glance(someone, "money-withdrawal-none-live")
    await page.click(".modes a:has-text('Test')")


async def convert(someone: Visitor) -> None:
    """Euros into dollars."""
    page = someone.page
    await open_part(page, "Conversions")
    await page.click("text=New conversion")
    await someone.see("money-conversion-form")
    await page.select_option("#from_currency", "EUR")
    await page.select_option("#to_currency", "USD")
    await press(page, "See what it brings")
    await glance(someone, "money-conversion-wrong")
    await page.fill("#amount", "10")
    await press(page, "See what it brings")
    await someone.see("money-conversion-review")
    await press(page, "Convert 10.00 EUR")
    await page.wait_for_url("**/test/conversions/*-*")
    await someone.see("money-conversion")
    await page.click("text=All conversions")
    await someone.see("money-conversions")


async def follow_a_rule(someone: Visitor) -> None:
    """Made, refused a second time, paused, deleted."""
    page = someone.page
    await page.click("a:has-text('Rules')")
    await someone.see("money-rules-none")
    for result in ("made", "refused"):
        await page.select_option("#from_currency", "GBP")
        await page.select_option("#to_currency", "EUR")
        await page.select_option("#trigger", "on_threshold")
        await page.fill("#threshold", "50.00")
        await press(page, "Make the rule")
        await someone.see(f"money-rules-{result}")
    assert "Another rule stands against this one" in await page.inner_text("main")
    await press(page, "Pause")
    await glance(someone, "money-rules-paused")
    await press(page, "Delete")
    assert "There is no rule" in await page.inner_text("main")


async def order_gems(someone: Visitor) -> None:
    """For Anna; the worker brings them while other things are done."""
    page = someone.page
    await open_part(page, "Fulfillments")
    await page.click("text=New fulfillment")
    await glance(someone, "money-fulfillment-choose")
    await page.click("a:has-text('Gems')")
    await someone.see("money-fulfillment-form")
    await page.fill("#quantity", "20")
    await page.fill("[id='recipient.player_id']", "anna")
    await page.select_option("[id='recipient.server']", "eu")
    await page.click("summary")
    await page.fill("#webhook_url", "ftp://host/")
    await press(page, "See what it costs")
    await someone.see("money-fulfillment-wrong")
    await page.fill("#webhook_url", "")
    await press(page, "See what it costs")
    await someone.see("money-fulfillment-review")
    await press(page, "Deliver for 2.00 EUR")
    await page.wait_for_url("**/test/fulfillments/*-*")


async def see_the_gems_delivered(someone: Visitor) -> None:
    """And counted."""
    page = someone.page
    await open_part(page, "Fulfillments")
    await page.click("tbody a")
    await until_it_ended(page)
    await someone.see("money-fulfillment")
    assert "All of it was delivered" in await page.inner_text("main")
    await page.click("text=All fulfillments")
    await someone.see("money-fulfillments")
    await page.click("a:has-text('Statistics')")
    await someone.see("money-statistics")
    assert "100.00%" in await page.inner_text("main")


async def see_what_is_reserved(someone: Visitor) -> None:
    """As the merchant who pays."""
    page = someone.page
    await open_part(page, "Balance payments")
    await someone.see("money-payments")
    await page.click("tbody a")
    await someone.see("money-payment-reserved")
    assert "The money is set aside" in await page.inner_text("main")


async def capture_as_owner(someone: Visitor, till: Till) -> None:
    """More than is reserved at first, then a part."""
    page = someone.page
    await open_part(page, "Balance payments")
    await page.click("text=You are paid")
    await someone.see("money-received")
    await page.click("tbody a")
    await page.fill("#amount", "10.01")
    await press(page, "Capture")
    await someone.see("money-received-wrong")
    await page.fill("#amount", "4.00")
    await press(page, "Capture")
    await glance(someone, "money-received-captured")
    assert "It is on your balance" in await page.inner_text("main")
    assert (await till.purses())[2] == 400
