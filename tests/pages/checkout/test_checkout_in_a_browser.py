"""The checkout in headless Chromium: the merchant's own look, fields that can be copied, and the time running down."""

import re
from datetime import datetime, timedelta
from typing import Any

import pytest
from playwright.async_api import Browser, expect

from tests.accounts.settings.test_settings import body
from tests.browser import IN_A_BROWSER, NARROW, Look, by_look, visitor
from tests.cast import Actor
from tests.payments.shop import choose, open_link, simulate
from tests.running import Service
from tollhouse.kernel.clock import zone_of

NOWHERE = "about:blank"
"""A page of the checkout reloads itself when its payment changes: left before, it cannot interrupt being opened again."""
MINUTES_MS = 60_000
WITHOUT_CLIPBOARD = "Object.defineProperty(navigator, 'clipboard', {value: undefined})"

pytestmark = [*IN_A_BROWSER, pytest.mark.long]


async def dress(actor: Actor, **branding: str) -> None:
    """Set how the checkout looks."""
    (await actor.call("PUT", "/settings", await body(actor, branding=branding))).ok()


async def waiting(actor: Actor, **changes: Any) -> tuple[dict[str, Any], str]:
    """A link whose customer has chosen how to pay, and the address of that customer's page."""
    link = await open_link(actor, **changes)
    return link, actor.service.url + (await choose(link)).ok(303).location


@by_look(NARROW)
async def test_every_state_in_the_merchants_own_look(look: Look, browser: Browser, service: Service, alice: Actor) -> None:
    await dress(alice, display_name="Harbour Coffee", accent_color="#e9b44c", support_email="help@harbour.example")
    link, address = await waiting(alice, description="Two flat whites and a bun", cancel_url="https://harbour.example/")
    payment = address.rpartition("=")[2]
    async with visitor(browser, look, service.url) as someone:
        page = someone.page
        await page.goto((await open_link(alice))["url"])
        await someone.see("checkout-branded")
        await expect(page.locator("a[href^='mailto:']")).to_have_text("help@harbour.example")
        await page.goto(address)
        await someone.see("checkout-branded-pending")
        await page.goto(NOWHERE)
        await simulate(link, "underpay", payment=payment, amount="1.00")
        await page.goto(address)
        await someone.see("checkout-branded-underpaid")
        await page.goto(NOWHERE)
        await simulate(link, "processing", payment=payment)
        await page.goto(address)
        await someone.see("checkout-branded-processing")
        await page.goto(NOWHERE)
        await simulate(link, "succeed", payment=payment)
        await page.goto(address)
        await someone.see("checkout-branded-paid")
        late, address = await waiting(alice)
        await simulate(late, "late")
        await page.goto(address)
        await someone.see("checkout-branded-late")
        color = "getComputedStyle(document.querySelector('.avatar.merchant')).backgroundColor"
        assert await page.evaluate(color) == "rgb(233, 180, 76)"


@pytest.mark.parametrize("clipboard", [True, False], ids=["clipboard", "plain-http"])
async def test_what_must_be_exact_can_be_copied(browser: Browser, alice: Actor, clipboard: bool) -> None:
    _, address = await waiting(alice)
    async with visitor(browser, Look("light", 390), alice.service.url) as someone:
        page = someone.page
        await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        if not clipboard:
            await page.add_init_script(WITHOUT_CLIPBOARD)
        await page.goto(address)
        await page.click("#exact + button")
        await page.wait_for_selector("#exact + button:has-text('Copied')")
        await expect(page.locator("p.vh[aria-live]")).to_have_text("Amount copied")
        await page.fill("#other", "")
        await page.focus("#other")
        await page.keyboard.press("Control+V")
        await expect(page.locator("#other")).to_have_value("4.20")
        await page.fill("#other", "")
        await page.click("#exact")  # selects all of it
        await page.keyboard.press("Control+C")
        await page.focus("#other")
        await page.keyboard.press("Control+V")
        await expect(page.locator("#other")).to_have_value("4.20")


async def test_times_are_those_of_the_customers_device(browser: Browser, alice: Actor) -> None:
    _, address = await waiting(alice)
    for language, zone, written in (("en-GB", "Asia/Kathmandu", "%d %B"), ("de-DE", "Pacific/Kiritimati", "%d. ")):
        context = await browser.new_context(timezone_id=zone, locale=language)
        page = await context.new_page()
        await page.goto(address)
        end = page.locator("time[data-local]")
        there = datetime.fromisoformat(await end.get_attribute("datetime") or "").astimezone(zone_of(zone))
        shown = await end.inner_text()
        assert there.strftime(written).lstrip("0") in shown
        assert shown.endswith(there.strftime(", %H:%M"))
        await context.close()


