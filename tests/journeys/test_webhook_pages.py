"""A developer looks after webhooks at the dashboard, by clicking in headless Chromium."""

import re
from collections.abc import Callable

import pytest
from aiohttp import web
from playwright.async_api import Browser, expect

from tests.browser import IN_A_BROWSER, NARROW, Look, Visitor, by_look, visitor
from tests.cast import Actor, sign_up
from tests.receiver import Receiver
from tests.running import Service

pytestmark = [*IN_A_BROWSER, pytest.mark.long]


@pytest.fixture
def compatible(make_service: Callable[..., Service]) -> Service:
    """Saved URLs still work here."""
    return make_service(fresh=True, NOTIFY_DEPRECATED_WH="true")


@by_look(NARROW)
async def test_looking_after_webhooks(
    look: Look, browser: Browser, service: Service, compatible: Service, alice: Actor, receiver: Receiver
) -> None:
    async with visitor(browser, look, service.url) as someone:
        await someone.sign_in(alice)
        await save_a_secret(someone)
        await try_an_address(someone, receiver)
        await find_events(someone)
        await switch_off_and_on(someone)
    async with sign_up(compatible, "dora", "Dora's Dolls") as dora, visitor(browser, look, compatible.url) as someone:
        await someone.sign_in(dora)
        await see_the_saved_url(someone, dora)


async def save_a_secret(someone: Visitor) -> None:
    """Generate, copy, save."""
    page = someone.page
    await someone.open_part("Events")
    await someone.see("webhooks-events-empty")
    await someone.open_part("Webhooks")
    await someone.see("webhooks-none")
    await expect(page.locator("button:has-text('Send test event')")).to_have_count(0)
    await someone.click("Generate secret")
    await someone.see("webhooks-generated")
    assert re.fullmatch(r"whsec_[A-Za-z0-9+/]{43}=", await page.input_value("#new-secret"))
    await someone.click("Copy")
    await page.wait_for_selector("button:has-text('Copied'), button:has-text('Selected')")
    await someone.click("Activate secret")
    await someone.see("webhooks-saved")
    await expect(page.locator("#new-secret")).to_have_count(0)


async def try_an_address(someone: Visitor, receiver: Receiver) -> None:
    """A wrong address first, then one whose receiver fails, then the same event again."""
    page = someone.page
    await page.fill("#url", "http://10.0.0.1/")
    await someone.click("Send test event")
    await someone.see("webhooks-wrong-address")
    await expect(page.locator("#url")).to_have_attribute("aria-invalid", "true")

    async def fails(_request: web.Request) -> web.StreamResponse:
        return web.Response(status=503)

    receiver.answer = fails
    await page.fill("#url", receiver.url)
    await someone.click("Send test event")
    await someone.look_until_it_ended()
    await someone.see("webhooks-event-failed")
    await expect(page.locator("main")).to_contain_text("The endpoint responded with status 503")
    receiver.answer = None
    await someone.click("Resend event")
    await someone.look_until_it_ended()
    await someone.see("webhooks-event-delivered")
    assert [got.headers["X-Service-Attempt"] for got in receiver.received] == ["1", "2"]
    await send_elsewhere(someone, receiver)


async def send_elsewhere(someone: Visitor, receiver: Receiver) -> None:
    """The same event to another URL: a wrong one first."""
    page = someone.page
    await page.fill("#url", "http://10.0.0.1/")
    await someone.click("Send this event to another URL")
    await someone.see("webhooks-replay-refused")
    await expect(page.locator("#url")).to_have_attribute("aria-invalid", "true")
    await page.fill("#url", f"{receiver.url}/{'elsewhere' * 10}")
    await someone.click("Send this event to another URL")
    await expect(page.locator("#replays ~ ol, section:has(#replays) ol")).to_contain_text("200", timeout=30_000)
    await someone.see("webhooks-replayed")
    assert receiver.received[-1].path == f"/hook/{'elsewhere' * 10}"


async def find_events(someone: Visitor) -> None:
    """By status and type; nothing in the other environment."""
    page = someone.page
    await page.get_by_role("navigation", name="Breadcrumb").get_by_role("link", name="Events").click()
    await someone.see("webhooks-events")
    await someone.filter_by("Status", "failed")
    await someone.see("webhooks-events-no-match")
    await expect(page).to_have_url(re.compile("status=failed"))
    await page.click("text=Clear filters >> nth=0")
    await someone.filter_by("Type", "webhook.test")
    await expect(page.locator("tbody tr")).to_have_count(1)
    await page.click(".mode a:has-text('Live')")
    await expect(page.locator("main")).to_contain_text("No events in the live environment yet")
    await page.click(".mode a:has-text('Test')")


async def switch_off_and_on(someone: Visitor) -> None:
    """While delivery is off, an event cannot be sent again, and the page says what to do."""
    page = someone.page
    await someone.open_part("Webhooks")
    await someone.click("Turn off delivery")
    await someone.agree("Turn off delivery in the test environment? Pending events will be canceled.")
    await someone.see("webhooks-off")
    await someone.open_part("Events")
    await page.click("tbody a")
    await someone.click("Resend event")
    await someone.see("webhooks-event-refused")
    await expect(page.locator("[role=alert]")).to_contain_text("Turn on delivery on the Webhooks page")
    await someone.open_part("Webhooks")
    await someone.click("Turn on delivery")
    await someone.see("webhooks-on")


async def see_the_saved_url(someone: Visitor, actor: Actor) -> None:
    """It is shown while it counts."""
    page = someone.page
    await someone.open_part("Webhooks")
    body = {"url": "https://shop.example/hook", "event_types": ["payment.succeeded", "payment.refunded"]}
    (await actor.call("PUT", "/webhook", body)).ok()
    await page.reload()
    await someone.see("webhooks-saved-url")
    await expect(page.locator("main")).to_contain_text("https://shop.example/hook")