async def test_the_time_runs_down_in_the_last_quarter_and_then_the_page_says_so(browser: Browser, alice: Actor) -> None:
    async with visitor(browser, Look("dark", 390), alice.service.url) as someone:
        page = someone.page
        _, address = await waiting(alice)
        await page.clock.install()
        await page.goto(address)
        assert "left" not in await page.inner_text("main")
        (await alice.post("/test/clock/advance", {"seconds": 86_400 - 120})).ok()
        await page.goto(address)
        await page.wait_for_selector("text=left")
        assert re.fullmatch(r": [12]:[0-9]{2} left", await page.inner_text("time[data-now] + span"))
        (await alice.post("/test/clock/advance", {"seconds": 120})).ok()
        await page.clock.fast_forward(2 * MINUTES_MS)
        await page.wait_for_selector("text=This payment link expired on")


async def test_a_waiting_page_shows_the_expiry_that_the_merchant_changed(browser: Browser, alice: Actor) -> None:
    link, address = await waiting(alice)
    async with visitor(browser, Look("dark", 390), alice.service.url) as someone:
        await someone.page.clock.install()
        await someone.page.goto(address)
        later = (datetime.fromisoformat(link["expires_at"]) + timedelta(days=2)).isoformat()
        changed = (await alice.post(f"/payment-links/{link['id']}/expiry", {"expires_at": later})).ok().body
        assert changed["version"] > link["version"]
        await someone.page.clock.fast_forward(MINUTES_MS)
        await expect(someone.page.locator("time[data-now]")).to_have_attribute("datetime", changed["expires_at"])


async def test_without_scripts_nothing_is_missing(browser: Browser, alice: Actor) -> None:
    link, address = await waiting(alice)
    context = await browser.new_context(java_script_enabled=False)
    page = await context.new_page()
    await page.goto(address)
    await expect(page.locator("#exact")).to_have_text("€4.20")
    await expect(page.locator(".sheet button")).to_have_count(0)
    await expect(page.locator("main")).to_contain_text("You can pay until")
    await page.click("button:has-text('Pay in full')")
    await expect(page.locator("main")).to_contain_text("Payment received")
    await context.close()
    assert link["status"] == "active"


@by_look(NARROW)
async def test_paying_in_another_currency(look: Look, browser: Browser, service: Service, alice: Actor) -> None:
    settings = await body(alice, additional_currencies=["ETH", "USDC"])
    (await alice.call("PUT", "/settings", settings)).ok()
    link = await open_link(alice, amount="64.90")
    async with visitor(browser, look, service.url) as someone:
        page = someone.page
        await page.goto(link["url"])
        await someone.see("checkout-currencies")
        await page.get_by_role("radio", name="Test payment in USDC").check()
        await page.get_by_role("button", name="Continue").click()
        await expect(page.locator("time[data-rate]")).to_have_text(re.compile(r"^1[45]:\d\d$"))
        await expect(page.locator(".figure")).to_have_text("€64.90")
        await someone.see("checkout-rate")
        await page.goto(NOWHERE)
        (await alice.post("/test/clock/advance", {"seconds": 900})).ok()
        await page.goto(link["url"])
        await someone.see("checkout-rate-expired")
        await page.get_by_text("Change payment method").click()
        await someone.see("checkout-rate-expired-methods")
        await page.get_by_role("radio", name="Test payment in ETH").check()
        await page.get_by_role("button", name="Continue").click()
        await expect(page.get_by_role("heading", name="Send")).to_contain_text("ETH")
        await page.goto(NOWHERE)
        (await alice.post("/test/clock/advance", {"seconds": 900})).ok()
        await page.goto(link["url"])
        await page.get_by_role("button", name="Get a new rate").click()
        await expect(page.locator("time[data-rate]")).to_have_text(re.compile(r"^1[45]:\d\d$"))
        await page.goto(NOWHERE)
        await simulate(link)
        await page.goto(link["url"])
        await expect(page.get_by_role("heading", name="Payment received")).to_be_visible()
        await someone.see("checkout-rate-paid")
